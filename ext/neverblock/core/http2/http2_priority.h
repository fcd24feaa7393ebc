/*
 * http2_priority.h - the Priority field and the value of PRIORITY_UPDATE: how urgent a response is,
 * and whether it is of use in parts (RFC 9218 section 4). The value is a dictionary of structured
 * fields (RFC 9651 section 3.2). No I/O.
 */
#ifndef NB_HTTP2_HTTP2_PRIORITY_H
#define NB_HTTP2_HTTP2_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define NB_HTTP2_URGENCIES 8u
#define NB_HTTP2_URGENCY_DEFAULT 3u

typedef struct nb_http2_priority {
    uint8_t urgency; /* 0 to 7; 0 comes first */
    bool incremental;
} nb_http2_priority;

/* What the value says replaces what *priority has. Members that are unknown, or of another type or
 * range, are ignored. False: the value is malformed, and *priority is as before. */
bool nb_http2_priority_read(nb_slice value, nb_http2_priority *priority);

#endif
