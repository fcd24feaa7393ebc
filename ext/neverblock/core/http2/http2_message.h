/*
 * http2_message.h - whether a request is malformed (RFC 9113 section 8.1.1): which fields may stand
 * where, and what names and values are made of (sections 8.2, 8.3). A request that is malformed
 * resets its stream. What is well formed and not served gets an HTTP status (http2_head.h).
 *
 * Versions of nghttp2 differ in what they call malformed, and 1.67 and 1.68 end the connection for
 * it. So nghttp2 is told not to look (nghttp2_option_set_no_http_messaging). It does no I/O.
 *
 * Life: nb_http2_message_begin for each block of fields, nb_http2_message_field for each field as
 * it comes, nb_http2_message_end behind the last.
 */
#ifndef NB_HTTP2_HTTP2_MESSAGE_H
#define NB_HTTP2_HTTP2_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* What has been seen of one block of fields. */
typedef struct nb_http2_message {
    uint64_t content_length; /* NB_CONTENT_LENGTH_UNKNOWN: not said */
    uint8_t pseudo;          /* pseudo-fields, a bit each */
    bool trailers;           /* the block is behind content */
    bool regular;            /* a field that is no pseudo-field has come */
    bool connect;            /* the method is CONNECT */
} nb_http2_message;

void nb_http2_message_begin(nb_http2_message *message, bool trailers);
/* False: the message is malformed. */
bool nb_http2_message_field(nb_http2_message *message, nb_slice name, nb_slice value);
/* All fields have come. False: the message is malformed. ends: no content follows. */
bool nb_http2_message_end(const nb_http2_message *message, bool ends);

#endif
