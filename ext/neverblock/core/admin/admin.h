/*
 * admin.h - the pages of an admin listener, answered by the loop itself and so whatever Ruby does: /health, /ready,
 * /metrics (Prometheus), /status.json. GET and HEAD; anything else is told 405, another path 404.
 */
#ifndef NB_ADMIN_ADMIN_H
#define NB_ADMIN_ADMIN_H

#include "base/status.h"
#include "base/text.h"
#include "dispatch/exchange.h"

struct nb_loop;

/* Answers the request whose head is loop->head. NB_NO_MEMORY: the connection must be ended. */
nb_status nb_admin_answer(struct nb_loop *loop, nb_exchange *exchange);

/* The pages with figures, admin_metrics.c and admin_status.c. */
void nb_admin_write_metrics(struct nb_loop *loop, nb_text *text);
void nb_admin_write_status(struct nb_loop *loop, nb_text *text);

#endif
