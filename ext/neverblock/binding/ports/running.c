/*
 * running.c - see running.h.
 */
#include "binding/ports/running.h"

#include <string.h>

#include "base/alloc.h"
#include "binding/base/forks.h"
#include "binding/ports/port.h"

static nb_executor *all_running;
static uint64_t last_number;

void nb_executor_begin_running(nb_executor *executor) {
    executor->number = ++last_number;
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

VALUE nb_request_name_new(VALUE class, const rb_data_type_t *type, nb_request_name name) {
    nb_request_name *made;
    VALUE object = TypedData_Make_Struct(class, nb_request_name, type, made);
    *made = name;
    return object;
}

static nb_executor *numbered(uint64_t number) {
    nb_executor *executor = all_running;
    while (executor && executor->number != number) {
        executor = executor->next;
    }
    return executor;
}

nb_task *nb_executor_find_task(const nb_request_name *name) {
    const nb_executor *executor = numbered(name->executor);
    if (!executor || executor->thread != rb_thread_current()) return NULL;
    return nb_executor_task_for(executor, name->exchange);
}

nb_task *nb_executor_find_task_anywhere(const nb_request_name *name) {
    const nb_executor *executor = numbered(name->executor);
    return executor && !nb_executor_in_child(executor) ? nb_executor_task_for(executor, name->exchange) : NULL;
}
