/*
 * executor.c - see executor.h.
 */
#include "executor.h"

#include <ruby/fiber/scheduler.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/counter.h"
#include "engine.h"
#include "executor_figures.h"
#include "executor_spare.h"
#include "hijack.h"
#include "input.h"
#include "link.h"
#include "neverblock.h"
#include "os/clock.h"
#include "os/net.h"
#include "os/thread.h"
#include "response.h"
#include "scheduler.h"
#include "stalls.h"
#include "task.h"

/* Requests taken between two gifts of ring space back to the loop. */
#define RELEASE_EVERY 16

/* How long a published part may stay unannounced while more are made: one wake then serves several. */
#define UNRUNG_MAX_NS 50000

/* How often the fibers that the last such time did not need are let go. */
#define TRIM_EVERY_NS (10 * INT64_C(1000000000))

/* Work asked for ahead. Where the requests are small that is many of them, so that neither side is woken for a few. */
#define AHEAD_NS (200 * INT64_C(1000))

/* How long responses may wait for the loop's turn while fibers are ready one after the other. */
#define ATTEND_AFTER_NS 200000

static ID id_report_fewer;
static nb_executor *all_running;
static VALUE gone_arguments; /* of raise */

/* --- memory --- */

static void executor_mark(void *pointer) {
    nb_executor *executor = pointer;
    rb_gc_mark(executor->owner);
    rb_gc_mark(executor->app);
    rb_gc_mark(executor->log);
    rb_gc_mark(executor->scheduler);
    rb_gc_mark(executor->thread);
    rb_gc_mark(executor->helped);
    rb_gc_mark(executor->deadline_class);
    rb_gc_mark(executor->stalls);
    nb_env_builder_mark(&executor->env);
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_task_mark(executor->tasks[i]);
    }
}

static void executor_free(void *pointer) {
    nb_executor *executor = pointer;
    nb_free(executor->scratch);
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_hijack_drop(executor->tasks[i]);
        nb_free(executor->tasks[i]);
    }
    nb_free(executor->tasks);
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_free(executor->ports[i].by_exchange);
        nb_free(executor->ports[i].refused);
    }
    nb_free(executor->ports);
    xfree(executor);
}

static size_t executor_size(const void *pointer) {
    const nb_executor *executor = pointer;
    size_t bytes = sizeof(*executor) + executor->task_count * (sizeof(nb_task) + sizeof(nb_task *));
    for (uint16_t i = 0; i < executor->port_count; i++) {
        bytes += sizeof(nb_port) + executor->ports[i].by_exchange_count * sizeof(nb_task *);
    }
    return bytes;
}

/* Not WB_PROTECTED: tasks change with every request, a barrier for each field would cost more than marking them. */
static const rb_data_type_t executor_type = {
    .wrap_struct_name = "NeverBlock::Executor",
    .function = {.dmark = executor_mark, .dfree = executor_free, .dsize = executor_size},
};

nb_executor *nb_executor_get(VALUE self) {
    nb_executor *executor;
    TypedData_Get_Struct(self, nb_executor, &executor_type, executor);
    return executor;
}

static VALUE executor_allocate(VALUE class) {
    nb_executor *executor;
    VALUE self = TypedData_Make_Struct(class, nb_executor, &executor_type, executor);
    executor->self = self;
    executor->owner = executor->app = executor->log = executor->scheduler = executor->thread = executor->helped = Qnil;
    executor->deadline_class = executor->stalls = Qnil;
    executor->env.listeners = executor->env.template = executor->env.no_input = executor->env.string_io = Qnil;
    return self;
}

/* --- parts out --- */

int64_t nb_executor_switched_ns(const nb_executor *executor) {
    return atomic_load_explicit(&executor->board->pulse.switched_ns, memory_order_relaxed);
}

static nb_executor_figures *figures_of(const nb_executor *executor) { return &executor->board->figures; }

static void ring_loop(nb_port *port) {
    if (port->unrung_since_ns == 0) return;
    port->unrung_since_ns = 0;
    nb_channel_ring_loop(port->channel);
}

static void ring_loops(nb_executor *executor) {
    for (uint16_t i = 0; i < executor->port_count; i++) {
        ring_loop(&executor->ports[i]);
    }
}

bool nb_executor_in_child(const nb_executor *executor) { return executor->forks != nb_fork_generation; }

void nb_executor_tell_gone(nb_task *task) {
    if (rb_fiber_current() == task->fiber) nb_limit_spend(&task->limit);
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

/* The body may be written by another fiber than the task's: that one waits, and the task may go on without it. */
static void wait_in(nb_task *task) {
    wait_call call = {task, ++task->wait_number};
    task->writer = rb_fiber_current();
    ring_loop(task->port);
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
    wait_in(task);
}

/* Says that the ring was found full before it is looked at again: so the loop, which makes room and then looks, cannot
 * miss it. */
static void announce_blocked(nb_port *port) {
    atomic_store_explicit(&port->channel->memory->executor_blocked, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

static void *reserve_or_announce(nb_port *port, size_t bytes) {
    void *place = nb_ring_reserve(&port->responses, bytes);
    if (place) return place;
    announce_blocked(port);
    return nb_ring_reserve(&port->responses, bytes);
}

bool nb_executor_room(nb_task *task, size_t bytes) {
    nb_executor *executor = task->executor;
    if (executor->over || nb_executor_in_child(executor))
        rb_raise(nb_client_gone_class, "the executor of this request has ended");
    if (reserve_or_announce(task->port, bytes)) return true;
    if (task->port->stop_received) rb_raise(nb_client_gone_class, "the server has ended");
    wait_for_room(task);
    return false;
}

void *nb_executor_reserve(nb_task *task, size_t bytes) {
    while (!nb_executor_room(task, bytes)) {
    }
    return nb_ring_reserve(&task->port->responses, bytes);
}

void *nb_executor_reserve_with(nb_task *task, size_t bytes, int fd) {
    nb_port *port = task->port;
    for (;;) {
        void *place = nb_executor_reserve(task, bytes);
        nb_status status = nb_channel_give(port->channel, fd);
        if (status == NB_AGAIN) {
            announce_blocked(port);
            status = nb_channel_give(port->channel, fd);
        }
        if (status == NB_SYSTEM) rb_raise(nb_client_gone_class, "the server has ended");
        if (status == NB_OK) return place;
        wait_for_room(task);
    }
}

static void publish(nb_port *port, size_t bytes) {
    nb_ring_commit(&port->responses, bytes);
    nb_ring_publish(&port->responses);
    int64_t now = nb_executor_switched_ns(port->executor);
    if (port->unrung_since_ns == 0) {
        port->unrung_since_ns = now ? now : 1;
    } else if (now - port->unrung_since_ns > UNRUNG_MAX_NS) {
        ring_loop(port);
    }
}

void nb_executor_send(nb_task *task, size_t bytes) { publish(task->port, bytes); }

void nb_executor_flush(nb_task *task) { ring_loop(task->port); }

uint64_t nb_executor_backlog_high(const nb_task *task) {
    return atomic_load_explicit(&task->port->channel->memory->allowance, memory_order_relaxed) / 2;
}

void nb_executor_wait_hijacked(nb_task *task) {
    while (!task->taken) {
        if (task->gone) rb_raise(nb_client_gone_class, "the client closed the connection");
        check_alone(task);
        task->waits_hijacked = true;
        wait_in(task);
    }
}

void nb_executor_wait_drained(nb_task *task) {
    check_alone(task);
    task->waits_drained = !task->gone;
    if (task->waits_drained) wait_in(task);
    task->unacknowledged = 0;
    if (task->gone) nb_executor_raise_gone(task);
}

static bool send_taken(nb_task *task) {
    nb_port *port = task->port;
    nb_taken_message *message = reserve_or_announce(port, sizeof(*message));
    if (!message) return false;
    *message = (nb_taken_message){
        .message = {.type = NB_MESSAGE_TAKEN, .bytes = sizeof(*message), .exchange = task->exchange},
        .bytes = nb_input_taken(task->input)};
    publish(port, sizeof(*message));
    return true;
}

void nb_executor_tell_taken(nb_task *task) {
    nb_port *port = task->port;
    if (task->input_due || send_taken(task)) return;
    task->input_due = true;
    task->input_next = port->input_first;
    port->input_first = task;
}

static void tell_all_taken(nb_port *port) {
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

/* --- messages in --- */

static void index_task(nb_port *port, nb_task *task) {
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

static nb_task *find_task(nb_executor *executor, nb_exchange_id exchange) {
    uint16_t loop = nb_exchange_id_loop(exchange);
    uint32_t index = nb_exchange_id_slot(exchange);
    if (loop >= executor->port_count || index >= executor->ports[loop].by_exchange_count) return NULL;
    nb_task *task = executor->ports[loop].by_exchange[index];
    return task && task->exchange == exchange ? task : NULL;
}

nb_task *nb_executor_find_task(nb_exchange_id exchange) {
    nb_executor *executor = all_running;
    VALUE thread = rb_thread_current();
    while (executor && executor->thread != thread) {
        executor = executor->next;
    }
    return executor ? find_task(executor, exchange) : NULL;
}

static VALUE report_fewer(VALUE argument) {
    VALUE *arguments = (VALUE *)argument;
    return rb_funcallv(arguments[0], id_report_fewer, 2, arguments + 1);
}

/* There is no fiber for a request, or no descriptor for its body: it is answered 503. */
static void refuse(nb_port *port, const nb_request_message *request) {
    if (request->body_fd >= 0) close((int)request->body_fd);
    nb_exchange_id *larger = nb_realloc(port->refused, (port->refused_count + 1) * sizeof(*larger));
    if (!larger) rb_memerror();
    port->refused = larger;
    larger[port->refused_count++] = request->message.exchange;
}

/* There was no fiber, and $! says why: from here on no more are asked for than can run. */
static void run_fewer(nb_executor *executor) {
    VALUE error = rb_errinfo();
    rb_set_errinfo(Qnil);
    uint32_t possible = executor->running ? executor->running : 1;
    if (possible >= executor->fibers_max) return;
    executor->fibers_max = possible;
    VALUE arguments[] = {executor->self, UINT2NUM(possible), error};
    int tag = 0;
    rb_protect(report_fewer, (VALUE)arguments, &tag);
    if (tag) rb_set_errinfo(Qnil);
}

static void answer_refused(nb_port *port) {
    while (port->refused_count > 0) {
        void *place = reserve_or_announce(port, NB_RESPONSE_REFUSAL_BYTES_MAX);
        if (!place) return;
        publish(port, nb_response_write_refusal(place, port->refused[--port->refused_count]));
    }
}

/* The message before it is given back to the ring. */
static const nb_message *next_message(nb_port *port) {
    size_t bytes;
    if (port->in_hand) {
        nb_ring_advance(&port->requests);
        if (++port->taken % RELEASE_EVERY == 0) nb_ring_release(&port->requests);
    }
    port->in_hand = false;
    return nb_ring_peek(&port->requests, &bytes);
}

void nb_executor_tell_running(nb_executor *executor) {
    if (executor->over || nb_executor_in_child(executor)) return;
    nb_executor_figures *figures = figures_of(executor);
    atomic_store_explicit(&figures->running, executor->running, memory_order_relaxed);
    atomic_store_explicit(&figures->pooled, executor->fibers - executor->running, memory_order_relaxed);
}

static void count_taken(nb_executor *executor) { nb_count(&figures_of(executor)->taken, 1); }

static void give(nb_task *task, nb_port *port, nb_request_message *request) {
    nb_executor *executor = task->executor;
    task->exchange = request->message.exchange;
    task->request = request;
    task->port = port;
    task->busy = true;
    if (++executor->running > executor->running_peak) executor->running_peak = executor->running;
    nb_executor_tell_running(executor);
    index_task(port, task);
    atomic_store_explicit(&executor->board->pulse.running, task->exchange, memory_order_relaxed);
}

/* Between processes the file of a body comes beside its record, one in one process is in it. */
static void take_body(nb_port *port, nb_request_message *request) {
    if (request->body_fd >= 0) request->body_fd = nb_channel_take(port->channel, request->body_fd);
}

/* False: the loop has recalled it for another executor. */
static bool claim(nb_port *port, nb_request_message *request) {
    port->in_hand = true;
    port->executor->received++;
    if (nb_request_claim(request, NB_CLAIM_TAKEN)) {
        count_taken(port->executor);
        return true;
    }
    if (!nb_channel_is_shared(port->channel) || request->body_fd < 0) return false;
    int fd = nb_channel_take(port->channel, request->body_fd); /* the record is the loop's, which copies it now */
    if (fd >= 0) close(fd);
    return false;
}

static void start(nb_port *port, nb_request_message *request) {
    nb_executor *executor = port->executor;
    nb_task *task = nb_task_take(executor); /* raising, it leaves the message in the ring for the next turn */
    if (!claim(port, request)) {
        if (task) nb_task_give_back(task);
        return;
    }
    bool has_file = request->body_fd >= 0;
    take_body(port, request);
    if (!task || (has_file && request->body_fd < 0)) { /* there is no descriptor left for it here */
        if (task) nb_task_give_back(task);
        refuse(port, request);
        if (!task) run_fewer(executor);
        return;
    }
    give(task, port, request);
    executor->direct = task;
    nb_scheduler_switch_to(executor->scheduler, task->fiber);
    executor->direct = NULL;
    atomic_store_explicit(&executor->board->pulse.running, 0, memory_order_relaxed);
}

bool nb_executor_next(nb_task *task) {
    nb_executor *executor = task->executor;
    nb_port *port = task->port;
    if (executor->direct != task) return false;
    const nb_message *message = next_message(port);
    if (!message || message->type != NB_MESSAGE_REQUEST) return false;
    nb_request_message *request = (nb_request_message *)(uintptr_t)message;
    if (request->body_fd >= 0) return false;
    if (nb_exchange_id_slot(message->exchange) >= port->by_exchange_count)
        return false; /* where making room may raise */
    NB_ASSERT(executor->idle == task);
    if (!claim(port, request)) return false;
    executor->idle = task->next;
    nb_scheduler_stamp(executor->scheduler);
    give(task, port, request);
    return true;
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

/* A fiber that waits in the writing or reading of a body finds out by itself; the request's may be another. */
static void client_gone(nb_task *task, nb_gone_reason reason) {
    bool writes = (task->waits_drained || task->waits_hijacked) && task->writer == task->fiber;
    bool knows = writes || nb_input_reader(task->input) == task->fiber;
    task->gone = true;
    end_input(task, reason);
    wake_task(task->executor, task);
    bool left = reason == NB_GONE_CLIENT || reason == NB_GONE_SHORT;
    if (left && task->cancellable && !knows) nb_limit_raise(&task->limit, gone_arguments);
}

/* The loop has no connection left, or has ended: nobody reads what is still written. */
static void stop(nb_port *port) {
    nb_executor *executor = port->executor;
    port->stop_received = port->ends = true;
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_task *task = executor->tasks[i];
        if (task->port != port) continue;
        task->gone = task->busy;
        end_input(task, NB_GONE_CLIENT);
        wake_task(executor, task);
    }
    wake_for_room(port);
}

/* One that is not awaited any more is ended. */
static void take_connection(nb_port *port, const nb_hijacked_message *message) {
    nb_executor *executor = port->executor;
    nb_task *task = find_task(executor, message->message.exchange);
    size_t size = (size_t)message->size;
    int fd = nb_channel_take(port->channel, message->fd);
    nb_handover *taken = fd >= 0 && task && task->waits_hijacked ? nb_alloc(sizeof(*taken) + size) : NULL;
    if (taken) {
        *taken = (nb_handover){.fd = fd, .size = size};
        memcpy(taken->bytes, message + 1, size);
        task->taken = taken;
    } else {
        if (fd >= 0) nb_net_close(fd, true);
        if (task) task->gone = true;
    }
    if (task) wake_task(executor, task);
}

/* It may only have half-closed, and reads on; but the reader of an event stream has left. */
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
        if ((task = find_task(executor, message->exchange))) wake_task(executor, task);
        break;
    case NB_MESSAGE_GONE:
        if (!(task = find_task(executor, message->exchange))) break;
        client_gone(task, (nb_gone_reason)message->flags);
        break;
    case NB_MESSAGE_HIJACKED:
        if ((task = find_task(executor, message->exchange))) end_input(task, NB_GONE_HIJACKED);
        take_connection(port, (const nb_hijacked_message *)(const void *)message);
        break;
    case NB_MESSAGE_INPUT:
        task = find_task(executor, message->exchange);
        if (task && nb_input_is(task->input)) nb_input_push(task->input, message);
        break;
    case NB_MESSAGE_LEFT:
        if ((task = find_task(executor, message->exchange))) client_left(task);
        break;
    case NB_MESSAGE_RETIRE:
        port->ends = true;
        break;
    case NB_MESSAGE_STOP:
        stop(port);
        break;
    default:
        NB_ASSERT(!"a message the executor does not know");
    }
}

static bool blocked(const nb_port *port) {
    return atomic_load_explicit(&port->channel->memory->executor_blocked, memory_order_acquire) != 0;
}

/* --- the scheduler's source --- */

/* False: this is the child of a fork now; the other requests are run by the parent. */
static bool drain(nb_port *port) {
    const nb_message *message;
    port->taken = 0;
    port->in_hand = false;
    if (port->room_first && !blocked(port)) wake_for_room(port);
    while ((message = next_message(port))) {
        receive(port, message);
        if (nb_executor_in_child(port->executor)) return false;
    }
    if (port->taken) nb_ring_release(&port->requests);
    answer_refused(port);
    tell_all_taken(port);
    return true;
}

/* Each turn begins with another port, so that no loop's requests are always the first. */
static bool source_drain(void *owner) {
    nb_executor *executor = owner;
    unsigned taken = 0;
    if (executor->figures && executor->turn_began_ns == 0)
        executor->turn_began_ns = nb_scheduler_now(executor->scheduler);
    uint16_t number = executor->port_next;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_port *port = &executor->ports[number];
        if (!drain(port)) return false;
        taken += port->taken;
        number = number + 1 < executor->port_count ? (uint16_t)(number + 1) : 0;
    }
    executor->port_next = number + 1 < executor->port_count ? (uint16_t)(number + 1) : 0;
    return taken > 0;
}

/* No request will come any more. */
static bool ends(const nb_executor *executor) {
    if (executor->finishes) return true;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        if (!executor->ports[i].ends) return false;
    }
    return true;
}

/* A burst's fibers are not kept for ever: each costs memory, and time in every garbage collection. */
static void trim_pool(nb_executor *executor) {
    int64_t now = nb_executor_switched_ns(executor);
    if (now - executor->trimmed_ns < TRIM_EVERY_NS) return;
    uint32_t kept = executor->running_peak - executor->running;
    executor->trimmed_ns = now;
    executor->running_peak = executor->running;
    nb_task_retire_idle(executor, kept);
}

static uint32_t credit_of(const nb_executor *executor) {
    const nb_board *board = executor->board;
    uint32_t request_ns = atomic_load_explicit(&figures_of(executor)->request_ns, memory_order_relaxed);
    uint64_t quick = request_ns ? (uint64_t)AHEAD_NS / request_ns : 0;
    if (quick <= board->credit_slow) return board->credit_slow;
    return quick < board->credit ? (uint32_t)quick : board->credit;
}

/* Asks for as many requests as there are fibers for, a few ahead at most, and says how many there are fibers for. */
static void ask_for_more(nb_executor *executor) {
    nb_board *board = executor->board;
    uint32_t free_fibers = executor->fibers_max > executor->running ? executor->fibers_max - executor->running : 0;
    atomic_store_explicit(&board->able, executor->received + free_fibers, memory_order_relaxed);
    uint32_t credit = nb_scheduler_has_cut(executor->scheduler) ? 1 : credit_of(executor);
    uint64_t wanted = executor->received + (free_fibers < credit ? free_fibers : credit);
    if (wanted <= atomic_load_explicit(&board->wanted, memory_order_relaxed)) return;
    atomic_store_explicit(&board->wanted, wanted, memory_order_release);
}

/* All that are: what they have is given in the order in which it came (server/queues.h). */
static void ring_if_starved(nb_executor *executor) {
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_channel *channel = executor->ports[i].channel;
        if (atomic_load_explicit(&channel->memory->loop_starved, memory_order_relaxed)) nb_channel_ring_loop(channel);
    }
}

/* With the GVL, between two passes: only when fibers have kept the executor from sleeping, where it would do the same
   without. Files are never sent with it. */
static void serve_sockets(nb_executor *executor) {
    nb_port *port = &executor->ports[0]; /* there is one loop */
    int64_t now = nb_executor_switched_ns(executor);
    if (now - port->unrung_since_ns < ATTEND_AFTER_NS) return;
    if (nb_server_guest_turn(executor->server, &port->requests) == NB_GUEST_REFUSED) {
        ring_loop(port);
    } else {
        port->unrung_since_ns = 0;
    }
}

static void source_turn_end(void *owner) {
    nb_executor *executor = owner;
    /* At the end all go, so that none is left parked: here, where the last request may just have ended. */
    if (executor->running == 0 && ends(executor)) nb_task_retire_idle(executor, 0);
    ask_for_more(executor);
    if (executor->guest && executor->ports[0].unrung_since_ns) {
        serve_sockets(executor);
    } else {
        ring_loops(executor);
    }
    atomic_fetch_add_explicit(&executor->board->pulse.turns, 1, memory_order_relaxed);
    ring_if_starved(executor);
    nb_executor_answer_call(executor);
    if (executor->figures) nb_executor_figures_turn(executor);
}

/* The executor has nothing to do: it runs the I/O loop itself, so that the next request needs no other thread
 * (server/lease.h). */
static nb_source_wait source_wait(void *owner, int64_t timeout_ns) {
    nb_executor *executor = owner;
    if (!executor->guest) return NB_SOURCE_CANNOT;
    nb_port *port = &executor->ports[0];
    switch (nb_server_guest_wait(executor->server, &port->requests, timeout_ns)) {
    case NB_GUEST_SERVED:
        port->unrung_since_ns = 0;
        return NB_SOURCE_WAITED;
    case NB_GUEST_CALLED:
        port->unrung_since_ns = 0;
        return NB_SOURCE_CALLED;
    case NB_GUEST_REFUSED:
        break;
    }
    ring_loop(port);
    return NB_SOURCE_CANNOT;
}

static void source_awake(void *owner) {
    nb_executor *executor = owner;
    executor->turn_began_ns = 0;
    if (!executor->guest) executor->awake_ns = nb_clock_monotonic_ns();
    nb_doorbell_cancel(&executor->board->executor_bell);
}

/* Something has come, or what waits for room has some. */
static bool has_something(nb_port *port) {
    bool waits_for_room = port->room_first || port->refused_count || port->input_first;
    return nb_ring_readable(&port->requests) || (waits_for_room && !blocked(port));
}

/* The message that a drain has in hand is the running fiber's own. */
static bool source_waits(void *owner) {
    nb_executor *executor = owner;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        if (nb_ring_more(&executor->ports[i].requests, executor->ports[i].in_hand)) return true;
    }
    return false;
}

static bool source_prepare_sleep(void *owner) {
    nb_executor *executor = owner;
    trim_pool(executor);
    if (!executor->guest) nb_executor_figures_sleep(executor);
    if (executor->figures && (rb_gc_count() != executor->gc_told || nb_scheduler_resolver_asked()))
        nb_executor_figures_tell(executor, executor->turn_began_ns);
    nb_doorbell_announce(&executor->board->executor_bell);
    ring_if_starved(executor); /* after the fence: credit was stored before it, the loop's flag is read after it */
    bool something = nb_executor_is_called(executor);
    for (uint16_t i = 0; i < executor->port_count && !something; i++) {
        something = has_something(&executor->ports[i]);
    }
    if (something) source_awake(executor);
    return !something;
}

static bool source_finished(void *owner) {
    nb_executor *executor = owner;
    return executor->running == 0 && ends(executor);
}

/* --- Ruby --- */

static VALUE keyword(VALUE keywords, const char *name, VALUE standard) {
    return NIL_P(keywords) ? standard : rb_hash_lookup2(keywords, ID2SYM(rb_intern(name)), standard);
}

static bool rack_is_2(void) {
    VALUE release = rb_funcall(rb_path2class("Rack"), rb_intern("release"), 0);
    return atoi(StringValueCStr(release)) < 3;
}

static nb_link *add_channel(VALUE engine, VALUE helped, VALUE lane) {
    nb_channel *channel;
    nb_server *server = nb_engine_server(engine);
    nb_status status = !NIL_P(lane) ? nb_server_lane_channel_add(server, (uint16_t)NUM2UINT(lane), &channel)
                       : NIL_P(helped)
                           ? nb_server_channel_add(server, &channel)
                           : nb_server_spare_add(server, nb_executor_get(helped)->ports[0].channel, &channel);
    if (status == NB_FULL) rb_raise(nb_error_class, "executors are added before the engine starts");
    if (status != NB_OK) nb_raise_status(status, "the executor could not be made");
    return channel->link;
}

static void open_ports(nb_executor *executor, nb_link *link) {
    nb_port *ports = nb_alloc_zero(link->count, sizeof(*ports));
    if (!ports) rb_memerror();
    for (uint16_t i = 0; i < link->count; i++) {
        nb_port *port = &ports[i];
        port->executor = executor;
        port->channel = &link->channels[i];
        nb_ring_consumer_attach(&port->requests, nb_channel_requests(port->channel));
        nb_ring_producer_attach(&port->responses, nb_channel_responses(port->channel));
    }
    executor->link = link;
    executor->board = link->board;
    executor->ports = ports;
    executor->port_count = link->count;
}

/*
 * Executor.new(owner, app, fibers: 1024, log: nil, slice_ms: nil, helps: nil, lane: nil, stalls: nil): owner: an Engine, before its start, or in a worker a Link. fibers:
 * most requests running at once. log: a NeverBlock::Log. helps: the Executor of the same process whose spare it is, which together run no more requests than that
 * one may. lane: of an Engine, the lane whose thread it is. stalls: what NeverBlock::Stalls gathers. Raises NeverBlock::Error when the engine has started or is
 * closed, Errno::EMFILE when there is no descriptor for its scheduler.
 */
static VALUE executor_initialize(int argc, VALUE *argv, VALUE self) {
    VALUE owner, app, keywords;
    nb_executor *executor = nb_executor_get(self);
    rb_scan_args(argc, argv, "2:", &owner, &app, &keywords);
    if (executor->ports) rb_raise(nb_error_class, "an executor is initialized once");
    long fibers = NUM2LONG(keyword(keywords, "fibers", INT2FIX(1024)));
    if (fibers < 1 || fibers > 1000000) rb_raise(rb_eArgError, "fibers must be 1 to 1000000, not %ld", fibers);
    executor->log = keyword(keywords, "log", Qnil);
    executor->stalls = keyword(keywords, "stalls", Qnil);
    executor->slice_ms = nb_slice_ms_read(keyword(keywords, "slice_ms", Qnil));
    executor->rack2 = rack_is_2();
    executor->deadline_class = rb_path2class("NeverBlock::Deadline::OfRequest");
    VALUE errors = rb_funcall(self, rb_intern("error_stream"), 1, executor->log);
    nb_env_builder_init(&executor->env, errors, executor->rack2, nb_link_is(owner));
    executor->sendfile = RTEST(keyword(keywords, "sendfile", Qfalse));
    VALUE mapping = keyword(keywords, "accel", Qnil);
    executor->accel = RTEST(mapping);
    if (executor->accel) nb_env_builder_add_accel(&executor->env, mapping);
    executor->scheduler = rb_class_new_instance(0, NULL, nb_scheduler_class);
    executor->helped = keyword(keywords, "helps", Qnil);
    VALUE lane = keyword(keywords, "lane", Qnil);
    nb_link *link = nb_link_is(owner) ? nb_link_of(owner) : add_channel(owner, executor->helped, lane);
    open_ports(executor, link);
    executor->lane = link->board->lane;
    executor->owner = owner;
    executor->app = app;
    executor->fibers_max = executor->lane ? 1 : (uint32_t)fibers;
    atomic_store_explicit(&figures_of(executor)->fibers_limit, executor->fibers_max, memory_order_relaxed);
    /* Its descriptors, before clients can take the last ones. */
    nb_scheduler_poll_descriptor(executor->scheduler);
    RB_GC_GUARD(keywords);
    return self;
}

static void add_listeners(nb_executor *executor) {
    const nb_board *board = executor->board;
    for (uint16_t i = 0; i < board->listener_count; i++) {
        nb_env_builder_add_listener(&executor->env, board->listeners[i].address, board->listeners[i].port);
    }
}

static void attach(nb_executor *executor) {
    nb_scheduler_source source = {
        .wake_fd = executor->link->executor_wake.read_fd,
        .drain = source_drain,
        .prepare_sleep = source_prepare_sleep,
        .awake = source_awake,
        .wait = source_wait,
        .turn_end = source_turn_end,
        .waits = source_waits,
        .finished = source_finished,
        .owner = executor,
        .shares_lock = !executor->server || !NIL_P(executor->helped) || executor->lane || executor->link->spare,
        .switched_ns = &executor->board->pulse.switched_ns,
        .parked = &executor->board->figures.parked,
        .ready = &executor->board->figures.ready,
    };
    nb_scheduler_attach(executor->scheduler, &source);
    executor->guest = executor->server && NIL_P(executor->helped) && executor->lane == 0 &&
                      nb_server_guest_begin(executor->server, nb_scheduler_poll_descriptor(executor->scheduler));
}

static VALUE run_scheduler(VALUE scheduler) {
    nb_scheduler_run(scheduler);
    return Qnil;
}

static VALUE report_stray(VALUE self) { return rb_funcall(self, rb_intern("report_stray"), 1, rb_errinfo()); }

/* An error raised into the thread from outside (Thread#raise, as rack-timeout does) while no request ran meets nobody:
   it is logged, and the requests go on. What is more than a StandardError, and the thread's end, goes on to the caller.
 */
static void run_on(nb_executor *executor) {
    for (;;) {
        int tag = 0, report_tag = 0;
        rb_protect(run_scheduler, executor->scheduler, &tag);
        if (tag == 0) return;
        if (!rb_obj_is_kind_of(rb_errinfo(), rb_eStandardError)) rb_jump_tag(tag);
        rb_protect(report_stray, executor->self, &report_tag);
        if (report_tag != 0) rb_jump_tag(report_tag);
        rb_set_errinfo(Qnil);
    }
}

static void ring_all(nb_executor *executor) {
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_channel_ring_loop(executor->ports[i].channel);
    }
}

static VALUE run_body(VALUE self) {
    nb_executor *executor = nb_executor_get(self);
    executor->thread = rb_thread_current();
    executor->forks = nb_fork_generation;
    executor->figures = atomic_load_explicit(&figures_of(executor)->wanted, memory_order_relaxed);
    executor->next = all_running;
    all_running = executor;
    add_listeners(executor);
    attach(executor);
    if (!executor->server) nb_executor_figures_begin(executor);
    if (executor->figures) nb_executor_figures_tell(executor, nb_scheduler_clock(executor->scheduler));
    if (executor->lane == 0) rb_fiber_scheduler_set(executor->scheduler);
    if (executor->lane == 0 && executor->slice_ms > 0) nb_scheduler_slice(executor->scheduler, executor->slice_ms);
    ask_for_more(executor);
    ring_all(executor);
    nb_stalls_begin(executor, executor->stalls);
    run_on(executor);
    executor->finished = true;
    return Qnil;
}

/* Where run was left by an exception, or its thread killed, the fibers that are left are dropped; from here on none of
   them may touch the channel, and the engine may be closed. */
static VALUE run_end(VALUE self) {
    nb_executor *executor = nb_executor_get(self);
    executor->over = true;
    nb_stalls_end(executor);
    for (nb_executor **link = &all_running; *link; link = &(*link)->next) {
        if (*link != executor) continue;
        *link = executor->next;
        break;
    }
    if (!executor->server || nb_engine_alive(executor->owner)) {
        atomic_store_explicit(&executor->board->executor_gone, 1, memory_order_release);
        if (executor->guest) nb_server_guest_end(executor->server);
        ring_all(executor);
    }
    nb_scheduler_detach(executor->scheduler);
    nb_scheduler_slice(executor->scheduler, 0);
    if (executor->server) nb_engine_leave(executor->owner);
    if (!executor->finished) nb_scheduler_abandon(executor->scheduler);
    if (rb_fiber_scheduler_get() == executor->scheduler) rb_fiber_scheduler_set(Qnil);
    return Qnil;
}

/* Serves on the calling thread until the engine has drained and no request is left. Sets the thread's fiber scheduler.
   Raises what Thread#raise brings, and NeverBlock::Error when it ran before or the engine has not started. */
static VALUE executor_run(VALUE self) {
    nb_executor *executor = nb_executor_get(self);
    if (executor->ran) rb_raise(nb_error_class, "an executor runs once");
    if (!nb_link_is(executor->owner)) executor->server = nb_engine_enter(executor->owner);
    executor->ran = true;
    if (!executor->server) nb_thread_wake_gently(); /* the front reads all that is there, and then wakes it */
    return rb_ensure(run_body, self, run_end, self);
}

/* No request will come any more: run returns when those it has have ended. For a spare whose executor has ended. Any thread. */
static VALUE executor_finish(VALUE self) {
    nb_executor *executor = nb_executor_get(self);
    executor->finishes = true;
    if (!executor->over) nb_wake_signal(&executor->link->executor_wake);
    return self;
}

static VALUE executor_running(VALUE self) { return UINT2NUM(nb_executor_get(self)->running); }
static VALUE executor_log(VALUE self) { return nb_executor_get(self)->log; }
static VALUE executor_scheduler(VALUE self) { return nb_executor_get(self)->scheduler; }

void nb_executor_define(VALUE module) {
    id_report_fewer = rb_intern("report_fewer");
    rb_gc_register_address(&gone_arguments);
    gone_arguments = rb_ary_new_from_args(2, nb_client_gone_class, rb_str_new_cstr("the client closed the connection"));
    nb_task_define();
    nb_stalls_define(module);
    nb_response_define(module);
    nb_hijack_define(module);
    VALUE class = rb_define_class_under(module, "Executor", rb_cObject);
    rb_define_alloc_func(class, executor_allocate);
    rb_define_method(class, "initialize", executor_initialize, -1);
    rb_define_method(class, "run", executor_run, 0);
    rb_define_method(class, "finish", executor_finish, 0);
    rb_define_method(class, "running", executor_running, 0);
    rb_define_method(class, "log", executor_log, 0);
    rb_define_method(class, "scheduler", executor_scheduler, 0);
}
