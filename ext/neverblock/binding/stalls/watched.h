/*
 * watched.h - what the stall watch knows of one executor: the question where its fiber is, the
 * answer to it, and the settings by which a stall is told.
 *
 * Threads: the executor's, the watchdog's (stalls/stalls.h), the reporter
 * (stalls/stalls_reporter.h) and a signal handler use a record at once. What two of them use is
 * atomic, or belongs to the thread that has claimed the answer (`state`). A record is never freed:
 * a signal or a job that comes late still finds it. The record of an executor that has ended is
 * used again for the next.
 */
#ifndef NB_BINDING_WATCHED_H
#define NB_BINDING_WATCHED_H

#include <pthread.h>
#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/log.h"
#include "base/tally.h"
#include "binding/ports/executor_state.h"
#include "os/thread.h"
#include "stall/stall_entry.h"
#include "stall/stall_places.h"
#include "stall/stall_watch.h"

/* A call in which a thread has run for less since a collection may be that collection's end. */
#define NB_STALLS_DOUBTED_NS NB_NS_PER_MS

/* Which thread has the place for the answer. */
typedef enum nb_answer_state {
    NB_ANSWER_IDLE,    /* nobody: nothing was asked */
    NB_ANSWER_ASKED,   /* the first that claims it */
    NB_ANSWER_WRITING, /* the thread that has claimed it */
    NB_ANSWER_READY,   /* the watchdog's thread */
} nb_answer_state;

/* Times that end in `ran_ns` are of the clock of the executor's thread: the processor time that it
   has used. The other times are monotonic. A burst is told by its stamp (nb_pulse.switched_ns). */
typedef struct nb_watched nb_watched;
struct nb_watched {
    nb_watched *next;
    nb_executor *executor; /* NULL: free. Changed with the GVL, while the watchdog does not look */
    pthread_t thread;      /* the executor's */
    long thread_number;    /* of the same thread, as os/thread.h takes it */
    clockid_t clock;       /* of the same thread, if it is `clocked` */
    bool clocked;
    bool begun; /* the watchdog looks */
    bool lane;  /* its thread may be blocked, but must not keep the GVL */

    /* the answer */
    _Atomic uint32_t state; /* nb_answer_state */
    _Atomic int64_t asked_burst;
    _Atomic bool half_waited; /* its thread has not run for half of the burst */
    _Atomic bool signalled;   /* the next SIGURG of its thread is ours */
    _Atomic bool collecting;  /* a signal has met a garbage collection */
    int64_t signalled_ran_ns; /* served_ran_ns when it was signalled */
    int64_t claimed_ran_ns;   /* when the signal met a call */
    size_t served_gc_count;   /* collections when its thread last ran a job */
    _Atomic bool doubted;     /* a collection had begun since, and may just have ended */
    /* the burst in which its thread was in a call that is not interrupted */
    _Atomic int64_t call_burst;
    int64_t answered_burst;
    int64_t answered_ran_ns; /* when it was looked where its thread is */
    nb_stall stall;          /* the answer */

    /* what the answer is compared with; noted with the GVL */
    _Atomic bool compare;           /* it is to be noted */
    _Atomic int64_t quiet_since_ns; /* when it was asked, or its thread has last run our job */
    _Atomic int64_t served_ran_ns;  /* when its thread has last run our job */
    int64_t compared_burst, compared_ran_ns;
    size_t compared_gc_ms; /* milliseconds of collections */

    /* the watchdog's thread alone */
    nb_stall_watch watch;
    /* at the first look at the burst: by the thread's clock, monotonic */
    int64_t ran_ns, ran_at_ns;
    /* nb_thread_starved_ns: when this burst was first looked at, when it began, and of the last
       burst in all */
    int64_t starved_seen_ns, starved_from_ns, starved_ns;
    _Atomic int64_t asked_ran_ns; /* when it was first asked since its last job */
    int64_t heard_ran_ns;         /* served_ran_ns then */
    nb_stall_culprit culprit;
    uint32_t row;         /* of the board's tally */
    const char *waits_in; /* the system call that is not interrupted; NULL: none */
    bool told, counted;
    bool unheard; /* told without its culprit; it is counted when that is known */
    int64_t told_ns[NB_TALLY_ROWS + 1];
    uint64_t untold[NB_TALLY_ROWS + 1];

    /* settings, from begin to end */
    nb_log *log;
    bool json, whole_trace;
    int worker;                    /* number of the worker process; -1: none */
    const nb_stall_places *places; /* the executor's */
    char **routes;                 /* patterns by number - 1 */
    long route_count;
};

/* The first record of the process; the others follow by `next`. Any thread; async-signal-safe. */
nb_watched *nb_watched_first(void);
/* A free record, which is the executor's from now on (executor->watched). GVL. Raises
   NoMemoryError. */
nb_watched *nb_watched_take(nb_executor *executor);
/* Settings of the record, and the state of a watch that begins on the calling thread. options: as
   nb_stalls_begin takes them. GVL. Raises NoMemoryError. */
void nb_watched_prepare(nb_watched *one, VALUE options);
/* The record is free again: where a thread writes its answer, when that has noticed. GVL; the
   watchdog does not look at it any more. */
void nb_watched_release(nb_watched *one);

/* What the executor's thread has run, by its clock; 0: it has none. Any thread. */
static inline int64_t nb_watched_ran_ns(const nb_watched *one) {
    return one->clocked ? nb_thread_ran_ns(one->clock) : 0;
}
/* What the thread has run since it was asked, without running a job of ours. Any thread. */
int64_t nb_watched_unserved_ns(const nb_watched *one);
/* The fiber still runs that was asked about. Any thread. */
bool nb_watched_still_there(const nb_watched *one);
/* Was the thread, in the burst with this stamp, in a call that is not interrupted? Any thread. */
bool nb_watched_in_call(const nb_watched *one, int64_t burst_began_ns);
/* Empties the answer: no request, no lines. The thread that has claimed it. */
void nb_watched_clear_answer(nb_watched *one);

#endif
