/*
 * state.h - what a scheduler is made of. Data only: each part has a header of its own, and the
 * folders above say what is done with it. Outside of these folders a scheduler is the Ruby object
 * that scheduler/scheduler.h takes. All is used with the GVL, on the scheduler's thread unless a
 * part says otherwise.
 *
 * The scheduler is not WB_PROTECTED: it is marked at every minor collection, so that parking needs
 * no write barrier. (Fibers are not protected either; nothing would be won.) Everything marked is
 * pinned in the sense of the collector: the table hashes addresses.
 */
#ifndef NB_BINDING_STATE_H
#define NB_BINDING_STATE_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "binding/state/heap.h"
#include "binding/state/inbox.h"
#include "binding/state/parked.h"
#include "binding/state/sleeper.h"
#include "binding/state/source.h"
#include "binding/state/watch.h"
#include "intake/account.h"
#include "intake/fiber_table.h"

typedef struct nb_scheduler nb_scheduler;
typedef struct nb_timeslices nb_timeslices;
typedef struct nb_resume nb_resume;
typedef struct nb_wait nb_wait;

/* What a fiber asks of the fibers that have resumed it (fibers/resume.h): do their frames pin it to
   the thread? May it not be preempted there? */
typedef enum nb_resume_question { NB_ASKS_NOTHING, NB_ASKS_PIN, NB_ASKS_PREEMPT } nb_resume_question;

/* What some fiber is in that has resumed this one, directly or not (fibers/region.h). */
typedef struct nb_resumed_in {
    bool region, shield;
} nb_resumed_in;

/* The request that a fiber works for, as the loops are told of it (state/serving.h). */
typedef struct nb_serving {
    uint64_t exchange; /* 0: none */
    /* its executor's, or NULL; of no meaning where it has another exchange (accounting.h) */
    nb_account *account;
    uint32_t record; /* NB_FIBER_NONE */
    bool own;        /* it is the request's own fiber */
} nb_serving;

/* What was counted last for the accounts of requests (accounting.h). */
typedef struct nb_accounted {
    int64_t at_ns;
    int64_t told_ns;  /* up to when the loops were told (intake/fiber_table.h) */
    int64_t gc_ns;    /* of the process, since it began */
    uint64_t objects; /* likewise */
} nb_accounted;

/* What the next wait is for. It is forgotten where none begins before the next switch. */
typedef struct nb_next_wait {
    uint64_t switches; /* `switches` of the scheduler when it was told */
    int32_t number;
    uint8_t kind; /* nb_fiber_wait_kind; 0: not told */
    uint8_t text_bytes;
    char text[NB_FIBER_TEXT_BYTES];
} nb_next_wait;

/* The fiber that starts new fibers (fibers/start.h). */
typedef struct nb_starter {
    VALUE fiber, thread; /* nil: not made yet */
    VALUE error;         /* what was raised in it, to be raised by the loop, or nil */
} nb_starter;

struct nb_scheduler {
    VALUE self;
    /* --- scheduler/beneath.h --- */
    VALUE above; /* the scheduler that has this loop's turns run, or nil */
    /* the fiber that has something transfer to another, and waits for that, or nil */
    VALUE relay;
    nb_wait *relayed; /* the wait that this has ended, or NULL */

    /* --- the fiber that runs; meaningful while `switched` --- */
    VALUE loop_fiber; /* the fiber that parked fibers transfer to */
    /* the fiber that the loop has switched to; the fiber that runs is this one, or resumed by it */
    VALUE root;
    bool switched; /* a fiber runs that the loop has switched to */
    bool parks;    /* the fiber that has come back to the loop has parked */
    nb_resumed_in resumed_in;
    /* steps of ours it is in that forbid preemption, as preempt_disable of Linux */
    unsigned preempt_disabled;
    /* the innermost of the resumes between the root fiber and it, or NULL */
    nb_resume *resumes;
    /* nb_resume_question: what the resumed fiber that has yielded asks */
    uint8_t question;
    bool answer; /* to that question */
    nb_serving serving;
    /* of a socket that may be cut (nb_watches_to_cut): the latest use by the running fiber, or by
       one that it has resumed */
    nb_socket_use last_socket;
    nb_accounted counted;
    nb_next_wait next_wait;
    uint64_t switches; /* to fibers, since it was made */
    /* since the last switch a fiber did not park, as its descriptor was ready */
    bool went_on;
    nb_starter starter;
    /* caught beside the loop, which jumps to it (nb_scheduler_switch_to, nb_heap_turn) */
    int pending_tag;

    /* --- fibers that wait --- */
    nb_parked_table parked;
    nb_list ready;
    nb_list pass;      /* the snapshot of `ready` that the current pass works off */
    nb_list preempted; /* waits of preempted fibers; each turn goes on with one */
    nb_list spawners;
    size_t ready_count;           /* waits that were woken and whose fiber does not run yet */
    int64_t preempted_resumed_ns; /* when a preempted fiber last went on */
    /* each nb_late that has expired while its fiber was in no wait that it could end */
    nb_list expired;
    nb_list blocks; /* each nb_late whose block has not ended */
    /* waits for a native thread that uses a descriptor (hooks/file_io.h) */
    nb_list files;
    /* waits for the fibers that their own has scheduled (state/children.h) */
    nb_list awaiting;
    nb_list children; /* each nb_child that has not ended */
    /* fiber => has a wake come, of those on their way into a ConditionVariable's sleep; or nil */
    VALUE expecting;
    /* [[fiber, exception], ...] of others that have to wait for the fiber's next wait; nil: none */
    VALUE deferred;
    size_t regions; /* regions that fibers are in; 0 saves looking for one */
    size_t shields; /* likewise shield blocks */
    size_t pins;    /* pin blocks that fibers are in; 0 saves looking for one */
    /* yield_lock blocks that fibers are in: they wait for threads that need the GVL */
    size_t lock_yielders;
    int64_t yield_lock_ns; /* what the thread will have run when it yields the GVL again */

    /* --- what wakes them --- */
    nb_timers timers;
    int64_t now_ns;
    bool waited;    /* a wait was recorded since the source has asked */
    bool now_fresh; /* now_ns was read since the last switch to a fiber */
    nb_watches watches;
    nb_sleeper sleeper;
    nb_inbox *inbox;           /* NULL: nothing was ever expected */
    nb_timeslices *timeslices; /* NULL: fibers switch only where they wait */
    nb_heap heap;
    nb_scheduler_source source;
    bool attached;  /* source is set */
    bool abandoned; /* its fibers are dropped (nb_scheduler_abandon) */

    unsigned fork_generation;
    nb_list all;      /* every scheduler of the process */
    size_t marked_in; /* the number of the collection that has last marked it (rb_gc_count) */
};

/* The root fiber of the running fiber: the fiber that the loop has switched to; those that it
   resumes, directly or not, stand above it. nil: the loop has switched to none. */
static inline VALUE nb_root_now(const nb_scheduler *scheduler) { return scheduler->switched ? scheduler->root : Qnil; }

#endif
