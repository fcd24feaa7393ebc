/*
 * trace_context.h - the field traceparent of a request (W3C Trace Context, section 3.2). Pure
 * functions.
 */
#ifndef NB_HTTP_TRACE_CONTEXT_H
#define NB_HTTP_TRACE_CONTEXT_H

#include <stdbool.h>

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

#endif
