/*
 * observed.h - which requests of one executor are observed, and the observations that are kept for
 * those who look at the server: the newest few of each route or request class. Loops read them,
 * also while the executor is stuck.
 *
 * A sample: a class is due when its last observation began NB_OBSERVED_EVERY_NS ago, its first
 * NB_OBSERVED_EACH at once. At most NB_OBSERVED_BEGUN_MAX begin in a second.
 *
 * There are places for NB_OBSERVED_CLASSES classes. A further class takes the place of the one
 * that was observed longest ago: at once where that is NB_OBSERVED_QUIET_NS ago, else once a
 * second, so that none waits forever. What was kept of the other is forgotten.
 *
 * The memory lies with the board of a link (channel.h), often in memory shared by two processes. A
 * record is a seqlock (base/seqlock.h), in which the used parts of an observation follow each
 * other. Readers bound all that they read, whatever the other side has written.
 *
 * Threads: one writes, the executor's; any reads. All zero is empty. Times are monotonic
 * nanoseconds.
 */
#ifndef NB_INTAKE_OBSERVED_H
#define NB_INTAKE_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/seqlock.h"
#include "intake/kept_request.h"
#include "intake/observation.h"

#define NB_OBSERVED_CLASSES 32u
#define NB_OBSERVED_EACH 4u
#define NB_OBSERVED_RECORDS (NB_OBSERVED_CLASSES * NB_OBSERVED_EACH)
#define NB_OBSERVED_EVERY_NS INT64_C(1000000000)
#define NB_OBSERVED_BEGUN_MAX 20u
#define NB_OBSERVED_QUIET_NS (60 * INT64_C(1000000000))
/* Shorter waits are not kept. */
#define NB_OBSERVED_WAIT_NS INT64_C(50000)

typedef struct nb_observed_request {
    nb_kept_request about; /* extra: how many of its class were observed, with this one */
    nb_observation observation;
} nb_observed_request;

enum { NB_OBSERVED_WORDS = sizeof(nb_observed_request) / sizeof(uint64_t) };
_Static_assert(sizeof(nb_observed_request) % sizeof(uint64_t) == 0, "a record is copied by words");

typedef struct nb_observed_record {
    nb_seqlock_word sequence;
    nb_seqlock_word words[NB_OBSERVED_WORDS]; /* the key is 0: it is not used */
} nb_observed_record;

/* The writer's. */
typedef struct nb_observed_class {
    uint64_t key;         /* 0: free */
    int64_t began_ns;     /* the last observation that has begun */
    uint32_t begun, kept; /* observations, since the class has its place */
} nb_observed_class;

typedef struct nb_observed {
    nb_observed_class classes[NB_OBSERVED_CLASSES];
    int64_t second_ns;   /* when the second began in which `begun` have begun */
    int64_t made_way_ns; /* when a class that was not quiet last made way */
    uint32_t begun;
    nb_observed_record records[NB_OBSERVED_RECORDS];
} nb_observed;

/* --- for the executor --- */

/* Is a request of this class to be observed from now on? If so, that is counted. */
bool nb_observed_begin(nb_observed *observed, uint64_t key, int64_t now_ns);
/* Its observation has ended. It is dropped where its class has no place any more. */
void nb_observed_put(nb_observed *observed, nb_observed_request *request);

/* --- for a loop --- */

/* What decides whether a record is shown. False: it is unused. May be out of date at once. */
bool nb_observed_peek(const nb_observed *observed, uint32_t record, uint64_t *key, int64_t *ended_ns);
/* Copies a record, with all counts, references and texts within their bounds. What is not used of
   the arrays is left as it was. False: it is unused, or is being written. */
bool nb_observed_read(const nb_observed *observed, uint32_t record, nb_observed_request *request);

#endif
