/*
 * stalls_tell.c - see stalls_tell.h.
 */
#include "binding/stalls/stalls_tell.h"

#include <stdio.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/traced.h"

/* One entry of each row of the tally in this time. */
#define TELL_EVERY_NS (10 * NB_NS_PER_S)

typedef void entry_fn(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                      const nb_stall_culprit *culprit);

static void write_entry(nb_watched *one, entry_fn *entry, int64_t lasted_ns) {
    uint16_t route = one->stall.request.route;
    nb_stall_voice voice = {.json = one->json,
                            .worker = one->worker,
                            .pid = (long)getpid(),
                            .wall_ns = nb_clock_wall_ns(),
                            .route = route >= 1 && route <= one->route_count ? one->routes[route - 1] : NULL,
                            .lasted_ns = lasted_ns,
                            .starved_ns = one->starved_ns < lasted_ns ? one->starved_ns : lasted_ns,
                            .places = one->whole_trace ? NULL : one->places,
                            .untold = one->untold[one->row]};
    nb_text text;
    nb_text_init(&text, NB_STALL_ENTRY_BYTES_MAX);
    entry(&text, &voice, &one->stall, &one->culprit);
    if (text.size && !nb_text_failed(&text)) nb_log_write(one->log, text.bytes, text.size);
    nb_text_deinit(&text);
}

void nb_stalls_blame(nb_watched *one, bool late) {
    nb_stall_places_blame(one->places, &one->stall, &one->culprit);
    if (late && one->waits_in) snprintf(one->culprit.in, sizeof(one->culprit.in), "%s", one->waits_in);
}

static void count(nb_watched *one) {
    nb_tally *tally = &one->executor->board->stalls;
    one->row = NB_TALLY_OTHER;
    if (*one->culprit.at) one->row = nb_tally_row_of(tally, (uint16_t)one->stall.kind, one->culprit.at);
    nb_tally_count(tally, one->row, 1, 0);
    one->counted = true;
    const nb_stall_request *request = &one->stall.request;
    if (one->stall.kind == NB_STALL_blocking_call && *request->method)
        nb_stalled_write(&one->executor->board->stalled, request->method, request->path);
}

/* Sets `told`: an entry is to be made. */
static void decide(nb_watched *one, int64_t now_ns) {
    one->told = one->told_ns[one->row] == 0 || now_ns - one->told_ns[one->row] >= TELL_EVERY_NS;
    if (one->told) {
        one->told_ns[one->row] = now_ns;
    } else {
        one->untold[one->row]++;
    }
}

/* For those who look at the server while the stall lasts. */
static void show(nb_watched *one, int64_t now_ns) {
    char text[NB_STALL_SHOWN_BYTES];
    nb_fiber_stall_put(one->executor->link->fibers, (uint16_t)one->stall.kind, one->watch.burst_began_ns, now_ns,
                       nb_stall_show(text, &one->stall, &one->culprit));
}

static bool is_debugged(const nb_watched *one) { return one->culprit.prompt || nb_process_traced(); }

/* There is no answer: what the system tells of the thread takes its place. */
static void describe_unheard(nb_watched *one) {
    nb_watched_clear_answer(one);
    bool in_call = nb_watched_in_call(one, one->watch.burst_began_ns);
    one->stall.kind = in_call ? NB_STALL_c_call : NB_STALL_unknown;
}

void nb_stalls_tell(nb_watched *one, int64_t now_ns) {
    bool heard = atomic_load(&one->state) == NB_ANSWER_READY;
    if (!heard) describe_unheard(one);
    nb_stalls_blame(one, !heard);
    if (is_debugged(one)) return;
    show(one, now_ns);
    one->unheard = !heard;
    one->row = NB_TALLY_OTHER;
    if (heard) count(one);
    decide(one, now_ns);
    if (!one->told) return;
    write_entry(one, nb_stall_entry_begun, now_ns - one->watch.burst_began_ns);
    one->untold[one->row] = 0;
}

void nb_stalls_tell_over(nb_watched *one, int64_t lasted_ns) {
    if (one->unheard) count(one);
    if (one->counted) nb_tally_count(&one->executor->board->stalls, one->row, 0, (uint64_t)lasted_ns);
    if (one->told) write_entry(one, nb_stall_entry_over, lasted_ns);
    one->counted = one->told = one->unheard = false;
}

void nb_stalls_tell_late(nb_watched *one, int64_t now_ns, int64_t lasted_ns) {
    if (is_debugged(one)) return;
    count(one);
    decide(one, now_ns);
    bool told = one->told;
    nb_stalls_tell_over(one, lasted_ns);
    if (told) one->untold[one->row] = 0;
}
