/*
 * body.h - a request body being received: decoded into memory, and past NB_BODY_MEMORY_BYTES into an unlinked temporary
 * file that a file worker writes, so that no disk delays the loop.
 *
 * Life: nb_body_create with a head that announces a body (it takes the request message); nb_body_feed with what was
 * read until NB_OK; nb_body_take_message; nb_body_destroy. When a feed answers NB_AGAIN a write runs on a worker and
 * nothing may be fed: the worker calls spool->written(body) on its own thread when it has ended, and the owner then
 * calls nb_body_written on the loop's. A body destroyed while a write runs lives on until that nb_body_written, which
 * frees it.
 */
#ifndef NB_INTAKE_BODY_H
#define NB_INTAKE_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http1/chunked.h"
#include "http1/framing.h"
#include "intake/message.h"
#include "intake/request.h"
#include "os/workers.h"

typedef struct nb_body nb_body;

/* What the bodies of a server share. */
typedef struct nb_spool nb_spool;
struct nb_spool {
    nb_workers *workers;
    const char *directory;
    _Atomic uint64_t bytes;         /* in files now, or promised to them */
    uint64_t bytes_max;             /* the budget of them all */
    nb_spool *whole;                /* the one that counts for several; NULL: itself */
    uint64_t body_bytes_max;        /* of one body */
    unsigned writes;                /* under way, or not yet told to nb_body_written: the loop's own */
    void (*written)(nb_body *body); /* on a worker's thread: hand the body to the loop */
};

/* Any thread. take: false when so many more are too many. */
uint64_t nb_spool_bytes(const nb_spool *spool);
bool nb_spool_take(nb_spool *spool, uint64_t bytes);
void nb_spool_give(nb_spool *spool, uint64_t bytes);

struct nb_body {
    nb_spool *spool;
    void *owner;                 /* the connection; NULL once destroyed during a write */
    nb_body *next;               /* for the owner's list of written bodies */
    nb_request_message *message; /* without the body; owned */
    nb_chunked chunked;
    bool is_chunked, complete, writing;
    uint64_t length_left; /* with Content-Length */
    uint64_t bytes;       /* decoded so far */
    char *memory;         /* what is not in the file yet */
    size_t held, capacity;
    int fd;           /* -1: no file */
    uint64_t spooled; /* bytes of the budget taken */
    nb_job job;
    int write_errno; /* of the last write, 0 when it went well */
};

/* Takes `message` (nb_alloc'ed) on success only. */
nb_status nb_body_create(nb_spool *spool, const nb_framing *framing, nb_request_message *message, void *owner,
                         nb_body **body);

/*
 * bytes: input, changed in place by the chunked decoder. *used of it were consumed.
 * NB_OK: the body is complete, in memory or in the file. NB_INCOMPLETE: more input is needed. NB_AGAIN: a write runs.
 * NB_INVALID, NB_TOO_LARGE: *refusal. NB_FULL: the spool's budget is used up (503). NB_NO_MEMORY. NB_SYSTEM: a write
 * failed (errno).
 */
nb_status nb_body_feed(nb_body *body, char *bytes, size_t size, size_t *used, nb_refusal *refusal);

/* After spool->written, on the loop's thread. NB_OK: go on feeding (an empty feed completes a body that was waiting for
   its last write). NB_CLOSED: the body had been destroyed and is freed now. NB_SYSTEM: the write failed; errno. */
nb_status nb_body_written(nb_body *body);

/* When complete: the message with the body in it, or with body_fd (then the receiver owns the descriptor).
   NB_NO_MEMORY. The caller frees it with nb_free. *spooled: bytes of the budget the receiver holds and must give back
   to the spool. */
nb_status nb_body_take_message(nb_body *body, nb_request_message **message, uint64_t *spooled);

void nb_body_destroy(nb_body *body); /* NULL is fine */

#endif
