/*
 * observation.h - the waits of one observed request, each with the lines of code that it happened
 * in: kind, what for, when, and its stack.
 *
 * A stack is numbers of frames, the innermost first. Frames, their texts and equal stacks are kept
 * once. Memory of one size, which is used again for the next request. A wait that does not fit is
 * counted. Pure functions. Times are monotonic nanoseconds.
 */
#ifndef NB_INTAKE_OBSERVATION_H
#define NB_INTAKE_OBSERVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define NB_OBSERVED_WAITS_MAX 256u
#define NB_OBSERVED_FRAMES_MAX 256u
/* Of all stacks together, and of one. */
#define NB_OBSERVED_NUMBERS_MAX 4096u
#define NB_OBSERVED_DEPTH_MAX 54u
#define NB_OBSERVED_TEXT_BYTES 24576u
/* Of one path, one name. The rest is cut off. */
#define NB_OBSERVED_TEXT_MAX 500u
#define NB_OBSERVED_NONE UINT32_MAX

/* A part of the text. */
typedef struct nb_observed_text {
    uint16_t at, bytes;
} nb_observed_text;

typedef struct nb_observed_frame {
    nb_observed_text path, name;
    uint32_t line;
    uint32_t other; /* 1: it is not the application's */
} nb_observed_frame;

typedef struct nb_observed_wait {
    int64_t began_ns;
    int64_t ready_ns; /* when it was over; 0: that is not known */
    int64_t ended_ns; /* when its fiber ran again */
    nb_observed_text what;
    uint16_t stack, depth; /* the first of its numbers; how many */
    uint32_t kind;         /* nb_fiber_wait_kind */
    uint32_t ends;         /* 1: it had an end by itself */
} nb_observed_wait;

/* What is used of the arrays, then these. */
typedef struct nb_observation {
    uint32_t wait_count, frame_count, number_count, text_bytes;
    uint64_t left_out; /* waits */
    nb_observed_wait waits[NB_OBSERVED_WAITS_MAX];
    nb_observed_frame frames[NB_OBSERVED_FRAMES_MAX];
    uint16_t numbers[NB_OBSERVED_NUMBERS_MAX];
    char text[NB_OBSERVED_TEXT_BYTES];
} nb_observation;

/* Empties it. */
void nb_observation_begin(nb_observation *observation);
/* Adds a frame, which the caller has not added before, and returns its number. NB_OBSERVED_NONE:
   it does not fit. */
uint32_t nb_observation_frame(nb_observation *observation, nb_slice path, uint32_t line, nb_slice name, bool other);
/* Adds a wait. facts: what it is for and its stack are not read. numbers: of its frames, at most
   NB_OBSERVED_DEPTH_MAX. It is left out where it does not fit. */
void nb_observation_add(nb_observation *observation, const nb_observed_wait *facts, nb_slice what,
                        const uint16_t *numbers, uint16_t depth);
static inline void nb_observation_leave_out(nb_observation *observation) { observation->left_out++; }

static inline nb_slice nb_observation_text(const nb_observation *observation, nb_observed_text text) {
    return (nb_slice){observation->text + text.at, text.bytes};
}

/* Another process has written it. These put counts and references within their bounds. */
void nb_observation_bound_counts(nb_observation *observation);
void nb_observation_bound(nb_observation *observation);

#endif
