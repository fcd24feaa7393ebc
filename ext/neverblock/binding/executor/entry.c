/*
 * entry.c - see entry.h.
 */
#include "binding/executor/entry.h"

#include <string.h>

#include "binding/ports/running.h"
#include "binding/scheduler/scheduler.h"
#include "binding/state/heap.h"
#include "intake/throttle.h"
#include "os/clock.h"

/* Work asked for ahead. Where the requests are small that is many of them, so that neither side is woken for a few. */
#define AHEAD_NS (200 * INT64_C(1000))

/* Requests that are begun with in one turn, until each first waits, before those that are ready have theirs: so much time of them, and one more. A burst then
   keeps nobody waiting, and no more are on their way than are needed to keep the processor busy: who has begun ends first. */
#define ENTRY_NS NB_NS_PER_MS

/* Asked for beyond those of two turns, so that the next are there when one ends: the loop may be on its own thread then. */
#define ENTRY_AHEAD 4

/* A turn's requests count for one in so many. */
#define ENTRY_WEIGHT 8

void nb_executor_entry_begin(nb_executor *executor, int64_t now_ns) { executor->entry_until_ns = now_ns + ENTRY_NS; }

void nb_executor_entry_end(nb_executor *executor, int64_t began_ns, uint64_t received) {
    if (received == 0) return;
    int64_t mean = (nb_scheduler_clock(executor->scheduler) - began_ns) / (int64_t)received;
    int64_t next = executor->entry_ns ? executor->entry_ns + (mean - executor->entry_ns) / ENTRY_WEIGHT : mean;
    executor->entry_ns = next > 0 ? next : 1;
}

static uint32_t credit_of(const nb_executor *executor) {
    const nb_board *board = executor->board;
    uint32_t request_ns = atomic_load_explicit(&nb_executor_figures_of(executor)->request_ns, memory_order_relaxed);
    uint64_t quick = request_ns ? (uint64_t)AHEAD_NS / request_ns : 0;
    if (quick <= board->credit_slow) return board->credit_slow;
    return quick < board->credit ? (uint32_t)quick : board->credit;
}

/* What the loop tells of requests that run waits behind those that were given: few of them, where they take long. */
static uint32_t entry_credit(const nb_executor *executor) {
    if (nb_scheduler_has_cut(executor->scheduler)) return 1;
    return ENTRY_AHEAD + (executor->entry_ns ? (uint32_t)(2 * ENTRY_NS / executor->entry_ns) : 0);
}

void nb_executor_ask_for_more(nb_executor *executor) {
    nb_board *board = executor->board;
    atomic_store_explicit(&board->throttle.contended, nb_scheduler_has_cut(executor->scheduler), memory_order_relaxed);
    uint32_t free_fibers = executor->fibers_max > executor->running ? executor->fibers_max - executor->running : 0;
    atomic_store_explicit(&board->asked_max, executor->received + free_fibers, memory_order_relaxed);
    uint32_t credit = credit_of(executor), entry = entry_credit(executor);
    if (entry < credit) credit = entry;
    uint64_t wanted = executor->received + (free_fibers < credit ? free_fibers : credit);
    if (wanted <= atomic_load_explicit(&board->asked, memory_order_relaxed)) return;
    atomic_store_explicit(&board->asked, wanted, memory_order_release);
}

/* --- throttled classes --- */

static nb_slice words(const char *text) { return (nb_slice){text, strlen(text)}; }

static bool is_long(const nb_task *task) { return task->computed_ns >= NB_HEAP_LONG_NS; }

static void note_computed(nb_task *task, int64_t ns) {
    bool was_long = is_long(task);
    task->computed_ns += ns;
    if (!was_long && is_long(task))
        nb_heap_request_long(nb_scheduler_heap(task->executor->scheduler), task->collections);
}

void nb_executor_cut(void *owner) {
    _Static_assert(NB_REQUEST_CLASS_PATH_BYTES < NB_STALL_PATH_BYTES,
                   "a path that is cut off has the same request class");
    nb_executor *executor = owner;
    nb_throttle *throttle = &executor->board->throttle;
    nb_task *task = nb_executor_task_of(executor, nb_scheduler_root(executor->scheduler));
    if (!task) return;
    int64_t now_ns = nb_clock_monotonic_ns();
    if (task->throttle_slot != NB_THROTTLE_NO_SLOT) {
        nb_throttle_preempted(throttle, task->throttle_slot, now_ns);
    } else {
        uint64_t request_class = nb_request_class_of(words(task->words.method), words(task->words.path));
        task->throttle_slot = nb_throttle_enter(throttle, request_class, now_ns);
    }
    if (task->throttle_slot != NB_THROTTLE_NO_SLOT) note_computed(task, now_ns - nb_executor_switched_ns(executor));
}

void nb_executor_leave(nb_task *task) {
    nb_executor *executor = task->executor;
    if (task->throttle_slot == NB_THROTTLE_NO_SLOT) return;
    if (!executor->over && !nb_executor_in_child(executor)) {
        nb_throttle_leave(&executor->board->throttle, task->throttle_slot, nb_clock_monotonic_ns());
        nb_heap_request_over(nb_scheduler_heap(executor->scheduler), is_long(task));
    }
    task->throttle_slot = NB_THROTTLE_NO_SLOT;
    task->computed_ns = 0;
}

static nb_slice bytes(VALUE string) { return (nb_slice){RSTRING_PTR(string), (size_t)RSTRING_LEN(string)}; }

static VALUE executor_request_class_of(VALUE class, VALUE method, VALUE path) {
    (void)class;
    return ULL2NUM(nb_request_class_of(bytes(StringValue(method)), bytes(StringValue(path))));
}

/* NULL: nobody looks at what it tells. */
static nb_throttle *throttle_here(void) {
    nb_executor *executor = nb_executor_running_here();
    if (!executor || executor->over || nb_executor_in_child(executor)) return NULL;
    return &executor->board->throttle;
}

static VALUE executor_close_request_class(VALUE class, VALUE request_class) {
    (void)class;
    nb_throttle *throttle = throttle_here();
    return throttle && nb_throttle_close(throttle, NUM2ULL(request_class)) ? Qtrue : Qfalse;
}

/* The loop is rung for what waits there at the end of the turn, as for credit. */
static VALUE executor_open_request_class(VALUE class, VALUE request_class) {
    (void)class;
    nb_throttle *throttle = throttle_here();
    if (throttle) nb_throttle_open(throttle, NUM2ULL(request_class));
    return Qnil;
}

void nb_executor_entry_define(VALUE class) {
    rb_define_singleton_method(class, "request_class_of", executor_request_class_of, 2);
    rb_define_singleton_method(class, "close_request_class", executor_close_request_class, 1);
    rb_define_singleton_method(class, "open_request_class", executor_open_request_class, 1);
}
