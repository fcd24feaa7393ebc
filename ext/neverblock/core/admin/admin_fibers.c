/*
 * admin_fibers.c - /fibers.json: what each fiber does and waits for, the oldest first, read from
 * the records of all executors (intake/fiber_table.h). docs/guides/fibers.md has the fields. Fields
 * are added, never renamed.
 *
 * The records are read here, whatever the executors do. Backtraces are made by the executors: a
 * request with ?backtrace=1 asks for them and shows what is there, one with ?backtrace=kept shows
 * only.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/fiber_choice.h"
#include "admin/json.h"
#include "admin/shown.h"
#include "base/alloc.h"
#include "dispatch/dispatch.h"
#include "intake/fiber_table.h"
#include "loop/loop_state.h"
#include "os/clock.h"
#include "stall/stall.h"

/* Fibers that are shown where the request names no limit. */
#define LIMIT_DEFAULT 250u
/* Fibers of one event (nb_admin_write_oldest_fibers). */
#define OLDEST 100u
/* Of the whole answer, so much is left for the last fiber and what comes after it. */
#define LAST_BYTES 16384u
/* And so much for each executor. */
#define EXECUTOR_BYTES 192u
/* Holders of locks that are looked for in one answer: each look reads all records. */
#define HOLDERS_MAX 32
/* An executor is asked again when it has answered, or has not for so long. */
#define ASK_AGAIN_NS NB_NS_PER_S

typedef struct shown_executor {
    const nb_dispatch_channel *channel;
    nb_fiber_memory *memory;
    int64_t busy_since_ns; /* 0: it runs no fiber */
    uint32_t running;      /* record of the request whose fiber runs; NB_FIBER_NONE */
} shown_executor;

typedef struct wanted {
    uint32_t limit;
    bool asks, traces, query;
    bool wakes; /* executors, so that they take the traces that they take unasked */
} wanted;

typedef struct fibers_view {
    nb_loop *loop;
    nb_text *text;
    wanted wanted;
    shown_executor *executors;
    nb_fiber_choice *choice;
    uint16_t executor_count;
    uint64_t requests, recorded; /* requests that run, and those that have records */
    uint64_t kinds[NB_FIBER_WAIT_KINDS];
    int64_t now_ns;
    /* the last lock's holder that was looked for */
    const nb_fiber_memory *holder_memory;
    uint64_t holder;
    bool holder_known;
    int holders_looked_for;
    nb_fiber_request holder_request;
} fibers_view;

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)

/* --- what is wanted --- */

static bool is_set(nb_slice query, const char *name) {
    nb_slice value;
    return nb_shown_parameter(query, name, &value) && !nb_slice_equal(value, NB_SLICE("0"));
}

static wanted wanted_by(nb_slice query) {
    nb_slice value;
    wanted wants = {.limit = nb_shown_number(query, "limit", LIMIT_DEFAULT, NB_FIBER_CHOICE_MAX),
                    .query = is_set(query, "query"),
                    .traces = is_set(query, "backtrace")};
    wants.asks = wants.traces && nb_shown_parameter(query, "backtrace", &value) &&
                 !nb_slice_equal(value, NB_SLICE("kept"));
    return wants;
}

/* --- the executors --- */

static void add_executor(fibers_view *view, const nb_dispatch_channel *channel) {
    if (!channel->channel || view->executor_count == NB_SHOWN_EXECUTORS_MAX) return;
    nb_board *board = channel->channel->board;
    nb_fiber_memory *memory = channel->channel->link->fibers;
    int64_t switched_ns = LOAD(board->pulse.switched_ns);
    view->executors[view->executor_count++] = (shown_executor){.channel = channel,
                                                               .memory = memory,
                                                               .busy_since_ns = switched_ns,
                                                               .running = switched_ns ? LOAD(memory->running) - 1
                                                                                      : NB_FIBER_NONE};
    view->requests += LOAD(board->figures.running);
}

static void find_executors(fibers_view *view) {
    for (const nb_dispatch *lane = &view->loop->dispatch; lane; lane = lane->next_lane) {
        for (uint16_t i = 0; i < lane->count; i++) {
            add_executor(view, &lane->channels[i]);
        }
    }
}

static void choose_requests(fibers_view *view, uint16_t number) {
    const nb_fiber_memory *memory = view->executors[number].memory;
    int64_t since_ns;
    for (uint32_t i = 0, used = nb_fiber_requests_used(memory); i < used; i++) {
        if (!nb_fiber_request_peek(memory, i, &since_ns)) continue;
        view->recorded++;
        nb_fiber_choice_offer(view->choice, (nb_fiber_chosen){since_ns, i, number, false});
    }
}

/* Each wait counts; those of a request's own fiber are shown with the request. */
static void choose_waits(fibers_view *view, uint16_t number) {
    const nb_fiber_memory *memory = view->executors[number].memory;
    nb_fiber_wait_kind kind;
    int64_t since_ns;
    bool own;
    for (uint32_t i = 0, used = nb_fiber_waits_used(memory); i < used; i++) {
        if (!nb_fiber_wait_peek(memory, i, &since_ns, &kind, &own)) continue;
        view->kinds[kind]++;
        if (!own) nb_fiber_choice_offer(view->choice, (nb_fiber_chosen){since_ns, i, number, true});
    }
}

/* A lane's thread has no parked fibers. */
static bool answers(const shown_executor *executor) {
    const nb_channel *channel = executor->channel->channel;
    return !channel->link->lane && !LOAD(channel->board->executor_gone);
}

static bool answered(const shown_executor *executor) {
    return !answers(executor) || LOAD(executor->memory->asked_ns) == LOAD(executor->memory->answered_ns);
}

static void wake(fibers_view *view, const shown_executor *executor) {
    nb_channel_ring_executor(executor->channel->channel);
    /* an executor that runs this loop's turns itself goes back to its own */
    if (view->loop->guest) view->loop->guest_called = true;
}

static void ask(fibers_view *view, const shown_executor *executor) {
    nb_fiber_memory *memory = executor->memory;
    if (!answers(executor)) return;
    int64_t asked_ns = LOAD(memory->asked_ns);
    if (asked_ns != LOAD(memory->answered_ns) && view->now_ns - asked_ns < ASK_AGAIN_NS) return;
    nb_fiber_ask_traces(memory, view->now_ns);
    wake(view, executor);
}

/* An executor that sleeps takes no traces of those that have waited for long. */
static void wake_for_traces(fibers_view *view, const shown_executor *executor) {
    if (answers(executor) && LOAD(executor->channel->channel->board->figures.parked) > 0) wake(view, executor);
}

/* --- pieces --- */

static void add_request_words(fibers_view *view, const nb_fiber_request *request) {
    nb_text *text = view->text;
    const char *space = strchr(request->line, ' ');
    size_t method = space ? (size_t)(space - request->line) : 0, path = space ? method + 1 : 0;
    size_t path_end = request->path_bytes > path ? request->path_bytes : path, size = strlen(request->line);
    if (path_end > size) path_end = size;
    nb_json_bytes(text, "id", nb_slice_of(request->id, strlen(request->id)));
    nb_json_bytes(text, "method", nb_slice_of(request->line, method));
    nb_json_bytes(text, "path", nb_slice_of(request->line + path, path_end - path));
    if (view->wanted.query && size > path_end + 1)
        nb_json_bytes(text, "query", nb_slice_of(request->line + path_end + 1, size - path_end - 1));
}

static void add_trace(fibers_view *view, const nb_fiber_trace *trace) {
    nb_text *text = view->text;
    const char *at = trace->text, *end;
    nb_json_seconds(text, "backtrace_age_s", view->now_ns - trace->taken_ns);
    if ((end = strchr(at, '\n')) == NULL) return;
    if (end > at) nb_json_bytes(text, "line", nb_slice_of(at, (size_t)(end - at)));
    if (!view->wanted.traces) return;
    nb_json_begin(text, "backtrace", '[');
    for (at = end + 1; (end = strchr(at, '\n')) != NULL; at = end + 1)
        nb_json_bytes(text, NULL, nb_slice_of(at, (size_t)(end - at)));
    nb_text_add(text, "]");
}

/* Who holds the lock, as far as that is a request of the same executor. A fiber that serves another
   request by now has given the lock back. */
static void add_holder(fibers_view *view, const nb_fiber_memory *memory, uint64_t fiber, int64_t since_ns) {
    if (view->holder != fiber || view->holder_memory != memory) {
        if (view->holders_looked_for++ >= HOLDERS_MAX) return;
        view->holder = fiber;
        view->holder_memory = memory;
        view->holder_known = nb_fiber_request_of(memory, fiber, &view->holder_request);
    }
    if (!view->holder_known || view->holder_request.taken_ns > since_ns) return;
    nb_json_begin(view->text, "holder", '{');
    add_request_words(view, &view->holder_request);
    nb_text_add(view->text, "}");
}

/* "pg 127.0.0.1:5432" */
static void add_database(nb_text *text, const char *words) {
    const char *space = strchr(words, ' ');
    size_t driver = space ? (size_t)(space - words) : strlen(words);
    nb_json_bytes(text, "driver", nb_slice_of(words, driver));
    if (space && space[1]) nb_json_bytes(text, "address", nb_slice_of(space + 1, strlen(space + 1)));
}

static void add_subject(fibers_view *view, const nb_fiber_memory *memory, const nb_fiber_wait *wait) {
    nb_text *text = view->text;
    bool descriptor = wait->kind == NB_FIBER_WAIT_io || wait->kind == NB_FIBER_WAIT_file;
    switch (wait->kind) {
    case NB_FIBER_WAIT_database:
        if (*wait->text) add_database(text, wait->text);
        break;
    case NB_FIBER_WAIT_http:
    case NB_FIBER_WAIT_io:
        if (*wait->text) nb_json_bytes(text, "address", nb_slice_of(wait->text, strlen(wait->text)));
        break;
    case NB_FIBER_WAIT_lock:
        if (wait->subject) add_holder(view, memory, wait->subject, wait->since_ns);
        break;
    case NB_FIBER_WAIT_process:
        if (wait->number > 0) nb_json_number(text, "process", (uint64_t)wait->number);
        break;
    default:
        if (*wait->text) nb_json_bytes(text, "name", nb_slice_of(wait->text, strlen(wait->text)));
    }
    if (descriptor && wait->number >= 0) nb_json_number(text, "descriptor", (uint64_t)wait->number);
    if (wait->direction != NB_FIBER_NO_WAY)
        nb_json_string(text, "direction", wait->direction == NB_FIBER_READS ? "read" : "write");
}

static void add_wait(fibers_view *view, const shown_executor *executor, uint32_t record, const nb_fiber_wait *wait) {
    nb_text *text = view->text;
    nb_fiber_trace trace;
    nb_json_string(text, "state", wait->ready || wait->kind == NB_FIBER_WAIT_turn ? "ready" : "waiting");
    if (wait->kind != NB_FIBER_WAIT_turn) {
        nb_json_begin(text, "waits_for", '{');
        nb_json_string(text, "kind", nb_fiber_wait_name(wait->kind));
        nb_json_seconds(text, "for_s", view->now_ns - wait->since_ns);
        if (wait->until_ns != INT64_MAX) nb_json_seconds(text, "left_s", wait->until_ns - view->now_ns);
        add_subject(view, executor->memory, wait);
        nb_text_add(text, "}");
    }
    if (nb_fiber_trace_read(executor->memory, record, wait, &trace)) add_trace(view, &trace);
}

/* False: it is not known to stall. */
static bool add_stall(fibers_view *view, const shown_executor *executor) {
    nb_fiber_trace trace;
    if (!executor->busy_since_ns || !nb_fiber_stall_read(executor->memory, executor->busy_since_ns, &trace))
        return false;
    nb_json_string(view->text, "stalls_in", nb_stall_kind_name((nb_stall_kind)trace.kind));
    add_trace(view, &trace);
    return true;
}

/* One that neither waits nor runs is in the run queue: it was preempted, or has started another. */
static void add_no_wait(fibers_view *view, const shown_executor *executor, const nb_fiber_request *request, bool runs) {
    nb_fiber_trace trace;
    nb_json_string(view->text, "state", runs ? "running" : "ready");
    if (runs && add_stall(view, executor)) return;
    if (nb_fiber_preempted_read(executor->memory, request, &trace)) add_trace(view, &trace);
}

/* --- fibers --- */

static bool own_wait(const nb_fiber_memory *memory, const nb_fiber_request *request, nb_fiber_wait *wait) {
    return request->wait != NB_FIBER_NONE && nb_fiber_wait_read(memory, request->wait, wait) &&
           wait->exchange == request->exchange;
}

static void add_served(fibers_view *view, const nb_fiber_request *request) {
    add_request_words(view, request);
    nb_shown_route(view->text, &view->loop->routes, request->route);
    nb_json_seconds(view->text, "age_s", view->now_ns - request->arrived_ns);
}

static bool add_request(fibers_view *view, const nb_fiber_chosen *chosen) {
    const shown_executor *executor = &view->executors[chosen->executor];
    nb_text *text = view->text;
    nb_fiber_request request;
    nb_fiber_wait wait;
    if (!nb_fiber_request_read(executor->memory, chosen->record, &request)) return false;
    bool waits = own_wait(executor->memory, &request, &wait), runs = !waits && executor->running == chosen->record;
    int64_t ran_ns = (int64_t)(request.ran_ns & INT64_MAX);
    if (runs && view->now_ns > executor->busy_since_ns) ran_ns += view->now_ns - executor->busy_since_ns;
    nb_json_begin(text, NULL, '{');
    nb_json_string(text, "fiber", "request");
    nb_shown_whose(view->text, executor->channel);
    nb_json_begin(text, "exchange", 0);
    nb_text_format(text, "\"%" PRIx64 "\"", request.exchange);
    add_served(view, &request);
    nb_json_seconds(text, "ran_s", ran_ns);
    if (waits) {
        add_wait(view, executor, request.wait, &wait);
    } else {
        add_no_wait(view, executor, &request, runs);
    }
    nb_text_add(text, "}");
    return true;
}

/* A fiber of its own: it works for a request, or for none. */
static bool add_other(fibers_view *view, const nb_fiber_chosen *chosen) {
    const shown_executor *executor = &view->executors[chosen->executor];
    nb_text *text = view->text;
    nb_fiber_request request;
    nb_fiber_wait wait;
    if (!nb_fiber_wait_read(executor->memory, chosen->record, &wait)) return false;
    bool works = wait.request != NB_FIBER_NONE && nb_fiber_request_read(executor->memory, wait.request, &request) &&
                 request.exchange == wait.exchange;
    nb_json_begin(text, NULL, '{');
    nb_json_string(text, "fiber", works ? "helper" : "background");
    nb_shown_whose(view->text, executor->channel);
    if (works) add_served(view, &request);
    add_wait(view, executor, chosen->record, &wait);
    nb_text_add(text, "}");
    return true;
}

static bool is_full(const fibers_view *view) {
    size_t last = LAST_BYTES + view->executor_count * EXECUTOR_BYTES;
    return view->text->size + last > NB_ADMIN_BODY_BYTES_MAX;
}

static uint64_t add_fibers(fibers_view *view) {
    uint64_t shown = 0, vanished = 0;
    nb_json_begin(view->text, "fibers", '[');
    for (uint32_t i = 0; i < view->choice->count && !is_full(view); i++) {
        const nb_fiber_chosen *chosen = &view->choice->chosen[i];
        bool there = chosen->wait ? add_other(view, chosen) : add_request(view, chosen);
        *(there ? &shown : &vanished) += 1;
    }
    nb_text_add(view->text, "]");
    return view->choice->offered - shown - vanished;
}

static void add_executors(fibers_view *view) {
    nb_text *text = view->text;
    nb_json_begin(text, "executors", '[');
    for (uint16_t i = 0; i < view->executor_count && text->size + EXECUTOR_BYTES < NB_ADMIN_BODY_BYTES_MAX; i++) {
        const shown_executor *executor = &view->executors[i];
        nb_json_begin(text, NULL, '{');
        nb_shown_whose(view->text, executor->channel);
        nb_json_number(text, "running", LOAD(executor->channel->channel->board->figures.running));
        nb_json_seconds(text, "busy_for_s", executor->busy_since_ns ? view->now_ns - executor->busy_since_ns : 0);
        nb_json_flag(text, "backtraces_complete", answered(executor));
        nb_text_add(text, "}");
    }
    nb_text_add(text, "]");
}

static void add_kinds(fibers_view *view) {
    nb_json_begin(view->text, "waits", '{');
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        if (view->kinds[kind]) nb_json_number(view->text, nb_fiber_wait_name(kind), view->kinds[kind]);
    }
    nb_text_add(view->text, "}");
}

static void write(fibers_view *view) {
    nb_text *text = view->text;
    find_executors(view);
    for (uint16_t i = 0; i < view->executor_count; i++) {
        if (view->wanted.asks) ask(view, &view->executors[i]);
        if (view->wanted.wakes) wake_for_traces(view, &view->executors[i]);
        choose_requests(view, i);
        choose_waits(view, i);
    }
    nb_fiber_choice_sort(view->choice);
    nb_text_add(text, "{");
    nb_json_string(text, "neverblock", view->loop->config.version);
    uint64_t left_out = add_fibers(view);
    nb_json_number(text, "left_out", left_out);
    nb_json_number(text, "unrecorded", view->requests > view->recorded ? view->requests - view->recorded : 0);
    add_kinds(view);
    add_executors(view);
    nb_text_add(text, "}\n");
}

static void write_wanted(nb_loop *loop, nb_text *text, wanted wants) {
    fibers_view view = {.loop = loop,
                        .text = text,
                        .wanted = wants,
                        .now_ns = nb_clock_monotonic_ns(),
                        .executors = nb_alloc(NB_SHOWN_EXECUTORS_MAX * sizeof(*view.executors)),
                        .choice = nb_alloc(sizeof(*view.choice))};
    text->failed = !view.executors || !view.choice;
    if (!text->failed) {
        nb_fiber_choice_init(view.choice, view.wanted.limit);
        write(&view);
    }
    nb_free(view.executors);
    nb_free(view.choice);
}

void nb_admin_write_fibers(nb_loop *loop, nb_text *text) {
    write_wanted(loop, text, wanted_by(loop->connections.head.query));
}

void nb_admin_write_oldest_fibers(nb_loop *loop, nb_text *text) {
    write_wanted(loop, text, (wanted){.limit = OLDEST, .wakes = true});
}
