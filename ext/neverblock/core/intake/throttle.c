/*
 * throttle.c - see throttle.h.
 */
#include "intake/throttle.h"

#include "base/hash.h"
#include "intake/path_pattern.h"

#define CLASS_BITS ((UINT64_C(1) << 62) - 1)

static uint64_t add(uint64_t hash, nb_slice text) {
    for (size_t i = 0; i < text.size; i++)
        hash = nb_hash64_mix(hash, (uint8_t)text.data[i]);
    return hash;
}

/* Adds a path up to its next slash, that included. Returns where the segment behind it begins. */
static size_t add_to_slash(uint64_t *hash, nb_slice path, size_t at) {
    bool slash = false;
    while (at < path.size && !slash) {
        slash = path.data[at] == '/';
        *hash = nb_hash64_mix(*hash, (uint8_t)path.data[at++]);
    }
    return at;
}

/* Where the segment that begins here ends, if it has a digit; else `at`. */
static size_t end_with_digits(nb_slice path, size_t at) {
    size_t end = at;
    bool digit = false;
    for (; end < path.size && path.data[end] != '/'; end++)
        digit |= path.data[end] >= '0' && path.data[end] <= '9';
    return digit ? end : at;
}

/* Of the pattern that nb_path_pattern_of makes, without making it. */
uint64_t nb_request_class_of(nb_slice method, nb_slice path) {
    if (path.size > NB_REQUEST_CLASS_PATH_BYTES) path.size = NB_REQUEST_CLASS_PATH_BYTES;
    uint64_t hash = nb_hash64_mix(add(NB_HASH64_BASIS, method), ' ');
    for (size_t at = 0; at < path.size;) {
        at = add_to_slash(&hash, path, at);
        size_t end = end_with_digits(path, at);
        if (end > at) hash = nb_hash64_mix(hash, NB_PATTERN_DIGITS);
        at = end;
    }
    hash &= CLASS_BITS;
    return hash ? hash : 1;
}

/* Only the executor writes. */
static void change(nb_throttled_class *class, uint32_t count, uint32_t limit, int64_t now_ns) {
    atomic_store_explicit(&class->limit, limit, memory_order_relaxed);
    atomic_store_explicit(&class->count, count, memory_order_relaxed);
    class->changed_ns = now_ns;
}

static bool has_slot(const nb_throttled_class *class, uint64_t request_class) {
    uint64_t there = atomic_load_explicit(&class->request_class, memory_order_relaxed);
    return there == 0 || there == request_class;
}

static void free_if_unused(nb_throttled_class *class) {
    if (atomic_load_explicit(&class->count, memory_order_relaxed) > 0) return;
    if (!atomic_load_explicit(&class->closed, memory_order_relaxed))
        atomic_store_explicit(&class->request_class, 0, memory_order_relaxed);
}

uint16_t nb_throttle_enter(nb_throttle *throttle, uint64_t request_class, int64_t now_ns) {
    uint16_t slot = nb_throttle_slot(request_class);
    nb_throttled_class *class = &throttle->slots[slot];
    if (!has_slot(class, request_class)) return NB_THROTTLE_NO_SLOT;
    uint32_t count = atomic_load_explicit(&class->count, memory_order_relaxed);
    change(class, count + 1, NB_THROTTLE_LIMIT, now_ns);
    atomic_store_explicit(&class->request_class, request_class, memory_order_relaxed);
    return slot;
}

void nb_throttle_preempted(nb_throttle *throttle, uint16_t slot, int64_t now_ns) {
    nb_throttled_class *class = &throttle->slots[slot];
    if (now_ns - class->changed_ns < NB_THROTTLE_RAISE_NS) return;
    uint32_t count = atomic_load_explicit(&class->count, memory_order_relaxed);
    if (count >= NB_THROTTLE_LIMIT) change(class, count, count + 1, now_ns);
}

void nb_throttle_leave(nb_throttle *throttle, uint16_t slot, int64_t now_ns) {
    if (slot == NB_THROTTLE_NO_SLOT) return;
    nb_throttled_class *class = &throttle->slots[slot];
    uint32_t count = atomic_load_explicit(&class->count, memory_order_relaxed) - 1;
    change(class, count, NB_THROTTLE_LIMIT, now_ns);
    free_if_unused(class);
}

static void set_closed(nb_throttle *throttle, nb_throttled_class *class, bool closed) {
    uint32_t count = atomic_load_explicit(&throttle->closed, memory_order_relaxed);
    atomic_store_explicit(&class->closed, closed, memory_order_relaxed);
    atomic_store_explicit(&throttle->closed, closed ? count + 1 : count - 1, memory_order_relaxed);
}

bool nb_throttle_close(nb_throttle *throttle, uint64_t request_class) {
    nb_throttled_class *class = &throttle->slots[nb_throttle_slot(request_class)];
    if (!has_slot(class, request_class) || atomic_load_explicit(&class->closed, memory_order_relaxed)) return false;
    set_closed(throttle, class, true);
    atomic_store_explicit(&class->request_class, request_class, memory_order_relaxed);
    return true;
}

void nb_throttle_open(nb_throttle *throttle, uint64_t request_class) {
    nb_throttled_class *class = &throttle->slots[nb_throttle_slot(request_class)];
    if (atomic_load_explicit(&class->request_class, memory_order_relaxed) != request_class) return;
    if (!atomic_load_explicit(&class->closed, memory_order_relaxed)) return;
    set_closed(throttle, class, false);
    free_if_unused(class);
}

bool nb_throttle_holds(const nb_throttle *throttle, uint64_t request_class) {
    const nb_throttled_class *class = &throttle->slots[nb_throttle_slot(request_class)];
    if (request_class == 0 || atomic_load_explicit(&class->request_class, memory_order_relaxed) != request_class)
        return false;
    if (atomic_load_explicit(&class->closed, memory_order_relaxed)) return true;
    return atomic_load_explicit(&throttle->contended, memory_order_relaxed) &&
           atomic_load_explicit(&class->count, memory_order_relaxed) >=
               atomic_load_explicit(&class->limit, memory_order_relaxed);
}
