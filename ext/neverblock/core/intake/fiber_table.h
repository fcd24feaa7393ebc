/*
 * fiber_table.h - what the fibers of one executor do: which request each serves, and what it waits
 * for. Loops read it, without Ruby's lock and while the executor is stuck.
 *
 * The memory (nb_fiber_memory) lies with the board of a link (channel.h), often in memory shared by
 * two processes. It has records of a fixed size: one for each request that a fiber serves, one for
 * each wait of a fiber, and a few traces. A record has a sequence number, odd while it is written
 * (a seqlock). A reader copies the record and believes the copy if the number is even and has not
 * changed. All fields are atomic, so that a torn copy is harmless.
 *
 * What finds no record is not shown: readers tell how many there are (nb_executor_figures).
 *
 * Threads: one thread writes, the executor's; the stall is written by the watchdog's thread; what
 * is asked, by a loop. Any thread reads. Readers bound all that they read, whatever the other side
 * has written. All zero is empty. Times are monotonic nanoseconds.
 */
#ifndef NB_INTAKE_FIBER_TABLE_H
#define NB_INTAKE_FIBER_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* Records; memory is touched as far as they are used. The `fibers` setting is 1024 by default. */
#define NB_FIBER_REQUESTS_MAX 8192u
#define NB_FIBER_WAITS_MAX 16384u
/* Traces kept at once; a new one takes the place of the oldest. */
#define NB_FIBER_TRACES_MAX 256u

#define NB_FIBER_LINE_BYTES 96u /* method and target of a request; the rest is cut off */
#define NB_FIBER_ID_BYTES 40u   /* of a request's id; a UUID has 36 */
#define NB_FIBER_TEXT_BYTES 48u /* what names the thing that is waited for */
#define NB_FIBER_TRACE_BYTES 2000u

/* No record. */
#define NB_FIBER_NONE UINT32_MAX

/* What a fiber waits for: name in JSON. docs/guides/fibers.md says what each means. */
#define NB_FIBER_WAIT_LIST(X) \
    X(other)                  \
    X(sleep)                  \
    X(lock)                   \
    X(condition)              \
    X(queue)                  \
    X(thread)                 \
    X(fibers)                 \
    X(database)               \
    X(http)                   \
    X(io)                     \
    X(file)                   \
    X(dns)                    \
    X(pool)                   \
    X(process)                \
    X(client_body)            \
    X(client)                 \
    X(connection)             \
    X(offload)                \
    X(turn)

typedef enum nb_fiber_wait_kind {
#define NB_FIBER_WAIT(name) NB_FIBER_WAIT_##name,
    NB_FIBER_WAIT_LIST(NB_FIBER_WAIT)
#undef NB_FIBER_WAIT
        NB_FIBER_WAIT_KINDS
} nb_fiber_wait_kind;

/* That of `other` for a value that is no kind. */
const char *nb_fiber_wait_name(unsigned kind);
/* NB_FIBER_WAIT_KINDS: no kind has this name. */
nb_fiber_wait_kind nb_fiber_wait_named(const char *name);

enum {
    NB_FIBER_REQUEST_WORDS = 5 + (NB_FIBER_LINE_BYTES + NB_FIBER_ID_BYTES) / 8,
    NB_FIBER_WAIT_WORDS = 7 + NB_FIBER_TEXT_BYTES / 8,
    NB_FIBER_TRACE_WORDS = 6 + NB_FIBER_TRACE_BYTES / 8,
};

/* --- the memory --- */

typedef struct nb_fiber_request_record {
    _Atomic uint64_t sequence;
    _Atomic uint64_t ran_ns; /* time its fibers have run, up to their last wait */
    _Atomic uint32_t wait;   /* record of its own fiber's wait, + 1; 0: it does not wait */
    _Atomic uint32_t trace;  /* taken when it was last preempted, + 1; 0: none */
    uint32_t next_free;      /* the writer's */
    _Atomic uint64_t words[NB_FIBER_REQUEST_WORDS];
} nb_fiber_request_record;

typedef struct nb_fiber_wait_record {
    _Atomic uint64_t sequence;
    _Atomic uint32_t ready; /* 1: the wait is over, and the fiber's turn has not come */
    _Atomic uint32_t trace; /* its trace, + 1; 0: none */
    uint32_t next_free;     /* the writer's */
    _Atomic uint64_t words[NB_FIBER_WAIT_WORDS];
} nb_fiber_wait_record;

typedef struct nb_fiber_trace_record {
    _Atomic uint64_t sequence;
    _Atomic uint64_t words[NB_FIBER_TRACE_WORDS];
} nb_fiber_trace_record;

typedef struct nb_fiber_memory {
    _Atomic uint32_t requests_used, waits_used; /* records with a higher number are unused */
    _Atomic uint32_t running;                   /* record of the request that runs, + 1; 0: none */
    /* the writer's: first free record of each kind, + 1; the next trace */
    uint32_t request_free, wait_free, trace_next;
    _Atomic int64_t answered_ns; /* the last `asked_ns` that was answered by traces of all waits */
    _Atomic int64_t asked_ns;    /* a loop's: when traces were last asked for; 0: never */
    /* The trace of a stall that lasts: its wait number is the record of the request, its `since`
       the beginning (nb_pulse.switched_ns). */
    nb_fiber_trace_record stall;
    nb_fiber_request_record requests[NB_FIBER_REQUESTS_MAX];
    nb_fiber_wait_record waits[NB_FIBER_WAITS_MAX];
    nb_fiber_trace_record traces[NB_FIBER_TRACES_MAX];
} nb_fiber_memory;

/* --- what a record says --- */

typedef struct nb_fiber_request {
    uint64_t exchange;
    int64_t arrived_ns, taken_ns; /* its first byte came; its fiber began with it */
    uint64_t ran_ns;
    uint64_t fiber;                     /* names its fiber, as `subject` of a lock does */
    uint16_t route;                     /* number in the table of routes; 0: none */
    uint16_t path_bytes;                /* of `line`, up to the query */
    uint32_t wait;                      /* record; NB_FIBER_NONE */
    uint32_t trace;                     /* of where it was preempted; NB_FIBER_NONE */
    char line[NB_FIBER_LINE_BYTES + 1]; /* "GET /path?query" */
    char id[NB_FIBER_ID_BYTES + 1];
} nb_fiber_request;

typedef enum nb_fiber_direction { NB_FIBER_NO_WAY, NB_FIBER_READS, NB_FIBER_WRITES } nb_fiber_direction;

typedef struct nb_fiber_wait {
    uint64_t sequence; /* when read: the record's, by which its trace is known */
    int64_t since_ns;
    int64_t until_ns; /* INT64_MAX: it has no end */
    uint64_t subject; /* of a lock: the fiber that holds it; 0: not known */
    uint64_t fiber;   /* that waits */
    /* Of the request that it works for; 0: none. Where its record has another, it is over. */
    uint64_t exchange;
    uint32_t request;  /* its record; NB_FIBER_NONE */
    int32_t number;    /* a descriptor, a process; -1: none */
    uint8_t kind;      /* nb_fiber_wait_kind */
    uint8_t direction; /* of a descriptor: nb_fiber_direction */
    bool own;          /* it is the request's own fiber */
    bool ready;
    uint32_t trace; /* NB_FIBER_NONE */
    char text[NB_FIBER_TEXT_BYTES + 1];
} nb_fiber_wait;

typedef struct nb_fiber_trace {
    uint32_t wait; /* record */
    uint64_t wait_sequence;
    uint64_t exchange; /* of the request; 0: none */
    int64_t taken_ns;
    int64_t since_ns;
    uint32_t text_bytes;
    uint16_t kind; /* of a stall: nb_stall_kind */
    /* lines that end with a newline, the innermost first; before them the application's line */
    char text[NB_FIBER_TRACE_BYTES + 1];
} nb_fiber_trace;

/* --- for the executor --- */

typedef struct nb_fiber_request_facts {
    uint64_t exchange;
    int64_t arrived_ns, taken_ns;
    uint64_t fiber;
    uint16_t route;
    nb_slice method, path, query, id;
} nb_fiber_request_facts;

/* Records a request. The line is "METHOD PATH?QUERY"; line and id are cut off. NB_FIBER_NONE: there
   is no free record. */
uint32_t nb_fiber_request_begin(nb_fiber_memory *memory, const nb_fiber_request_facts *facts);
/* NB_FIBER_NONE is fine, also below. */
void nb_fiber_request_end(nb_fiber_memory *memory, uint32_t record);
void nb_fiber_request_ran(nb_fiber_memory *memory, uint32_t record, int64_t ns);

/* Is the record still this request's? */
static inline bool nb_fiber_request_is(const nb_fiber_memory *memory, uint32_t record, uint64_t exchange) {
    return record != NB_FIBER_NONE && exchange != 0 &&
           atomic_load_explicit(&memory->requests[record].words[0], memory_order_relaxed) == exchange;
}

/* The request's fiber runs from now on, or one that works for it. */
static inline void nb_fiber_runs(nb_fiber_memory *memory, uint32_t record) {
    atomic_store_explicit(&memory->running, record + 1, memory_order_relaxed);
}

/* Records a wait. text: what does not fit is cut off. NB_FIBER_NONE: there is no free record. */
uint32_t nb_fiber_wait_begin(nb_fiber_memory *memory, const nb_fiber_wait *facts, nb_slice text);
void nb_fiber_wait_end(nb_fiber_memory *memory, uint32_t record, uint32_t request);
static inline void nb_fiber_wait_ready(nb_fiber_memory *memory, uint32_t record) {
    atomic_store_explicit(&memory->waits[record].ready, 1, memory_order_relaxed);
}

/* The trace of a wait. text: lines that end with a newline; what does not fit is left out. */
void nb_fiber_trace_put(nb_fiber_memory *memory, uint32_t wait, int64_t taken_ns, nb_slice text);
/* When the wait's trace was taken; 0: it has none. */
int64_t nb_fiber_trace_taken_ns(const nb_fiber_memory *memory, uint32_t wait);
/* The first line of its trace, which is the application's. Returns its size; 0: there is none.
   NB_FIBER_NONE is fine. What does not fit into `room` is cut off. */
size_t nb_fiber_trace_line(const nb_fiber_memory *memory, uint32_t wait, char *out, size_t room);

/* The watchdog's thread: the fiber of this request has run since `since_ns`, and where it is. */
void nb_fiber_stall_put(nb_fiber_memory *memory, uint16_t kind, int64_t since_ns, int64_t now_ns, nb_slice text);

/* --- for a loop --- */

static inline void nb_fiber_ask_traces(nb_fiber_memory *memory, int64_t now_ns) {
    atomic_store_explicit(&memory->asked_ns, now_ns, memory_order_relaxed);
}

/* Records to look at; each may be unused. */
uint32_t nb_fiber_requests_used(const nb_fiber_memory *memory);
uint32_t nb_fiber_waits_used(const nb_fiber_memory *memory);
/* Is the record in use, and since when? Of a request: since it arrived. Cheaper than a copy, and
   may be out of date at once. */
bool nb_fiber_request_peek(const nb_fiber_memory *memory, uint32_t record, int64_t *since_ns);
bool nb_fiber_wait_peek(const nb_fiber_memory *memory, uint32_t record, int64_t *since_ns, nb_fiber_wait_kind *kind,
                        bool *own);
/* The request of the fiber with this name, itself or a fiber that works for it. False: there is
   none. Looks at all records. */
bool nb_fiber_request_of(const nb_fiber_memory *memory, uint64_t fiber, nb_fiber_request *request);
/* Copies a record. False: it is unused, or is being written. */
bool nb_fiber_request_read(const nb_fiber_memory *memory, uint32_t record, nb_fiber_request *request);
bool nb_fiber_wait_read(const nb_fiber_memory *memory, uint32_t record, nb_fiber_wait *wait);
/* The trace of this wait. False: there is none, or it is another's by now. */
bool nb_fiber_trace_read(const nb_fiber_memory *memory, uint32_t record, const nb_fiber_wait *wait,
                         nb_fiber_trace *trace);
/* Where the request was preempted last, and a trace was asked for. False: that is not known. */
bool nb_fiber_preempted_read(const nb_fiber_memory *memory, const nb_fiber_request *request, nb_fiber_trace *trace);
/* The trace of the stall that began at `since_ns`. False: that is not known. */
bool nb_fiber_stall_read(const nb_fiber_memory *memory, int64_t since_ns, nb_fiber_trace *trace);

#endif
