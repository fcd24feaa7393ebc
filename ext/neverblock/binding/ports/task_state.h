/*
 * task_state.h - a pooled fiber and the request that it serves: what executor/ and rack/ share of
 * it. Data only; used on the executor's thread, with the GVL.
 */
#ifndef NB_BINDING_TASK_STATE_H
#define NB_BINDING_TASK_STATE_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "binding/scheduler/limit.h"
#include "intake/account.h"
#include "intake/channel.h"
#include "dispatch/exchange.h"
#include "stall/stall.h"

typedef struct nb_executor nb_executor;
typedef struct nb_task nb_task;
typedef struct nb_port nb_port;

struct nb_task {
    nb_executor *executor;
    nb_port *port; /* its request's; of no meaning while it has none */
    nb_task *next; /* free, or waiting for room in the response ring */
    VALUE fiber;
    VALUE env;
    VALUE body;                   /* to be closed; Qnil when there is none or it was */
    VALUE status, headers, error; /* for rack.response_finished */
    /* a spooled body's file, or a streamed body, to be closed; else Qnil */
    VALUE input;
    VALUE writer; /* the fiber that waits for room or for the client */
    VALUE socket; /* the client's, hijacked; Qnil */
    /* a connection that has come for it and is no socket yet; owned; NULL: none */
    nb_handover *handover;
    /* a Deadline::OfRequest until the application has returned its head, or Qnil */
    VALUE deadline;
    /* what ends the request from outside, while the application answers */
    nb_limit limit;
    /* In the ring, or a copy that the task owns; NULL from the time when its words were taken. */
    nb_request_message *request;
    nb_stall_request words; /* of the request, for reports */
    uint32_t record;        /* of the request (intake/fiber_table.h); NB_FIBER_NONE */
    nb_account account;     /* of the request, where the executor keeps accounts */
    nb_exchange_id exchange;
    uint64_t unacknowledged; /* body bytes sent since the backlog was last known to be low */
    int64_t taken_ns;        /* when its fiber began with it */
    size_t collections;      /* rb_gc_count() then */
    unsigned step;           /* the next step of the request (executor/task.c) */
    bool busy;
    bool owns_request;
    bool head_request;
    bool http2;       /* its request came by HTTP/2 */
    bool upgrades;    /* its request asks for another protocol */
    bool spooled;     /* its body is a file */
    bool gone;        /* the client is, or the response was cut: nothing more needs to be sent */
    bool left;        /* the client has finished sending: mostly it has closed (NB_MESSAGE_LEFT) */
    bool events;      /* its response is an event stream, whose client never only half-closes */
    bool cancellable; /* its client's leaving ends it where it waits */
    bool unbegun;     /* its deadline had passed before the application was called */
    bool expired;     /* its deadline has passed and has ended it: 503 */
    bool cancelled;   /* an operator has ended it: 503 */
    bool timed;       /* its response says where its time went (Server-Timing) */
    bool head_sent;
    bool ended;          /* the last part was sent */
    bool waits_drained;  /* parked until the backlog is low */
    bool waits_hijacked; /* parked until the connection is its */
    bool hijack_asked;
    bool waits_room;      /* parked until the response ring has room */
    uint64_t wait_number; /* of the last wait of its writers, over all its requests */
    /* in the list of those that tell what they took of their request's body */
    nb_task *input_next;
    bool input_due;
    /* bytes of its request's body that it has taken, and of which the loop knows */
    uint64_t input_taken, input_told;
    bool retired;        /* its fiber is to end */
    int64_t computed_ns; /* time computed in bursts that were preempted */
    /* of a preempted request: its place in its class (intake/throttle.h); or NB_THROTTLE_NO_SLOT */
    uint16_t throttle_slot;
};

#endif
