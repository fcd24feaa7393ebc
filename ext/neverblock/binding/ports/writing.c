/*
 * writing.c - see writing.h.
 */
#include "binding/ports/writing.h"

#include <stdatomic.h>

#include "binding/base/module.h"
#include "binding/ports/executor_state.h"
#include "binding/ports/port.h"
#include "binding/ports/running.h"
#include "binding/scheduler/limit.h"
#include "binding/scheduler/scheduler.h"

/* Seconds after which a descriptor that could not be sent is sent again. */
#define SEND_AGAIN_S 0.005

void nb_executor_tell_gone(nb_task *task) {
    if (nb_scheduler_root(task->executor->scheduler) == task->fiber) nb_limit_spend(&task->limit);
}

void nb_executor_raise_gone(nb_task *task) {
    nb_executor_tell_gone(task);
    rb_raise(nb_client_gone_class, "the client closed the connection");
}

VALUE nb_executor_park(VALUE scheduler) {
    nb_scheduler_park(scheduler);
    return Qnil;
}

/* A fiber that waits in writing a task's response, and which of the task's waits that is. */
typedef struct wait_call {
    nb_task *task;
    uint64_t number;
} wait_call;

static bool waits(const nb_task *task) { return task->waits_room || task->waits_drained || task->waits_hijacked; }

static void leave_wait(nb_task *task) {
    nb_port *port = task->port;
    nb_task *before = NULL;
    for (nb_task *at = port->room_first; task->waits_room && at; before = at, at = at->next) {
        if (at != task) continue;
        *(before ? &before->next : &port->room_first) = task->next;
        if (port->room_last == task) port->room_last = before;
        break;
    }
    task->waits_room = task->waits_drained = task->waits_hijacked = false;
}

/* However the wait ended: what comes later must not wake the fiber from another. */
static VALUE end_wait(VALUE argument) {
    const wait_call *call = (const wait_call *)argument;
    if (call->task->wait_number == call->number) leave_wait(call->task);
    return Qnil;
}

/* The body may be written by another fiber than the task's: that one waits, and the task may go on
   without it. */
static void wait_in(nb_task *task, nb_fiber_wait_kind kind) {
    wait_call call = {task, ++task->wait_number};
    nb_scheduler_next_wait(task->executor->scheduler, kind);
    task->writer = rb_fiber_current();
    nb_port_ring(task->port);
    rb_ensure(nb_executor_park, task->executor->scheduler, end_wait, (VALUE)&call);
    if (task->wait_number != call.number) rb_raise(nb_error_class, "the response was ended while this fiber wrote it");
}

/* One that was woken, and whose turn has not come yet, finds out by the number. */
void nb_executor_end_wait(nb_task *task) {
    task->wait_number++;
    if (!waits(task)) return;
    leave_wait(task);
    nb_scheduler_ready(task->executor->scheduler, task->writer);
}

static void check_alone(const nb_task *task) {
    if (waits(task)) rb_raise(nb_error_class, "a response is written by one fiber at a time");
}

static void wait_for_room(nb_task *task) {
    nb_port *port = task->port;
    check_alone(task);
    task->next = NULL;
    if (port->room_last) {
        port->room_last->next = task;
    } else {
        port->room_first = task;
    }
    port->room_last = task;
    task->waits_room = true;
    wait_in(task, NB_FIBER_WAIT_client);
}

bool nb_executor_room(nb_task *task, size_t bytes) {
    nb_executor *executor = task->executor;
    if (executor->over || nb_executor_in_child(executor))
        rb_raise(nb_client_gone_class, "the executor of this request has ended");
    if (nb_port_reserve(task->port, bytes)) return true;
    if (task->port->stop_received) rb_raise(nb_client_gone_class, "the server has ended");
    wait_for_room(task);
    return false;
}

void *nb_executor_reserve(nb_task *task, size_t bytes) {
    while (!nb_executor_room(task, bytes)) {
    }
    return nb_ring_reserve(&task->port->responses, bytes);
}

/* The descriptor cannot be sent now. The loop wakes the fiber when it takes what is before it. If
   that is nothing, other processes' descriptors are in transit (ETOOMANYREFS, unix(7)), of whose
   arrival nobody is told. */
static void wait_to_send_fd(nb_task *task) {
    nb_ring_producer *responses = &task->port->responses;
    if (nb_ring_given_back(responses, nb_ring_end(responses))) {
        rb_funcall(rb_mKernel, rb_intern("sleep"), 1, DBL2NUM(SEND_AGAIN_S));
    } else {
        wait_for_room(task);
    }
}

void *nb_executor_reserve_with(nb_task *task, size_t bytes, int fd) {
    nb_port *port = task->port;
    for (;;) {
        void *place = nb_executor_reserve(task, bytes);
        nb_status status = nb_channel_send_fd(port->channel, fd);
        if (status == NB_AGAIN) {
            nb_port_announce_blocked(port);
            status = nb_channel_send_fd(port->channel, fd);
        }
        if (status == NB_SYSTEM) rb_raise(nb_client_gone_class, "the server has ended");
        if (status == NB_OK) return place;
        wait_to_send_fd(task);
    }
}

void nb_executor_send(nb_task *task, size_t bytes) { nb_port_publish(task->port, bytes); }

void nb_executor_flush(nb_task *task) { nb_port_ring(task->port); }

uint64_t nb_executor_backlog_high(const nb_task *task) {
    return atomic_load_explicit(&task->port->channel->memory->response_window_bytes, memory_order_relaxed) / 2;
}

void nb_executor_wait_hijacked(nb_task *task) {
    while (!task->handover) {
        if (task->gone) rb_raise(nb_client_gone_class, "the client closed the connection");
        check_alone(task);
        task->waits_hijacked = true;
        wait_in(task, NB_FIBER_WAIT_connection);
    }
}

void nb_executor_wait_drained(nb_task *task) {
    check_alone(task);
    task->waits_drained = !task->gone;
    if (task->waits_drained) wait_in(task, NB_FIBER_WAIT_client);
    task->unacknowledged = 0;
    if (task->gone) nb_executor_raise_gone(task);
}

static bool send_taken(nb_task *task) {
    nb_port *port = task->port;
    nb_taken_message *message = nb_port_reserve(port, sizeof(*message));
    if (!message) return false;
    *message = (nb_taken_message){
        .message = {.type = NB_MESSAGE_TAKEN, .bytes = sizeof(*message), .exchange = task->exchange},
        .bytes = task->input_taken};
    task->input_told = task->input_taken;
    nb_port_publish(port, sizeof(*message));
    return true;
}

void nb_executor_tell_taken(nb_task *task) {
    nb_port *port = task->port;
    if (task->input_due || send_taken(task)) return;
    task->input_due = true;
    task->input_next = port->input_first;
    port->input_first = task;
}

void nb_port_tell_taken(nb_port *port) {
    while (port->input_first) {
        nb_task *task = port->input_first;
        if (!send_taken(task)) return;
        port->input_first = task->input_next;
        task->input_due = false;
    }
}

void nb_executor_forget_taken(nb_task *task) {
    if (!task->input_due) return;
    nb_task **link = &task->port->input_first;
    while (*link != task)
        link = &(*link)->input_next;
    *link = task->input_next;
    task->input_due = false;
}
