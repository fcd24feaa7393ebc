/*
 * learned.c - see learned.h.
 */
#include "dispatch/learned.h"

#include <string.h>

#include "intake/path_pattern.h"

static bool is(const nb_learned_class *learned_class, nb_method method, nb_slice pattern) {
    return learned_class->method == method &&
           nb_slice_equal((nb_slice){learned_class->pattern, learned_class->bytes}, pattern);
}

static nb_learned_class *find(nb_learned *learned, nb_method method, nb_slice pattern) {
    for (uint32_t i = 0; i < NB_LEARNED_MAX; i++) {
        if (is(&learned->classes[i], method, pattern)) return &learned->classes[i];
    }
    return NULL;
}

/* A free row, or that of the class outside the lane whose last stall is longest ago. NULL: all are
   in the lane. */
static nb_learned_class *room(nb_learned *learned) {
    nb_learned_class *oldest = NULL;
    for (uint32_t i = 0; i < NB_LEARNED_MAX; i++) {
        nb_learned_class *learned_class = &learned->classes[i];
        if (learned_class->bytes == 0) return learned_class;
        if (learned_class->in_lane || (oldest && oldest->stalled_ns <= learned_class->stalled_ns)) continue;
        oldest = learned_class;
    }
    return oldest;
}

static nb_learned_class *find_or_add(nb_learned *learned, nb_method method, nb_slice pattern) {
    nb_learned_class *learned_class = find(learned, method, pattern);
    if (learned_class) return learned_class;
    learned_class = room(learned);
    if (!learned_class) return NULL;
    *learned_class = (nb_learned_class){.method = method, .bytes = (uint16_t)pattern.size};
    memcpy(learned_class->pattern, pattern.data, pattern.size);
    return learned_class;
}

static bool on_trial(const nb_learned_class *learned_class, int64_t now_ns) { return now_ns < learned_class->until_ns; }

/* How long the class is to stay in the lane; 0: not yet. */
static int64_t judge(nb_learned_class *learned_class, int64_t now_ns) {
    if (on_trial(learned_class, now_ns)) {
        bool doubled = learned_class->stay_ns * 2 < NB_LEARNED_STAY_MAX_NS;
        return doubled ? learned_class->stay_ns * 2 : NB_LEARNED_STAY_MAX_NS;
    }
    if (now_ns - learned_class->stalled_ns > NB_LEARNED_AGAIN_NS) learned_class->stalls = 0;
    return ++learned_class->stalls < NB_LEARNED_AFTER ? 0 : NB_LEARNED_STAY_NS;
}

const nb_learned_class *nb_learned_stalled(nb_learned *learned, nb_method method, nb_slice path, int64_t now_ns) {
    char pattern[NB_LEARNED_PATTERN_BYTES];
    size_t size = nb_path_pattern_of(path, pattern, sizeof(pattern));
    nb_learned_class *learned_class = size ? find_or_add(learned, method, (nb_slice){pattern, size}) : NULL;
    /* The request was handed to its executor before the class went there. */
    if (!learned_class || learned_class->in_lane) return NULL;
    int64_t stay_ns = judge(learned_class, now_ns);
    learned_class->stalled_ns = now_ns;
    if (stay_ns == 0) return NULL;
    learned_class->in_lane = true;
    learned_class->stalls = 0;
    learned_class->stay_ns = stay_ns;
    learned_class->until_ns = now_ns + stay_ns;
    learned->in_lane++;
    learned->learned_total++;
    return learned_class;
}

const nb_learned_class *nb_learned_return(nb_learned *learned, int64_t now_ns) {
    for (uint32_t i = 0; learned->in_lane && i < NB_LEARNED_MAX; i++) {
        nb_learned_class *learned_class = &learned->classes[i];
        if (!learned_class->in_lane || now_ns < learned_class->until_ns) continue;
        learned_class->in_lane = false;
        learned_class->until_ns = now_ns + learned_class->stay_ns;
        learned->in_lane--;
        learned->returned_total++;
        return learned_class;
    }
    return NULL;
}

bool nb_learned_in_lane(const nb_learned *learned, nb_method method, nb_slice path) {
    for (uint32_t i = 0; learned->in_lane && i < NB_LEARNED_MAX; i++) {
        const nb_learned_class *learned_class = &learned->classes[i];
        if (!learned_class->in_lane || learned_class->method != method) continue;
        if (nb_path_pattern_matches((nb_slice){learned_class->pattern, learned_class->bytes}, path)) return true;
    }
    return false;
}
