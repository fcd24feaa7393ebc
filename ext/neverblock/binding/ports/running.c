/*
 * running.c - see running.h.
 */
#include "binding/ports/running.h"

#include <string.h>

#include "base/alloc.h"
#include "binding/base/forks.h"
#include "binding/ports/port.h"

static nb_executor *all_running;

void nb_executor_begin_running(nb_executor *executor) {
    executor->thread = rb_thread_current();
    executor->forks = nb_fork_generation;
    executor->next = all_running;
    all_running = executor;
}

void nb_executor_end_running(nb_executor *executor) {
    for (nb_executor **link = &all_running; *link; link = &(*link)->next) {
        if (*link != executor) continue;
        *link = executor->next;
        break;
    }
}

bool nb_executor_in_child(const nb_executor *executor) { return executor->forks != nb_fork_generation; }

nb_executor *nb_executor_running(void) { return all_running; }

nb_executor *nb_executor_running_here(void) {
    nb_executor *executor = all_running;
    VALUE thread = rb_thread_current();
    while (executor && executor->thread != thread) {
        executor = executor->next;
    }
    return executor;
}

/* --- tasks --- */

void nb_executor_index_task(nb_task *task) {
    nb_port *port = task->port;
    uint32_t index = nb_exchange_id_slot(task->exchange);
    if (index >= port->by_exchange_count) {
        uint32_t count = port->by_exchange_count ? port->by_exchange_count : 64;
        while (count <= index) {
            count *= 2;
        }
        nb_task **larger = nb_realloc(port->by_exchange, count * sizeof(*larger));
        if (!larger) rb_memerror();
        memset(larger + port->by_exchange_count, 0, (count - port->by_exchange_count) * sizeof(*larger));
        port->by_exchange = larger;
        port->by_exchange_count = count;
    }
    port->by_exchange[index] = task;
}

void nb_executor_unindex_task(nb_task *task) {
    nb_port *port = task->port;
    uint32_t index = nb_exchange_id_slot(task->exchange);
    if (index < port->by_exchange_count && port->by_exchange[index] == task) port->by_exchange[index] = NULL;
}

nb_task *nb_executor_task_for(const nb_executor *executor, nb_exchange_id exchange) {
    uint16_t loop = nb_exchange_id_loop(exchange);
    uint32_t index = nb_exchange_id_slot(exchange);
    if (loop >= executor->port_count || index >= executor->ports[loop].by_exchange_count) return NULL;
    nb_task *task = executor->ports[loop].by_exchange[index];
    return task && task->exchange == exchange ? task : NULL;
}

nb_task *nb_executor_find_task(nb_exchange_id exchange) {
    nb_executor *executor = nb_executor_running_here();
    return executor ? nb_executor_task_for(executor, exchange) : NULL;
}

nb_task *nb_executor_find_task_anywhere(nb_exchange_id exchange) {
    for (nb_executor *executor = nb_executor_running(); executor; executor = executor->next) {
        nb_task *task = nb_executor_in_child(executor) ? NULL : nb_executor_task_for(executor, exchange);
        if (task) return task;
    }
    return NULL;
}
