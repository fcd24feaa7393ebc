/*
 * admin_observed.c - /observed.json: a sample of requests, each with the lines of code that its
 * waits happened in, read from what the executors have kept (intake/observed.h).
 * docs/guides/advice.md has the fields. Fields are added, never renamed.
 */
#include <stdlib.h>

#include "admin/admin.h"
#include "admin/json.h"
#include "admin/shown.h"
#include "admin/shown_request.h"
#include "base/alloc.h"
#include "loop/loop_state.h"
#include "os/clock.h"

/* Requests that are shown where the query names no limit, and at most. */
#define LIMIT_DEFAULT 64u
#define LIMIT_MAX 128u
/* What the document keeps room for behind the requests. */
#define LAST_BYTES 64u
/* The most that is written of a request without its frames and waits; of a frame, a wait and a
   number without their texts; and of a byte of text (the escape \u0000). */
#define REQUEST_BYTES 8192u
#define FRAME_BYTES 32u
#define WAIT_BYTES 192u
#define NUMBER_BYTES 4u
#define TEXT_BYTES 6u

typedef struct observed_view {
    nb_loop *loop;
    nb_text *text;
    nb_observed_request *request;
    nb_shown_candidates candidates;
    int64_t now_ns, wall_ns;
} observed_view;

/* --- which are shown --- */

static void collect(void *owner, const nb_dispatch_channel *channel) {
    observed_view *view = owner;
    for (uint32_t i = 0; i < NB_OBSERVED_RECORDS; i++) {
        nb_shown_candidate found = {.channel = channel, .record = i};
        if (nb_observed_peek(channel->channel->link->observed, i, &found.key, &found.ended_ns))
            nb_shown_candidates_add(&view->candidates, found);
    }
}

static int newest_first(const nb_shown_candidate *a, const nb_shown_candidate *b) {
    return (a->ended_ns < b->ended_ns) - (a->ended_ns > b->ended_ns);
}

static int by_class(const void *left, const void *right) {
    const nb_shown_candidate *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return newest_first(a, b);
}

static int by_rank(const void *left, const void *right) {
    const nb_shown_candidate *a = left, *b = right;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return newest_first(a, b);
}

/* The newest of each class come before the second newest of any. */
static void choose(nb_shown_candidates *candidates, uint32_t limit) {
    nb_shown_candidate *all = candidates->all;
    qsort(all, candidates->count, sizeof(*all), by_class);
    for (uint32_t i = 1; i < candidates->count; i++)
        all[i].rank = all[i].key == all[i - 1].key ? all[i - 1].rank + 1 : 0;
    qsort(all, candidates->count, sizeof(*all), by_rank);
    if (candidates->count > limit) candidates->count = limit;
    qsort(all, candidates->count, sizeof(*all), by_class);
}

/* --- what is shown --- */

static void add_frames(nb_text *text, const nb_observation *observation) {
    nb_json_begin(text, "frames", '[');
    for (uint32_t i = 0; i < observation->frame_count; i++) {
        const nb_observed_frame *frame = &observation->frames[i];
        nb_json_begin(text, NULL, '[');
        nb_json_bytes(text, NULL, nb_observation_text(observation, frame->path));
        nb_json_number(text, NULL, frame->line);
        nb_json_bytes(text, NULL, nb_observation_text(observation, frame->name));
        nb_json_flag(text, NULL, frame->other != 0);
        nb_text_add(text, "]");
    }
    nb_text_add(text, "]");
}

static void add_wait(nb_text *text, const nb_observed_request *request, const nb_observed_wait *wait) {
    const nb_observation *observation = &request->observation;
    nb_json_begin(text, NULL, '{');
    nb_json_string(text, "kind", nb_fiber_wait_name(wait->kind));
    if (wait->what.bytes) nb_json_bytes(text, "what", nb_observation_text(observation, wait->what));
    nb_shown_wait_times(text, request->about.account.taken_ns, wait->began_ns, wait->ready_ns, wait->ended_ns);
    nb_json_flag(text, "ends", wait->ends != 0);
    nb_json_begin(text, "stack", '[');
    for (uint32_t i = 0; i < wait->depth; i++)
        nb_json_number(text, NULL, observation->numbers[wait->stack + i]);
    nb_text_add(text, "]}");
}

static void add_waits(nb_text *text, const nb_observed_request *request) {
    nb_json_begin(text, "waits", '[');
    for (uint32_t i = 0; i < request->observation.wait_count; i++)
        add_wait(text, request, &request->observation.waits[i]);
    nb_text_add(text, "]");
    nb_json_number(text, "waits_left_out", request->observation.left_out);
}

static bool fits(const nb_text *text, const nb_observation *observation) {
    size_t bytes = REQUEST_BYTES + LAST_BYTES;
    for (uint32_t i = 0; i < observation->frame_count; i++) {
        const nb_observed_frame *frame = &observation->frames[i];
        bytes += FRAME_BYTES + TEXT_BYTES * (size_t)(frame->path.bytes + frame->name.bytes);
    }
    for (uint32_t i = 0; i < observation->wait_count; i++) {
        const nb_observed_wait *wait = &observation->waits[i];
        bytes += WAIT_BYTES + TEXT_BYTES * (size_t)wait->what.bytes + NUMBER_BYTES * (size_t)wait->depth;
    }
    return text->size + bytes <= NB_ADMIN_BODY_BYTES_MAX;
}

/* False: it does not fit. One that is no more is as one that is shown. */
static bool add_request(observed_view *view, const nb_shown_candidate *shown) {
    nb_text *text = view->text;
    const nb_kept_request *about = &view->request->about;
    if (!nb_observed_read(shown->channel->channel->link->observed, shown->record, view->request)) return true;
    if (!fits(text, &view->request->observation)) return false;
    nb_json_begin(text, NULL, '{');
    nb_shown_whose(text, shown->channel);
    nb_shown_request_words(text, &view->loop->routes, about);
    nb_shown_request_times(text, about, view->now_ns, view->wall_ns);
    nb_shown_request_kinds(text, &about->account, "waits_of");
    nb_json_number(text, "observed", about->extra);
    add_frames(text, &view->request->observation);
    add_waits(text, view->request);
    nb_text_add(text, "}");
    return true;
}

static void write(observed_view *view, uint32_t limit) {
    nb_text *text = view->text;
    nb_shown_each_executor(view->loop, collect, view);
    uint32_t left_out = view->candidates.count;
    choose(&view->candidates, limit);
    nb_text_add(text, "{");
    nb_json_string(text, "neverblock", view->loop->config.version);
    nb_json_begin(text, "requests", '[');
    for (uint32_t i = 0; i < view->candidates.count; i++)
        left_out -= add_request(view, &view->candidates.all[i]) ? 1 : 0;
    nb_text_add(text, "]");
    nb_json_number(text, "left_out", left_out);
    nb_text_add(text, "}\n");
}

void nb_admin_write_observed(nb_loop *loop, nb_text *text) {
    uint32_t limit = nb_shown_number(loop->connections.head.query, "limit", LIMIT_DEFAULT, LIMIT_MAX);
    observed_view view = {.loop = loop,
                          .text = text,
                          .now_ns = nb_clock_monotonic_ns(),
                          .wall_ns = nb_clock_wall_ns(),
                          .request = nb_alloc(sizeof(*view.request))};
    text->failed = !nb_shown_candidates_init(&view.candidates, loop, NB_OBSERVED_RECORDS) || !view.request;
    if (!text->failed) write(&view, limit);
    nb_shown_candidates_deinit(&view.candidates);
    nb_free(view.request);
}
