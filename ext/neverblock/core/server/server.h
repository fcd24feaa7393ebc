/*
 * server.h - the native half of a NeverBlock process: listeners, connections and I/O loops (loops.h), each on a thread of
 * its own, which exchange flat messages with executors over channels. Knows nothing of Ruby; a C program may be the executor
 * (test/c/support/).
 *
 * Life: create, listen and route_add (any number), channel_add (one for each executor), start, ... drain, join, destroy. All calls
 * but drain and stats come from the thread that owns the server; nb_server_drain and nb_server_stop_now may be called
 * from any thread and from a signal handler.
 */
#ifndef NB_SERVER_SERVER_H
#define NB_SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/status.h"
#include "intake/channel.h"
#include "dispatch/lane_rules.h"
#include "dispatch/routes.h"
#include "figures/counters.h"

/* Every setting with its unit and default: field, default. X(type, name, default) */
#define NB_SERVER_SETTINGS(X)                                                                                          \
    X(uint32_t, header_timeout_ms, 10000)   /* for a whole head, from its first byte (or from accept) */               \
    X(uint32_t, accept_timeout_ms, 1000)    /* newcomers wait for a place so long; then 503 */                         \
    X(uint32_t, body_timeout_ms, 30000)     /* window in which a body, or a response being sent, must move rate_min */ \
    X(uint32_t, idle_timeout_ms, 65000)     /* between requests of a connection */                                     \
    X(uint32_t, shutdown_timeout_ms, 30000) /* after drain: what is not done by then is cut */                         \
    X(uint32_t, rate_min, 500)              /* bytes a second a transfer must make within a window */                  \
    X(uint32_t, header_bytes_max, 65536)                                                                               \
    X(uint32_t, headers_max, 100)                                                                                      \
    X(uint64_t, body_bytes_max, 104857600)                                                                             \
    X(uint64_t, spool_bytes_max, 1073741824) /* all bodies in temporary files together */                              \
    X(uint32_t, connections_max, 10000)                                                                                \
    X(uint32_t, queue_max, 1000)                 /* requests that wait for an executor; more: 503 */                   \
    X(uint32_t, credit, 256)                     /* requests given to one executor ahead of its running them */        \
    X(uint32_t, response_backlog_bytes, 1048576) /* of one response, before its writer parks */                        \
    X(uint64_t, response_bytes_max, 268435456)   /* of all responses: near it each may hold less */                    \
    X(uint32_t, file_workers, 2)                 /* threads that write request bodies to files */                      \
    X(uint32_t, file_send_workers, 50)           /* threads that send files; 0: none */                                \
    X(uint32_t, sendfile_buffer, 81920)          /* bytes: an equal part of a download (eba, enba) */                  \
    X(uint32_t, sendfile_algorithm, 1)           /* its number (send/algorithms.h); 1: auto */                         \
    X(uint64_t, send_rate, 0)                    /* bytes a second of files to one connection; 0: no limit */          \
    X(uint64_t, address_rate, 0)                 /* the same to all connections of one client address */               \
    X(uint32_t, request_timeout_ms, 0)           /* until the application returns its head; 0: no limit */             \
    X(uint32_t, cancel_on_disconnect, 0)         /* 1: a request whose client has left is interrupted */               \
    X(uint32_t, guest_turns, 1)     /* 1: an idle executor runs the loop itself (lease.h); 0: two threads always */    \
    X(uint32_t, io_threads, 1)      /* I/O loops, each with a thread: 1 to NB_IO_THREADS_MAX */                        \
    X(uint32_t, spare_after_ms, 10) /* an executor runs one fiber so long, with work waiting: its spare is called */   \
    X(uint32_t, front, 0)           /* 1: the executors are in other processes, which come and go */                   \
    X(uint32_t, symlinks, 0)        /* nb_symlinks: which symbolic links of served folders are followed */             \
    X(uint32_t, http_compliance, 1) /* nb_compliance: what is read of a request beyond the grammar */                  \
    X(uint32_t, log_refused, 0) /* 1: a line of the log for each request the loop answers itself (request_log.h) */    \
    X(uint32_t, answer_asterisk, 0) /* 1: the loop answers OPTIONS * itself; 0: the application does */

typedef struct nb_server_config {
#define NB_SERVER_FIELD(type, name, value) type name;
    NB_SERVER_SETTINGS(NB_SERVER_FIELD)
#undef NB_SERVER_FIELD
    const char *spool_directory;        /* NULL: TMPDIR or /tmp. Copied. */
    const char *poller;                 /* NULL: the best. Copied. */
    const char *version, *ruby_version; /* for /status.json. Copied. */
    int log_fd;                         /* where the core's own lines go (never blocking); -1: nowhere */
} nb_server_config;

void nb_server_config_default(nb_server_config *config);

typedef struct nb_server_stats {
#define NB_SERVER_STAT(name) uint64_t name;
    NB_SERVER_STATS(NB_SERVER_STAT)
#undef NB_SERVER_STAT
} nb_server_stats;

typedef struct nb_server nb_server;
struct nb_report;
struct nb_site;

nb_status nb_server_create(const nb_server_config *config, nb_server **server);
/* See os/net.h for the statuses. The listener's number is the order of the calls, from 0. */
nb_status nb_server_listen_tcp(nb_server *server, const char *address, uint16_t port, int backlog,
                               uint16_t *bound_port);
nb_status nb_server_listen_unix(nb_server *server, const char *path, unsigned mode, int backlog);
/* The same for the admin pages (admin.h), which the loop answers itself. With one of these, figures are kept. */
nb_status nb_server_listen_admin_tcp(nb_server *server, const char *address, uint16_t port, uint16_t *bound_port);
nb_status nb_server_listen_admin_unix(nb_server *server, const char *path, unsigned mode);
/* Closes the last of the listeners again, as if there had been no call for it: for a host with several addresses, which has all or none. Before
   start; nothing where there is none. */
void nb_server_listen_undo(nb_server *server);
/* Before start; see routes.h. NB_FULL: too late, or too many. */
nb_status nb_server_route_add(nb_server *server, nb_slice pattern, nb_route route, uint16_t *number);
/* What the route of a request message means; NULL when it has none. Any thread once the server has started. */
const nb_route *nb_server_route(const nb_server *server, uint16_t number);
/* The files it serves, to be told before start (site.h). NULL: it has started. */
struct nb_site *nb_server_site(nb_server *server);
/* What became of downloads that the application has named (reports.h); to be asked for before start. *fd, the server's, is readable when there
   is something to take. NB_FULL: it has started, or was asked before. */
nb_status nb_server_reports_open(nb_server *server, int *fd);
/* One thread, from then until destroy: the oldest, copied to `place` of NB_REPORT_BYTES_MAX. False: there is none now, and *fd is quiet until
   there is. */
bool nb_server_report_take(nb_server *server, struct nb_report *place);
/* `count` of those taken have met this nb_report_fate. Any thread. */
void nb_server_reports_count(nb_server *server, unsigned fate, uint64_t count);
/* For an executor of this process, before start. The channel, the first of its link (intake/channel.h), belongs to the server and lives until
   destroy. */
nb_status nb_server_channel_add(nb_server *server, nb_channel **channel);
/* Likewise for an executor that helps out for the one at `helped`, which has no spare yet; it may be one itself. It is destroyed with that. */
nb_status nb_server_spare_add(nb_server *server, nb_channel *helped, nb_channel **channel);
/* A lane, before start: `threads` of each process run its requests, and at most `waiting_max` wait. *lane: its number, from 1, for a route. NB_FULL: too
 * late, or too many. */
nb_status nb_server_lane_add(nb_server *server, uint16_t threads, uint32_t waiting_max, uint16_t *lane);
/* Likewise: requests whose calls keep executors again and again run in this lane (learned.h). */
nb_status nb_server_learn_lanes(nb_server *server, uint16_t lane);
/* What the application says of its requests, in the place of what it said before. Copied. Any time, any thread. NB_INVALID: of a lane there is not. */
nb_status nb_server_lane_rules(nb_server *server, const nb_lane_rules *rules);
/* Likewise nb_server_channel_add, for one of its threads in this process. */
nb_status nb_server_lane_channel_add(nb_server *server, uint16_t lane, nb_channel **channel);
nb_status nb_server_start(nb_server *server);

/*
 * A front (the setting): its executors are other processes, each behind a channel of its own. At any time, from one thread; the calls
 * wait until the loop has done them, a turn at most.
 */
/* What became of the requests of a process that has ended. */
#define NB_CHANNEL_REPORT_LINES 10
typedef struct nb_channel_report {
    uint32_t failed; /* answered 502 */
    uint32_t cut;    /* their responses had begun */
    uint32_t again;  /* it had not begun with them: others run them */
    uint32_t line_count;
    char lines[NB_CHANNEL_REPORT_LINES][NB_EXCHANGE_LINE_BYTES]; /* of those failed and cut */
} nb_channel_report;

/* A link that is not served yet, with a link for each of so many spares and for each thread of the lanes behind it, spoken of by its first channel; it is the caller's until serve, or
   destroyed by nb_link_destroy_all. Where there are no descriptors for it, connections that wait for their next request make way: where that is enough, and while nobody serves. */
nb_status nb_server_channel_create(nb_server *server, uint16_t spares, nb_channel **channel);
/* From here on its process is given requests; the channel is the server's. number: what figures call it; pid: of the process. */
nb_status nb_server_channel_serve(nb_server *server, nb_channel *channel, uint16_t number, int32_t pid);
/* No further request; its executor is stopped when it has none left. */
void nb_server_channel_retire(nb_server *server, nb_channel *channel);
/* Its process has ended. Destroys the channel. */
void nb_server_channel_end(nb_server *server, nb_channel *channel, nb_channel_report *report);
/* Lines of what its process runs now. */
void nb_server_channel_running(nb_server *server, nb_channel *channel, nb_channel_report *report);
/* While no channel serves: 0: requests wait in the queue; else they are answered 503, to be tried again so many seconds later. */
void nb_server_unavailable(nb_server *server, uint32_t seconds);

/*
 * A single executor may run the loop's turns itself while it has nothing else to do (lease.h). guest_begin: on its
 * thread, after start; fd: its own poller's descriptor, watched beside the sockets. False: not possible here (several
 * executors or loops, or a poller that cannot be watched). guest_wait: in place of sleeping: runs turns until requests can be
 * read, fd has something, or timeout_ns (negative: none; 0: one turn that does not wait).
 */
typedef enum nb_guest_outcome {
    NB_GUEST_REFUSED, /* the server's own thread runs the loop: sleep in your own poller; a request rings */
    NB_GUEST_SERVED,  /* requests, or the time is over */
    NB_GUEST_CALLED,  /* your own poller may have something, perhaps requests too */
} nb_guest_outcome;
bool nb_server_guest_begin(nb_server *server, int fd);
nb_guest_outcome nb_server_guest_wait(nb_server *server, nb_ring_consumer *requests, int64_t timeout_ns);
/* One turn that does not wait, for a thread that holds a lock others want: no byte of a file is sent in it. While files are under way
   NB_GUEST_REFUSED, and the server's own thread takes over. */
nb_guest_outcome nb_server_guest_turn(nb_server *server, nb_ring_consumer *requests);
void nb_server_guest_end(nb_server *server);

/* Stops listening, ends idle connections, lets requests end (shutdown_timeout_ms), then tells the executors to stop. */
void nb_server_drain(nb_server *server);
/* Cuts every connection now; the loop ends when the executors have, or five seconds later. */
void nb_server_stop_now(nb_server *server);
/* Waits until the loop's thread has ended; at once when it never started. */
void nb_server_join(nb_server *server);
bool nb_server_running(nb_server *server);
/* A fork's child: closes our listeners, connections, poller and the files of bodies that were being received, without a word to anybody,
 * and touches no thread. The loop is never in the middle of a change then (os/fork.h). */
void nb_server_abandon(nb_server *server);
void nb_server_destroy(nb_server *server);
/* Any thread; each figure is right, the set is not one instant. */
void nb_server_stats_read(nb_server *server, nb_server_stats *stats);

#endif
