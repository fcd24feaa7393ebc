/*
 * request.h - writes a parsed head as the flat message that an executor receives (message.h), and
 * copies and frees such messages.
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
    /* The bytes that every slice of `head` points into. A slice outside of them counts as empty. */
    nb_slice raw;
    /* The authority that counts, from an absolute target or from Host; empty: none. */
    nb_slice host;
    uint64_t body_bytes; /* of the body, decoded; NB_CONTENT_LENGTH_UNKNOWN: until it ends */
    bool has_body;
    bool upgrade; /* it asks for another protocol (RFC 9110 section 7.8) */
    nb_exchange_id exchange;
    int64_t arrived_ns;
    int64_t head_ns;     /* how long the head took to come */
    int64_t deadline_ns; /* 0: none */
    uint16_t listener, route;
    bool streams; /* the body follows in INPUT messages */
    bool cancellable;
    bool revocable;
    nb_slice client; /* nb_transport_tls_client; empty: none */
    nb_slice tls;    /* nb_request_log_tls; empty: none */
} nb_request_facts;

/* Bytes of the message for this head without its body; a multiple of 8. */
size_t nb_request_message_bytes(const nb_request_facts *facts);
/* Writes the message to `out`, which has that many bytes and 8-byte alignment. body_fd is -1 and
   the body empty. */
void nb_request_message_write(void *out, const nb_request_facts *facts);
/* Names `body_bytes` bytes that the caller puts at the end of the message, which grows by them. */
void nb_request_message_add_body(nb_request_message *message, size_t body_bytes);
/* Copies a message that its reader has in a ring, all but the claim, which the reader may be
   changing. bytes: as it was written; the size in the message itself is not trusted. False: the
   reader's process has damaged it, and the copy must not be used. */
bool nb_request_message_copy(nb_request_message *to, const nb_request_message *from, size_t bytes);
/* Frees an allocated message and closes the file of its body. */
void nb_request_message_free(nb_request_message *message);

#endif
