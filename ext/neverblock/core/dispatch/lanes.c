/*
 * lanes.c - see lanes.h.
 */
#include "dispatch/lanes.h"

#include <string.h>

#include "base/assert.h"
#include "intake/path_pattern.h"

/* Reports are read this often. A stall lasts far longer before it is reported. */
#define READ_EVERY_NS (10 * NB_NS_PER_MS)

nb_status nb_lanes_init(nb_lanes *lanes) {
    memset(lanes, 0, sizeof(*lanes));
    return pthread_mutex_init(&lanes->lock, NULL) == 0 ? NB_OK : NB_NO_MEMORY;
}

void nb_lanes_deinit(nb_lanes *lanes) { pthread_mutex_destroy(&lanes->lock); }

/* To be called under the lock. */
static void note_use(nb_lanes *lanes) {
    bool in_use = lanes->rules.count > 0 || lanes->learned.in_lane > 0;
    atomic_store_explicit(&lanes->in_use, in_use, memory_order_relaxed);
}

void nb_lanes_set_rules(nb_lanes *lanes, const nb_lane_rules *rules) {
    pthread_mutex_lock(&lanes->lock);
    lanes->rules = *rules;
    note_use(lanes);
    pthread_mutex_unlock(&lanes->lock);
}

void nb_lanes_learn(nb_lanes *lanes, uint16_t lane) { lanes->learned_lane = lane; }

static uint16_t look_up(nb_lanes *lanes, nb_dispatch *first, const nb_head *head) {
    pthread_mutex_lock(&lanes->lock);
    const nb_lane_rule *rule = nb_lane_rules_find(&lanes->rules, head->method, head->path);
    uint16_t lane = rule ? rule->lane : 0;
    bool learned = lane == 0 && nb_learned_in_lane(&lanes->learned, head->method, head->path);
    pthread_mutex_unlock(&lanes->lock);
    return learned && nb_dispatch_has_room(nb_dispatch_lane(first, lanes->learned_lane)) ? lanes->learned_lane : lane;
}

uint16_t nb_lanes_choose(nb_lanes *lanes, nb_dispatch *first, const nb_route *route, const nb_head *head) {
    if (route && (route->lane || route->in_fibers)) return route->lane;
    return atomic_load_explicit(&lanes->in_use, memory_order_relaxed) ? look_up(lanes, first, head) : 0;
}

/* --- what is learned --- */

static nb_method method_of(const char *name) {
    nb_slice wanted = nb_slice_of(name, strlen(name));
    for (int method = NB_METHOD_OTHER + 1; method < NB_METHOD_COUNT; method++) {
        if (nb_slice_equal(nb_method_name((nb_method)method), wanted)) return (nb_method)method;
    }
    return NB_METHOD_OTHER;
}

static void log_change(nb_log *log, const nb_learned_class *learned_class, const char *what) {
    char path[NB_LEARNED_SHOWN_BYTES];
    nb_slice method = nb_method_name(learned_class->method);
    nb_path_pattern_show((nb_slice){learned_class->pattern, learned_class->bytes}, path, sizeof(path));
    nb_log_info(log, "%.*s %s %s for %lld s", (int)method.size, method.data, path, what,
                (long long)(learned_class->stay_ns / NB_NS_PER_S));
}

/* The row is checked, as another process may have written anything. */
static void learn(nb_lanes *lanes, const nb_stalled_row *row, nb_log *log, int64_t now_ns) {
    nb_slice path = nb_slice_of(row->path, strlen(row->path));
    nb_method method = method_of(row->method);
    if (method == NB_METHOD_OTHER || !nb_path_pattern_is(path)) return;
    const nb_learned_class *learned_class = nb_learned_stalled(&lanes->learned, method, path, now_ns);
    if (learned_class)
        log_change(log, learned_class,
                   "has stalled by calls that block, again and again: such requests run on threads of a lane");
}

static void read_all(nb_lanes *lanes, const nb_dispatch *dispatch, nb_log *log, int64_t now_ns) {
    nb_stalled_row row;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_channel *channel = dispatch->channels[i].channel;
        for (uint32_t told = 0; channel && told < NB_STALLED_ROWS; told++) {
            if (!nb_stalled_read(&channel->board->stalled, &row)) break;
            learn(lanes, &row, log, now_ns);
        }
    }
}

void nb_lanes_read_reports(nb_lanes *lanes, const nb_dispatch *dispatch, nb_log *log, int64_t now_ns) {
    if (lanes->learned_lane == 0 || now_ns - lanes->read_ns < READ_EVERY_NS) return;
    lanes->read_ns = now_ns;
    pthread_mutex_lock(&lanes->lock);
    const nb_learned_class *learned_class;
    read_all(lanes, dispatch, log, now_ns);
    while ((learned_class = nb_learned_return(&lanes->learned, now_ns)))
        log_change(log, learned_class, "runs in fibers again, on trial");
    note_use(lanes);
    pthread_mutex_unlock(&lanes->lock);
}

nb_lanes_now nb_lanes_read(nb_lanes *lanes, int64_t now_ns, nb_lanes_each *each, void *context) {
    pthread_mutex_lock(&lanes->lock);
    const nb_learned *learned = &lanes->learned;
    nb_lanes_now now = {lanes->rules.count, learned->in_lane, learned->learned_total, learned->returned_total};
    for (uint32_t i = 0; each && i < NB_LEARNED_MAX; i++) {
        const nb_learned_class *learned_class = &learned->classes[i];
        if (learned_class->in_lane) each(context, learned_class, learned_class->until_ns - now_ns);
    }
    pthread_mutex_unlock(&lanes->lock);
    return now;
}
