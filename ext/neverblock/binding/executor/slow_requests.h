/*
 * slow_requests.h - offers a request that has ended to the slowest of its route (intake/slowest.h).
 */
#ifndef NB_BINDING_SLOW_REQUESTS_H
#define NB_BINDING_SLOW_REQUESTS_H

#include "binding/ports/executor_state.h"

/* The task's request has ended, and its account is still there. Nothing is kept where there is no
   admin address. In the task's fiber. Does not raise. */
void nb_slow_request_offer(nb_task *task);

#endif
