/*
 * shown.h - what several pages show alike, and how they read their parameters.
 */
#ifndef NB_ADMIN_SHOWN_H
#define NB_ADMIN_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "dispatch/dispatch.h"
#include "dispatch/routes.h"
#include "intake/pool_gauges.h"

/* Executors that are looked at: workers with their spares and lanes. */
#define NB_SHOWN_EXECUTORS_MAX 1024u

/* The value of a parameter of the query; empty without "=". False: it is not there. */
bool nb_shown_parameter(nb_slice query, const char *name, nb_slice *value);
/* A whole number; `standard` where it is not there or is none. More than `most` is `most`. */
uint32_t nb_shown_number(nb_slice query, const char *name, uint32_t standard, uint32_t most);

/* Members of an object: worker, pid, lane, spare. */
void nb_shown_whose(nb_text *text, const nb_dispatch_channel *channel);
/* The member "route" with its pattern; nothing for NB_ROUTE_NONE, and for a number that there is
   not. */
void nb_shown_route(nb_text *text, const nb_routes *routes, uint16_t number);

/* Pools of all processes that are shown: a page has a bound. */
#define NB_SHOWN_POOLS_MAX 400u

/* Calls `show` for each pool of each process, brought up to now: worker by worker. */
typedef void nb_shown_pool(void *context, const nb_dispatch_channel *channel, const nb_pool_gauge *gauge);
void nb_shown_pools(const nb_dispatch *dispatch, int64_t now_ns, nb_shown_pool *show, void *context);

#endif
