/*
 * executor.h - NeverBlock::Executor: takes requests from its channel and runs each in a pooled fiber: application call,
 * body, clean-up.
 *
 * An executor is a source of its scheduler (scheduler.h). It has a port to each I/O loop of the server: that one's channel
 * and what belongs to it. Each turn it takes what its rings hold and switches to a task's fiber for each request; a fiber that ends its request without having parked takes the next itself. Response
 * parts go straight into the response ring. It asks for more requests (`wanted`) each time its turn has ended. All of
 * it runs on one Ruby thread, with the GVL.
 */
#ifndef NB_BINDING_EXECUTOR_H
#define NB_BINDING_EXECUTOR_H

#include <ruby.h>
#include <stdbool.h>

#include "binding/rack/env.h"
#include "binding/scheduler/limit.h"
#include "binding/scheduler/scheduler.h"
#include "intake/channel.h"
#include "server/exchange.h"
#include "server/server.h"
#include "stall/stall.h"

/* Of address space, not of memory: for a collection, for what a request that runs still makes, and for a stop. */
#define NB_EXECUTOR_RESERVE_BYTES ((size_t)32 << 20)

typedef struct nb_executor nb_executor;
typedef struct nb_task nb_task;
typedef struct nb_port nb_port;

/* A pooled fiber and the request it serves. */
struct nb_task {
    nb_executor *executor;
    nb_port *port; /* its request's; of no meaning while it has none */
    nb_task *next; /* free, or waiting for room in the response ring */
    VALUE fiber;
    VALUE env;
    VALUE body;                   /* to be closed; Qnil when there is none or it was */
    VALUE status, headers, error; /* for rack.response_finished */
    VALUE input;                  /* a spooled body's file, or a streamed body, to be closed; else Qnil */
    VALUE writer;                 /* the fiber that waits for room or for the client */
    VALUE socket;                 /* the client's, hijacked; Qnil */
    nb_handover *taken;           /* a connection that came for it and is no socket yet; owned; NULL: none */
    VALUE deadline;               /* a Deadline::OfRequest until the application has returned its head, or Qnil */
    nb_limit limit;               /* what ends the request from outside, while the application answers */
    nb_request_message *request;  /* in the ring; valid until the fiber first parks */
    nb_stall_request words;       /* of the request, for reports */
    nb_exchange_id exchange;
    uint64_t unacknowledged; /* body bytes sent since the backlog was last known to be low */
    int64_t taken_ns;        /* when its fiber began with it */
    size_t collections;      /* rb_gc_count() then */
    unsigned step;           /* of the request's: the next one */
    bool busy;
    bool head_request;
    bool upgrades;    /* its request asks for another protocol */
    bool spooled;     /* its body is a file */
    bool gone;        /* the client is, or the response was cut: nothing more needs to be sent */
    bool left;        /* the client has finished sending: mostly it has closed (NB_MESSAGE_LEFT) */
    bool events;      /* its response is an event stream, whose client never only half-closes */
    bool cancellable; /* its client's leaving ends it where it waits */
    bool unbegun;     /* its deadline had passed before the application was called */
    bool overdue;     /* its deadline has ended it: 503 */
    bool head_sent;
    bool ended;          /* the last part was sent */
    bool waits_drained;  /* parked until the backlog is low */
    bool waits_hijacked; /* parked until the connection is its */
    bool hijack_asked;
    bool waits_room;      /* parked until the response ring has room */
    uint64_t wait_number; /* of the last wait of its writers, over all its requests */
    nb_task *input_next;  /* in the list of those that tell what they took of their request's body */
    bool input_due;
    bool retired;        /* its fiber is to end */
    int64_t computed_ns; /* in slices that have ended */
    uint16_t crowd; /* its slice has ended before: its place among those of its like (intake/crowds.h); NB_CROWD_NONE */
};

struct nb_port {
    nb_executor *executor;
    nb_channel *channel;
    nb_ring_consumer requests;
    nb_ring_producer responses;
    nb_task **by_exchange; /* by the slot of the exchange id */
    uint32_t by_exchange_count;
    nb_task *room_first, *room_last; /* tasks waiting for room in the response ring */
    nb_task *input_first;            /* tasks with something to tell of their request's body, when there is room */
    unsigned taken;                  /* messages, since the drain began */
    bool in_hand;                    /* a fiber has the ring's first message, which is to be advanced over */
    int64_t unrung_since_ns;         /* when the first part was published for which the loop was not rung; 0: none */
    nb_exchange_id *refused;         /* requests for which there was no fiber, to be answered when there is room */
    uint32_t refused_count;
    bool stop_received; /* nobody reads what is still written */
    bool ends;          /* no request will come any more */
};

struct nb_executor {
    VALUE self, owner, app, log, scheduler, deadline_class,
        fiber_state;   /* owner: of the channel, an Engine or a Link */
    VALUE thread;      /* that runs it */
    nb_server *server; /* while it runs for an engine of this process; else NULL */
    bool guest;        /* it may run the I/O loop's turns (server/lease.h) */
    nb_link *link;
    nb_board *board; /* the link's */
    nb_port *ports;  /* by the number of the loop; NULL: it is not initialized */
    uint16_t port_count;
    uint16_t port_next;  /* the first to be drained in the next turn */
    uint16_t lane;       /* a thread of which it is: one request at a time, without a scheduler; 0: of fibers */
    VALUE helped;        /* the Executor whose spare it is, or nil */
    int64_t answered_ns; /* of a spare: the last call it came to (executor/spare.c) */
    int64_t free_ns;     /* when it was last called, if it got Ruby's lock at once then; else 0 */
    bool finishes;       /* no request will come, whatever the channels say */
    nb_env_builder env;
    nb_task **tasks; /* all */
    uint32_t task_count, fibers_max, running;
    uint32_t fibers;       /* of tasks, those that have not ended */
    uint32_t running_peak; /* most at once since the pool was last trimmed */
    bool crowded; /* stacks have taken the address space, but for the reserve, which is in use: no more fibers */
    int64_t trimmed_ns;
    nb_task *idle;
    char *scratch; /* where a response's head is gathered; NULL while a task has it */
    size_t scratch_bytes;
    uint64_t received;        /* requests, since the start, those recalled included */
    int64_t entry_until_ns;   /* no request is begun with after that in this turn */
    int64_t entry_ns;         /* of its thread's time that a request takes until it first waits, a mean; 0: not known */
    const nb_task *direct;    /* whose fiber the drain has switched to; it has not parked since */
    unsigned forks;           /* nb_fork_generation, when it began to run */
    bool figures;             /* somebody reads what has to be measured (intake/channel.h) */
    int64_t turn_began_ns;    /* 0: it has not */
    int64_t awake_ns;         /* since when; 0: it sleeps */
    uint64_t received_asleep; /* `received` when it last slept */
    int64_t figures_told_ns;  /* when the process's figures were last brought up to date */
    size_t gc_told;           /* collections, then */
    uint64_t gc_before[4];    /* count, minor, major, time (ms) that a worker's process has from its mold */
    unsigned slice_ms;        /* 0: fibers switch only where they wait */
    bool ran, rack2;
    bool sendfile, accel;    /* X-Sendfile, X-Accel-Redirect of its responses name files that the server sends */
    bool finished;           /* run has returned, with no request left */
    bool over;               /* run has ended: the channel may be gone */
    VALUE stalls;            /* how it is watched (lib/neverblock/stalls.rb), or nil */
    struct watched *watched; /* stalls.c */
    nb_executor *next;       /* of those that run in this process */
};

void nb_executor_define(VALUE module);
/* Of a NeverBlock::Executor. */
nb_executor *nb_executor_get(VALUE self);

/* That the current thread runs, or NULL. */
nb_executor *nb_executor_running_here(void);
/* All that run in this process, by `next`. */
nb_executor *nb_executor_running(void);

/* What it tells the loops of itself. */
static inline nb_executor_figures *nb_executor_figures_of(const nb_executor *executor) {
    return &executor->board->figures;
}

/* A fork's child goes on with the fiber that forked; the channel is its parent's. */
bool nb_executor_in_child(const nb_executor *executor);

/* For a task's fiber that has ended its request and given the task back to the pool: gives it the next request that
   waits, when the drain itself runs this fiber. That saves parking it and switching to it again. */
bool nb_executor_next(nb_task *task);

/* `running` or `fibers` has changed. */
void nb_executor_tell_running(nb_executor *executor);

/* Now, by the clock that stamps each switch of fibers. */
int64_t nb_executor_switched_ns(const nb_executor *executor);
/* The current fiber is about to learn that the client is gone; when it is the task's, nothing else ends it any more. */
void nb_executor_tell_gone(nb_task *task);
/* Raises NeverBlock::ClientGone in the current fiber, where it writes. */
_Noreturn void nb_executor_raise_gone(nb_task *task);

/* nb_scheduler_park in the shape rb_protect and rb_ensure take. */
VALUE nb_executor_park(VALUE scheduler);

/* Who waits in writing the task's response, or has been woken there and has not run since, goes on with an exception:
   the response ends, or the request has. */
void nb_executor_end_wait(nb_task *task);
/* Room for a part of `bytes` in the response ring; parks the fiber until there is. Never NULL. Raises
   NeverBlock::ClientGone when nobody is left to read it, and what is raised into the fiber meanwhile. */
void *nb_executor_reserve(nb_task *task, size_t bytes);
/* There is room for `bytes`; false: there was none, the fiber has been parked, and what it decided before may be out of date. Raises as
   nb_executor_reserve does. */
bool nb_executor_room(nb_task *task, size_t bytes);
/* The same for a part with a descriptor, which is the loop's when the part has been sent. */
void *nb_executor_reserve_with(nb_task *task, size_t bytes, int fd);
/* Ends the part and makes it visible; rings the loop when it has waited long. */
void nb_executor_send(nb_task *task, size_t bytes);
/* The loop looks at what was sent now. */
void nb_executor_flush(nb_task *task);
/* Body bytes a response may have sent since its backlog was last known to be low; then its writer parks. */
uint64_t nb_executor_backlog_high(const nb_task *task);
/* The task whose request the fiber runs; NULL: none. Safe in a signal handler. */
static inline nb_task *nb_executor_task_of(const nb_executor *executor, VALUE fiber) {
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_task *task = executor->tasks[i];
        if (task->fiber == fiber && task->busy) return task;
    }
    return NULL;
}
/* The task of an exchange, if it is a task of the executor that the current thread runs. */
nb_task *nb_executor_find_task(nb_exchange_id exchange);
/* The same of any executor of this process. */
nb_task *nb_executor_find_task_anywhere(nb_exchange_id exchange);
/* Parks until the connection that was asked for is the task's (`taken`). Raises NeverBlock::ClientGone, and what is raised into the fiber
   meanwhile. */
void nb_executor_wait_hijacked(nb_task *task);
/* Tells the loop what the task's application has taken of its streamed body, now or when the ring has room. */
void nb_executor_tell_taken(nb_task *task);
void nb_executor_forget_taken(nb_task *task);
/* Parks until the response's backlog is low or the client is gone. Raises what is raised into the fiber meanwhile. */
void nb_executor_wait_drained(nb_task *task);

#endif
