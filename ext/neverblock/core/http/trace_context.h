/*
 * trace_context.h - the field traceparent of a request (W3C Trace Context, section 3.2). Pure
 * functions.
 */
#ifndef NB_HTTP_TRACE_CONTEXT_H
#define NB_HTTP_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* Hexadecimal digits of a trace id. */
#define NB_TRACE_ID_DIGITS 32u

/*
 * Finds the trace id in the value of a traceparent. False, with *id untouched: the value is
 * invalid, and the request counts as one without it (section 3.2.2.3). Valid: version, trace id,
 * parent id and flags in lower-case digits, neither id all zeros, a version other than ff. Version
 * 00 ends there; a newer one may go on behind a dash.
 *   id: a slice of value
 */
bool nb_trace_context_id(nb_slice value, nb_slice *id);

/* 128 bits; zero is no trace (W3C Trace Context, section 3.2.2.3). */
typedef struct nb_trace_id {
    uint64_t high, low;
} nb_trace_id;

static inline bool nb_trace_id_is_none(nb_trace_id id) { return (id.high | id.low) == 0; }
/* digits: NB_TRACE_ID_DIGITS lower-case hexadecimal digits, as nb_trace_context_id finds them. */
nb_trace_id nb_trace_id_read(nb_slice digits);

#endif
