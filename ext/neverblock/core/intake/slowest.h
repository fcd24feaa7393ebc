/*
 * slowest.h - the slowest requests of one executor, kept for those who look at the server: a few of
 * each route or request class, for an hour. Loops read them, also while the executor is stuck.
 *
 * The memory lies with the board of a link (channel.h), often in memory shared by two processes. A
 * record has a sequence number, odd while it is written (a seqlock, as in fiber_table.h). Readers
 * bound all that they read, whatever the other side has written.
 *
 * A class whose slowest request is faster than all others makes way for a new class that is
 * slower. What is older than NB_SLOWEST_KEPT_NS makes way first.
 *
 * Threads: one writes, the executor's; any reads. All zero is empty.
 */
#ifndef NB_INTAKE_SLOWEST_H
#define NB_INTAKE_SLOWEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/seqlock.h"
#include "intake/kept_request.h"
#include "intake/waterfall.h"

#define NB_SLOWEST_CLASSES 32u
#define NB_SLOWEST_EACH 4u
#define NB_SLOWEST_RECORDS (NB_SLOWEST_CLASSES * NB_SLOWEST_EACH)
#define NB_SLOWEST_KEPT_NS (3600 * INT64_C(1000000000))
#define NB_SLOWEST_NONE UINT32_MAX

typedef struct nb_slow_request {
    nb_kept_request about;  /* its rank is the duration; extra: 1: the waterfall is there */
    nb_waterfall waterfall; /* last: as far as it is used */
} nb_slow_request;

enum { NB_SLOW_WORDS = sizeof(nb_slow_request) / sizeof(uint64_t) };
_Static_assert(sizeof(nb_slow_request) % sizeof(uint64_t) == 0, "a record is copied by words");

typedef struct nb_slow_record {
    nb_seqlock_word sequence;
    nb_seqlock_word bytes; /* of the words; 0: it is not used */
    nb_seqlock_word words[NB_SLOW_WORDS];
} nb_slow_record;

/* The writer's. */
typedef struct nb_slow_class {
    int64_t durations_ns[NB_SLOWEST_EACH], ended_ns[NB_SLOWEST_EACH];
} nb_slow_class;

typedef struct nb_slowest {
    uint64_t keys[NB_SLOWEST_CLASSES]; /* of the classes; 0: free. The writer's */
    nb_slow_class classes[NB_SLOWEST_CLASSES];
    nb_slow_record records[NB_SLOWEST_RECORDS];
} nb_slowest;

/* --- for the executor --- */

/* The record that a request of this class and duration is to take; NB_SLOWEST_NONE: it is not slow
   enough. A class that makes way is forgotten. To be followed by nb_slowest_put. */
uint32_t nb_slowest_place(nb_slowest *slowest, uint64_t key, int64_t duration_ns, int64_t now_ns);
void nb_slowest_put(nb_slowest *slowest, uint32_t record, const nb_slow_request *request);

/* --- for a loop --- */

/* What decides whether a record is shown. False: it is unused. May be out of date at once. */
bool nb_slowest_peek(const nb_slowest *slowest, uint32_t record, uint64_t *key, int64_t *duration_ns,
                     int64_t *ended_ns);
/* Copies a record, with all counts and texts within their bounds. False: it is unused, or is being
   written. */
bool nb_slowest_read(const nb_slowest *slowest, uint32_t record, nb_slow_request *request);

#endif
