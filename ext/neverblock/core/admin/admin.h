/*
 * admin.h - the pages of an admin listener: /health, /ready, /metrics (Prometheus), /status.json,
 * /fibers.json and /slowest.json. The loop answers them itself, whatever Ruby does. GET and HEAD
 * are served; another method is answered 405, another path 404.
 *
 * Threads: that of the first loop, which has the admin listeners.
 */
#ifndef NB_ADMIN_ADMIN_H
#define NB_ADMIN_ADMIN_H

#include "base/status.h"
#include "base/text.h"
#include "dispatch/exchange.h"

struct nb_loop;

/* Answers the exchange's request, whose head the connection has just read. NB_NO_MEMORY: end the
   connection. */
nb_status nb_admin_answer(struct nb_loop *loop, nb_exchange *exchange);

/* The pages with metrics: admin_metrics.c and admin_status.c. */
void nb_admin_write_metrics(struct nb_loop *loop, nb_text *text);
void nb_admin_write_openmetrics(struct nb_loop *loop, nb_text *text);
void nb_admin_write_status(struct nb_loop *loop, nb_text *text);
/* These read the query of the request's head (admin_fibers.c, admin_slowest.c). */
void nb_admin_write_fibers(struct nb_loop *loop, nb_text *text);
void nb_admin_write_slowest(struct nb_loop *loop, nb_text *text);

#endif
