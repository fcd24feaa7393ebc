/*
 * stall_watch.h - decides when an executor is asked where it is, and when the answer is a stall. Its
 * caller looks, asks and tells (binding/stalls/stalls.c). Times are arguments.
 *
 * A burst is the time from one switch of fibers to the next, by its stamp (nb_pulse). At a quarter of
 * stall_ms the watch notes what a later answer is compared with. At three quarters the executor is
 * asked where it is, so that the answer is there in time.
 *
 * An answer says whether the fiber can be preempted. Ruby code can, and delays nobody while nobody
 * waits: it is a stall when work has waited for stall_ms. A call that cannot be left is a stall
 * whoever waits. A burst is told once, and once more when it is over. A burst without an answer may
 * be told when it is over.
 */
#ifndef NB_STALL_STALL_WATCH_H
#define NB_STALL_STALL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define NB_STALL_NEVER INT64_MAX

/* How old a burst is when there is first something to do about it. */
#define NB_STALL_FIRST(stall_ns) ((stall_ns) / 4)

typedef enum nb_stall_phase {
    NB_STALL_QUIET,     /* too early */
    NB_STALL_COMPARED,  /* what an answer is compared with was to be noted */
    NB_STALL_ASKED,     /* where it is was asked */
    NB_STALL_SIGNALLED, /* nobody could say: its thread was interrupted */
    NB_STALL_ANSWERED,
    NB_STALL_TOLD,
} nb_stall_phase;

typedef struct nb_stall_watch {
    int64_t stall_ns;
    int64_t burst_began_ns; /* the stamp of the burst that is watched; 0: it sleeps */
    int64_t asked_ns, signalled_ns, answered_ns;
    int64_t waits_since_ns; /* work does; 0: none */
    nb_stall_phase phase;
    unsigned stuck; /* looks in a row that found it so */
} nb_stall_watch;

/* What one look has seen. */
typedef struct nb_stall_sight {
    int64_t now_ns;
    int64_t switched_ns; /* the stamp; 0: the executor sleeps */
    bool work_waits;
    bool answered; /* what was asked for this burst is there */
    bool yields;   /* and says that the fiber can be made to yield */
    bool stuck;    /* nobody can answer now (looked at while ASKED) */
} nb_stall_sight;

/* What to do now, in this order. */
typedef enum nb_stall_do {
    NB_STALL_OVER = 1,    /* tell that the burst that was told is over */
    NB_STALL_FORGET = 2,  /* what was asked for is of no interest any more */
    NB_STALL_COMPARE = 4, /* have noted what an answer is compared with */
    NB_STALL_ASK = 8,
    NB_STALL_SIGNAL = 16,
    NB_STALL_TELL = 32,
    NB_STALL_LATE = 64, /* the burst that is over was not told: nobody could say where it was (with lasted_ns) */
} nb_stall_do;

typedef struct nb_stall_next {
    unsigned what;     /* nb_stall_do */
    int64_t lasted_ns; /* with OVER and LATE */
    int64_t again_ns;  /* when to look again */
} nb_stall_next;

void nb_stall_watch_init(nb_stall_watch *watch, int64_t stall_ns);
nb_stall_next nb_stall_watch_look(nb_stall_watch *watch, const nb_stall_sight *sight);

#endif
