/*
 * body.h - collects a request body before its request is passed on: in memory, and beyond
 * NB_BODY_MEMORY_BYTES in an unlinked temporary file. A file worker writes that file, so that no
 * disk delays the loop. A body knows no version of HTTP: its bytes come decoded.
 *
 * Life: nb_body_create with the request's message, which it takes; nb_body_add, as much as
 * nb_body_room allows, until all has come; nb_body_end; nb_body_take_message; nb_body_destroy.
 * Without room, nb_body_write makes some. After NB_AGAIN a write runs on a worker, and nothing may
 * be added.
 *
 * Threads: the loop's, but for spool->written(body), which the worker calls on its own thread when
 * the write has ended. The owner then calls nb_body_written on the loop's thread. A body that is
 * destroyed during a write lives until that nb_body_written, which frees it.
 */
#ifndef NB_INTAKE_BODY_H
#define NB_INTAKE_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "intake/message.h"
#include "intake/request.h"
#include "os/workers.h"

typedef struct nb_body nb_body;

/* What all bodies of a server share. */
typedef struct nb_spool nb_spool;
struct nb_spool {
    nb_workers *workers;
    const char *directory;
    _Atomic uint64_t bytes; /* in files now, or reserved for them */
    uint64_t bytes_max;     /* budget of all bodies */
    nb_spool *whole;        /* the spool that counts for several loops; NULL: this one */
    /* Writes that run or are not yet told to nb_body_written; the loop's own. */
    unsigned writes;
    void (*written)(nb_body *body); /* on a worker's thread: passes the body to the loop */
};

/* Any thread. take: reserves bytes of the budget; false: it is used up. */
uint64_t nb_spool_bytes(const nb_spool *spool);
bool nb_spool_take(nb_spool *spool, uint64_t bytes);
void nb_spool_give(nb_spool *spool, uint64_t bytes);

struct nb_body {
    nb_spool *spool;
    struct nb_exchange *owner;   /* borrowed; NULL once destroyed during a write */
    nb_body *next;               /* link for the owner's list of written bodies */
    nb_request_message *message; /* owned; without the body */
    bool writing;
    uint64_t bytes; /* bytes of the body so far */
    char *memory;   /* bytes that are not in the file yet */
    size_t held, capacity;
    int fd;           /* -1: no file */
    uint64_t spooled; /* bytes of the budget reserved */
    nb_job job;
    int write_errno; /* of the last write; 0: it succeeded */
};

/* Owns `message` (from nb_alloc) on success only. */
nb_status nb_body_create(nb_spool *spool, nb_request_message *message, struct nb_exchange *owner, nb_body **body);

/* Bytes that may be added now; 0: what is in memory must be written first. */
static inline size_t nb_body_room(const nb_body *body) { return NB_BODY_MEMORY_BYTES - body->held; }
/* Copies at most nb_body_room bytes. NB_NO_MEMORY. */
nb_status nb_body_add(nb_body *body, const char *bytes, size_t size);
/* Writes what is in memory to the file. NB_AGAIN: a write runs. NB_FULL: the spool's budget is used
   up. NB_SYSTEM: no worker can be had; errno. */
nb_status nb_body_write(nb_body *body);
/* Call when all was added. NB_OK: the body is complete, in memory or in the file. NB_AGAIN: its
   last write runs, call again when that has ended. Else as nb_body_write. */
nb_status nb_body_end(nb_body *body);

/* After spool->written, on the loop's thread. NB_OK: there is room again. NB_CLOSED: the body had
   been destroyed and is freed now. NB_SYSTEM: the write failed; errno. */
nb_status nb_body_written(nb_body *body);

/* When complete: the message with the body in it, or with body_fd, which the receiver then owns.
   The caller frees it with nb_free. *spooled: bytes of the budget that the receiver must return to
   the spool. NB_NO_MEMORY. */
nb_status nb_body_take_message(nb_body *body, nb_request_message **message, uint64_t *spooled);

void nb_body_destroy(nb_body *body); /* NULL is fine */

#endif
