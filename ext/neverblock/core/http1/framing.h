/*
 * framing.h - the one place that decides, from a parsed request head, where the message ends,
 * whether the connection stays open, and whether the request is refused (RFC 9112 sections 3.2, 6,
 * 9; RFC 9110 sections 7.2, 10.1.1). Pure functions.
 *
 * Refused with 400, and never shown to the application:
 *
 *   - Content-Length with Transfer-Encoding; several Content-Lengths; one that is not 1*DIGIT
 *   - Transfer-Encoding in HTTP/1.0, or other than exactly one "chunked" in any case (501 for an
 *     unknown coding alone or before chunked)
 *   - HTTP/1.1 without Host; two Hosts; a Host that is not uri-host[:port]
 *
 * The compliance (http/compliance.h) concerns Host only, never where the message ends.
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
    bool keep_alive;         /* the client allows another request on the connection */
    bool expect_continue;    /* the client waits for 100 (Continue); ignored in HTTP/1.0 */
    /* Connection names Upgrade: the application may hijack, or ignore it. */
    bool upgrade;
    /* The authority of an absolute target, else the value of Host. It may be empty, as in HTTP/1.0
     * without Host. */
    nb_slice host;
} nb_framing;

/*
 * NB_OK: *framing. NB_INVALID, NB_OVER_LIMIT: answer with *refusal and close. body_bytes_max: limit
 * of a Content-Length (413, before a byte of the body is read); UINT64_MAX: none.
 *
 * Refused as well: CONNECT (405), "*" with another method than OPTIONS (400), an Expect other than
 * 100-continue (417), and a Host that differs from the authority of an absolute target (400; unless
 * strict, the default port of the scheme may be left out in either).
 */
nb_status nb_framing_decide(const nb_head *head, uint64_t body_bytes_max, nb_compliance compliance, nb_framing *framing,
                            nb_refusal *refusal);

#endif
