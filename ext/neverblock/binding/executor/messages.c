/*
 * messages.c - see messages.h.
 */
#include "binding/executor/messages.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "binding/base/module.h"
#include "binding/executor/requests.h"
#include "binding/executor/task.h"
#include "binding/ports/executor_state.h"
#include "binding/ports/running.h"
#include "binding/ports/writing.h"
#include "binding/rack/input.h"
#include "binding/rack/response.h"
#include "binding/scheduler/limit.h"
#include "binding/scheduler/scheduler.h"
#include "os/memory.h"
#include "os/net.h"

static ID id_report_fewer;
static VALUE gone_arguments, cancelled_arguments, stopped_arguments; /* of raise */

static VALUE report_fewer(VALUE argument) {
    VALUE *arguments = (VALUE *)argument;
    return rb_funcallv(arguments[0], id_report_fewer, 2, arguments + 1);
}

/* A request is answered 503, as there is no fiber for it, or no descriptor for its body. */
static void refuse(nb_port *port, const nb_request_message *request) {
    if (request->body_fd >= 0) close((int)request->body_fd);
    nb_exchange_id *larger = nb_realloc(port->refused, (port->refused_count + 1) * sizeof(*larger));
    if (!larger) rb_memerror();
    port->refused = larger;
    larger[port->refused_count++] = request->message.exchange;
}

/* Takes the error of a failed call of Ruby, which is raised no more. */
static VALUE take_error(void) {
    VALUE error = rb_errinfo();
    rb_set_errinfo(Qnil);
    return error;
}

/* There is no room for another fiber: from now on no more requests are asked for than can run. The
   reserve is used for what comes now, as Ruby ends the process where a collection finds no
   memory. */
static void run_fewer(nb_executor *executor, VALUE error) {
    nb_memory_use_reserve();
    uint32_t possible = executor->running ? executor->running : 1;
    if (possible >= executor->fibers_max) return;
    executor->fibers_max = possible;
    VALUE arguments[] = {executor->self, UINT2NUM(possible), error};
    int tag = 0;
    rb_protect(report_fewer, (VALUE)arguments, &tag);
    if (tag) rb_set_errinfo(Qnil);
}

static VALUE want_of_room(VALUE unused) {
    (void)unused;
    return rb_exc_new_cstr(rb_eNoMemError, "the limit of address space (ulimit -v) leaves no room for another fiber");
}

/* The fibers have taken the address space, and the reserve is in use. */
static void keep_room(nb_executor *executor) {
    int tag = 0;
    executor->crowded = false;
    VALUE error = rb_protect(want_of_room, Qnil, &tag);
    run_fewer(executor, tag ? take_error() : error);
}

static void answer_refused(nb_port *port) {
    while (port->refused_count > 0) {
        void *place = nb_port_reserve(port, NB_RESPONSE_REFUSAL_BYTES_MAX);
        if (!place) return;
        nb_port_publish(port, nb_response_write_refusal(place, port->refused[--port->refused_count]));
    }
}

/* The fiber has parked before it began: what waits in a finalizer of Ruby may run in any fiber that
   is switched to. */
static void keep_request(nb_port *port, nb_task *task) {
    size_t bytes;
    const void *record = nb_ring_peek(&port->requests, &bytes);
    NB_ASSERT(record == task->request);
    nb_task_own_request(task, bytes);
}

static void start(nb_port *port, nb_request_message *request) {
    nb_executor *executor = port->executor;
    /* where it raises, the message stays in the ring for the next turn */
    nb_task *task = nb_task_take(executor);
    if (!nb_request_take(port, request)) {
        if (task) {
            nb_task_give_back(task);
        } else {
            /* nothing is refused, and a join of this thread must not raise it */
            rb_set_errinfo(Qnil);
        }
        return;
    }
    bool has_file = request->body_fd >= 0;
    nb_request_take_body(port, request);
    /* this process has no descriptor left for the body */
    if (!task || (has_file && request->body_fd < 0)) {
        if (task) nb_task_give_back(task);
        refuse(port, request);
        if (!task) run_fewer(executor, take_error());
        return;
    }
    nb_request_give(task, port, request);
    executor->direct = task;
    nb_scheduler_switch_to(executor->scheduler, task->fiber);
    executor->direct = NULL;
    if (nb_executor_in_child(executor)) return; /* the board is the parent's */
    atomic_store_explicit(&executor->board->pulse.running, 0, memory_order_relaxed);
    bool begun = !nb_task_not_begun(task, request);
    if (!begun && nb_scheduler_take_want(executor->scheduler)) {
        nb_task_drop(task);
        refuse(port, request);
        run_fewer(executor, take_error());
        return;
    }
    if (!begun) keep_request(port, task);
    if (executor->crowded) keep_room(executor);
}

static void wake_task(nb_executor *executor, nb_task *task) {
    if (task->waits_drained || task->waits_hijacked) nb_scheduler_ready(executor->scheduler, task->writer);
    task->waits_drained = task->waits_hijacked = false;
}

static void wake_for_room(nb_port *port) {
    nb_task *task = port->room_first;
    port->room_first = port->room_last = NULL;
    while (task) {
        nb_task *next = task->next;
        task->waits_room = false;
        nb_scheduler_ready(port->executor->scheduler, task->writer);
        task = next;
    }
}

static void end_input(nb_task *task, nb_gone_reason reason) {
    if (nb_input_is(task->input)) nb_input_end(task->input, reason);
}

/* Its fiber is woken where it waits to write or to read its body. False: it waits for something
   else, or another fiber writes or reads for it. */
static bool finds_out(nb_task *task, nb_gone_reason reason) {
    bool writes = (task->waits_drained || task->waits_hijacked) && task->writer == task->fiber;
    bool knows = writes || nb_input_reader(task->input) == task->fiber;
    task->gone = true;
    end_input(task, reason);
    wake_task(task->executor, task);
    return knows;
}

static void client_gone(nb_task *task, nb_gone_reason reason) {
    bool knows = finds_out(task, reason);
    bool left = reason == NB_GONE_CLIENT || reason == NB_GONE_SHORT;
    if (left && task->cancellable && !knows) nb_limit_raise(&task->limit, gone_arguments);
}

/* A request that has not begun has no wait yet. */
static void interrupt(nb_task *task) {
    if (task->step == 0) return;
    if (!task->limit.scheduler) nb_limit_open_for(&task->limit, task->executor->scheduler, task->fiber);
    nb_limit_raise(&task->limit, stopped_arguments);
}

/* The loop has ended, or has no connection left: nobody reads what is still written. */
static void stop(nb_port *port, nb_stop how) {
    nb_executor *executor = port->executor;
    port->stop_received = port->ends = true;
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_task *task = executor->tasks[i];
        if (task->port != port || !task->busy) continue;
        bool waits_for_room = task->waits_room && task->writer == task->fiber;
        if (!finds_out(task, NB_GONE_CLIENT) && !waits_for_room && how == NB_STOP_NOW) interrupt(task);
    }
    wake_for_room(port);
}

/* A connection that nobody awaits any more is closed. */
static void take_connection(nb_port *port, const nb_hijacked_message *message) {
    nb_executor *executor = port->executor;
    nb_task *task = nb_executor_task_for(executor, message->message.exchange);
    size_t size = (size_t)message->size;
    int fd = nb_channel_receive_fd(port->channel, message->fd);
    nb_handover *handover = fd >= 0 && task && task->waits_hijacked ? nb_alloc(sizeof(*handover) + size) : NULL;
    if (handover) {
        *handover = (nb_handover){.fd = fd, .size = size};
        memcpy(handover->bytes, message + 1, size);
        task->handover = handover;
    } else {
        if (fd >= 0) nb_net_close(fd, true);
        if (task) task->gone = true;
    }
    if (task) wake_task(executor, task);
}

/* The client may have closed its half only, and read on. The reader of an event stream has left. */
static void client_left(nb_task *task) {
    task->left = true;
    if (task->events) client_gone(task, NB_GONE_CLIENT);
}

static void receive(nb_port *port, const nb_message *message) {
    nb_executor *executor = port->executor;
    nb_task *task;
    port->in_hand = message->type != NB_MESSAGE_REQUEST;
    switch (message->type) {
    case NB_MESSAGE_REQUEST:
        start(port, (nb_request_message *)(uintptr_t)message);
        break;
    case NB_MESSAGE_DRAINED:
        if ((task = nb_executor_task_for(executor, message->exchange))) wake_task(executor, task);
        break;
    case NB_MESSAGE_GONE:
        if (!(task = nb_executor_task_for(executor, message->exchange))) break;
        client_gone(task, (nb_gone_reason)message->flags);
        break;
    case NB_MESSAGE_CANCEL:
        if ((task = nb_executor_task_for(executor, message->exchange)))
            nb_limit_raise(&task->limit, cancelled_arguments);
        break;
    case NB_MESSAGE_HIJACKED:
        if ((task = nb_executor_task_for(executor, message->exchange))) end_input(task, NB_GONE_HIJACKED);
        take_connection(port, (const nb_hijacked_message *)(const void *)message);
        break;
    case NB_MESSAGE_INPUT:
        task = nb_executor_task_for(executor, message->exchange);
        if (task && nb_input_is(task->input)) nb_input_push(task->input, message);
        break;
    case NB_MESSAGE_LEFT:
        if ((task = nb_executor_task_for(executor, message->exchange))) client_left(task);
        break;
    case NB_MESSAGE_RETIRE:
        port->ends = true;
        break;
    case NB_MESSAGE_STOP:
        stop(port, (nb_stop)message->flags);
        break;
    default:
        NB_ASSERT(!"a message the executor does not know");
    }
}

static bool blocked(const nb_port *port) {
    return atomic_load_explicit(&port->channel->memory->executor_blocked, memory_order_acquire) != 0;
}

bool nb_port_drain(nb_port *port) {
    nb_executor *executor = port->executor;
    const nb_message *message;
    port->messages_taken = 0;
    port->in_hand = false;
    if (port->room_first && !blocked(port)) wake_for_room(port);
    while ((message = nb_port_next_message(port))) {
        if (message->type == NB_MESSAGE_REQUEST && nb_scheduler_now(executor->scheduler) > executor->entry_until_ns)
            break;
        receive(port, message);
        if (nb_executor_in_child(executor)) return false;
    }
    if (port->messages_taken) nb_ring_release(&port->requests);
    answer_refused(port);
    nb_port_tell_taken(port);
    return true;
}

bool nb_port_has_something(nb_port *port) {
    bool waits_for_room = port->room_first || port->refused_count || port->input_first;
    return nb_ring_readable(&port->requests) || (waits_for_room && !blocked(port));
}

void nb_executor_messages_define(void) {
    id_report_fewer = rb_intern("report_fewer");
    rb_gc_register_address(&gone_arguments);
    rb_gc_register_address(&cancelled_arguments);
    rb_gc_register_address(&stopped_arguments);
    cancelled_arguments = rb_ary_new_from_args(2, nb_request_cancelled_class,
                                               rb_str_new_cstr("cancelled at the admin address"));
    gone_arguments = rb_ary_new_from_args(2, nb_client_gone_class, rb_str_new_cstr("the client closed the connection"));
    stopped_arguments = rb_ary_new_from_args(2, nb_client_gone_class,
                                             rb_str_new_cstr("the server or its worker ends and waits no longer"));
}
