/*
 * admin_slowest.c - /slowest.json: the slowest requests of each route or request class in the last
 * hour, each with what it waited for, read from what the executors have kept (intake/slowest.h).
 * docs/guides/timing.md has the fields. Fields are added, never renamed.
 */
#include <stdlib.h>

#include "admin/admin.h"
#include "admin/json.h"
#include "admin/shown.h"
#include "admin/shown_request.h"
#include "base/alloc.h"
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

typedef struct slowest_view {
    nb_loop *loop;
    nb_text *text;
    nb_slow_request *request;
    nb_shown_candidates candidates;
    int64_t now_ns, wall_ns;
} slowest_view;

/* --- which are shown --- */

static void collect(void *owner, const nb_dispatch_channel *channel) {
    slowest_view *view = owner;
    for (uint32_t i = 0; i < NB_SLOWEST_RECORDS; i++) {
        nb_shown_candidate found = {.channel = channel, .record = i};
        if (!nb_slowest_peek(channel->channel->link->slowest, i, &found.key, &found.duration_ns, &found.ended_ns))
            continue;
        if (view->now_ns - found.ended_ns <= NB_SLOWEST_KEPT_NS) nb_shown_candidates_add(&view->candidates, found);
    }
}

static int slower_first(const void *left, const void *right) {
    const nb_shown_candidate *a = left, *b = right;
    return (a->duration_ns < b->duration_ns) - (a->duration_ns > b->duration_ns);
}

static int by_class(const void *left, const void *right) {
    const nb_shown_candidate *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return slower_first(left, right);
}

/* Several executors have requests of one class: of all together, a few stay. */
static void drop_faster(nb_shown_candidates *candidates) {
    nb_shown_candidate *all = candidates->all;
    uint32_t kept = 0, of_class = 0;
    qsort(all, candidates->count, sizeof(*all), by_class);
    for (uint32_t i = 0; i < candidates->count; i++) {
        of_class = i > 0 && all[i].key == all[i - 1].key ? of_class + 1 : 0;
        if (of_class < NB_SLOWEST_EACH) all[kept++] = all[i];
    }
    candidates->count = kept;
    qsort(all, kept, sizeof(*all), slower_first);
}

/* --- what is shown --- */

static void add_wait(nb_text *text, const nb_slow_request *request, const nb_waited *wait) {
    int64_t ended_ns = wait->ended_ns ? wait->ended_ns : request->about.ended_ns;
    nb_json_begin(text, NULL, '{');
    nb_json_string(text, "kind", nb_fiber_wait_name(wait->kind));
    if (wait->text_bytes) nb_json_bytes(text, "what", nb_slice_of(wait->text, wait->text_bytes));
    if (!wait->own) nb_json_string(text, "fiber", "helper");
    nb_shown_wait_times(text, request->about.account.taken_ns, wait->began_ns, wait->ready_ns, ended_ns);
    if (wait->line) nb_shown_text(text, "line", request->waterfall.lines[wait->line - 1]);
    nb_text_add(text, "}");
}

static void add_request(slowest_view *view, const nb_shown_candidate *shown) {
    nb_text *text = view->text;
    const nb_slow_request *request = view->request;
    if (!nb_slowest_read(shown->channel->channel->link->slowest, shown->record, view->request)) return;
    nb_json_begin(text, NULL, '{');
    nb_shown_whose(text, shown->channel);
    nb_shown_request_words(text, &view->loop->routes, &request->about);
    nb_shown_request_times(text, &request->about, view->now_ns, view->wall_ns);
    nb_shown_request_kinds(text, &request->about.account, "waits");
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
    nb_shown_each_executor(view->loop, collect, view);
    drop_faster(&view->candidates);
    nb_text_add(text, "{");
    nb_json_string(text, "neverblock", view->loop->config.version);
    nb_json_begin(text, "requests", '[');
    for (; shown < view->candidates.count && shown < limit && has_room(view); shown++)
        add_request(view, &view->candidates.all[shown]);
    nb_text_add(text, "]");
    nb_json_number(text, "left_out", view->candidates.count - shown);
    nb_text_add(text, "}\n");
}

void nb_admin_write_slowest(nb_loop *loop, nb_text *text) {
    uint32_t limit = nb_shown_number(loop->connections.head.query, "limit", LIMIT_DEFAULT, LIMIT_MAX);
    slowest_view view = {.loop = loop,
                         .text = text,
                         .now_ns = nb_clock_monotonic_ns(),
                         .wall_ns = nb_clock_wall_ns(),
                         .request = nb_alloc(sizeof(*view.request))};
    text->failed = !nb_shown_candidates_init(&view.candidates, loop, NB_SLOWEST_RECORDS) || !view.request;
    if (!text->failed) write(&view, limit);
    nb_shown_candidates_deinit(&view.candidates);
    nb_free(view.request);
}
