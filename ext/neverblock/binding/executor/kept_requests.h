/*
 * kept_requests.h - what is kept of a task's request (intake/kept_request.h). On the executor's
 * thread, with the GVL. Nothing raises.
 */
#ifndef NB_BINDING_KEPT_REQUESTS_H
#define NB_BINDING_KEPT_REQUESTS_H

#include "binding/ports/executor_state.h"

/* Its class: its route and method; without a route, its request class. Never 0. */
uint64_t nb_kept_request_key(const nb_task *task);
/* When its head was handed to the loop, or now. */
int64_t nb_kept_request_until_ns(const nb_task *task);
/* Fills in all but `extra`, for a request that has ended. */
void nb_kept_request_fill(nb_kept_request *request, const nb_task *task, uint64_t key, int64_t until_ns);

#endif
