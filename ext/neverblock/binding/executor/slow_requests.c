/*
 * slow_requests.c - see slow_requests.h.
 */
#include "binding/executor/slow_requests.h"

#include "base/alloc.h"
#include "binding/executor/kept_requests.h"
#include "binding/ports/running.h"

/* The clock is read only for a request without a head, and for one that is kept. */
void nb_slow_request_offer(nb_task *task) {
    nb_executor *executor = task->executor;
    const nb_account *account = &task->account;
    if (!executor->figures || executor->over || nb_executor_in_child(executor)) return;
    if (!nb_account_is(account, task->exchange)) return;
    int64_t until_ns = nb_kept_request_until_ns(task);
    int64_t duration_ns = account->queue_ns + until_ns - account->taken_ns;
    uint64_t key = nb_kept_request_key(task);
    uint32_t record = nb_slowest_place(executor->link->slowest, key, duration_ns, until_ns);
    if (record == NB_SLOWEST_NONE) return;
    if (!executor->slow) executor->slow = nb_alloc_zero(1, sizeof(*executor->slow));
    if (!executor->slow) return;
    nb_kept_request_fill(&executor->slow->about, task, key, until_ns);
    executor->slow->about.extra = account->waterfall != NULL;
    if (account->waterfall) executor->slow->waterfall = *account->waterfall;
    nb_slowest_put(executor->link->slowest, record, executor->slow);
}
