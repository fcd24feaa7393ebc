/*
 * timer.c - a 4-ary heap counted from 1. Four children a node halve the depth of a binary heap and
 * lie side by side in memory, and the deadline is kept in the slot, so a sift reads slots only and
 * writes one node's index a step.
 */
#include "base/timer.h"

#include "base/alloc.h"
#include "base/assert.h"

enum { FIRST = 1, ARITY = 4, FIRST_CAPACITY = 64 };

static size_t parent_of(size_t place) { return (place - 2) / ARITY + FIRST; }
static size_t first_child_of(size_t place) { return (place - FIRST) * ARITY + 2; }

static void put(nb_timers *timers, size_t place, nb_timer_slot slot) {
    timers->slots[place] = slot;
    slot.timer->index = place;
}

static void sift_up(nb_timers *timers, size_t place, nb_timer_slot slot) {
    while (place > FIRST) {
        size_t parent = parent_of(place);
        if (timers->slots[parent].deadline_ns <= slot.deadline_ns) break;
        put(timers, place, timers->slots[parent]);
        place = parent;
    }
    put(timers, place, slot);
}

static size_t earliest_child(const nb_timers *timers, size_t place) {
    size_t child = first_child_of(place), best = child;
    size_t end = child + ARITY <= timers->count + 1 ? child + ARITY : timers->count + 1;
    for (child++; child < end; child++) {
        if (timers->slots[child].deadline_ns < timers->slots[best].deadline_ns) best = child;
    }
    return best;
}

static void sift_down(nb_timers *timers, size_t place, nb_timer_slot slot) {
    while (first_child_of(place) <= timers->count) {
        size_t child = earliest_child(timers, place);
        if (slot.deadline_ns <= timers->slots[child].deadline_ns) break;
        put(timers, place, timers->slots[child]);
        place = child;
    }
    put(timers, place, slot);
}

/* Puts `slot` at the free `place`, moved up or down to where its deadline belongs. */
static void settle(nb_timers *timers, size_t place, nb_timer_slot slot) {
    if (place > FIRST && slot.deadline_ns < timers->slots[parent_of(place)].deadline_ns) {
        sift_up(timers, place, slot);
    } else {
        sift_down(timers, place, slot);
    }
}

static nb_status make_room(nb_timers *timers) {
    if (timers->count + FIRST < timers->capacity) return NB_OK;
    size_t capacity = timers->capacity == 0 ? FIRST_CAPACITY : timers->capacity * 2;
    nb_timer_slot *slots = nb_realloc(timers->slots, capacity * sizeof *slots);
    if (slots == NULL) return NB_NO_MEMORY;
    timers->slots = slots;
    timers->capacity = capacity;
    return NB_OK;
}

void nb_timers_init(nb_timers *timers) { *timers = (nb_timers){0}; }

void nb_timers_deinit(nb_timers *timers) {
    for (size_t place = FIRST; place <= timers->count; place++)
        timers->slots[place].timer->index = 0;
    nb_free(timers->slots);
    *timers = (nb_timers){0};
}

nb_status nb_timers_arm(nb_timers *timers, nb_timer *timer, int64_t deadline_ns) {
    if (timer->index == 0) {
        nb_status status = make_room(timers);
        if (status != NB_OK) return status;
        timer->deadline_ns = deadline_ns;
        sift_up(timers, ++timers->count, (nb_timer_slot){deadline_ns, timer});
        return NB_OK;
    }
    NB_ASSERT(timer->index <= timers->count && timers->slots[timer->index].timer == timer);
    timer->deadline_ns = deadline_ns;
    settle(timers, timer->index, (nb_timer_slot){deadline_ns, timer});
    return NB_OK;
}

void nb_timers_disarm(nb_timers *timers, nb_timer *timer) {
    size_t place = timer->index;
    if (place == 0) return;
    NB_ASSERT(place <= timers->count && timers->slots[place].timer == timer);
    timer->index = 0;
    nb_timer_slot last = timers->slots[timers->count--];
    if (last.timer != timer) settle(timers, place, last);
}

int64_t nb_timers_next_ns(const nb_timers *timers) {
    return timers->count > 0 ? timers->slots[FIRST].deadline_ns : INT64_MAX;
}

nb_timer *nb_timers_expire(nb_timers *timers, int64_t now_ns) {
    if (timers->count == 0 || timers->slots[FIRST].deadline_ns > now_ns) return NULL;
    nb_timer *timer = timers->slots[FIRST].timer;
    nb_timers_disarm(timers, timer);
    return timer;
}

void nb_timers_validate(const nb_timers *timers) {
    NB_ASSERT(timers->count == 0 || timers->count < timers->capacity);
    for (size_t place = FIRST; place <= timers->count; place++) {
        nb_timer_slot slot = timers->slots[place];
        NB_ASSERT(slot.timer->index == place);
        NB_ASSERT(slot.timer->deadline_ns == slot.deadline_ns);
        NB_ASSERT(place == FIRST || timers->slots[parent_of(place)].deadline_ns <= slot.deadline_ns);
    }
}
