/*
 * admin_slowest.c - /slowest.json: the slowest requests of each route or request class in the last
 * hour, each with what it waited for, read from what the executors have kept (intake/slowest.h).
 * docs/guides/timing.md has the fields. Fields are added, never renamed.
 */
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/json.h"
#include "admin/shown.h"
#include "base/alloc.h"
#include "intake/path_pattern.h"
#include "loop/loop_state.h"
#include "os/clock.h"

/* Requests that are shown where the query names no limit, and at most: writing one with all its
   waits takes some 20 microseconds. */
#define LIMIT_DEFAULT 32u
#define LIMIT_MAX 128u
/* What the document keeps room for behind the requests. */
#define LAST_BYTES 4096u
/* The most that one request may need. */
#define REQUEST_BYTES 81920u

typedef struct candidate {
    const nb_dispatch_channel *channel;
    uint64_t key;
    int64_t duration_ns;
    uint32_t record;
} candidate;

typedef struct slowest_view {
    nb_loop *loop;
    nb_text *text;
    candidate *candidates;
    nb_slow_request *request;
    uint32_t count, room;
    int64_t now_ns, wall_ns;
} slowest_view;

/* --- which are shown --- */

static uint32_t executors(const nb_loop *loop) {
    uint32_t count = 0;
    for (const nb_dispatch *lane = &loop->dispatch; lane; lane = lane->next_lane)
        count += lane->count;
    return count < NB_SHOWN_EXECUTORS_MAX ? count : NB_SHOWN_EXECUTORS_MAX;
}

static void collect_from(slowest_view *view, const nb_dispatch_channel *channel) {
    const nb_slowest *slowest = channel->channel->link->slowest;
    for (uint32_t i = 0; i < NB_SLOWEST_RECORDS && view->count < view->room; i++) {
        candidate found = {.channel = channel, .record = i};
        int64_t ended_ns;
        if (!nb_slowest_peek(slowest, i, &found.key, &found.duration_ns, &ended_ns)) continue;
        if (view->now_ns - ended_ns <= NB_SLOWEST_KEPT_NS) view->candidates[view->count++] = found;
    }
}

static void collect(slowest_view *view) {
    for (const nb_dispatch *lane = &view->loop->dispatch; lane; lane = lane->next_lane) {
        for (uint16_t i = 0; i < lane->count; i++) {
            if (lane->channels[i].channel) collect_from(view, &lane->channels[i]);
        }
    }
}

static int slower_first(const void *left, const void *right) {
    const candidate *a = left, *b = right;
    return (a->duration_ns < b->duration_ns) - (a->duration_ns > b->duration_ns);
}

static int by_class(const void *left, const void *right) {
    const candidate *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return slower_first(left, right);
}

/* Several executors have requests of one class: of all together, a few stay. */
static void drop_faster(slowest_view *view) {
    uint32_t kept = 0, of_class = 0;
    qsort(view->candidates, view->count, sizeof(*view->candidates), by_class);
    for (uint32_t i = 0; i < view->count; i++) {
        of_class = i > 0 && view->candidates[i].key == view->candidates[i - 1].key ? of_class + 1 : 0;
        if (of_class < NB_SLOWEST_EACH) view->candidates[kept++] = view->candidates[i];
    }
    view->count = kept;
    qsort(view->candidates, view->count, sizeof(*view->candidates), slower_first);
}

/* --- what is shown --- */

static void add_text(nb_text *text, const char *name, const char *value) {
    if (*value) nb_json_bytes(text, name, nb_slice_of(value, strlen(value)));
}

/* Segments with digits count as equal: "/orders/0" (path_pattern.h). */
static void add_class(nb_text *text, nb_slice path) {
    char pattern[NB_FIBER_LINE_BYTES], shown[3 * NB_FIBER_LINE_BYTES + 1];
    size_t size = nb_path_pattern_of(path, pattern, sizeof(pattern));
    nb_path_pattern_show(nb_slice_of(pattern, size), shown, sizeof(shown));
    add_text(text, "class", shown);
}

static void add_words(slowest_view *view, const nb_slow_request *request) {
    nb_text *text = view->text;
    const char *space = strchr(request->line, ' '), *path = space ? space + 1 : "";
    nb_slice method = nb_slice_of(request->line, space ? (size_t)(space - request->line) : strlen(request->line));
    add_text(text, "id", request->id);
    add_text(text, "trace_id", request->trace);
    nb_json_bytes(text, "method", method);
    nb_json_bytes(text, "path", nb_slice_of(path, strlen(path)));
    nb_shown_route(text, &view->loop->routes, request->route);
    if (request->route == NB_ROUTE_NONE) add_class(text, nb_slice_of(path, strlen(path)));
    if (request->status) nb_json_number(text, "status", request->status);
}

static void add_kinds(nb_text *text, const nb_account *account) {
    nb_json_begin(text, "wait_s", '{');
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        if (account->wait_ns[kind]) nb_json_seconds(text, nb_fiber_wait_name(kind), account->wait_ns[kind]);
    }
    nb_text_add(text, "}");
    nb_json_begin(text, "waits", '{');
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        if (account->waits[kind]) nb_json_number(text, nb_fiber_wait_name(kind), account->waits[kind]);
    }
    nb_text_add(text, "}");
}

static void add_account(slowest_view *view, const nb_slow_request *request) {
    nb_text *text = view->text;
    const nb_account *account = &request->account;
    int64_t until_ns = account->head_sent_ns ? account->head_sent_ns : request->ended_ns;
    int64_t age_ns = view->now_ns - request->ended_ns;
    nb_json_seconds(text, "age_s", age_ns);
    nb_json_seconds(text, "ended_at", (view->wall_ns - age_ns) / NB_NS_PER_MS * NB_NS_PER_MS);
    nb_json_seconds(text, "duration_s", request->duration_ns);
    nb_json_seconds(text, "head_s", account->head_ns);
    if (account->body_ns) nb_json_seconds(text, "body_s", account->body_ns);
    nb_json_seconds(text, "queue_s", account->queue_ns);
    nb_json_seconds(text, "run_s", until_ns - account->taken_ns);
    nb_json_seconds(text, "ran_s", account->ran_ns);
    nb_json_seconds(text, "gc_s", account->gc_ns);
    nb_json_number(text, "allocations", account->allocated);
    add_kinds(text, account);
}

/* From when the application began, as all times here. */
static void add_wait(nb_text *text, const nb_slow_request *request, const nb_waited *wait) {
    int64_t ended_ns = wait->ended_ns ? wait->ended_ns : request->ended_ns;
    int64_t ready_ns = wait->ready_ns && wait->ready_ns < ended_ns ? wait->ready_ns : ended_ns;
    nb_json_begin(text, NULL, '{');
    nb_json_string(text, "kind", nb_fiber_wait_name(wait->kind));
    if (wait->text_bytes) nb_json_bytes(text, "what", nb_slice_of(wait->text, wait->text_bytes));
    if (!wait->own) nb_json_string(text, "fiber", "helper");
    nb_json_seconds(text, "start_s", wait->began_ns - request->account.taken_ns);
    nb_json_seconds(text, "for_s", ready_ns - wait->began_ns);
    if (ended_ns > ready_ns) nb_json_seconds(text, "turn_s", ended_ns - ready_ns);
    if (wait->line) add_text(text, "line", request->waterfall.lines[wait->line - 1]);
    nb_text_add(text, "}");
}

static void add_request(slowest_view *view, const candidate *shown) {
    nb_text *text = view->text;
    const nb_slow_request *request = view->request;
    if (!nb_slowest_read(shown->channel->channel->link->slowest, shown->record, view->request)) return;
    nb_json_begin(text, NULL, '{');
    nb_shown_whose(text, shown->channel);
    add_words(view, request);
    add_account(view, request);
    nb_json_begin(text, "waterfall", '[');
    for (uint32_t i = 0; i < request->waterfall.count; i++)
        add_wait(text, request, &request->waterfall.waits[i]);
    nb_text_add(text, "]");
    nb_json_number(text, "waits_left_out", request->waterfall.left_out);
    nb_text_add(text, "}");
}

static bool has_room(const slowest_view *view) {
    return view->text->size + REQUEST_BYTES + LAST_BYTES <= NB_ADMIN_BODY_BYTES_MAX;
}

static void write(slowest_view *view, uint32_t limit) {
    nb_text *text = view->text;
    uint32_t shown = 0;
    collect(view);
    drop_faster(view);
    nb_text_add(text, "{");
    nb_json_string(text, "neverblock", view->loop->config.version);
    nb_json_begin(text, "requests", '[');
    for (; shown < view->count && shown < limit && has_room(view); shown++)
        add_request(view, &view->candidates[shown]);
    nb_text_add(text, "]");
    nb_json_number(text, "left_out", view->count - shown);
    nb_text_add(text, "}\n");
}

void nb_admin_write_slowest(nb_loop *loop, nb_text *text) {
    uint32_t limit = nb_shown_number(loop->connections.head.query, "limit", LIMIT_DEFAULT, LIMIT_MAX);
    uint32_t room = executors(loop) * NB_SLOWEST_RECORDS;
    slowest_view view = {.loop = loop,
                         .text = text,
                         .room = room,
                         .now_ns = nb_clock_monotonic_ns(),
                         .wall_ns = nb_clock_wall_ns(),
                         .candidates = nb_alloc((room ? room : 1) * sizeof(*view.candidates)),
                         .request = nb_alloc(sizeof(*view.request))};
    text->failed = !view.candidates || !view.request;
    if (!text->failed) write(&view, limit);
    nb_free(view.candidates);
    nb_free(view.request);
}
