/*
 * throttle.h - holds back request classes of which more would only add load. A request class is all
 * requests of one method and path, where path segments that contain a digit count as equal.
 *
 * An executor stops taking a class in two cases. (1) Enough of its requests are half done: each has
 * used up a time slice and was preempted. One more would not end sooner, and it would hold a fiber.
 * While none of them ends, the limit rises by one each NB_THROTTLE_RAISE_NS, as they may wait for
 * the next one. (2) The class is closed, because its requests would only wait for something that
 * others wait for already (lib/neverblock/pool/admission_queue.rb). Requests of other classes pass.
 *
 * Threads: a table lies on the board (channel.h). The executor writes it, the I/O loop reads it.
 * Slots are found by hash. A class whose slot is in use by another is not counted and never held.
 * All zero is an empty table. See docs/decisions/0010.
 */
#ifndef NB_INTAKE_THROTTLE_H
#define NB_INTAKE_THROTTLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* Classes counted at once. */
#define NB_THROTTLE_SLOTS 64u
/* Requests of one class that may be half done. Each gets an equal share of the processor, so that
   one long request does not keep all others of its class waiting. */
#define NB_THROTTLE_LIMIT 4u
/* The limit rises by one when none has entered or ended for this long. */
#define NB_THROTTLE_RAISE_NS (100 * INT64_C(1000000))
/* Leading bytes of a path that count for its class. */
#define NB_REQUEST_CLASS_PATH_BYTES 96u
/* The request is not counted. */
#define NB_THROTTLE_NO_SLOT UINT16_MAX

typedef struct nb_throttled_class {
    _Atomic uint64_t request_class; /* 0: the slot is free */
    _Atomic bool closed;
    _Atomic uint32_t count, limit; /* requests that are half done */
    int64_t changed_ns;            /* executor only: when `count` or `limit` last changed */
} nb_throttled_class;

typedef struct nb_throttle {
    _Atomic bool contended;  /* a preempted request waits for the processor now */
    _Atomic uint32_t closed; /* classes that are closed */
    nb_throttled_class slots[NB_THROTTLE_SLOTS];
} nb_throttle;

/* The class of a request, as a hash: /notes/17 has the same as /notes/18. Never 0. It has 62 bits,
   so that Ruby can hold it without an object. */
uint64_t nb_request_class_of(nb_slice method, nb_slice path);

/* The slot that a class uses. */
static inline uint16_t nb_throttle_slot(uint64_t request_class) {
    return (uint16_t)(request_class % NB_THROTTLE_SLOTS);
}

/* --- for the executor --- */

/* A request was preempted for the first time. Returns its slot, to be left when the request ends.
   NB_THROTTLE_NO_SLOT: another class has that slot. */
uint16_t nb_throttle_enter(nb_throttle *throttle, uint64_t request_class, int64_t now_ns);
/* A request that has entered was preempted again. */
void nb_throttle_preempted(nb_throttle *throttle, uint16_t slot, int64_t now_ns);
/* A request has ended. NB_THROTTLE_NO_SLOT is fine. */
void nb_throttle_leave(nb_throttle *throttle, uint16_t slot, int64_t now_ns);

/* Holds the class until it is opened. False: it is closed already, or another class has its
   slot. */
bool nb_throttle_close(nb_throttle *throttle, uint64_t request_class);
void nb_throttle_open(nb_throttle *throttle, uint64_t request_class);

/* --- for the loop --- */

/* Some class may be held. */
static inline bool nb_throttle_active(const nb_throttle *throttle) {
    return atomic_load_explicit(&throttle->contended, memory_order_relaxed) ||
           atomic_load_explicit(&throttle->closed, memory_order_relaxed) > 0;
}
/* The class is closed, or its count has reached the limit while the processor is contended. */
bool nb_throttle_holds(const nb_throttle *throttle, uint64_t request_class);

#endif
