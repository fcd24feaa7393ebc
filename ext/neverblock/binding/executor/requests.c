/*
 * requests.c - see requests.h.
 */
#include "binding/executor/requests.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/counter.h"
#include "binding/ports/executor_state.h"
#include "binding/ports/running.h"
#include "binding/scheduler/scheduler.h"

/* Requests that are taken before their space in the ring is given back to the loop. */
#define RELEASE_EVERY 16

const nb_message *nb_port_next_message(nb_port *port) {
    size_t bytes;
    if (port->in_hand) {
        nb_ring_advance(&port->requests);
        if (++port->messages_taken % RELEASE_EVERY == 0) nb_ring_release(&port->requests);
    }
    port->in_hand = false;
    return nb_ring_peek(&port->requests, &bytes);
}

void nb_executor_tell_running(nb_executor *executor) {
    if (executor->over || nb_executor_in_child(executor)) return;
    nb_executor_figures *figures = nb_executor_figures_of(executor);
    atomic_store_explicit(&figures->running, executor->running, memory_order_relaxed);
    atomic_store_explicit(&figures->pooled, executor->fibers - executor->running, memory_order_relaxed);
}

static void count_taken(nb_executor *executor) { nb_count(&nb_executor_figures_of(executor)->taken, 1); }

void nb_request_give(nb_task *task, nb_port *port, nb_request_message *request) {
    nb_executor *executor = task->executor;
    task->exchange = request->message.exchange;
    task->request = request;
    task->port = port;
    task->busy = true;
    if (++executor->running > executor->running_peak) executor->running_peak = executor->running;
    nb_executor_tell_running(executor);
    nb_executor_index_task(task);
    atomic_store_explicit(&executor->board->pulse.running, task->exchange, memory_order_relaxed);
}

void nb_request_take_body(nb_port *port, nb_request_message *request) {
    if (request->body_fd >= 0) request->body_fd = nb_channel_receive_fd(port->channel, request->body_fd);
}

bool nb_request_take(nb_port *port, nb_request_message *request) {
    port->in_hand = true;
    port->executor->received++;
    if (nb_request_claim(request, NB_CLAIM_TAKEN)) {
        count_taken(port->executor);
        return true;
    }
    if (!nb_channel_is_shared(port->channel) || request->body_fd < 0) return false;
    /* The loop has requeued the record, and copies it now. */
    int fd = nb_channel_receive_fd(port->channel, request->body_fd);
    if (fd >= 0) close(fd);
    return false;
}

bool nb_executor_next(nb_task *task) {
    nb_executor *executor = task->executor;
    nb_port *port = task->port;
    if (executor->direct != task) return false;
    const nb_message *message = nb_port_next_message(port);
    if (!message || message->type != NB_MESSAGE_REQUEST) return false;
    if (nb_executor_switched_ns(executor) > executor->entry_until_ns) return false;
    nb_request_message *request = (nb_request_message *)(uintptr_t)message;
    if (request->body_fd >= 0) return false;
    if (nb_exchange_id_slot(message->exchange) >= port->by_exchange_count)
        return false; /* making room in the table may raise */
    NB_ASSERT(executor->idle == task);
    if (!nb_request_take(port, request)) return false;
    executor->idle = task->next;
    nb_scheduler_stamp(executor->scheduler);
    nb_request_give(task, port, request);
    return true;
}
