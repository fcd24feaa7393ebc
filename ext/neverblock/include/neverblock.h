/*
 * neverblock.h - the public header: what another gem needs to add an algorithm that sends files.
 *
 * An algorithm is a table of functions. NeverBlock asks its `step` to send a bounded part of a download, and does next
 * what the step returns. A step runs on the I/O loop, which serves every other client and must never wait, or on a file
 * worker, a thread that may. No thread that calls these functions holds Ruby's lock; none of them may call Ruby.
 * Steps of one download never overlap, but may come from different threads; those of different downloads run together.
 *
 * A gem hands its table over from Ruby: NeverBlock.add_algorithm(address of the nb_algorithm as an Integer), before the
 * server starts (in the configuration file, say). The table, and what it points to, must stay where it is until the
 * process ends. examples/sender_gem is a whole one.
 *
 * Versions: `abi` changes when a built algorithm would no longer work. Fields may be added at the end of nb_algorithm and
 * nb_download_calls; `bytes` says how much of them the other side knows.
 */
#ifndef NEVERBLOCK_H
#define NEVERBLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NB_ALGORITHM_ABI 1u

/* Bytes of a name, at the most: lower-case letters, digits and "_", a letter first. */
#define NB_ALGORITHM_NAME_BYTES_MAX 15u

/* Bytes that an algorithm may keep for one download. */
#define NB_ALGORITHM_STATE_BYTES_MAX 256u

typedef struct nb_download nb_download;

/* What a step wants next. */
typedef enum nb_step {
    NB_STEP_DONE,   /* everything was sent */
    NB_STEP_OTHERS, /* another step where this one ran; other downloads come first */
    NB_STEP_WRITABLE, /* another step where the algorithm runs, when the client can take more. The loop watches for that. */
    NB_STEP_WORKER, /* another step on a file worker, behind those that wait for one; on the loop where there is none */
    NB_STEP_LOOP,   /* another step on the loop */
    NB_STEP_FAILED, /* the connection is cut: nb_download_send or _wait has said NB_SENT_SHRUNK or NB_SENT_ERROR */
} nb_step;

/* What came of sending. */
typedef enum nb_sent {
    NB_SENT_SOME,   /* bytes went */
    NB_SENT_FULL,   /* the client takes no more now; *sent bytes, perhaps none, went before */
    NB_SENT_SHRUNK, /* none: the file has become shorter than what was announced */
    NB_SENT_ERROR,  /* none: the client has gone, the server gives the connection up, or errno tells why */
} nb_sent;

/* What would be sent next. */
typedef struct nb_download_next {
    uint64_t bytes;  /* of this piece that are left; 0: nothing is */
    uint64_t offset; /* in the file */
    int file; /* its descriptor, whose position must not be moved; -1: bytes in memory, as a response's head is */
} nb_download_next;

typedef struct nb_download_calls {
    uint32_t abi, bytes;
    /* One system call: some of what is next, `most` bytes at the most (memory pieces may go together, and beyond it by
       what one piece holds). *sent: bytes that went. Never waits for the client. Waits for the disk where a page of
       the file is not in memory. */
    nb_sent (*send)(nb_download *download, uint64_t most, uint64_t *sent);
    /* On a worker: waits until the client can take more (NB_SENT_SOME), timeout_ms have passed (NB_SENT_FULL; -1: no
       limit), or the connection is given up (NB_SENT_ERROR). On the loop: NB_SENT_FULL, at once. */
    nb_sent (*wait)(nb_download *download, int timeout_ms);
    void (*next)(const nb_download *download, nb_download_next *next);
} nb_download_calls;

/* One download: a response's head and its file ranges on their way to one client, in order. */
struct nb_download {
    const nb_download_calls *calls;
    void *state;           /* the algorithm's own: state_bytes, all zero at first */
    uint32_t buffer_bytes; /* the setting `sendfile { buffer }`: the size of an equal part */
    int on_worker;         /* 1: this step runs on a file worker; 0: on the loop */
};

/* Where an algorithm's steps run, first and after NB_STEP_WRITABLE. */
typedef enum nb_runs {
    NB_RUNS_ON_LOOP,
    NB_RUNS_ON_WORKERS, /* on the loop where there are none: the setting `sendfile { workers 0 }` */
} nb_runs;

typedef struct nb_algorithm {
    uint32_t abi;   /* NB_ALGORITHM_ABI */
    uint32_t bytes; /* sizeof(nb_algorithm) */
    const char *name;
    uint32_t state_bytes; /* NB_ALGORITHM_STATE_BYTES_MAX at the most */
    uint32_t runs;        /* nb_runs */
    uint64_t
        step_bytes; /* of one step, unless a rate allows less; 0: as many as the setting `buffer`; UINT64_MAX: no end */
    /* Before the first step, on the loop, so it must not wait. 0: fine; else the connection is cut. NULL is fine. */
    int (*init)(nb_download *download);
    /* Sends about `budget` bytes, and not much more. */
    nb_step (*step)(nb_download *download, uint64_t budget);
    /* After the last step, also of a download that failed; on the loop, so it must not wait. NULL is fine. */
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
