/*
 * sender_eba.c - "equal blocking": a part by blocking writes, then behind the others; any worker takes the next part.
 *
 * A write waits only a moment for its client: long enough for one that reads, so that parts leave whole, and short enough
 * that as many clients as there are workers, all of which have stopped reading, do not hold up the rest.
 */
#include "send/algorithms.h"

/* A client at 100 Mbit/s takes 80 KB in 7 ms. 200 that stop reading at once hold 50 workers for 4 times that, once. */
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
