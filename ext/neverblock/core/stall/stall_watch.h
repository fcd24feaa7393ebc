/*
 * stall_watch.h - decides when an executor is asked where its fiber is, and when the answer is a
 * stall. The caller (binding/stalls/stalls.c) looks, asks and reports. Times are arguments.
 *
 * A burst is the time from one switch of fibers to the next, by its stamp (nb_pulse). At a quarter
 * of stall_ms the caller notes what a later answer is compared with. At three quarters the executor
 * is asked, so that the answer is there in time.
 *
 * An answer says whether the fiber can be preempted. Ruby code can be, and delays nobody while no
 * work waits: it is a stall when work has waited for stall_ms. A call that cannot be left is always
 * a stall. A stall is reported once, and once more when it is over. A burst for which no answer
 * came may be reported when it is over.
 */
#ifndef NB_STALL_STALL_WATCH_H
#define NB_STALL_STALL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define NB_STALL_NEVER INT64_MAX

/* The age of a burst at which the watch first has something to do. */
#define NB_STALL_FIRST(stall_ns) ((stall_ns) / 4)

typedef enum nb_stall_phase {
    NB_STALL_QUIET,     /* too early */
    NB_STALL_COMPARED,  /* COMPARE was said */
    NB_STALL_ASKED,     /* ASK was said */
    NB_STALL_SIGNALLED, /* SIGNAL was said, since no answer could come otherwise */
    NB_STALL_ANSWERED,
    NB_STALL_TOLD,
} nb_stall_phase;

typedef struct nb_stall_watch {
    int64_t stall_ns;
    int64_t burst_began_ns; /* the stamp of the burst that is watched; 0: the executor sleeps */
    int64_t asked_ns, signalled_ns, answered_ns;
    int64_t waits_since_ns; /* since when work has waited; 0: none waits */
    nb_stall_phase phase;
    unsigned stuck; /* looks in a row that were `stuck` */
} nb_stall_watch;

/* What one look has seen. */
typedef struct nb_stall_sight {
    int64_t now_ns;
    int64_t switched_ns; /* the stamp; 0: the executor sleeps */
    bool work_waits;
    bool answered; /* the answer for this burst is there */
    bool yields;   /* the answer says that the fiber can be preempted */
    bool unmoved;  /* its thread has not run since the answer, which is still right */
    bool stuck;    /* no thread can answer now; only while ASKED */
} nb_stall_sight;

/* What to do now, in this order. */
typedef enum nb_stall_do {
    NB_STALL_OVER = 1,    /* report that the stall is over */
    NB_STALL_FORGET = 2,  /* withdraw what was asked */
    NB_STALL_COMPARE = 4, /* note what an answer is compared with */
    NB_STALL_ASK = 8,     /* ask where the fiber is */
    NB_STALL_SIGNAL = 16, /* interrupt the thread with a signal */
    NB_STALL_TELL = 32,   /* report the stall */
    /* report a stall that is over and was not reported, since no answer came */
    NB_STALL_LATE = 64,
} nb_stall_do;

typedef struct nb_stall_next {
    unsigned what;     /* nb_stall_do */
    int64_t lasted_ns; /* with OVER and LATE */
    int64_t again_ns;  /* when to look again */
} nb_stall_next;

void nb_stall_watch_init(nb_stall_watch *watch, int64_t stall_ns);
nb_stall_next nb_stall_watch_look(nb_stall_watch *watch, const nb_stall_sight *sight);

#endif
