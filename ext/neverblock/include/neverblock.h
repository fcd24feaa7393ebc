/*
 * neverblock.h - the public header, for gems that add an algorithm that sends files.
 *
 * An algorithm is a table of functions. NeverBlock calls `step`, which sends a bounded part of a
 * download and returns what is to be done next. A step runs on the I/O loop, which serves all other
 * clients and must never block, or on a file worker, a thread that may block. No thread that calls
 * these functions holds Ruby's lock, and none of the functions may call Ruby. Steps of one download
 * never overlap, but may run on different threads. Steps of different downloads may run at the same
 * time.
 *
 * A gem registers its table from Ruby before the server starts, for example in the configuration
 * file: NeverBlock.add_algorithm(address of the nb_algorithm as an Integer). The table, and what it
 * points to, must stay in place until the process ends. examples/sender_gem is a complete gem.
 *
 * Versions: `abi` changes when a compiled algorithm would no longer work. Fields may be added at
 * the end of nb_algorithm and nb_download_calls; `bytes` tells how many the other side knows.
 */
#ifndef NEVERBLOCK_H
#define NEVERBLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NB_ALGORITHM_ABI 1u

/* Bytes of a name at most: a lower-case letter, then lower-case letters, digits and "_". */
#define NB_ALGORITHM_NAME_BYTES_MAX 15u

/* Bytes of state at most that an algorithm has for one download. */
#define NB_ALGORITHM_STATE_BYTES_MAX 256u

typedef struct nb_download nb_download;

/* What is to be done after a step. */
typedef enum nb_step {
    NB_STEP_DONE,   /* all is sent */
    NB_STEP_OTHERS, /* another step on the same kind of thread, after other downloads */
    /* Another step where the algorithm runs, when the client can take more. The loop watches for
     * that. */
    NB_STEP_WRITABLE,
    /* Another step on a file worker, after those that wait for one. On the loop if there are no
     * workers. */
    NB_STEP_WORKER,
    NB_STEP_LOOP, /* another step on the loop */
    /* The connection ends. nb_download_send or nb_download_wait has returned NB_SENT_SHRUNK or
     * NB_SENT_ERROR. */
    NB_STEP_FAILED,
} nb_step;

/* The result of nb_download_send and nb_download_wait. */
typedef enum nb_sent {
    NB_SENT_SOME,   /* bytes were sent */
    NB_SENT_FULL,   /* The client takes no more now. *sent bytes were sent before, perhaps none. */
    NB_SENT_SHRUNK, /* nothing was sent: the file has become shorter than announced */
    /* Nothing was sent: the client left, the server ends the connection, or see errno. */
    NB_SENT_ERROR,
} nb_sent;

/* The next piece to send. */
typedef struct nb_download_next {
    uint64_t bytes;  /* left of this piece; 0: there is no piece */
    uint64_t offset; /* in the file */
    /* Its descriptor; do not move its position. -1: bytes in memory, as those of a head. */
    int file;
} nb_download_next;

typedef struct nb_download_calls {
    uint32_t abi, bytes;
    /* Sends some of what is next, with one system call: at most `most` bytes, and up to one piece
     * more if pieces in memory are sent together. *sent: bytes sent. Never waits for the client.
     * Waits for the disk if a page of the file is not in memory. */
    nb_sent (*send)(nb_download *download, uint64_t most, uint64_t *sent);
    /* On a worker: waits until the client can take more (NB_SENT_SOME), timeout_ms have passed
     * (NB_SENT_FULL; -1: no limit), or the connection ends (NB_SENT_ERROR). On the loop: returns
     * NB_SENT_FULL at once. */
    nb_sent (*wait)(nb_download *download, int timeout_ms);
    void (*next)(const nb_download *download, nb_download_next *next);
} nb_download_calls;

/* One download: the head of a response and its file ranges, sent in order to one client. */
struct nb_download {
    const nb_download_calls *calls;
    void *state;           /* the algorithm's: state_bytes, zeroed at first */
    uint32_t buffer_bytes; /* the setting `sendfile { buffer }`: bytes of an equal part */
    int on_worker;         /* 1: this step runs on a file worker; 0: on the loop */
};

/* Where the steps of an algorithm run: the first, and those after NB_STEP_WRITABLE. */
typedef enum nb_runs {
    NB_RUNS_ON_LOOP,
    /* On the loop if there are no workers (the setting `sendfile { workers 0 }`). */
    NB_RUNS_ON_WORKERS,
} nb_runs;

typedef struct nb_algorithm {
    uint32_t abi;   /* NB_ALGORITHM_ABI */
    uint32_t bytes; /* sizeof(nb_algorithm) */
    const char *name;
    uint32_t state_bytes; /* at most NB_ALGORITHM_STATE_BYTES_MAX */
    uint32_t runs;        /* nb_runs */
    /* Bytes of one step, unless a rate allows fewer. 0: the setting `buffer`. UINT64_MAX: no
     * limit. */
    uint64_t step_bytes;
    /* Called before the first step, on the loop: it must not block. Returns 0, or anything else to
     * end the connection. May be NULL. */
    int (*init)(nb_download *download);
    /* Sends about `budget` bytes, and not many more. */
    nb_step (*step)(nb_download *download, uint64_t budget);
    /* Called after the last step, also when the download failed, on the loop: it must not block.
     * May be NULL. */
    void (*finish)(nb_download *download);
} nb_algorithm;

static inline nb_sent nb_download_send(nb_download *download, uint64_t most, uint64_t *sent) {
    return download->calls->send(download, most, sent);
}

static inline nb_sent nb_download_wait(nb_download *download, int timeout_ms) {
    return download->calls->wait(download, timeout_ms);
}

static inline nb_download_next nb_download_peek(const nb_download *download) {
    nb_download_next next;
    download->calls->next(download, &next);
    return next;
}

#endif
