/*
 * framing.h - the one place that decides, from a parsed request head, where the message ends, whether the connection
 * goes on, and whether the request is refused (RFC 9112 sections 3.2, 6, 9; RFC 9110 sections 7.2, 10.1.1).
 *
 * Strict: Content-Length with Transfer-Encoding, several Content-Lengths, anything but 1*DIGIT, a Transfer-Encoding
 * that is not exactly one "chunked" (any case), Transfer-Encoding in HTTP/1.0, no Host or two in HTTP/1.1, a Host that
 * is no uri-host[:port]: refused with 400 (an unknown coding alone or before chunked: 501). Nothing refused is ever
 * shown to the application. The compliance (compliance.h) is about Host alone, never about where the message ends.
 */
#ifndef NB_HTTP1_FRAMING_H
#define NB_HTTP1_FRAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "http1/head_parser.h"

typedef enum nb_body_framing { NB_BODY_NONE, NB_BODY_LENGTH, NB_BODY_CHUNKED } nb_body_framing;

typedef struct nb_framing {
    nb_body_framing body;
    uint64_t content_length; /* with NB_BODY_LENGTH, > 0 */
    bool keep_alive;         /* the client allows another request after this one */
    bool expect_continue;    /* it waits for 100 (HTTP/1.1 only; in 1.0 the field is ignored) */
    bool upgrade;            /* Upgrade is named by Connection; the application's to answer (hijack) or ignore */
    nb_slice
        host; /* authority of an absolute target, else the Host value; empty where it is, and in HTTP/1.0 without one */
} nb_framing;

/*
 * NB_OK: *framing. NB_INVALID or NB_TOO_LARGE: *refusal, answer and close. body_bytes_max: the limit a Content-Length
 * is held against (413, before a byte of the body is read); UINT64_MAX for none. Answered here too: CONNECT (405), "*"
 * with another method than OPTIONS (400), an Expect that is not 100-continue (417), a Host that differs from the
 * authority of an absolute target (400; unless strict a port that is the scheme's own may be left out on either side).
 */
nb_status nb_framing_decide(const nb_head *head, uint64_t body_bytes_max, nb_compliance compliance, nb_framing *framing,
                            nb_refusal *refusal);

#endif
