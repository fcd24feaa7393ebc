/*
 * loop.h - what the files of server/ share: the state of one I/O loop, and the turn that moves it.
 *
 * One thread runs nb_loop_turn again and again and owns everything here, but for `drain`, `stop`, the lists of written
 * bodies and returned sendings and the statistics. Nothing that others may still hold in this turn is freed before its end: closed
 * connections go to `graveyard`.
 */
#ifndef NB_SERVER_LOOP_H
#define NB_SERVER_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/log.h"
#include "base/pool.h"
#include "http1/head_parser.h"
#include "http1/head_writer.h"
#include "http1/turn_time.h"
#include "intake/body.h"
#include "os/poll.h"
#include "os/wake.h"
#include "connection/connection.h"
#include "dispatch/dispatch.h"
#include "figures/counters.h"
#include "figures/downloads.h"
#include "dispatch/exchange.h"
#include "server/listener.h"
#include "server/loops.h"
#include "answers/answers.h"
#include "figures/reports.h"
#include "figures/request_log.h"
#include "figures/stages.h"
#include "dispatch/routes.h"
#include "server/server.h"
#include "connection/timeouts.h"
#include "connection/upload.h"

/* Work that another thread wants done between two turns (nb_server_call). */
typedef struct nb_loop_call nb_loop_call;
struct nb_loop_call {
    nb_loop_call *next;
    void (*run)(struct nb_loop *loop, void *argument);
    void *argument;
    bool done;
};

typedef struct nb_loop {
    nb_server_config config;
    nb_loops *all;   /* of the server */
    uint16_t number; /* among them; the first, 0, listens */
    nb_log *log;     /* NULL: no log. The first's is that of all. */
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
    int64_t crowd_since_ns;   /* since when somebody has waited for a place, one or another; 0: nobody ever has */
    int64_t crowd_seen_ns;    /* when somebody was seen to */
    int64_t shortage_told_ns; /* nb_log_due: descriptors are short */
    int descriptors_high;     /* from this number on they are not for connections */
    int spare_fd;             /* given up for a moment to refuse a client when there is no other descriptor */
    _Atomic int64_t idle_ns;  /* when the one that has been idle longest times out, as of the last turn; 0: none is */
    _Atomic bool room_wanted; /* the first loop asks this one to end its oldest idle connection */
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
    nb_stages *stages;          /* NULL: nobody reads them */
    struct nb_figures *figures; /* NULL: nobody reads them (figures.h) */
    int64_t started_ns, started_wall_s;
} nb_loop;

/* Of this loop, now, by its own thread; of another, as of its last turn. */
static inline int64_t nb_loop_idle_ns(const nb_loop *loop) {
    return atomic_load_explicit(&loop->idle_ns, memory_order_relaxed);
}

/* One of `all`, whose first is made first and ends last. */
nb_status nb_loop_init(nb_loop *loop, const nb_server_config *config, nb_loops *all, uint16_t number,
                       const nb_connections_events *events);
void nb_loop_deinit(nb_loop *loop);
/* Adds the guest's own poller to the loop's, so that a guest that runs turns sees its own events. */
nb_status nb_loop_watch_guest(nb_loop *loop, int fd);
/* Does what other threads have asked for; under calls_lock only their list. */
void nb_loop_run_calls(nb_loop *loop);
/* From now on, while no channel serves, requests are refused, those that wait too. 0: they wait. */
void nb_loop_set_unavailable(nb_loop *loop, uint32_t seconds);
/* One turn: what came, what is due, then sleep until there is more. False: the loop has ended. */
bool nb_loop_turn(nb_loop *loop);

#endif
