/*
 * server.h - the native half of a NeverBlock process: listeners, connections and I/O loops
 * (loops.h), each on a thread of its own. They exchange flat messages with executors over
 * channels. Nothing here knows Ruby: a C program may be the executor (test/c/support/).
 *
 * Life: create; listen and route_add, any number; channel_add, one for each executor; start; ...
 * drain, join, destroy.
 *
 * Threads: all calls come from the thread that owns the server, unless a comment says otherwise.
 * nb_server_drain and nb_server_stop_now may be called from any thread and from a signal handler.
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
#include "metrics/counters.h"
#include "loop/parts.h"
#include "loop/settings.h"

typedef struct nb_server_counters {
#define NB_SERVER_STAT(name) uint64_t name;
    NB_COUNTER_LIST(NB_SERVER_STAT)
#undef NB_SERVER_STAT
} nb_server_counters;

typedef struct nb_server nb_server;
struct nb_report;
struct nb_compress_types;
struct nb_tls_context;
struct nb_document_roots;
struct nb_challenge;

nb_status nb_server_create(const nb_server_config *config, nb_server **server);
/* Statuses: see os/net.h. NB_FULL: started already, or too many listeners. Listeners are numbered
   from 0 in the order of the calls. */
nb_status nb_server_listen_tcp(nb_server *server, const char *address, uint16_t port, int backlog,
                               uint16_t *bound_port);
nb_status nb_server_listen_unix(nb_server *server, const char *path, unsigned mode, int backlog);
/* The next of these calls takes the descriptor of a listening socket, in place of a new one; it
   owns the descriptor from now on. keeps_path: the socket file is not removed at the end. NB_FULL:
   started already. */
nb_status nb_server_inherit(nb_server *server, int fd, bool keeps_path);
/* Copies of the descriptors of all listeners that are open, CLOEXEC; the caller's. *count: how
   many, at most NB_LISTENERS_MAX. NB_SYSTEM with errno: nothing is copied. Any thread; waits for
   the loop. */
nb_status nb_server_copy_listeners(nb_server *server, int *fds, uint16_t *count);
/* Another process listens at the sockets: their files are not removed at the end. Any thread; waits
   for the loop. */
void nb_server_keep_paths(nb_server *server);
/* The same for the admin pages (admin.h), which the loop answers itself. With one of these, metrics
   are kept. */
nb_status nb_server_listen_admin_tcp(nb_server *server, const char *address, uint16_t port, uint16_t *bound_port);
nb_status nb_server_listen_admin_unix(nb_server *server, const char *path, unsigned mode);
/* The HTML of `/` for browsers, which is copied. NB_FULL: it is set once, before the start. */
nb_status nb_server_admin_page(nb_server *server, nb_slice html);
/* The name that the admin address was given by, in lower case and copied: a loopback address
   answers for it as well (admin/admin_host.c). NB_FULL: given before, or too late. */
nb_status nb_server_admin_host(nb_server *server, nb_slice name);
/* Who has the token may change the server by POST (admin/admin_actions.c); it is copied. NB_FULL:
   it is set once, before the start. */
nb_status nb_server_admin_token(nb_server *server, nb_slice token);
/* Each command of an admin client is written to fd, a pipe that does not block, as one byte: 'r'
   reload, '+' one worker more, '-' one worker less, all three only with `changes`, and 'a' advice.
   The caller closes it after the loops have ended. NB_FULL: it is given once, before the start. */
nb_status nb_server_admin_commands(nb_server *server, int fd, bool changes);
/* How the last command has ended, for /status.json; words: the first 255 bytes. Any thread; waits
   for the loop. */
void nb_server_admin_result(nb_server *server, bool ok, const char *words);
/* The answer to 'a', for /advice.json, which is copied. NB_OVER_LIMIT: it is larger than
   NB_ADMIN_BODY_BYTES_MAX. Any thread; waits for the loop. */
nb_status nb_server_admin_advice(nb_server *server, nb_slice json);
/* How many listeners were opened. */
uint16_t nb_server_listeners(const nb_server *server);
/* Has a listener of TCP speak TLS with this context, which is shared. Before start; with another
   context at any time, for the connections that come from then on. NB_NOT_FOUND: no such listener.
   NB_FULL: it has started as a plain one, or is a UNIX socket or the admin's. */
nb_status nb_server_listener_tls(nb_server *server, uint16_t listener, struct nb_tls_context *context);
/* Has a listener take connections of the PROXY protocol alone (transport/proxy_header.h). Before
   the start. NB_NOT_FOUND: no such listener. NB_FULL: it has started, or the listener is the
   admin's. */
nb_status nb_server_listener_proxied(nb_server *server, uint16_t listener);
/* Closes the last listener, as if it had never been opened: for a host with several addresses,
   which gets all or none. Before start; does nothing where there is none. */
void nb_server_listen_undo(nb_server *server);
/* The media types that are compressed, to add to before the start; the usual ones if none was
   added. NULL: it has started. */
struct nb_compress_types *nb_server_compress_types(nb_server *server);
/* Adds a route (routes.h), before start. NB_FULL: too late, or too many. */
nb_status nb_server_route_add(nb_server *server, nb_slice pattern, nb_route route, uint16_t *number);
/* The route with the number of a request message. NULL: NB_ROUTE_NONE. Any thread, after start. */
const nb_route *nb_server_route(const nb_server *server, uint16_t number);
/* The served files, to be set up before start (document_roots.h). NULL: the server has started. */
struct nb_document_roots *nb_server_document_roots(nb_server *server);
/* Sets the answers to an ACME server (challenges.h, with the statuses), in place of those before.
   Copied. Any time, any thread. */
nb_status nb_server_challenges(nb_server *server, const struct nb_challenge *list, size_t count);
/* Reports what becomes of named downloads (reports.h). To be called before start. *fd, owned by the
   server, is readable while there is a report to take. NB_FULL: started already, or called
   before. */
nb_status nb_server_reports_open(nb_server *server, int *fd);
/* Copies the oldest report to `place`, which has NB_REPORT_BYTES_MAX. False: there is none now, and
   *fd is quiet until there is. One thread only, which may be another, until destroy. */
bool nb_server_report_take(nb_server *server, struct nb_report *place);
/* Counts `count` reports that have met this nb_report_fate. Any thread. */
void nb_server_reports_count(nb_server *server, unsigned fate, uint64_t count);
/* Adds an executor of this process, before start. The channel, the first of its link
   (intake/channel.h), is owned by the server and lives until destroy. NB_FULL: too late, or too
   many. */
nb_status nb_server_channel_add(nb_server *server, nb_channel **channel);
/* Adds a spare for the executor at `helped`, before start: an executor that helps out while that
   one is blocked. `helped` may be a spare itself, and must have none yet. The spare is destroyed
   with it. */
nb_status nb_server_spare_add(nb_server *server, nb_channel *helped, nb_channel **channel);
/* Adds a lane, before start: a queue and threads for the requests of some routes. `threads` of each
   process run its requests, and at most `waiting_max` wait. *lane: its number, from 1, for routes.
   NB_FULL: too late, or too many. */
nb_status nb_server_lane_add(nb_server *server, uint16_t threads, uint32_t waiting_max, uint16_t *lane);
/* Request classes whose calls stall executors again and again run in this lane (learned.h). Before
   start. */
nb_status nb_server_learn_lanes(nb_server *server, uint16_t lane);
/* Sets the application's rules for lanes, in place of those before. Copied. Any time, any thread.
   NB_INVALID: a rule names a lane that does not exist. */
nb_status nb_server_lane_rules(nb_server *server, const nb_lane_rules *rules);
/* Adds a thread of this process to a lane, as nb_server_channel_add does for an executor. */
nb_status nb_server_lane_channel_add(nb_server *server, uint16_t lane, nb_channel **channel);
nb_status nb_server_start(nb_server *server);

/*
 * A front (the setting `front`) has its executors in other processes, the workers, each behind a
 * channel. These calls come at any time, from one thread, and wait until each loop has done them,
 * at most one turn.
 */
/* Creates the links to a new process: to its executor, to each of its spares, and to each thread of
   its lanes. The first channel stands for all of them. The caller owns it until serve, or destroys
   it by nb_link_destroy_all. Where descriptors are short, connections that wait for their next
   request make way, if that frees enough, or while no worker serves. */
nb_status nb_server_channel_create(nb_server *server, uint16_t spares, nb_channel **channel);
/* True: nb_server_channel_serve finds places for all executors of one more process. */
bool nb_server_has_place(nb_server *server);
/* From here on the process is handed requests, and the server owns the channel. number: its label
   in metrics. pid: of the process. NB_FULL: there is no place. */
nb_status nb_server_channel_serve(nb_server *server, nb_channel *channel, uint16_t number, int32_t pid);
/* Retires the worker: it gets no further request, and ends when it has none left. */
void nb_server_channel_retire(nb_server *server, nb_channel *channel);
/* Interrupts what a retiring worker runs, where it waits. What it still answers is sent. */
void nb_server_channel_interrupt(nb_server *server, nb_channel *channel);
/* Its process has ended. Requeues, answers or cuts its requests, says so in `report`, and destroys
   the channel. */
void nb_server_channel_end(nb_server *server, nb_channel *channel, nb_channel_report *report);
/* Writes the request lines of what its process runs now. */
void nb_server_channel_running(nb_server *server, nb_channel *channel, nb_channel_report *report);
/* What happens to requests while no channel serves. 0: they wait in the queue. Else they are
   answered 503 with this Retry-After in seconds. */
void nb_server_unavailable(nb_server *server, uint32_t seconds);

/*
 * A single executor may run the loop's turns itself while it has nothing else to do (lease.h).
 *
 * guest_begin: on its thread, after start. fd: its own poller's descriptor, which is watched
 * beside the sockets. False: not possible, as there are several executors or loops, or a poller
 * that cannot be watched.
 *
 * guest_wait: instead of sleeping. Runs turns until requests can be read, fd has something, or
 * timeout_ns has passed (negative: no limit; 0: one turn that does not wait).
 */
typedef enum nb_guest_outcome {
    /* The server's own thread runs the loop: sleep in your own poller, a request rings. */
    NB_GUEST_REFUSED,
    NB_GUEST_SERVED, /* there are requests, or the time is over */
    NB_GUEST_CALLED, /* your own poller may have something; there may be requests too */
} nb_guest_outcome;
bool nb_server_guest_begin(nb_server *server, int fd);
nb_guest_outcome nb_server_guest_wait(nb_server *server, nb_ring_consumer *requests, int64_t timeout_ns);
/* Runs one turn that does not wait and sends no byte of a file: for a thread that holds a lock
   others want. NB_GUEST_REFUSED while files are being sent: the server's own thread takes over. */
nb_guest_outcome nb_server_guest_turn(nb_server *server, nb_ring_consumer *requests);
void nb_server_guest_end(nb_server *server);

/* Stops listening, ends idle connections, lets requests end (at most shutdown_timeout_ms), then
   tells the executors to stop. */
void nb_server_drain(nb_server *server);
/* Cuts every connection now. The loop ends when the executors have, or after five seconds. */
void nb_server_stop_now(nb_server *server);
/* Waits until the threads of the loops have ended; returns at once when they never started. */
void nb_server_join(nb_server *server);
bool nb_server_running(nb_server *server);
/* For the child of a fork: closes inherited listeners, connections, the poller and the files of
   bodies, sends nothing, and touches no thread. A fork never happens while the loop is in the
   middle of a change (os/fork.h). */
void nb_server_abandon(nb_server *server);
void nb_server_destroy(nb_server *server);
/* Reads all counters. Any thread. Each number is right, but together they are not of one
   instant. */
void nb_server_counters_read(nb_server *server, nb_server_counters *stats);

#endif
