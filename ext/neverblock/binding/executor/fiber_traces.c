/*
 * fiber_traces.c - see fiber_traces.h.
 */
#include "binding/executor/fiber_traces.h"

#include "base/alloc.h"
#include "binding/scheduler/scheduler.h"
#include "binding/timeslices/interrupt.h"
#include "os/clock.h"
#include "stall/stall_places.h"

/* A turn takes traces for so long, when they were asked for. */
#define ASKED_BUDGET_NS (NB_NS_PER_MS / 2)
/* Fibers that have waited for so long are traced unasked, so often, and for so long at once. */
#define LONG_WAIT_NS (100 * NB_NS_PER_MS)
#define LONG_EVERY_NS (50 * NB_NS_PER_MS)
#define LONG_BUDGET_NS (NB_NS_PER_MS / 5)
/* Places of the table that are looked at for them at once. */
#define LONG_PLACES 512
/* Lines that are asked of Ruby, and those behind them that are searched where none of these is the
   application's: a framework's and a driver's lines may be many. */
#define LINES_MAX 40
#define SEARCHED_MAX 200

static nb_fiber_memory *memory_of(const nb_executor *executor) { return executor->link->fibers; }

static VALUE lines_of(VALUE fiber) {
    VALUE range[] = {INT2FIX(0), INT2FIX(LINES_MAX)};
    return rb_funcallv(fiber, rb_intern("backtrace"), 2, range);
}

static VALUE further_lines_of(VALUE fiber) {
    VALUE range[] = {INT2FIX(LINES_MAX), INT2FIX(SEARCHED_MAX)};
    return rb_funcallv(fiber, rb_intern("backtrace"), 2, range);
}

static long count_of(VALUE lines) { return RB_TYPE_P(lines, T_ARRAY) ? RARRAY_LEN(lines) : 0; }

static nb_slice line_at(VALUE lines, long place) {
    VALUE line = rb_ary_entry(lines, place);
    return RB_TYPE_P(line, T_STRING) ? nb_slice_of(RSTRING_PTR(line), (size_t)RSTRING_LEN(line)) : NB_SLICE("");
}

static bool is_application(const nb_executor *executor, nb_slice line) {
    return nb_stall_places_application(executor->places, line);
}

/* True: one of them is the application's. */
static bool add_lines(nb_executor *executor, VALUE lines) {
    bool found = false;
    for (long i = 0; i < count_of(lines); i++) {
        nb_slice line = line_at(lines, i);
        if (line.size) nb_stall_add_line(executor->trace, line.data, (uint32_t)line.size);
        found = found || is_application(executor, line);
    }
    return found;
}

static void add_application_line(nb_executor *executor, VALUE lines) {
    for (long i = 0; i < count_of(lines); i++) {
        nb_slice line = line_at(lines, i);
        if (!is_application(executor, line)) continue;
        nb_stall_add_line(executor->trace, "...", 3);
        nb_stall_add_line(executor->trace, line.data, (uint32_t)line.size);
        return;
    }
}

/* The first line is the application's or a gem's, as the stall watch finds it; it may be empty. */
static void put(nb_executor *executor, uint32_t wait, int64_t now_ns) {
    char text[NB_STALL_SHOWN_BYTES];
    nb_stall_culprit culprit = {.at = "", .application = ""};
    nb_stall_places_blame(executor->places, executor->trace, &culprit);
    nb_fiber_trace_put(memory_of(executor), wait, now_ns, nb_stall_show(text, executor->trace, &culprit));
}

static void take(nb_executor *executor, VALUE fiber, uint32_t wait) {
    nb_stall *trace = executor->trace;
    trace->lines = trace->trace_bytes = 0;
    VALUE lines = nb_interrupt_call(lines_of, fiber, NULL);
    if (lines != Qundef && !add_lines(executor, lines) && count_of(lines) == LINES_MAX) {
        lines = nb_interrupt_call(further_lines_of, fiber, NULL);
        if (lines != Qundef) add_application_line(executor, lines);
    }
    RB_GC_GUARD(lines);
    put(executor, wait, nb_clock_monotonic_ns());
}

static bool has_room(nb_executor *executor) {
    if (!executor->trace) executor->trace = nb_alloc_zero(1, sizeof(*executor->trace));
    return executor->trace != NULL;
}

static int64_t asked_ns(const nb_executor *executor) {
    return atomic_load_explicit(&memory_of(executor)->asked_ns, memory_order_acquire);
}

bool nb_executor_traces_asked(const nb_executor *executor) {
    if (!executor->figures) return false;
    return asked_ns(executor) != atomic_load_explicit(&memory_of(executor)->answered_ns, memory_order_relaxed);
}

/* From the place where the last turn has stopped. A question that comes meanwhile follows. */
static void take_asked(nb_executor *executor) {
    int64_t began_ns = nb_clock_monotonic_ns();
    if (executor->traces_for_ns == 0) {
        executor->traces_for_ns = asked_ns(executor);
        executor->trace_place = 0;
    }
    size_t places = nb_scheduler_parked_places(executor->scheduler);
    while (executor->trace_place < places) {
        VALUE fiber = Qnil;
        uint32_t wait = nb_scheduler_parked_at(executor->scheduler, executor->trace_place++, &fiber);
        if (wait == NB_FIBER_NONE) continue;
        if (nb_fiber_trace_taken_ns(memory_of(executor), wait) >= executor->traces_for_ns) continue;
        take(executor, fiber, wait);
        RB_GC_GUARD(fiber);
        if (nb_clock_monotonic_ns() - began_ns >= ASKED_BUDGET_NS) return;
    }
    atomic_store_explicit(&memory_of(executor)->answered_ns, executor->traces_for_ns, memory_order_release);
    executor->traces_for_ns = 0;
}

typedef enum turn_of_wait { DONE, YOUNG, DUE } turn_of_wait;

static turn_of_wait turn_of(const nb_executor *executor, uint32_t wait, int64_t now_ns) {
    nb_fiber_wait read;
    if (wait == NB_FIBER_NONE || nb_fiber_trace_taken_ns(memory_of(executor), wait) != 0) return DONE;
    if (!nb_fiber_wait_read(memory_of(executor), wait, &read)) return DONE;
    return now_ns - read.since_ns >= LONG_WAIT_NS ? DUE : YOUNG;
}

static void take_long(nb_executor *executor, int64_t now_ns) {
    size_t places = nb_scheduler_parked_places(executor->scheduler);
    int64_t began_ns = nb_clock_monotonic_ns();
    if (nb_scheduler_take_waited(executor->scheduler)) {
        executor->traces_taken = 0;
        executor->traced_places = 0;
    }
    for (size_t i = 0; i < places && i < LONG_PLACES; i++) {
        VALUE fiber = Qnil;
        if (++executor->trace_long_place >= places) executor->trace_long_place = 0;
        uint32_t wait = nb_scheduler_parked_at(executor->scheduler, executor->trace_long_place, &fiber);
        turn_of_wait turn = turn_of(executor, wait, now_ns);
        executor->traced_places = turn == YOUNG ? 0 : executor->traced_places + 1;
        if (turn != DUE) continue;
        take(executor, fiber, wait);
        executor->traces_taken++;
        RB_GC_GUARD(fiber);
        if (nb_clock_monotonic_ns() - began_ns >= LONG_BUDGET_NS) return;
    }
}

/* More traces than there is room for would take the places of one another. */
int64_t nb_executor_traces_due_ns(const nb_executor *executor) {
    size_t places = nb_scheduler_parked_places(executor->scheduler);
    if (!executor->figures || places == 0) return INT64_MAX;
    bool done = executor->traced_places >= places || executor->traces_taken >= NB_FIBER_TRACES_MAX;
    if (done && !nb_scheduler_waited(executor->scheduler)) return INT64_MAX;
    return executor->traces_long_ns + LONG_EVERY_NS;
}

void nb_executor_traces_take(nb_executor *executor) {
    if (!executor->figures) return;
    int64_t now_ns = nb_scheduler_now(executor->scheduler);
    bool asked = nb_executor_traces_asked(executor);
    bool looks = now_ns - executor->traces_long_ns >= LONG_EVERY_NS;
    if (looks) executor->traces_long_ns = now_ns;
    if ((!asked && !looks) || !has_room(executor)) return;
    if (looks) take_long(executor, now_ns);
    if (asked) take_asked(executor);
}

void nb_executor_traces_free(nb_executor *executor) { nb_free(executor->trace); }
