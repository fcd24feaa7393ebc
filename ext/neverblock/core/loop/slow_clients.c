/*
 * slow_clients.c - see slow_clients.h.
 */
#include "loop/slow_clients.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "connection/connection.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "os/clock.h"

#define EVERY_NS NB_NS_PER_S

/* A connection is in one of these queues while its client is sent to: by itself, or by a stream. */
static const nb_timeout_class queues[] = {NB_TIMEOUT_TRANSFER, NB_TIMEOUT_RATE, NB_TIMEOUT_STREAM,
                                          NB_TIMEOUT_STREAM_RATE};

/* What one loop has found. */
typedef struct nb_slow_clients {
    pthread_mutex_t lock; /* of `found` */
    nb_slow_clients_now found;
    int64_t looked_ns; /* when it has found them */
    uint8_t look;      /* number of the last look */
} nb_slow_clients;

nb_status nb_slow_clients_create(nb_loop *loop) {
    loop->slow_clients = nb_alloc_zero(1, sizeof(*loop->slow_clients));
    if (!loop->slow_clients) return NB_NO_MEMORY;
    pthread_mutex_init(&loop->slow_clients->lock, NULL);
    loop->slow_clients->found.complete = true;
    return NB_OK;
}

void nb_slow_clients_destroy(nb_loop *loop) {
    if (!loop->slow_clients) return;
    pthread_mutex_destroy(&loop->slow_clients->lock);
    nb_free(loop->slow_clients);
    loop->slow_clients = NULL;
}

/* --- one client --- */

/* The oldest response that has begun: when it did, and where on the connection. */
typedef struct nb_oldest {
    int64_t answered_ns;
    uint64_t sent_before;
} nb_oldest;

static nb_oldest oldest_of(const nb_connection *connection) {
    const nb_leaving *leaving = connection->leaving.first;
    nb_oldest oldest = {INT64_MAX, 0};
    if (leaving) oldest = (nb_oldest){leaving->answered_ns, leaving->sent_before};
    for (const nb_exchange *exchange = connection->first; exchange; exchange = exchange->next) {
        if (exchange->answered_ns && exchange->answered_ns < oldest.answered_ns)
            oldest = (nb_oldest){exchange->answered_ns, exchange->sent_before};
    }
    return oldest;
}

/* Bytes of responses that are not with the kernel. */
static uint64_t held_for(const nb_connection *connection, uint64_t with_worker) {
    uint64_t held = nb_connection_owed(connection);
    for (const nb_exchange *exchange = connection->first; exchange; exchange = exchange->next)
        held += exchange->send_queue.bytes;
    return held > with_worker ? held - with_worker : 0;
}

static uint64_t less(uint64_t from, uint64_t bytes) { return from > bytes ? from - bytes : 0; }

static uint64_t per_second(uint64_t bytes, int64_t ns) { return (uint64_t)((double)bytes * 1e9 / (double)ns); }

/* Of the current window, as the timeout judges it. A short window says little: of all then. */
static uint64_t rate_of(const nb_connections *connections, const nb_connection *connection,
                        const nb_slow_client *client, uint64_t moved, uint64_t in_kernel, int64_t now_ns) {
    const nb_timeout *timeout = &connection->timeout;
    if (timeout->kind == NB_TIMEOUT_TRANSFER) {
        int64_t window_ns = now_ns - (timeout->deadline_ns - connections->timeouts.length_ns[timeout->kind]);
        uint64_t taken = less(connection->window_bytes + moved + connection->window_queued, in_kernel);
        if (window_ns >= NB_SLOW_CLIENTS_AGE_NS) return per_second(taken, window_ns);
    }
    return per_second(client->sent, client->age_ns);
}

/* False: it is not slow. */
static bool describe(const nb_connections *connections, const nb_connection *connection, int64_t now_ns,
                     nb_slow_client *client) {
    const nb_sending *sending = connection->sending;
    nb_oldest oldest = oldest_of(connection);
    if (oldest.answered_ns > now_ns - NB_SLOW_CLIENTS_AGE_NS) return false;
    uint64_t moved = sending ? atomic_load_explicit(&sending->moved, memory_order_relaxed) : 0,
             in_kernel = nb_net_unacknowledged(connection->transport.fd);
    *client = (nb_slow_client){
        .peer = connection->peer,
        .protocol = connection->protocol->name,
        .age_ns = now_ns - oldest.answered_ns,
        .sent = less(connection->sent + moved, oldest.sent_before + in_kernel),
        .left = held_for(connection, moved) + in_kernel,
        .limit = sending && sending->rate ? sending->rate : connections->settings.send_rate,
        .algorithm = sending ? sending->number : 0,
    };
    client->rate = rate_of(connections, connection, client, moved, in_kernel, now_ns);
    return client->left > 0;
}

/* --- all clients --- */

static void add(nb_slow_clients_now *now, const nb_slow_client *client) {
    uint32_t place = now->shown;
    while (place > 0 && now->clients[place - 1].rate > client->rate)
        place--;
    if (place == NB_SLOW_CLIENTS_MAX) return;
    if (now->shown < NB_SLOW_CLIENTS_MAX) now->shown++;
    memmove(&now->clients[place + 1], &now->clients[place], (now->shown - 1 - place) * sizeof(*now->clients));
    now->clients[place] = *client;
}

static nb_connection *connection_of(nb_timeout *timeout) {
    bool stream = timeout->kind == NB_TIMEOUT_STREAM || timeout->kind == NB_TIMEOUT_STREAM_RATE;
    return stream ? nb_stream_timeout_of(timeout)->connection : nb_connection_of_timeout(timeout);
}

static void look(nb_loop *loop, nb_slow_clients_now *now, int64_t now_ns) {
    nb_slow_clients *slow = loop->slow_clients;
    const nb_timeouts *timeouts = &loop->connections.timeouts;
    nb_slow_client client;
    uint32_t looked = 0;
    memset(now, 0, sizeof(*now));
    if (++slow->look == 0) slow->look = 1;
    for (size_t i = 0; i < sizeof(queues) / sizeof(*queues); i++) {
        nb_timeout *timeout = nb_timeouts_oldest(timeouts, queues[i]);
        for (; timeout; timeout = nb_timeouts_after(timeouts, timeout)) {
            if (looked++ == NB_SLOW_CLIENTS_LOOKED_MAX) return;
            nb_connection *connection = connection_of(timeout);
            if (connection->admin || connection->looked == slow->look) continue;
            connection->looked = slow->look;
            if (!describe(&loop->connections, connection, now_ns, &client)) continue;
            now->count++;
            add(now, &client);
        }
    }
    now->complete = true;
}

void nb_slow_clients_turn(nb_loop *loop) {
    if (loop->number == 0 || !loop->slow_clients) return;
    nb_slow_clients *slow = loop->slow_clients;
    if (loop->time.now_ns < slow->looked_ns + EVERY_NS) return;
    nb_slow_clients_now found;
    look(loop, &found, loop->time.now_ns);
    slow->looked_ns = loop->time.now_ns;
    pthread_mutex_lock(&slow->lock);
    slow->found = found;
    pthread_mutex_unlock(&slow->lock);
}

/* What was found is shown until the next look. */
int64_t nb_slow_clients_next_ns(const nb_loop *loop) {
    if (loop->number == 0 || !loop->slow_clients) return 0;
    const nb_slow_clients *slow = loop->slow_clients;
    bool due = slow->found.count > 0;
    for (size_t i = 0; i < sizeof(queues) / sizeof(*queues) && !due; i++)
        due = nb_timeouts_oldest(&loop->connections.timeouts, queues[i]) != NULL;
    return due ? slow->looked_ns + EVERY_NS : 0;
}

static void add_found(nb_slow_clients *slow, nb_slow_clients_now *now) {
    pthread_mutex_lock(&slow->lock);
    now->count += slow->found.count;
    now->complete &= slow->found.complete;
    for (uint32_t i = 0; i < slow->found.shown; i++)
        add(now, &slow->found.clients[i]);
    pthread_mutex_unlock(&slow->lock);
}

void nb_slow_clients_read(nb_loop *loop, nb_slow_clients_now *now) {
    memset(now, 0, sizeof(*now));
    if (!loop->slow_clients) return;
    look(loop, now, nb_clock_monotonic_ns());
    for (uint16_t i = 0; i < loop->all->count; i++) {
        if (i != loop->number && loop->all->each[i].slow_clients) add_found(loop->all->each[i].slow_clients, now);
    }
}
