/*
 * response_parts.h - the parts of a response in the response ring: its head, and its body in slices
 * of bytes.
 *
 * All functions run in the task's fiber. Those that send may park it, while the ring is full or the
 * client is behind; they raise NeverBlock::ClientGone, and what is raised into the fiber meanwhile
 * (ports/writing.h).
 */
#ifndef NB_BINDING_RESPONSE_PARTS_H
#define NB_BINDING_RESPONSE_PARTS_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binding/rack/response_head.h"

/* Sends the head and the first bytes of the body as one part. flags: NB_PART_ and NB_RESPONSE_. */
void nb_response_send_head(nb_task *task, nb_response_head *gathered, nb_slice body, uint16_t flags);
/* Sends one part of the body. */
void nb_response_send_part(nb_task *task, nb_slice body, uint16_t flags);
/* Sends any number of body bytes, in as many parts as they need; the last part carries `flags`.
   owner: the object that keeps the bytes, or nil. */
void nb_response_send_body(nb_task *task, VALUE owner, nb_slice body, uint16_t flags);
/* How many of `left` body bytes the next part takes behind `head_bytes` of its own; there is room
   for it in the ring. *high: the bytes that the response may have under way, as they are after the
   wait for that room. */
size_t nb_response_step(nb_task *task, size_t head_bytes, size_t left, uint64_t *high);

/* The response is over. A fiber that waits for a part of the request's body is told. */
void nb_response_end(nb_task *task);
/* May a response of this status to the task's request have a body? */
bool nb_response_body_allowed(const nb_task *task, int status);
/* A String that nobody changes while its bytes are being sent. Raises what to_s raises. */
VALUE nb_response_frozen_chunk(VALUE chunk);
/* Raises NeverBlock::Error unless `sent` bytes are what Content-Length has announced. */
void nb_response_check_length(uint64_t announced, uint64_t sent);

#endif
