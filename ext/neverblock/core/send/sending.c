/*
 * sending.c - see sending.h.
 */
#include "send/sending.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/clock.h"
#include "os/fork.h"

/* Unused structs to keep; more are freed. */
#define FREE_MAX 64u

/* --- what an algorithm may call --- */

static nb_sent fail(nb_sending *sending, nb_status status) {
    sending->status = status;
    sending->error = status == NB_SYSTEM ? errno : 0;
    return status == NB_EOF ? NB_SENT_SHRUNK : NB_SENT_ERROR;
}

static nb_sent send_some(nb_download *download, uint64_t most, uint64_t *sent) {
    nb_sending *sending = nb_sending_of(download);
    size_t moved = 0;
    *sent = 0;
    if (atomic_load_explicit(&sending->cancelled, memory_order_relaxed)) {
        errno = ECONNABORTED;
        return fail(sending, NB_SYSTEM);
    }
    nb_pool *pool = download->on_worker ? NULL : sending->senders->pool;
    nb_status status = nb_send_queue_push(&sending->send_queue, pool, sending->transport, most, &moved);
    *sent = moved;
    sending->step_moved += moved;
    if (download->on_worker && moved) atomic_fetch_add_explicit(&sending->moved, moved, memory_order_relaxed);
    if (status == NB_AGAIN) return NB_SENT_FULL;
    return status == NB_OK ? NB_SENT_SOME : fail(sending, status);
}

static nb_sent wait_for_client(nb_download *download, int timeout_ms) {
    nb_sending *sending = nb_sending_of(download);
    if (!download->on_worker) return NB_SENT_FULL;
    int64_t none = 0;
    atomic_compare_exchange_strong(&sending->waits_since_ns, &none, nb_clock_monotonic_ns());
    nb_status status = sending->transport->kind->wait(sending->transport, timeout_ms);
    if (status == NB_TIMEOUT) return NB_SENT_FULL;
    if (status == NB_OK && !atomic_load_explicit(&sending->cancelled, memory_order_relaxed)) return NB_SENT_SOME;
    if (status == NB_OK) errno = ECONNABORTED;
    return fail(sending, NB_SYSTEM);
}

static void peek(const nb_download *download, nb_download_next *next) {
    nb_send_queue_peek(&((const nb_sending *)(const void *)download)->send_queue, next);
}

static const nb_download_calls calls = {
    .abi = NB_ALGORITHM_ABI, .bytes = sizeof(calls), .send = send_some, .wait = wait_for_client, .next = peek};

/* --- steps --- */

static void step(nb_sending *sending, int on_worker, uint64_t budget) {
    sending->download.on_worker = on_worker;
    sending->step_moved = 0;
    sending->step = sending->algorithm->step(&sending->download, budget);
    if (sending->step_moved == 0) return;
    nb_sender_figures *figures = &sending->senders->figures[sending->number - 1];
    atomic_fetch_add_explicit(&figures->bursts, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&figures->bytes, sending->step_moved, memory_order_relaxed);
}

static void count(_Atomic uint64_t *gauge, uint64_t by) { atomic_fetch_add_explicit(gauge, by, memory_order_relaxed); }

static nb_sending *of_job(nb_job *job) { return (nb_sending *)(void *)((char *)job - offsetof(nb_sending, job)); }

static void run(nb_job *job) {
    nb_sending *sending = of_job(job);
    count(&sending->senders->queued, (uint64_t)-1);
    count(&sending->senders->running, 1);
    step(sending, 1, sending->budget);
    atomic_store(&sending->waits_since_ns, 0);
    count(&sending->senders->running, (uint64_t)-1);
}

static nb_status queue(nb_sending *sending, nb_status (*submit)(nb_workers *, nb_job *)) {
    count(&sending->senders->queued, 1);
    nb_status status = submit(sending->senders->workers, &sending->job);
    if (status != NB_OK) count(&sending->senders->queued, (uint64_t)-1);
    return status;
}

/* Queues the next step for any worker, or returns the sending to the loop. */
static void done(nb_job *job) {
    nb_sending *sending = of_job(job);
    bool goes_on = sending->step == NB_STEP_WORKER || sending->step == NB_STEP_OTHERS;
    bool cancelled = atomic_load_explicit(&sending->cancelled, memory_order_relaxed);
    if (goes_on && !cancelled && !sending->paced && queue(sending, nb_workers_resubmit) == NB_OK) return;
    sending->senders->returned(sending);
}

static bool due_on_worker(const nb_sending *sending) {
    if (!sending->senders->workers) return false;
    switch (sending->step) {
    case NB_STEP_WRITABLE:
        return sending->algorithm->runs == NB_RUNS_ON_WORKERS;
    case NB_STEP_OTHERS:
        return sending->download.on_worker != 0;
    case NB_STEP_WORKER:
        return true;
    case NB_STEP_LOOP:
    case NB_STEP_DONE:
    case NB_STEP_FAILED:
        break;
    }
    return false;
}

/* False: the step runs on the loop. It is due there, or the workers' queue is full, or no thread
 * could be started. */
static bool hand_to_worker(nb_sending *sending) {
    if (!due_on_worker(sending)) return false;
    sending->with_worker = queue(sending, nb_workers_submit) == NB_OK;
    return sending->with_worker;
}

nb_step nb_sending_step(nb_sending *sending, uint64_t most, uint64_t *sent) {
    NB_ASSERT(!sending->with_worker);
    const nb_algorithm *algorithm = sending->algorithm;
    uint64_t part = algorithm->step_bytes ? algorithm->step_bytes : sending->download.buffer_bytes;
    *sent = 0;
    sending->budget = most < part ? most : part;
    if (hand_to_worker(sending)) return NB_STEP_WORKER;
    step(sending, 0, sending->budget);
    *sent = sending->step_moved;
    sending->left -= *sent;
    if (sending->step != NB_STEP_WORKER) return sending->step;
    if (sending->paced) sending->budget = *sent < sending->budget ? sending->budget - *sent : 0;
    /* the rate must first allow the worker's step */
    if (sending->budget == 0) return NB_STEP_OTHERS;
    return hand_to_worker(sending) ? NB_STEP_WORKER : NB_STEP_OTHERS;
}

nb_step nb_sending_take_back(nb_sending *sending) {
    NB_ASSERT(sending->with_worker);
    sending->with_worker = false;
    nb_send_queue_give_back(&sending->send_queue, sending->senders->pool);
    return sending->step;
}

uint64_t nb_sending_progress(nb_sending *sending) {
    uint64_t moved = atomic_exchange_explicit(&sending->moved, 0, memory_order_relaxed);
    sending->left -= moved;
    return moved;
}

void nb_sending_cancel(nb_sending *sending, bool reset) {
    NB_ASSERT(sending->with_worker);
    atomic_store_explicit(&sending->cancelled, true, memory_order_relaxed);
    sending->transport->kind->abort(sending->transport, reset);
}

bool nb_sending_waits_since(const nb_sending *sending, int64_t since_ns) {
    int64_t waits_since_ns = atomic_load(&sending->waits_since_ns);
    return waits_since_ns != 0 && waits_since_ns <= since_ns;
}

/* --- beginning and end --- */

nb_status nb_senders_init(nb_senders *senders, uint16_t algorithm, uint32_t workers, uint32_t buffer_bytes,
                          uint32_t queue_max, nb_pool *pool, void (*returned)(nb_sending *sending)) {
    memset(senders, 0, sizeof(*senders));
    senders->algorithm = nb_algorithms_get(algorithm) ? algorithm : 1;
    senders->worker_count = workers;
    senders->buffer_bytes = buffer_bytes ? buffer_bytes : 1;
    senders->pool = pool;
    senders->returned = returned;
    return workers ? nb_workers_create("nb-send", workers, queue_max, &senders->workers) : NB_OK;
}

void nb_senders_stop(nb_senders *senders) {
    nb_workers_destroy(senders->workers);
    senders->workers = NULL;
}

void nb_senders_deinit(nb_senders *senders) {
    NB_ASSERT(!senders->workers && atomic_load(&senders->active) == 0);
    while (senders->free) {
        nb_sending *sending = senders->free;
        senders->free = sending->next;
        nb_free(sending);
    }
}

static nb_sending *take(nb_senders *senders) {
    nb_sending *sending = senders->free;
    if (!sending) return nb_alloc(sizeof(*sending));
    senders->free = sending->next;
    senders->free_count--;
    return sending;
}

static void give(nb_senders *senders, nb_sending *sending) {
    if (senders->free_count >= FREE_MAX) {
        nb_free(sending);
        return;
    }
    sending->next = senders->free;
    senders->free = sending;
    senders->free_count++;
}

nb_sending *nb_sending_begin(nb_senders *senders, nb_send_queue *queue, nb_transport *transport, void *owner) {
    nb_sending *sending = take(senders);
    if (!sending) return NULL;
    nb_send_by by = nb_send_queue_sent_by(queue);
    memset(sending, 0, sizeof(*sending));
    sending->number = nb_algorithms_get(by.algorithm) ? by.algorithm : senders->algorithm;
    sending->algorithm = nb_algorithms_get(sending->number);
    sending->rate = by.rate;
    sending->senders = senders;
    sending->transport = transport;
    sending->owner = owner;
    sending->job = (nb_job){.run = run, .done = done};
    sending->step = NB_STEP_WRITABLE; /* the first step is due where the algorithm runs */
    sending->download = (nb_download){.calls = &calls, .state = sending->state, .buffer_bytes = senders->buffer_bytes};
    if (sending->algorithm->init && sending->algorithm->init(&sending->download) != 0) {
        give(senders, sending);
        return NULL;
    }
    nb_send_queue_split(queue, &sending->send_queue);
    sending->left = sending->send_queue.bytes;
    count(&senders->active, 1);
    return sending;
}

void nb_sending_end(nb_sending *sending) {
    NB_ASSERT(!sending->with_worker);
    if (sending->algorithm->finish) sending->algorithm->finish(&sending->download);
    nb_send_queue_clear(&sending->send_queue, sending->senders->pool);
    count(&sending->senders->active, (uint64_t)-1);
    give(sending->senders, sending);
}
