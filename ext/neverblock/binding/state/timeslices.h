/*
 * timeslices.h - what is known of the slice of time that a scheduler's thread gives the fiber it runs.
 * The loop tells of each switch and sleep, the watchdog's thread reads it without Ruby's lock
 * (timeslices/timeslice_look.h), and the job that ends a slice decides by it (timeslices/timeslice.h).
 *
 * Where a job, or the switch to a fiber whose slice had ended before, has found that nobody else
 * waits, it is quiet: whoever brings something makes the loop's poller readable, for which the
 * watchdog sleeps, and until that happens nobody has to look.
 */
#ifndef NB_BINDING_TIMESLICES_H
#define NB_BINDING_TIMESLICES_H

#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "binding/state/state.h"
#include "os/clock.h"
#include "poll/clockwork.h"

/* What a fiber that was cut, and has not waited since, may run at least; how often the watchdog asks
   again; and how long a thread that waits for Ruby's lock is left to. */
#define NB_PREEMPT_GRANULARITY_NS NB_NS_PER_MS

/* What the watchdog reads is atomic. Never freed but used again: a thread without the lock may look
   at it. */
struct nb_timeslices {
    nb_timeslices *next;
    nb_clockwork_look *look; /* the watchdog's, to be removed with them; NULL: it has none */
    nb_scheduler *scheduler;
    int64_t timeslice_ns;
    clockid_t clock; /* of what the thread runs, if it is `clocked` */
    bool clocked;
    _Atomic int64_t switched_ns;         /* when the thread began to run its fiber; 0: it runs none */
    _Atomic bool preempted_before;       /* the fiber's slice had ended, and it has not waited since */
    _Atomic uint32_t lock;               /* odd: the thread waits for Ruby's lock */
    _Atomic bool asleep;                 /* it does not want it */
    _Atomic bool forced;                 /* the next job cuts that may, whatever the time is */
    _Atomic uint32_t preemptions_missed; /* ends that were put off, as the fiber could not be left there */
    _Atomic uint64_t preemptions;        /* slices that have ended */
    _Atomic int64_t
        quiet_until_ns;     /* until then nobody waits for the fiber's time unless `descriptor` gets readable; or 0 */
    _Atomic int descriptor; /* the poller's */
    bool allocates;         /* much beside objects, as the last job has found */
    uint64_t lock_handoffs; /* times another thread has given Ruby's lock up for this one */
    int64_t
        idle_ns; /* since when the thread does not run though it has a fiber to run, as the jobs on other threads have seen it */
    int64_t ran_ns;            /* what it had run then */
    int64_t handoff_failed_ns; /* when it was last offered the lock and did not take it */
    bool follows;              /* Ruby tells of the thread's switches */
    VALUE switched_to;         /* the fiber of the last that was told of; compared only */
    size_t gc_ms; /* what collections had taken when the thread began to run its fiber, if it is `gc_known` */
    bool gc_known;
    /* the watchdog's */
    uint32_t lock_seen;
    int64_t lock_seen_ns, contended_ns;
    int64_t ran_seen_ns, still_ns;    /* what the thread had run, and since when it has not run more */
    int64_t burst_began_ns, asked_ns; /* the burst for which it has asked last, and when */
    uint64_t preemptions_seen;
    int64_t preemption_seen_ns;  /* when there was last a fiber that was cut */
    uint32_t missed_seen, again; /* what was put off by then; how many in a row have been, of this burst */
    int64_t missed_ns;           /* when it was last seen that one had been; 0: never */
};

/* Slices of so long, in the list of those that are in use; freed by nobody. NULL: there is no
   memory. */
nb_timeslices *nb_timeslices_make(nb_scheduler *scheduler, int64_t timeslice_ns);
/* Out of the list. They may be made again, and a thread without the lock may still look at them. */
void nb_timeslices_put_away(nb_timeslices *timeslices);
/* Those in use in this process, by `next`. */
nb_timeslices *nb_timeslices_in_use(void);
/* The scheduler has none any more; in the child of a fork too, where the watchdog has none of it. */
void nb_timeslices_close(nb_scheduler *scheduler);

/* A fiber is about to run: `preempted`: it goes on where its slice had ended, right after
   nb_loop_work_waits. */
void nb_timeslices_switch(nb_timeslices *timeslices, int64_t now_ns, bool preempted);
/* No fiber runs. */
void nb_timeslices_rest(nb_timeslices *timeslices);
/* The thread is about to sleep without Ruby's lock; it waits for it; it has it again. */
void nb_timeslices_sleep(nb_timeslices *timeslices);
void nb_timeslices_want_lock(nb_timeslices *timeslices);
void nb_timeslices_have_lock(nb_timeslices *timeslices);
/* The loop runs on the calling thread from now on, until nb_timeslices_sleep. */
void nb_timeslices_begin(nb_timeslices *timeslices);
/* The fiber that runs, or another thread with the GVL, has made something that waits for the
   fiber's end. */
void nb_timeslices_work_comes(nb_timeslices *timeslices);

/* Does something wait, as far as it can be seen from another thread, too: by all but the
   descriptors? */
bool nb_timeslices_work_is_seen(const nb_scheduler *scheduler);
/* Would the source bring something if the running fiber's turn ended? */
bool nb_timeslices_source_starves(const nb_scheduler *scheduler);
/* Right after nb_loop_work_waits, which has read what the poller knew. False: something waits, or
   nothing tells of it. */
bool nb_timeslices_begin_quiet(nb_timeslices *timeslices, int64_t now_ns);
void nb_timeslices_end_quiet(nb_timeslices *timeslices);

#endif
