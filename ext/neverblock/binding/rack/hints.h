/*
 * hints.h - env["rack.early_hints"]: header fields that a client is told before the response, by
 * status 103 (RFC 8297).
 */
#ifndef NB_BINDING_HINTS_H
#define NB_BINDING_HINTS_H

#include <ruby.h>

#include "binding/ports/running.h"

/* Makes the env["rack.early_hints"] of a request. Raises NoMemoryError. */
VALUE nb_hints_new(nb_request_name name);
/* NeverBlock::EarlyHints. */
void nb_hints_define(VALUE module);

#endif
