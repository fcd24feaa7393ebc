/*
 * loops.c - see loops.h.
 */
#include "loop/loops.h"

uint64_t nb_loops_sum(const nb_loops *loops, size_t offset) {
    uint64_t sum = 0;
    for (uint16_t i = 0; i < loops->count; i++) {
        const void *field = (const char *)&loops->each[i] + offset;
        sum += nb_counted(field);
    }
    return sum;
}

uint64_t nb_loops_connections(const nb_loops *loops) {
    uint64_t count = 0;
    for (uint16_t i = 0; i < loops->count; i++) {
        count += nb_connections_count(&loops->each[i].connections);
    }
    return count;
}

nb_loop *nb_loops_next(nb_loops *loops) {
    nb_loop *next = &loops->each[0];
    for (uint16_t i = 1; i < loops->count; i++) {
        if (nb_connections_count(&loops->each[i].connections) < nb_connections_count(&next->connections))
            next = &loops->each[i];
    }
    return next;
}

nb_loop *nb_loops_idlest(const nb_loops *loops) {
    nb_loop *found = NULL;
    int64_t least_ns = INT64_MAX;
    for (uint16_t i = 0; i < loops->count; i++) {
        int64_t idle_ns = nb_loop_idle_ns(&loops->each[i]);
        if (idle_ns == 0 || idle_ns >= least_ns) continue;
        found = &loops->each[i];
        least_ns = idle_ns;
    }
    return found;
}

bool nb_loops_cancel(nb_loops *loops, nb_exchange_id id) {
    uint16_t number = nb_exchange_id_loop(id);
    if (number >= loops->count) return true; /* there is no such request */
    nb_loop *loop = &loops->each[number];
    pthread_mutex_lock(&loop->inbox_lock);
    bool room = loop->cancel_count < NB_CANCELS_MAX;
    if (room) loop->cancels[loop->cancel_count++] = id;
    pthread_mutex_unlock(&loop->inbox_lock);
    if (room) nb_wake_signal(&loop->wake);
    return room;
}
