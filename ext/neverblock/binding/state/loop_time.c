/*
 * loop_time.c - see loop_time.h.
 */
#include "binding/state/loop_time.h"

#include "binding/state/late.h"
#include "os/clock.h"

int64_t nb_event_loop_clock(nb_scheduler *scheduler) {
    scheduler->now_ns = nb_clock_monotonic_ns();
    scheduler->now_fresh = true;
    return scheduler->now_ns;
}

int64_t nb_event_loop_now(nb_scheduler *scheduler) {
    return scheduler->now_fresh ? scheduler->now_ns : nb_event_loop_clock(scheduler);
}

void nb_event_loop_expire(nb_scheduler *scheduler) {
    if (scheduler->timers.count == 0) return;
    int64_t now_ns = nb_event_loop_now(scheduler);
    nb_timer *timer;
    while ((timer = nb_timers_expire(&scheduler->timers, now_ns)) != NULL) {
        nb_alarm *alarm = NB_LIST_ENTRY(timer, nb_alarm, timer);
        alarm->fire(scheduler, alarm);
    }
}
