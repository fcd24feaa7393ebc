/*
 * body.c - see body.h.
 */
#include "intake/body.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"
#include "os/file.h"

#define FIRST_BLOCK_BYTES 4096u

static void write_run(nb_job *job) {
    nb_body *body = (nb_body *)(void *)((char *)job - offsetof(nb_body, job));
    body->write_errno = 0;
    if (body->fd < 0 && nb_file_temporary(body->spool->directory, &body->fd) != NB_OK) {
        body->write_errno = errno;
        return;
    }
    if (nb_file_write_all(body->fd, body->memory, body->held) != NB_OK) body->write_errno = errno;
}

static void write_done(nb_job *job) {
    nb_body *body = (nb_body *)(void *)((char *)job - offsetof(nb_body, job));
    body->spool->written(body);
}

static _Atomic uint64_t *count_of(nb_spool *spool) { return spool->whole ? &spool->whole->bytes : &spool->bytes; }

uint64_t nb_spool_bytes(const nb_spool *spool) {
    return atomic_load_explicit(spool->whole ? &spool->whole->bytes : &spool->bytes, memory_order_relaxed);
}

bool nb_spool_take(nb_spool *spool, uint64_t bytes) {
    uint64_t before = atomic_fetch_add_explicit(count_of(spool), bytes, memory_order_relaxed);
    if (before + bytes <= spool->bytes_max) return true;
    nb_spool_give(spool, bytes);
    return false;
}

void nb_spool_give(nb_spool *spool, uint64_t bytes) {
    atomic_fetch_sub_explicit(count_of(spool), bytes, memory_order_relaxed);
}

nb_status nb_body_create(nb_spool *spool, nb_request_message *message, struct nb_exchange *owner, nb_body **result) {
    nb_body *body = nb_alloc_zero(1, sizeof(*body));
    if (!body) return NB_NO_MEMORY;
    body->spool = spool;
    body->owner = owner;
    body->message = message;
    body->fd = -1;
    body->job = (nb_job){.run = write_run, .done = write_done};
    *result = body;
    return NB_OK;
}

/* Makes room for at least one more byte. It grows as bytes arrive: an announced length costs
   nothing. */
static nb_status grow(nb_body *body, size_t wanted) {
    size_t capacity = body->capacity ? body->capacity : FIRST_BLOCK_BYTES;
    while (capacity < body->held + wanted && capacity < NB_BODY_MEMORY_BYTES)
        capacity *= 2;
    if (capacity == body->capacity) return NB_OK;
    char *memory = nb_realloc(body->memory, capacity);
    if (!memory) return NB_NO_MEMORY;
    body->memory = memory;
    body->capacity = capacity;
    return NB_OK;
}

nb_status nb_body_add(nb_body *body, const char *bytes, size_t size) {
    NB_ASSERT(!body->writing && size <= nb_body_room(body));
    nb_status status = body->held + size > body->capacity ? grow(body, size) : NB_OK;
    if (status != NB_OK) return status;
    if (size) memcpy(body->memory + body->held, bytes, size);
    body->held += size;
    body->bytes += size;
    return NB_OK;
}

nb_status nb_body_write(nb_body *body) {
    NB_ASSERT(!body->writing);
    if (!nb_spool_take(body->spool, body->held)) return NB_FULL;
    nb_status status = nb_workers_submit(body->spool->workers, &body->job);
    if (status != NB_OK) {
        nb_spool_give(body->spool, body->held);
        return status;
    }
    body->spooled += body->held;
    body->spool->writes++;
    body->writing = true;
    return NB_AGAIN;
}

nb_status nb_body_end(nb_body *body) {
    NB_ASSERT(!body->writing);
    return body->fd >= 0 && body->held > 0 ? nb_body_write(body) : NB_OK;
}

nb_status nb_body_written(nb_body *body) {
    body->writing = false;
    body->spool->writes--;
    body->held = 0;
    if (!body->owner) {
        nb_body_destroy(body);
        return NB_CLOSED;
    }
    if (body->write_errno == 0) return NB_OK;
    errno = body->write_errno;
    return NB_SYSTEM;
}

nb_status nb_body_take_message(nb_body *body, nb_request_message **result, uint64_t *spooled) {
    NB_ASSERT(!body->writing);
    nb_request_message *message = body->message;
    if (body->fd >= 0) {
        message->body_fd = body->fd;
        message->body_bytes = body->bytes;
        body->fd = -1;
    } else if (body->held > 0) {
        size_t head_bytes = message->message.bytes;
        message = nb_realloc(message, head_bytes + body->held + 8);
        if (!message) return NB_NO_MEMORY;
        memcpy((char *)message + head_bytes, body->memory, body->held);
        nb_request_message_add_body(message, body->held);
    }
    body->message = NULL;
    *result = message;
    *spooled = body->spooled;
    body->spooled = 0;
    return NB_OK;
}

void nb_body_destroy(nb_body *body) {
    if (!body) return;
    body->owner = NULL;
    if (body->writing) return;
    if (body->fd >= 0) close(body->fd);
    nb_spool_give(body->spool, body->spooled);
    nb_free(body->message);
    nb_free(body->memory);
    nb_free(body);
}
