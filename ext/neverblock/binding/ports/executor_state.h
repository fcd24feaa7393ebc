/*
 * executor_state.h - what an executor is made of. Data only; executor/executor.h says what is done
 * with it.
 *
 * An executor has a port to each I/O loop of the server: its end of that loop's channel. All of it
 * is used on one Ruby thread, with the GVL, unless a field says otherwise.
 */
#ifndef NB_BINDING_EXECUTOR_STATE_H
#define NB_BINDING_EXECUTOR_STATE_H

#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "binding/ports/task_state.h"
#include "intake/channel.h"
#include "server/server.h"

struct nb_executor {
    VALUE self, owner, app, log, scheduler, deadline_class,
        fiber_state;   /* owner: of the channel, an Engine or a Link */
    VALUE above;       /* the Fiber::Scheduler above ours, whose tasks requests are, or nil */
    VALUE thread;      /* that runs it */
    nb_server *server; /* while it runs for an engine of this process; else NULL */
    bool guest;        /* it may run the I/O loop's turns (server/lease.h) */
    nb_link *link;
    nb_board *board; /* the link's */
    nb_port *ports;  /* by the number of the loop; NULL: it is not initialized */
    uint16_t port_count;
    uint16_t port_next; /* the first to be drained in the next turn */
    /* a thread of which it is: one request at a time, without a scheduler; 0: of fibers */
    uint16_t lane;
    VALUE helped;       /* the Executor whose spare it is, or nil */
    nb_executor *helps; /* the same, or NULL */
    /* of a spare: the last call that it has answered (executor/spare.h) */
    int64_t answered_ns;
    /* when it was last called, if it got Ruby's lock at once then; else 0 */
    int64_t free_ns;
    bool finishes;              /* no request will come, whatever the channels say */
    struct nb_env_builder *env; /* rack/env.h */
    nb_task **tasks;            /* all */
    uint32_t task_count, fibers_max, running;
    uint32_t fibers;       /* of tasks, those that have not ended */
    uint32_t running_peak; /* most at once since the pool was last trimmed */
    /* stacks have taken the address space, but for the reserve, which is in use: no more fibers */
    bool crowded;
    int64_t trimmed_ns;
    nb_task *idle;
    char *scratch; /* where a response's head is gathered; NULL while a task has it */
    size_t scratch_bytes;
    uint64_t received;      /* requests, since the start, those requeued included */
    int64_t entry_until_ns; /* this turn begins with no request after this time */
    /* time of its thread that a request takes until it first waits, a mean; 0: not known */
    int64_t entry_ns;
    /* the task whose fiber the drain has switched to, and which has not parked since */
    const nb_task *direct;
    unsigned forks;  /* nb_fork_generation, when it began to run */
    uint64_t number; /* of no other executor that this process has run; 0: it has not run */
    /* Server-Timing of responses: false, true, or the secret by which a request asks for it */
    VALUE server_timing;
    bool request_times;       /* env has where a request's time went, when its response is done */
    bool accounts;            /* somebody reads where requests' time went (intake/account.h) */
    bool figures;             /* somebody reads what has to be measured (intake/channel.h) */
    int64_t turn_began_ns;    /* 0: it has not */
    int64_t awake_ns;         /* since when; 0: it sleeps */
    uint64_t received_asleep; /* `received` when it last slept */
    int64_t figures_told_ns;  /* when the process's figures were last brought up to date */
    size_t gc_told;           /* collections, then */
    /* count, minor, major, time (ms) that a worker's process has from its mold */
    uint64_t gc_before[4];
    unsigned slice_ms; /* 0: fibers switch only where they wait */
    bool ran, rack2;
    /* X-Sendfile, X-Accel-Redirect of its responses name files that the server sends */
    bool sendfile, accel;
    bool finished;              /* run has returned, with no request left */
    bool over;                  /* run has ended: the channel may be gone */
    bool abandoned;             /* in a child: it has let go of connections (rack/hijack.h) */
    VALUE stalls;               /* how it is watched (lib/neverblock/server/stalls.rb), or nil */
    struct nb_watched *watched; /* stalls/watched.h; NULL: it is not watched */
    /* traces of parked fibers (executor/fiber_traces.h): the room they are made in, or NULL; the
       question that is being answered, or 0; the places that come next in the table */
    struct nb_stall *trace;
    int64_t traces_for_ns, traces_long_ns;
    size_t trace_place, trace_long_place;
    size_t traced_places;  /* looked at one after the other, in which nothing was left to trace */
    uint32_t traces_taken; /* since a wait has begun */
    nb_slow_request *slow; /* room for one (executor/slow_requests.h), or NULL */
    /* requests that are observed (executor/observed_requests.h), or NULL */
    struct nb_observing *observing;
    struct nb_stall_places *places; /* whose code lies where; NULL: it is not initialized */
    nb_executor *next;              /* of those that run in this process */
};

/* What it tells the loops of itself. */
static inline nb_executor_figures *nb_executor_figures_of(const nb_executor *executor) {
    return &executor->board->figures;
}

/* Now, by the clock that stamps each switch of fibers. */
static inline int64_t nb_executor_switched_ns(const nb_executor *executor) {
    return atomic_load_explicit(&executor->board->pulse.switched_ns, memory_order_relaxed);
}

#endif
