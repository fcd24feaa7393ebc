/*
 * timeslice_state.h - what is known of the time slice of the fiber that a scheduler's thread runs.
 * The loop tells of each switch and each sleep. The watchdog's thread reads it without the GVL
 * (timeslices/timeslice_look.h), and the job that preempts the fiber decides by it
 * (timeslices/timeslice.h).
 *
 * It is *quiet* while the running fiber may go on and nobody has to look: a job, or the switch to a
 * preempted fiber, has found that nothing waits. Whatever brings work from then on makes the loop's
 * poller readable, and the watchdog waits for that.
 *
 * Functions take the GVL and run on the scheduler's thread, unless they say otherwise.
 */
#ifndef NB_BINDING_TIMESLICE_STATE_H
#define NB_BINDING_TIMESLICE_STATE_H

#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "binding/state/state.h"
#include "os/clock.h"
#include "poll/watchdog.h"

/* The granularity of preemption, as sched_min_granularity of Linux' scheduler. A preempted fiber
   that goes on runs for so long at least. The watchdog asks again so often. A thread that waits for
   the GVL is left alone for half of it. */
#define NB_PREEMPT_GRANULARITY_NS NB_NS_PER_MS

/* What the watchdog reads is atomic. A struct is never freed but used again, as a thread without
   the GVL may look at it. */
struct nb_timeslices {
    nb_timeslices *next;
    nb_watchdog_look *look; /* the watchdog's observer; NULL: it has none */
    nb_scheduler *scheduler;
    int64_t timeslice_ns;
    clockid_t clock;      /* the processor time of the thread, if it is `clocked` */
    _Atomic bool clocked; /* stored after `clock` */
    /* when the thread began to run its fiber; 0: it runs none */
    _Atomic int64_t switched_ns;
    _Atomic bool preempted_before; /* the fiber was preempted, and has not waited since */
    _Atomic uint32_t gvl_waits;    /* a count; odd: the thread waits for the GVL */
    _Atomic bool asleep;           /* the thread sleeps, and does not want the GVL */
    _Atomic bool forced;           /* the next job that may preempts, whatever the time is */
    /* preemptions that were due where the fiber could not be left */
    _Atomic uint32_t preemptions_missed;
    _Atomic uint64_t preemptions; /* preemptions made */
    /* quiet until then, unless `descriptor` gets readable; 0: it is not quiet */
    _Atomic int64_t quiet_until_ns;
    _Atomic int descriptor; /* the poller's */
    /* the last job has found that the fiber allocates much beside objects */
    bool allocates;
    /* times that another thread has handed the GVL off to this one */
    uint64_t lock_handoffs;
    /* since when the thread has a fiber and does not run, as jobs on other threads have seen */
    int64_t idle_ns;
    int64_t ran_ns;            /* what the thread had run then */
    int64_t handoff_failed_ns; /* when it last did not take the GVL that it was offered */
    bool owed;                 /* the slice was to end in a call of ours (nb_timeslice_call_ends) */
    bool follows;              /* an event hook tells of each switch of the thread */
    /* the fiber of the last switch that the hook has told of; compared only */
    VALUE switched_to;
    /* milliseconds of collections when the thread began to run its fiber, if `gc_known` */
    size_t gc_ms;
    bool gc_known;
    /* the watchdog's thread alone */
    uint32_t gvl_waits_seen;
    int64_t gvl_waits_seen_ns, contended_ns;
    /* what the thread had run, and since when it has not run more */
    int64_t ran_seen_ns, still_ns;
    int64_t burst_began_ns, asked_ns; /* the burst for which it has asked last, and when */
    uint64_t preemptions_seen;
    int64_t preemption_seen_ns;  /* when there was last a preempted fiber */
    uint32_t missed_seen, again; /* preemptions_missed then; how many in a row in this burst */
    int64_t missed_ns;           /* when one was last seen to be missed; 0: never */
};

/* Time slices of this length, entered into the list of those in use. NULL: there is no memory. */
nb_timeslices *nb_timeslices_make(nb_scheduler *scheduler, int64_t timeslice_ns);
/* Takes them out of the list, to be used again. A thread without the GVL may still look at them. */
void nb_timeslices_put_away(nb_timeslices *timeslices);
/* The first of those in use in this process; the others follow by `next`. */
nb_timeslices *nb_timeslices_in_use(void);
/* The scheduler has no time slices any more. Also in the child of a fork, whose watchdog has no
   observer of the parent's. */
void nb_timeslices_close(nb_scheduler *scheduler);

/* A fiber is about to run. preempted: it goes on where it was preempted; then
   nb_event_loop_work_waits was called right before. */
void nb_timeslices_switch(nb_timeslices *timeslices, int64_t now_ns, bool preempted);
/* No fiber runs. */
void nb_timeslices_rest(nb_timeslices *timeslices);
/* The thread is about to sleep without the GVL; it waits for the GVL; it has the GVL again. */
void nb_timeslices_sleep(nb_timeslices *timeslices);
void nb_timeslices_want_gvl(nb_timeslices *timeslices);
void nb_timeslices_have_gvl(nb_timeslices *timeslices);
/* The loop runs on the calling thread from now on, until nb_timeslices_sleep. */
void nb_timeslices_begin(nb_timeslices *timeslices);
/* The running fiber, or another thread with the GVL, has made something that waits for the end of
   the fiber's time. */
void nb_timeslices_work_comes(nb_timeslices *timeslices);

/* Does anything wait, as far as another thread can see it, too: without asking the poller? Any
   thread with the GVL. */
bool nb_timeslices_work_is_seen(const nb_scheduler *scheduler);
/* Would the source bring something if the fiber were preempted? Any thread with the GVL. */
bool nb_timeslices_source_starves(const nb_scheduler *scheduler);
/* It is quiet from now on. To be called right after nb_event_loop_work_waits, which has read what
   the poller knew. False: something waits, or nothing would tell of it. */
bool nb_timeslices_begin_quiet(nb_timeslices *timeslices, int64_t now_ns);
void nb_timeslices_end_quiet(nb_timeslices *timeslices);

#endif
