/*
 * admin.h - the pages of an admin listener: /health, /ready, /metrics (Prometheus), /status.json,
 * /fibers.json, /slowest.json, /observed.json, /advice.json and /events; and what changes the
 * server: /cancel, /reload and /workers. The loop answers them itself, whatever Ruby does. A wrong
 * method is answered 405, another path 404.
 *
 * Threads: that of the first loop, which has the admin listeners.
 */
#ifndef NB_ADMIN_ADMIN_H
#define NB_ADMIN_ADMIN_H

#include "base/histogram.h"
#include "base/status.h"
#include "base/text.h"
#include "dispatch/exchange.h"

struct nb_loop;

/* What is written to the pipe of commands (server.h). */
#define NB_ADMIN_COMMAND_ADVICE 'a'

/* Answers the exchange's request, whose head the connection has just read. authority: of its Host
   or target; empty: none. NB_NO_MEMORY: end the connection. */
nb_status nb_admin_answer(struct nb_loop *loop, nb_exchange *exchange, nb_slice authority);

/* Does the address that the request came to answer for this authority (admin_host.c)? */
bool nb_admin_answers_for(const struct nb_loop *loop, const nb_exchange *exchange, nb_slice authority);
/* Says for which ones it does. */
nb_status nb_admin_refuse_host(struct nb_loop *loop, nb_exchange *exchange);

/* The pages with metrics: admin_metrics.c and admin_status.c. */
void nb_admin_write_metrics(struct nb_loop *loop, nb_text *text);
void nb_admin_write_openmetrics(struct nb_loop *loop, nb_text *text);
void nb_admin_write_status(struct nb_loop *loop, nb_text *text);
/* How long the stages of requests have taken since `earlier`, NB_STAGES histograms that the call
   brings up to date. */
void nb_admin_write_latency(struct nb_loop *loop, nb_histogram *earlier, nb_text *text);
/* These read the query of the request's head (admin_fibers.c, admin_slowest.c,
   admin_observed.c). */
void nb_admin_write_fibers(struct nb_loop *loop, nb_text *text);
void nb_admin_write_slowest(struct nb_loop *loop, nb_text *text);
void nb_admin_write_observed(struct nb_loop *loop, nb_text *text);
void nb_admin_write_advice(struct nb_loop *loop, nb_text *text);
/* The oldest fibers, with the line of code where that is known, and without query strings. */
void nb_admin_write_oldest_fibers(struct nb_loop *loop, nb_text *text);

/* Is it the path of something that changes the server (admin_actions.c)? */
bool nb_admin_is_action(nb_slice path);
/* Does it, for who has the token. NB_NO_MEMORY: end the connection. */
nb_status nb_admin_act(struct nb_loop *loop, nb_exchange *exchange);

/* Begins an event stream (admin_events.c). NB_NO_MEMORY: end the connection. */
nb_status nb_admin_follow(struct nb_loop *loop, nb_exchange *exchange);
/* Sends the next events of all streams. */
void nb_admin_tell(struct nb_loop *loop);

#endif
