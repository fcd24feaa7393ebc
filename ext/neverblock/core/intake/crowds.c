/*
 * crowds.c - see crowds.h.
 */
#include "intake/crowds.h"

#include "base/hash.h"
#include "intake/path_pattern.h"

#define LIKE_BITS ((UINT64_C(1) << 62) - 1)

static uint64_t add(uint64_t hash, nb_slice text) {
    for (size_t i = 0; i < text.size; i++)
        hash = nb_hash64_mix(hash, (uint8_t)text.data[i]);
    return hash;
}

uint64_t nb_like_of(nb_slice method, nb_slice path) {
    char pattern[NB_LIKE_PATH_BYTES];
    if (path.size > NB_LIKE_PATH_BYTES) path.size = NB_LIKE_PATH_BYTES;
    size_t size = nb_path_pattern_like(path, pattern, sizeof(pattern));
    uint64_t hash = nb_hash64_mix(add(NB_HASH64_BASIS, method), ' ');
    hash = add(hash, (nb_slice){pattern, size}) & LIKE_BITS;
    return hash ? hash : 1;
}

/* The executor alone writes. */
static void change(nb_crowd *crowd, uint32_t count, uint32_t limit, int64_t now_ns) {
    atomic_store_explicit(&crowd->limit, limit, memory_order_relaxed);
    atomic_store_explicit(&crowd->count, count, memory_order_relaxed);
    crowd->changed_ns = now_ns;
}

static bool has_place(const nb_crowd *crowd, uint64_t like) {
    uint64_t there = atomic_load_explicit(&crowd->like, memory_order_relaxed);
    return there == 0 || there == like;
}

static void free_if_unused(nb_crowd *crowd) {
    if (atomic_load_explicit(&crowd->count, memory_order_relaxed) > 0) return;
    if (!atomic_load_explicit(&crowd->shut, memory_order_relaxed))
        atomic_store_explicit(&crowd->like, 0, memory_order_relaxed);
}

uint16_t nb_crowds_join(nb_crowds *crowds, uint64_t like, int64_t now_ns) {
    uint16_t place = nb_crowds_place(like);
    nb_crowd *crowd = &crowds->places[place];
    if (!has_place(crowd, like)) return NB_CROWD_NONE;
    uint32_t count = atomic_load_explicit(&crowd->count, memory_order_relaxed);
    change(crowd, count + 1, NB_CROWD_SIZE, now_ns);
    atomic_store_explicit(&crowd->like, like, memory_order_relaxed);
    return place;
}

void nb_crowds_stay(nb_crowds *crowds, uint16_t place, int64_t now_ns) {
    nb_crowd *crowd = &crowds->places[place];
    if (now_ns - crowd->changed_ns < NB_CROWD_PATIENCE_NS) return;
    uint32_t count = atomic_load_explicit(&crowd->count, memory_order_relaxed);
    if (count >= NB_CROWD_SIZE) change(crowd, count, count + 1, now_ns);
}

void nb_crowds_leave(nb_crowds *crowds, uint16_t place, int64_t now_ns) {
    if (place == NB_CROWD_NONE) return;
    nb_crowd *crowd = &crowds->places[place];
    uint32_t count = atomic_load_explicit(&crowd->count, memory_order_relaxed) - 1;
    change(crowd, count, NB_CROWD_SIZE, now_ns);
    free_if_unused(crowd);
}

static void tell_shut(nb_crowds *crowds, nb_crowd *crowd, bool shut) {
    uint32_t count = atomic_load_explicit(&crowds->shut, memory_order_relaxed);
    atomic_store_explicit(&crowd->shut, shut, memory_order_relaxed);
    atomic_store_explicit(&crowds->shut, shut ? count + 1 : count - 1, memory_order_relaxed);
}

bool nb_crowds_shut(nb_crowds *crowds, uint64_t like) {
    nb_crowd *crowd = &crowds->places[nb_crowds_place(like)];
    if (!has_place(crowd, like) || atomic_load_explicit(&crowd->shut, memory_order_relaxed)) return false;
    tell_shut(crowds, crowd, true);
    atomic_store_explicit(&crowd->like, like, memory_order_relaxed);
    return true;
}

void nb_crowds_open(nb_crowds *crowds, uint64_t like) {
    nb_crowd *crowd = &crowds->places[nb_crowds_place(like)];
    if (atomic_load_explicit(&crowd->like, memory_order_relaxed) != like) return;
    if (!atomic_load_explicit(&crowd->shut, memory_order_relaxed)) return;
    tell_shut(crowds, crowd, false);
    free_if_unused(crowd);
}

bool nb_crowds_hold(const nb_crowds *crowds, uint64_t like) {
    const nb_crowd *crowd = &crowds->places[nb_crowds_place(like)];
    if (like == 0 || atomic_load_explicit(&crowd->like, memory_order_relaxed) != like) return false;
    if (atomic_load_explicit(&crowd->shut, memory_order_relaxed)) return true;
    return atomic_load_explicit(&crowds->working, memory_order_relaxed) &&
           atomic_load_explicit(&crowd->count, memory_order_relaxed) >=
               atomic_load_explicit(&crowd->limit, memory_order_relaxed);
}
