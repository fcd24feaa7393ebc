/*
 * observed_requests.h - observes a sample of requests (intake/observed.h): each wait of the
 * request's own fiber, with the lines of code that it happened in.
 *
 * Whether a request is observed is decided when its waits have taken NB_ACCOUNT_OBSERVED_FROM_NS
 * together. The frames are those of the fiber that has waited, taken when it runs again: of an
 * Enumerator, those of its own fiber.
 *
 * Of a stack are kept the frames of the application, the innermost 48, and of other code between
 * them and the wait the three next to the wait and the three next to the application's. A function
 * in C is one of those, with the path "<cfunc>" and line 0. NeverBlock's own frames are left out.
 *
 * On the executor's thread, with the GVL. Nothing raises, and no Ruby code runs. Where there is no
 * admin address nothing is observed.
 */
#ifndef NB_BINDING_OBSERVED_REQUESTS_H
#define NB_BINDING_OBSERVED_REQUESTS_H

#include "binding/ports/executor_state.h"

struct nb_wait;

/* A wait of a request's own fiber has ended, in that fiber; nb_account_may_be_observed. For
   nb_scheduler_source. owner: the executor. */
void nb_executor_observe(void *owner, const struct nb_wait *wait, int64_t began_ns);
/* The task's request has ended, and its account is still there: what was observed of it is kept,
   unless the executor is over. */
void nb_observed_request_end(nb_task *task);

void nb_observing_mark(const nb_executor *executor);
void nb_observing_free(nb_executor *executor);
size_t nb_observing_bytes(const nb_executor *executor);

#endif
