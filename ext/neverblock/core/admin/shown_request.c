/*
 * shown_request.c - see shown_request.h.
 */
#include "admin/shown_request.h"

#include <string.h>

#include "admin/json.h"
#include "admin/shown.h"
#include "base/alloc.h"
#include "intake/path_pattern.h"
#include "loop/loop_state.h"
#include "os/clock.h"

/* --- records of all executors --- */

static uint32_t executors(const nb_loop *loop) {
    uint32_t count = 0;
    for (const nb_dispatch *lane = &loop->dispatch; lane; lane = lane->next_lane)
        count += lane->count;
    return count < NB_SHOWN_EXECUTORS_MAX ? count : NB_SHOWN_EXECUTORS_MAX;
}

bool nb_shown_candidates_init(nb_shown_candidates *candidates, const nb_loop *loop, uint32_t each) {
    uint32_t room = executors(loop) * each;
    *candidates = (nb_shown_candidates){.room = room, .all = nb_alloc((room ? room : 1) * sizeof(*candidates->all))};
    return candidates->all != NULL;
}

void nb_shown_candidates_deinit(nb_shown_candidates *candidates) { nb_free(candidates->all); }

void nb_shown_candidates_add(nb_shown_candidates *candidates, nb_shown_candidate candidate) {
    if (candidates->count < candidates->room) candidates->all[candidates->count++] = candidate;
}

void nb_shown_each_executor(const nb_loop *loop, void (*call)(void *owner, const nb_dispatch_channel *channel),
                            void *owner) {
    for (const nb_dispatch *lane = &loop->dispatch; lane; lane = lane->next_lane) {
        for (uint16_t i = 0; i < lane->count; i++) {
            if (lane->channels[i].channel) call(owner, &lane->channels[i]);
        }
    }
}

/* --- one request --- */

void nb_shown_text(nb_text *text, const char *name, const char *value) {
    if (*value) nb_json_bytes(text, name, nb_slice_of(value, strlen(value)));
}

/* Segments with digits count as equal: "/orders/0" (path_pattern.h). */
static void add_class(nb_text *text, nb_slice path) {
    char pattern[NB_FIBER_LINE_BYTES], shown[3 * NB_FIBER_LINE_BYTES + 1];
    size_t size = nb_path_pattern_of(path, pattern, sizeof(pattern));
    nb_path_pattern_show(nb_slice_of(pattern, size), shown, sizeof(shown));
    nb_shown_text(text, "class", shown);
}

void nb_shown_request_words(nb_text *text, const nb_routes *routes, const nb_kept_request *request) {
    const char *space = strchr(request->line, ' '), *path = space ? space + 1 : "";
    nb_slice method = nb_slice_of(request->line, space ? (size_t)(space - request->line) : strlen(request->line));
    nb_shown_text(text, "id", request->id);
    nb_shown_text(text, "trace_id", request->trace);
    nb_json_bytes(text, "method", method);
    nb_json_bytes(text, "path", nb_slice_of(path, strlen(path)));
    nb_shown_route(text, routes, request->route);
    if (request->route == NB_ROUTE_NONE) add_class(text, nb_slice_of(path, strlen(path)));
    if (request->status) nb_json_number(text, "status", request->status);
}

void nb_shown_request_times(nb_text *text, const nb_kept_request *request, int64_t now_ns, int64_t wall_ns) {
    const nb_account *account = &request->account;
    int64_t until_ns = account->head_sent_ns ? account->head_sent_ns : request->ended_ns;
    int64_t age_ns = now_ns - request->ended_ns;
    nb_json_seconds(text, "age_s", age_ns);
    nb_json_seconds(text, "ended_at", (wall_ns - age_ns) / NB_NS_PER_MS * NB_NS_PER_MS);
    nb_json_seconds(text, "duration_s", request->duration_ns);
    nb_json_seconds(text, "head_s", account->head_ns);
    if (account->body_ns) nb_json_seconds(text, "body_s", account->body_ns);
    nb_json_seconds(text, "queue_s", account->queue_ns);
    nb_json_seconds(text, "run_s", until_ns - account->taken_ns);
    nb_json_seconds(text, "ran_s", account->ran_ns);
    nb_json_seconds(text, "gc_s", account->gc_ns);
    nb_json_number(text, "allocations", account->allocated);
}

void nb_shown_request_kinds(nb_text *text, const nb_account *account, const char *counts) {
    nb_json_begin(text, "wait_s", '{');
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        if (account->wait_ns[kind]) nb_json_seconds(text, nb_fiber_wait_name(kind), account->wait_ns[kind]);
    }
    nb_text_add(text, "}");
    nb_json_begin(text, counts, '{');
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        if (account->waits[kind]) nb_json_number(text, nb_fiber_wait_name(kind), account->waits[kind]);
    }
    nb_text_add(text, "}");
}

/* From when the application began, as all times here. */
void nb_shown_wait_times(nb_text *text, int64_t taken_ns, int64_t began_ns, int64_t ready_ns, int64_t ended_ns) {
    if (ready_ns == 0 || ready_ns > ended_ns) ready_ns = ended_ns;
    nb_json_seconds(text, "start_s", began_ns - taken_ns);
    nb_json_seconds(text, "for_s", ready_ns - began_ns);
    if (ended_ns > ready_ns) nb_json_seconds(text, "turn_s", ended_ns - ready_ns);
}
