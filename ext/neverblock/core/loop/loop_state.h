/*
 * loop_state.h - one I/O loop: everything it owns.
 *
 * One thread runs its turns (loop.h) and owns everything here, but for `drain`, `stop`, what `inbox_lock` and `calls_lock` are
 * over, and what is atomic. Nothing that others may still hold in this turn is freed before its end.
 */
#ifndef NB_LOOP_LOOP_STATE_H
#define NB_LOOP_LOOP_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "answers/answers.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/pool.h"
#include "connection/connections.h"
#include "dispatch/dispatch.h"
#include "dispatch/routes.h"
#include "figures/counters.h"
#include "figures/downloads.h"
#include "figures/reports.h"
#include "figures/stages.h"
#include "http/turn_time.h"
#include "loop/listener.h"
#include "loop/settings.h"
#include "poll/poll.h"
#include "poll/wake.h"

/* Work that another thread wants done between two turns (nb_server_call). */
typedef struct nb_loop nb_loop;
typedef struct nb_loop_call nb_loop_call;
struct nb_loop_call {
    nb_loop_call *next;
    void (*run)(nb_loop *loop, void *argument);
    void *argument;
    bool done;
};

struct nb_loop {
    nb_server_config config;
    struct nb_loops *all; /* of the server (loops.h) */
    uint16_t number;      /* among them; the first, 0, listens */
    nb_log *log;          /* NULL: no log. The first's is that of all. */
    nb_poll *poll;
    nb_wake wake;
    bool wake_is_edge; /* told once a signal: needs no clearing */
    nb_pool pool;
    nb_dispatch dispatch;
    nb_downloads downloads;
    nb_reports reports;
    _Atomic uint64_t files_open, files_hit, files_entered,
        files_changed; /* nb_open_files_figures, as of the last turn */
    nb_routes routes;
    nb_answers answers;
    nb_connections connections;
    nb_listener listeners[NB_LISTENERS_MAX];
    uint16_t listener_count;
    bool listening_paused;    /* by the limit of connections, or for want of descriptors */
    bool waits_for_room;      /* by that limit: until a connection ends or is idle, if that comes first */
    int64_t listen_again_ns;  /* when to go on; 0: when there is room */
    int64_t full_since_ns;    /* since when somebody has waited for a place, one or another; 0: nobody ever has */
    int64_t full_seen_ns;     /* when somebody was seen to */
    int64_t shortage_told_ns; /* nb_log_due: descriptors are short */
    int descriptors_high;     /* from this number on they are not for connections */
    int reserve_fd;           /* given up for a moment to refuse a client when there is no other descriptor */
    _Atomic int64_t idle_ns;  /* when the one that has been idle longest times out, as of the last turn; 0: none is */
    _Atomic bool close_idle_asked; /* the first loop asks this one to end its oldest idle connection */
    nb_turn_time time;
    int64_t files_at_ns;   /* when open files are to be looked at; 0: at the next turn */
    int64_t trim_at_ns;    /* 0: no trim is due */
    int64_t trim_again_ns; /* not before */
    bool stopping, finished;
    int64_t drain_deadline_ns, stop_deadline_ns;
    nb_ring_consumer *guest;  /* the only executor's own thread runs this turn: the requests it waits for; NULL: the
                                 server's thread does */
    int64_t executor_look_ns; /* how soon to look at running executors again */
    bool guest_called;        /* the guest's descriptor has something for it */
    int64_t guest_until_ns;   /* when it must be back */
    _Atomic bool drain, stop; /* asked for */
    pthread_mutex_t calls_lock;
    pthread_cond_t calls_done;
    nb_loop_call *_Atomic calls;
    pthread_mutex_t inbox_lock; /* over the next three: what other threads bring */
    nb_body *written;           /* bodies whose write ended, for the loop to go on with */
    nb_sending *returned;       /* given back by file workers; the newest first */
    nb_arrival *arrivals;       /* connections the first loop has accepted for this one; the newest first */
    _Atomic bool running;       /* its thread does */
    nb_counters counters;
    struct nb_figures *figures; /* NULL: nobody reads them (snapshot.h) */
    int64_t started_ns, started_wall_s;
};

/* Of this loop, now, by its own thread; of another, as of its last turn. */
static inline int64_t nb_loop_idle_ns(const nb_loop *loop) {
    return atomic_load_explicit(&loop->idle_ns, memory_order_relaxed);
}

#endif
