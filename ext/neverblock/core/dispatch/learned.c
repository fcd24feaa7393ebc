/*
 * learned.c - see learned.h.
 */
#include "dispatch/learned.h"

#include <string.h>

#include "intake/path_pattern.h"

static bool is(const nb_learned_like *like, nb_method method, nb_slice pattern) {
    return like->method == method && nb_slice_equal((nb_slice){like->pattern, like->bytes}, pattern);
}

static nb_learned_like *find(nb_learned *learned, nb_method method, nb_slice pattern) {
    for (uint32_t i = 0; i < NB_LEARNED_MAX; i++) {
        if (is(&learned->likes[i], method, pattern)) return &learned->likes[i];
    }
    return NULL;
}

/* A free row, or that of the ones that have not stalled for longest; NULL: all are in the lane. */
static nb_learned_like *room(nb_learned *learned) {
    nb_learned_like *oldest = NULL;
    for (uint32_t i = 0; i < NB_LEARNED_MAX; i++) {
        nb_learned_like *like = &learned->likes[i];
        if (like->bytes == 0) return like;
        if (like->in_lane || (oldest && oldest->stalled_ns <= like->stalled_ns)) continue;
        oldest = like;
    }
    return oldest;
}

static nb_learned_like *find_or_add(nb_learned *learned, nb_method method, nb_slice pattern) {
    nb_learned_like *like = find(learned, method, pattern);
    if (like) return like;
    like = room(learned);
    if (!like) return NULL;
    *like = (nb_learned_like){.method = method, .bytes = (uint16_t)pattern.size};
    memcpy(like->pattern, pattern.data, pattern.size);
    return like;
}

static bool on_trial(const nb_learned_like *like, int64_t now_ns) { return now_ns < like->until_ns; }

/* How long they are to be in the lane; 0: not yet. */
static int64_t judge(nb_learned_like *like, int64_t now_ns) {
    if (on_trial(like, now_ns)) {
        bool doubled = like->stay_ns * 2 < NB_LEARNED_STAY_MAX_NS;
        return doubled ? like->stay_ns * 2 : NB_LEARNED_STAY_MAX_NS;
    }
    if (now_ns - like->stalled_ns > NB_LEARNED_AGAIN_NS) like->stalls = 0;
    return ++like->stalls < NB_LEARNED_AFTER ? 0 : NB_LEARNED_STAY_NS;
}

const nb_learned_like *nb_learned_stalled(nb_learned *learned, nb_method method, nb_slice path, int64_t now_ns) {
    char pattern[NB_LEARNED_PATTERN_BYTES];
    size_t size = nb_path_pattern_like(path, pattern, sizeof(pattern));
    nb_learned_like *like = size ? find_or_add(learned, method, (nb_slice){pattern, size}) : NULL;
    if (!like || like->in_lane) return NULL; /* it was given to its executor before */
    int64_t stay_ns = judge(like, now_ns);
    like->stalled_ns = now_ns;
    if (stay_ns == 0) return NULL;
    like->in_lane = true;
    like->stalls = 0;
    like->stay_ns = stay_ns;
    like->until_ns = now_ns + stay_ns;
    learned->in_lane++;
    learned->learned_total++;
    return like;
}

const nb_learned_like *nb_learned_return(nb_learned *learned, int64_t now_ns) {
    for (uint32_t i = 0; learned->in_lane && i < NB_LEARNED_MAX; i++) {
        nb_learned_like *like = &learned->likes[i];
        if (!like->in_lane || now_ns < like->until_ns) continue;
        like->in_lane = false;
        like->until_ns = now_ns + like->stay_ns;
        learned->in_lane--;
        learned->returned_total++;
        return like;
    }
    return NULL;
}

bool nb_learned_in_lane(const nb_learned *learned, nb_method method, nb_slice path) {
    for (uint32_t i = 0; learned->in_lane && i < NB_LEARNED_MAX; i++) {
        const nb_learned_like *like = &learned->likes[i];
        if (!like->in_lane || like->method != method) continue;
        if (nb_path_pattern_matches((nb_slice){like->pattern, like->bytes}, path)) return true;
    }
    return false;
}
