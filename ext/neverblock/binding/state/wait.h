/*
 * wait.h - the wait of a fiber, and how it ends.
 *
 * A wait lives on the C stack of the fiber that waits, from nb_wait_init to the end of nb_wait_park
 * (scheduler/park.h). It is found by its fiber (state/parked.h), by its deadline (timers) and by
 * its descriptors (state/watch.h); nb_wait_park enters it and takes it out of all three, whatever
 * ends it. A wake that comes late therefore finds no wait, and one that comes second finds a wait
 * that is no longer NB_WAITING: no wake reaches a later wait and none counts twice.
 */
#ifndef NB_BINDING_WAIT_H
#define NB_BINDING_WAIT_H

#include "binding/state/late.h"
#include "binding/state/serving.h"
#include "binding/state/state.h"

typedef enum nb_wait_kind {
    NB_WAIT_PARK,      /* nb_scheduler_park: nb_scheduler_ready wakes it */
    NB_WAIT_SLEEP,     /* kernel_sleep: its deadline or unblock */
    NB_WAIT_BLOCK,     /* block: its deadline or unblock */
    NB_WAIT_IO,        /* its descriptors or its deadline */
    NB_WAIT_SPAWN,     /* until the fiber it has started parks or ends */
    NB_WAIT_ASK,       /* a native thread's answer */
    NB_WAIT_TRANSFER,  /* of a scheduler above this one: a wake, or a transfer to the fiber */
    NB_WAIT_PREEMPTED, /* for its turn only: its fiber was preempted (timeslices/timeslice.h) */
} nb_wait_kind;

typedef enum nb_wait_state {
    NB_WAITING,
    NB_READY,   /* in the ready queue (or, NB_WAIT_SPAWN, about to be switched to) */
    NB_RESUMED, /* its fiber runs again */
} nb_wait_state;

typedef enum nb_wait_outcome { NB_WOKEN, NB_TIMED_OUT, NB_RAISES } nb_wait_outcome;

/* What the gem ffi keeps for the thread (fibers/ffi_state.h). */
typedef struct nb_ffi_state {
    int error;
    void *call; /* the innermost, on the fiber's stack; NULL: none is under way */
    bool left;  /* false: there is nothing to be given back */
} nb_ffi_state;

typedef struct nb_wait nb_wait;
struct nb_wait {
    nb_list link; /* ready queue or spawners; linked to itself when in neither */
    nb_alarm alarm;
    nb_scheduler *scheduler;
    VALUE self; /* the scheduler's object: seen on this stack, it keeps `scheduler` alive */
    VALUE fiber;
    VALUE root;       /* its root fiber (fibers/root.h), or nil */
    VALUE status;     /* $? of the root fiber: Ruby keeps one for the thread */
    nb_ffi_state ffi; /* the fiber's, from when it is left */
    /* NB_RAISES: what nb_wait_park raises, or an array of raise's arguments */
    VALUE exception;
    nb_list *late_link;           /* NB_RAISES: the link of the nb_late that raises, or NULL */
    VALUE spawned;                /* NB_WAIT_SPAWN: where the fiber goes instead of to the loop */
    VALUE masks;                  /* nb_held_back, as the fiber parked */
    nb_wait *outer;               /* a wait of the same fiber that this one lies on top of */
    void (*leave)(nb_wait *wait); /* called when the wait ends, however it ends; must not raise */
    nb_wait_kind kind;
    nb_wait_state state;
    nb_wait_outcome outcome;
    bool shielded; /* what is raised into it is raised in the fiber's next wait that is not */
    bool counted;  /* in ready_count */
    /* its fiber is pinned: no other fiber of the thread runs until it ends (fibers/pin.h) */
    bool pinned;
    /* the scheduler's, while this fiber does not run, as are all of these */
    nb_resumed_in resumed_in;
    uint8_t question;
    unsigned preempt_disabled;
    nb_resume *resumes;
    nb_serving serving;
    nb_socket_use last_socket;
    nb_wait_about about; /* for those who look at the server */
    uint32_t record;     /* state/fiber_record.h; NB_FIBER_NONE */
    /* since when it counts in its request's account, and as which kind; 0: it does not */
    int64_t accounted_ns;
    uint8_t accounted_kind;
    uint32_t place;   /* in the waterfall of its request (intake/waterfall.h); NB_WATERFALL_NONE */
    int64_t ready_ns; /* when it was over, if it counts; 0: it is not */
};

void nb_wait_init(nb_wait *wait, nb_scheduler *scheduler, nb_wait_kind kind);
/* The wait is over, or its fiber runs: it is not among the ready ones any more. In a forked child
   the count begins again from 0. */
static inline void nb_wait_uncount(nb_wait *wait) {
    if (wait->counted && wait->scheduler->ready_count > 0) wait->scheduler->ready_count--;
    wait->counted = false;
}
/* Tells the loops that the wait is over, though its fiber may not run yet. */
static inline void nb_wait_tell_ready(const nb_wait *wait) {
    nb_fiber_memory *memory = wait->record == NB_FIBER_NONE ? NULL : nb_fiber_memory_of(wait->scheduler);
    if (memory) nb_fiber_wait_ready(memory, wait->record);
}
/* Puts the wait into the ready queue. False: it is no longer NB_WAITING. Wakes the loop when it
   sleeps. */
bool nb_wait_wake(nb_wait *wait, nb_wait_outcome outcome);
/* Wakes it so that nb_wait_park raises. False: it was woken before. A Mutex or Queue that has woken
   this fiber has woken no other, so that what it was woken for must not be lost. The same holds for
   a wake that comes after this, before the fiber runs: the wait then ends as woken, and the fiber's
   next wait raises. late_link: the link of the nb_late that raises, or NULL. */
bool nb_wait_raise(nb_wait *wait, VALUE exception, nb_list *late_link);
/* What the wait is for is gone: it raises this, unless it is over. Also in a shield, as this does
   not come from outside. Calls no method and looks for no interrupts. */
void nb_wait_fail(nb_wait *wait, VALUE exception);
/* The exception could not be raised in the fiber: its next wait raises it. */
void nb_wait_defer(nb_scheduler *scheduler, VALUE fiber, VALUE exception);
/* Takes the oldest deferred exception of this fiber, or nil. Forgets those of fibers that have
   ended. */
VALUE nb_wait_take_deferred(nb_scheduler *scheduler, VALUE fiber);
/* A time interval of Ruby's as a deadline: nil is INT64_MAX. Raises TypeError, ArgumentError
   (negative). */
int64_t nb_wait_deadline(nb_scheduler *scheduler, VALUE interval);

#endif
