/*
 * sender_eba.c - "equal blocking": a worker sends one part of a download with blocking writes, then
 * queues the download behind the others. Any worker takes the next part.
 *
 * A write waits a moment for its client. That is long enough for a client that reads, and short
 * enough that clients which stop reading do not occupy all workers.
 */
#include "send/algorithms.h"

/* A client at 100 Mbit/s takes a part of 80 KB in 7 ms. */
#define PATIENCE_MS 10

static nb_step step(nb_download *download, uint64_t budget) {
    uint64_t total = 0, sent;
    while (nb_download_peek(download).bytes > 0) {
        if (total >= budget) return NB_STEP_WORKER;
        nb_sent result = nb_download_send(download, budget - total, &sent);
        total += sent;
        if (result == NB_SENT_FULL) result = nb_download_wait(download, PATIENCE_MS);
        if (result == NB_SENT_FULL) return NB_STEP_WRITABLE;
        if (result != NB_SENT_SOME) return NB_STEP_FAILED;
    }
    return NB_STEP_DONE;
}

const nb_algorithm nb_algorithm_eba = {
    .abi = NB_ALGORITHM_ABI,
    .bytes = sizeof(nb_algorithm),
    .name = "eba",
    .runs = NB_RUNS_ON_WORKERS,
    .step = step,
};
