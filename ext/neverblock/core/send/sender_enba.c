/*
 * sender_enba.c - "equal non-blocking": a worker sends one part without waiting, then queues the
 * download behind the others. When the client takes no more, the loop watches for it. Any worker
 * takes the next part. Without workers the loop sends.
 */
#include "send/algorithms.h"

static nb_step step(nb_download *download, uint64_t budget) {
    uint64_t total = 0, sent;
    while (nb_download_peek(download).bytes > 0) {
        if (total >= budget) return download->on_worker ? NB_STEP_WORKER : NB_STEP_OTHERS;
        nb_sent result = nb_download_send(download, budget - total, &sent);
        total += sent;
        if (result == NB_SENT_FULL) return NB_STEP_WRITABLE;
        if (result != NB_SENT_SOME) return NB_STEP_FAILED;
    }
    return NB_STEP_DONE;
}

const nb_algorithm nb_algorithm_enba = {
    .abi = NB_ALGORITHM_ABI,
    .bytes = sizeof(nb_algorithm),
    .name = "enba",
    .runs = NB_RUNS_ON_WORKERS,
    .step = step,
};
