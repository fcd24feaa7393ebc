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
#include "loop/parts.h"
#include "loop/settings.h"

typedef struct nb_server_stats {
#define NB_SERVER_STAT(name) uint64_t name;
    NB_SERVER_STATS(NB_SERVER_STAT)
#undef NB_SERVER_STAT
} nb_server_stats;

typedef struct nb_server nb_server;
struct nb_report;
struct nb_document_roots;

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
/* The files it serves, to be told before start (document_roots.h). NULL: it has started. */
struct nb_document_roots *nb_server_document_roots(nb_server *server);
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
