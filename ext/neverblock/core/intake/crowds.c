/*
 * crowds.c - see crowds.h.
 */
#include "intake/crowds.h"

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
#define FNV_BASIS UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

static uint64_t add(uint64_t hash, char byte) { return (hash ^ (uint8_t)byte) * FNV_PRIME; }

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* A part with a digit counts as that digit's place, whatever it says. */
static uint64_t add_part(uint64_t hash, const char *part, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (is_digit(part[i])) return add(hash, '0');
    }
    for (size_t i = 0; i < size; i++) {
        hash = add(hash, part[i]);
    }
    return hash;
}

uint64_t nb_like_of(nb_slice method, nb_slice path) {
    uint64_t hash = add(add_part(FNV_BASIS, method.data, method.size), ' ');
    size_t size = path.size < NB_LIKE_PATH_BYTES ? path.size : NB_LIKE_PATH_BYTES;
    for (size_t begin = 0, end = 0; begin <= size; begin = end + 1) {
        for (end = begin; end < size && path.data[end] != '/'; end++) {
        }
        hash = add(add_part(hash, path.data + begin, end - begin), '/');
    }
    return hash ? hash : 1;
}

static uint16_t place_of(uint64_t like) { return (uint16_t)(like % NB_CROWDS_MAX); }

/* The executor alone writes. */
static void change(nb_crowd *crowd, uint32_t count, uint32_t limit, int64_t now_ns) {
    atomic_store_explicit(&crowd->limit, limit, memory_order_relaxed);
    atomic_store_explicit(&crowd->count, count, memory_order_relaxed);
    crowd->changed_ns = now_ns;
}

uint16_t nb_crowds_join(nb_crowds *crowds, uint64_t like, int64_t now_ns) {
    uint16_t place = place_of(like);
    nb_crowd *crowd = &crowds->places[place];
    uint64_t there = atomic_load_explicit(&crowd->like, memory_order_relaxed);
    if (there != 0 && there != like) return NB_CROWD_NONE;
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
    if (count == 0) atomic_store_explicit(&crowd->like, 0, memory_order_relaxed);
}

bool nb_crowds_hold(const nb_crowds *crowds, uint64_t like) {
    if (like == 0 || !atomic_load_explicit(&crowds->working, memory_order_relaxed)) return false;
    const nb_crowd *crowd = &crowds->places[place_of(like)];
    return atomic_load_explicit(&crowd->like, memory_order_relaxed) == like &&
           atomic_load_explicit(&crowd->count, memory_order_relaxed) >=
               atomic_load_explicit(&crowd->limit, memory_order_relaxed);
}
