/*
 * sender_sba.c - "simple blocking": one worker sends a download to its end and waits for its
 * client. As many downloads progress at a time as there are workers; others wait for a worker.
 */
#include "send/algorithms.h"

static nb_step step(nb_download *download, uint64_t budget) {
    uint64_t total = 0, sent;
    while (nb_download_peek(download).bytes > 0) {
        if (total >= budget) return NB_STEP_OTHERS;
        nb_sent result = nb_download_send(download, budget - total, &sent);
        total += sent;
        if (result == NB_SENT_FULL) result = nb_download_wait(download, -1);
        if (result == NB_SENT_FULL) return NB_STEP_WRITABLE; /* on the loop: there are no workers */
        if (result != NB_SENT_SOME) return NB_STEP_FAILED;
    }
    return NB_STEP_DONE;
}

const nb_algorithm nb_algorithm_sba = {
    .abi = NB_ALGORITHM_ABI,
    .bytes = sizeof(nb_algorithm),
    .name = "sba",
    .runs = NB_RUNS_ON_WORKERS,
    .step_bytes = UINT64_MAX,
    .step = step,
};
