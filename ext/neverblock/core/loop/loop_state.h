/*
 * loop_state.h - one I/O loop: everything that it owns.
 *
 * Threads: the thread that runs its turns (loop.h) owns everything here, except `drain`, `stop`,
 * atomics, and what `inbox_lock` and `calls_lock` protect. What others may still hold during a
 * turn is freed at its end.
 */
#ifndef NB_LOOP_LOOP_STATE_H
#define NB_LOOP_LOOP_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "responses/responses.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/pool.h"
#include "connection/connections.h"
#include "dispatch/dispatch.h"
#include "dispatch/routes.h"
#include "metrics/counters.h"
#include "metrics/downloads.h"
#include "metrics/reports.h"
#include "metrics/stages.h"
#include "http/turn_time.h"
#include "loop/listener.h"
#include "loop/settings.h"
#include "poll/poll.h"
#include "poll/wake.h"

/* Work that another thread wants done between two turns (server.c). */
typedef struct nb_loop nb_loop;
typedef struct nb_loop_call nb_loop_call;
struct nb_loop_call {
    nb_loop_call *next;
    void (*run)(nb_loop *loop, void *argument);
    void *argument;
    bool done;
};

/* Clients of admin listeners that are sent events (admin/admin_events.c). */
typedef struct nb_event_streams {
    nb_exchange_id exchanges[NB_ADMIN_STREAMS_MAX];
    uint16_t count;
    nb_histogram *earlier; /* owned: NB_STAGES of them, as of the last events; NULL: none yet */
    int64_t next_ns;       /* when the next events are sent; 0: there is no stream */
} nb_event_streams;

struct nb_loop {
    nb_server_config config;
    struct nb_loops *all; /* the loops of the server (loops.h); borrowed */
    uint16_t number;      /* index among them; loop 0 listens */
    nb_log *log;          /* NULL: no log. All loops share that of loop 0, its owner. */
    nb_poll *poll;
    nb_wake wake;
    bool wake_is_edge; /* edge-triggered: needs no clearing */
    nb_pool pool;
    nb_dispatch dispatch;
    nb_downloads downloads;
    nb_reports reports;
    _Atomic uint64_t files_open, files_hit, files_entered,
        files_changed; /* metrics of open files (nb_open_files_figures) as of the last turn */
    nb_routes routes;
    nb_responses responses;
    nb_connections connections;
    nb_listener listeners[NB_LISTENERS_MAX];
    uint16_t listener_count;
    bool listening_paused;    /* at the limit of connections, or for want of descriptors */
    bool waits_for_room;      /* paused at the limit: until a connection ends or becomes idle */
    int64_t listen_again_ns;  /* when to resume listening; 0: when there is room */
    int64_t full_since_ns;    /* since when clients have had to wait for a place; 0: never */
    int64_t full_seen_ns;     /* when a client was last seen waiting */
    int64_t shortage_told_ns; /* nb_log_due: the shortage of descriptors */
    int descriptors_high;     /* descriptors from this number on are not for connections */
    /* Kept open in reserve: closed for a moment to accept and refuse a client when no descriptor is
       left; -1. */
    int reserve_fd;
    /* When the connection that is idle longest times out, as of the last turn; 0: none is idle. */
    _Atomic int64_t idle_ns;
    _Atomic bool close_idle_asked; /* loop 0 asks this one to end its longest idle connection */
    nb_turn_time time;
    int64_t files_at_ns;   /* when open files are next looked at; 0: in the next turn */
    int64_t trim_at_ns;    /* when the heap is to be trimmed; 0: not due */
    int64_t trim_again_ns; /* earliest time of the next trim */
    bool stopping, finished;
    int64_t drain_deadline_ns, stop_deadline_ns;
    int64_t drain_again_ns; /* new connections are no longer new */
    /* The requests that the guest waits for, while the only executor's thread runs this turn; NULL:
       the server's thread runs it. */
    nb_ring_consumer *guest;
    int64_t executor_look_ns; /* time until running executors are looked at again */
    bool guest_called;        /* the guest's own poller has something for it */
    int64_t guest_until_ns;   /* when the guest must return */
    _Atomic bool drain, stop; /* set by other threads */
    pthread_mutex_t calls_lock;
    pthread_cond_t calls_done;
    nb_loop_call *_Atomic calls;
    pthread_mutex_t inbox_lock;             /* protects the next six, which other threads fill */
    nb_exchange_id cancels[NB_CANCELS_MAX]; /* requests to be cancelled */
    uint16_t cancel_count;
    nb_body *written;         /* bodies whose write has ended */
    nb_sending *returned;     /* returned by file workers; newest first */
    nb_handshake *handshakes; /* whose step has been taken; newest first */
    nb_arrival *arrivals;     /* connections accepted by loop 0 for this one; newest first */
    _Atomic bool running;     /* its thread runs */
    nb_counters counters;
    nb_event_streams event_streams;
    struct nb_figures *figures;           /* metrics; NULL: nobody reads them (snapshot.h) */
    struct nb_slow_clients *slow_clients; /* owned; NULL: likewise (slow_clients.h) */
    int64_t started_ns, started_wall_s;
};

/* A listener speaks TLS. */
static inline bool nb_listeners_secure(const nb_loop *loop) {
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        if (loop->listeners[i].secure) return true;
    }
    return false;
}

/* Responses are compressed: by the configuration, or by that of a route. */
static inline bool nb_loop_compresses(const nb_loop *loop) {
    bool any = loop->config.compress != 0;
    for (uint16_t i = 0; i < loop->routes.count && !any; i++)
        any = loop->routes.entries[i].route.compress > NB_COMPRESS_OFF;
    return any;
}

/* See `idle_ns`. Current for the loop's own thread, as of the last turn for others. */
static inline int64_t nb_loop_idle_ns(const nb_loop *loop) {
    return atomic_load_explicit(&loop->idle_ns, memory_order_relaxed);
}

#endif
