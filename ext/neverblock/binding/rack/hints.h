/*
 * hints.h - env["rack.early_hints"]: header fields that a client is told before the response, by
 * status 103 (RFC 8297).
 */
#ifndef NB_BINDING_HINTS_H
#define NB_BINDING_HINTS_H

#include <ruby.h>

#include "binding/ports/task_state.h"

VALUE nb_hints_new(nb_exchange_id exchange);
/* NeverBlock::EarlyHints. */
void nb_hints_define(VALUE module);

#endif
