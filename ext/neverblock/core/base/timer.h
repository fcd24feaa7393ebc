/*
 * timer.h - deadlines in order: a 4-ary heap of nodes that the caller embeds. Time is an argument.
 *
 * The scheduler uses it, where deadlines have any length and most are disarmed before they expire.
 * (The I/O loop's timeouts have few lengths and use connection/timeouts.h.) A node belongs to at
 * most one heap, and the caller keeps it alive while it is armed. `index` is 0 while it is not.
 * Threads: one owns a heap.
 */
#ifndef NB_BASE_TIMER_H
#define NB_BASE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct nb_timer {
    int64_t deadline_ns; /* on the clock of the caller's choice */
    size_t index;        /* place in the heap, counted from 1 */
} nb_timer;

/* One slot: the deadline is kept beside the pointer so that sifting does not touch the nodes. */
typedef struct nb_timer_slot {
    int64_t deadline_ns;
    nb_timer *timer;
} nb_timer_slot;

typedef struct nb_timers {
    nb_timer_slot *slots; /* slots[0] unused */
    size_t count, capacity;
} nb_timers;

void nb_timers_init(nb_timers *timers);
void nb_timers_deinit(nb_timers *timers);
/* Arms the timer at deadline_ns; an armed timer is moved. NB_NO_MEMORY: it is not armed. */
nb_status nb_timers_arm(nb_timers *timers, nb_timer *timer, int64_t deadline_ns);
/* Disarms the timer, if it is armed. */
void nb_timers_disarm(nb_timers *timers, nb_timer *timer);
/* The next deadline, or INT64_MAX when empty. */
int64_t nb_timers_next_ns(const nb_timers *timers);
/* Removes and returns the earliest timer with deadline_ns <= now_ns; NULL: none. Equal deadlines
   come in any order. */
nb_timer *nb_timers_expire(nb_timers *timers, int64_t now_ns);
/* For tests: asserts the heap order and every index. */
void nb_timers_validate(const nb_timers *timers);

#endif
