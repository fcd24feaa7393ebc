/*
 * crowds.h - requests of one like (the same method and path, but for parts with digits) of which no more are to enter: none would end sooner, and each would
 * hold a fiber and its objects meanwhile. Requests of other likes pass them.
 *
 * Such are those that compute for longer than a slice of time, while several of them are half done. Where none of them ends for a while one more enters,
 * and so on: what they wait for may be the next. And such is a like that is shut, as its requests would only wait for one thing that others wait for already
 * (lib/neverblock/pool/admission_queue.rb).
 *
 * Lies on the board (channel.h): the executor counts and shuts, the loop looks. A like for which there is no place is not counted, and never held.
 */
#ifndef NB_INTAKE_CROWDS_H
#define NB_INTAKE_CROWDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* Likes counted at once. */
#define NB_CROWDS_MAX 64u
/* Requests of one like that may be half done: so many have equal shares of the processor, and one that takes long keeps none of its like waiting. */
#define NB_CROWD_SIZE 4u
/* When none has come or ended for so long, one more enters. */
#define NB_CROWD_PATIENCE_NS (100 * INT64_C(1000000))
/* Of a path so many bytes count. */
#define NB_LIKE_PATH_BYTES 96u
/* No place. */
#define NB_CROWD_NONE UINT16_MAX

typedef struct nb_crowd {
    _Atomic uint64_t like; /* 0: the place is free */
    _Atomic bool shut;
    _Atomic uint32_t count, limit; /* of those whose slice has ended */
    int64_t changed_ns;            /* the executor's */
} nb_crowd;

typedef struct nb_crowds {
    _Atomic bool
        working; /* some request's slice has ended, and it has not gone on since: the processor is what they wait for */
    _Atomic uint32_t shut; /* likes */
    nb_crowd places[NB_CROWDS_MAX];
} nb_crowds;

/* /notes/17 is like /notes/18. Never 0, and of 62 bits: a Ruby Integer that is no object. */
uint64_t nb_like_of(nb_slice method, nb_slice path);

/* Where it is counted, if it is. */
static inline uint16_t nb_crowds_place(uint64_t like) { return (uint16_t)(like % NB_CROWDS_MAX); }

/* --- the executor's side --- */

/* A request's slice has ended for the first time. Its place, to be left when it has ended; NB_CROWD_NONE: there is none. */
uint16_t nb_crowds_join(nb_crowds *crowds, uint64_t like, int64_t now_ns);
/* A slice of one that has joined has ended again. */
void nb_crowds_stay(nb_crowds *crowds, uint16_t place, int64_t now_ns);
void nb_crowds_leave(nb_crowds *crowds, uint16_t place, int64_t now_ns);

/* Not one more enters until it is opened. False: there is no place, or it is shut already. */
bool nb_crowds_shut(nb_crowds *crowds, uint64_t like);
void nb_crowds_open(nb_crowds *crowds, uint64_t like);

/* --- the loop's --- */

/* Some like may be held. */
static inline bool nb_crowds_any(const nb_crowds *crowds) {
    return atomic_load_explicit(&crowds->working, memory_order_relaxed) ||
           atomic_load_explicit(&crowds->shut, memory_order_relaxed) > 0;
}
/* It is shut; or enough of them are half done, and the processor is busy with such. */
bool nb_crowds_hold(const nb_crowds *crowds, uint64_t like);

#endif
