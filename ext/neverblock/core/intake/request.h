/*
 * request.h - a parsed head as the flat message an executor receives (message.h).
 */
#ifndef NB_INTAKE_REQUEST_H
#define NB_INTAKE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/head.h"
#include "intake/message.h"
#include "os/net.h"

typedef struct nb_request_facts {
    const nb_head *head;
    const nb_peer *peer;
    nb_slice raw;        /* the bytes every slice of head points into */
    nb_slice host;       /* the authority that counts: of an absolute target, else of Host; empty where there is none */
    uint64_t body_bytes; /* of the body, decoded; NB_CONTENT_LENGTH_UNKNOWN: until it ends */
    bool has_body;
    bool upgrade; /* it asks for another protocol (RFC 9110 section 7.8) */
    nb_exchange_id exchange;
    int64_t arrived_ns;
    int64_t deadline_ns; /* 0: none */
    uint16_t listener, route;
    bool streams; /* the body follows by itself */
    bool cancellable;
} nb_request_facts;

/* Bytes of the message for this head, without the body; a multiple of 8. */
size_t nb_request_message_bytes(const nb_request_facts *facts);
/* Writes it to `out` (8-byte aligned, that many bytes). No body: body_fd -1, body empty. */
void nb_request_message_write(void *out, const nb_request_facts *facts);
/* Names `body_bytes` bytes that the caller puts at the message's end; the message grows by them. */
void nb_request_message_add_body(nb_request_message *message, size_t body_bytes);
/* Copies one that its reader has in a ring, all but the claim, which that one may be changing. bytes: how long it was written; what it
 * says itself is not believed. False: the reader's process has damaged it, and the copy must not be used. */
bool nb_request_message_copy(nb_request_message *to, const nb_request_message *from, size_t bytes);
/* Frees an allocated one, with the file of its body. */
void nb_request_message_free(nb_request_message *message);

#endif
