/*
 * pool_gauges.h - the pools of one process that requests wait at: how large each is, how many of
 * its places are in use, how many wait, and what the last minute was like. Loops read it, also
 * while the executor is stuck.
 *
 * The memory (nb_pool_gauges) lies with the board of a link (channel.h), often in memory shared by
 * two processes. Each record holds the words of a gauge behind a sequence number (base/seqlock.h).
 * The writer has its gauges in memory of its own, and publishes what has changed.
 *
 * The last minute is NB_POOL_SLICES slices of time: each has the highest demand (in use and
 * waiting), how many acquired, how many had to wait, and how long all have waited. Time is counted
 * while it passes: two that wait for a second are two seconds. So those that wait still are in it.
 *
 * Threads: one at a time writes, which holds Ruby's lock; any reads. Readers bound all that they
 * read, whatever the other side has written. All zero is empty. Times are monotonic nanoseconds.
 */
#ifndef NB_INTAKE_POOL_GAUGES_H
#define NB_INTAKE_POOL_GAUGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/seqlock.h"
#include "base/slice.h"

/* Pools of a process; what finds no record is not shown. */
#define NB_POOL_GAUGES_MAX 32u
#define NB_POOL_NAME_BYTES 64u /* with a NUL; the end of a longer name is kept */
#define NB_POOL_SLICES 12u
#define NB_POOL_SLICE_NS (5 * INT64_C(1000000000))
#define NB_POOL_WINDOW_NS (NB_POOL_SLICES * NB_POOL_SLICE_NS)
/* Waits that are shorter, on average, are a trifle. */
#define NB_POOL_TRIFLE_NS INT64_C(1000000)

/* Whose pool it is: name in JSON and of the label in metrics. */
#define NB_POOL_KIND_LIST(X) \
    X(active_record)         \
    X(sequel)                \
    X(connection_pool)       \
    X(neverblock)            \
    X(fibers)                \
    X(bulkhead)

typedef enum nb_pool_kind {
#define NB_POOL_KIND(name) NB_POOL_KIND_##name,
    NB_POOL_KIND_LIST(NB_POOL_KIND)
#undef NB_POOL_KIND
        NB_POOL_KINDS
} nb_pool_kind;

/* That of the last for a value that is no kind. */
const char *nb_pool_kind_name(unsigned kind);
/* NB_POOL_KINDS: no kind has this name. */
nb_pool_kind nb_pool_kind_named(const char *name);

typedef enum nb_pool_event {
    NB_POOL_CHANGED,  /* other numbers, and nothing else */
    NB_POOL_ACQUIRED, /* somebody has a place now */
    NB_POOL_WAITS,    /* somebody begins to wait */
    /* Requests are held back that would wait here: there are more than the numbers say. */
    NB_POOL_HELD_BACK,
    NB_POOL_EVENTS
} nb_pool_event;

typedef struct nb_pool_slice {
    uint32_t demand_max, held_back;
    uint32_t acquired, waited;
    uint64_t waited_ns;
} nb_pool_slice;

typedef struct nb_pool_gauge {
    uint32_t kind, size; /* size 0: no limit */
    uint32_t in_use, waiting;
    int64_t changed_ns; /* when the numbers were last told; 0: never */
    uint64_t acquired_total, waited_total, waited_ns_total;
    nb_pool_slice slices[NB_POOL_SLICES]; /* of which time, follows from changed_ns */
    char name[NB_POOL_NAME_BYTES];
} nb_pool_gauge;

enum { NB_POOL_GAUGE_WORDS = sizeof(nb_pool_gauge) / sizeof(uint64_t) };
_Static_assert(sizeof(nb_pool_gauge) % sizeof(uint64_t) == 0, "a gauge is copied by words");

typedef struct nb_pool_record {
    nb_seqlock_word sequence;
    nb_seqlock_word words[NB_POOL_GAUGE_WORDS];
} nb_pool_record;

typedef struct nb_pool_gauges {
    nb_pool_record records[NB_POOL_GAUGES_MAX];
} nb_pool_gauges;

/* --- for the writer --- */

void nb_pool_gauge_init(nb_pool_gauge *gauge, nb_pool_kind kind, nb_slice name, uint32_t size);
/* Tells the numbers, which hold from now on, and what has led to them. Returns whether a slice of
   time has begun. */
bool nb_pool_gauge_tell(nb_pool_gauge *gauge, nb_pool_event event, uint32_t in_use, uint32_t waiting, int64_t now_ns);
/* Nothing is in use, nobody waits, and nothing was for the whole window. */
bool nb_pool_gauge_is_idle(const nb_pool_gauge *gauge, int64_t now_ns);

/* All of it, or what nb_pool_gauge_tell has changed where no slice of time has begun. */
void nb_pool_gauges_put(nb_pool_gauges *gauges, uint32_t record, const nb_pool_gauge *gauge);
void nb_pool_gauges_put_numbers(nb_pool_gauges *gauges, uint32_t record, const nb_pool_gauge *gauge);
void nb_pool_gauges_clear(nb_pool_gauges *gauges, uint32_t record);

/* --- for a loop --- */

/* What the last minute was like. */
typedef struct nb_pool_minute {
    uint32_t demand_max, acquired, waited;
    /* The size at which nobody would have waited; 0: nobody has, or for a trifle. */
    uint32_t would_do;
    uint64_t waited_ns;
    bool held_back; /* the demand was higher: requests were held back before they could wait */
} nb_pool_minute;

/* Copies a record, brought up to now. False: it is unused, or is being written. */
bool nb_pool_gauges_read(const nb_pool_gauges *gauges, uint32_t record, int64_t now_ns, nb_pool_gauge *gauge);
/* Of a gauge that is up to date. */
nb_pool_minute nb_pool_gauge_minute(const nb_pool_gauge *gauge);

#endif
