/*
 * upgrade.h - a connection that goes over to another protocol in the way of Rack 3.1: the request's
 * "rack.protocol", and a response that has status 101 or a "rack.protocol" of its own. The body of
 * such a response is called with the connection.
 *
 * Sources: Rack SPEC 3.1, "The Streaming Body" and rack.protocol; RFC 9110 section 7.8.
 */
#ifndef NB_BINDING_UPGRADE_H
#define NB_BINDING_UPGRADE_H

#include <ruby.h>

#include "binding/ports/task_state.h"

/* The names in the value of an Upgrade field, in an Array. */
VALUE nb_upgrade_protocols(const char *value, size_t size);

/* What is called with the client's connection once the head of such a response has left: `hijack`,
   where the response has a rack.hijack, else its body. protocol: the response's rack.protocol, or
   Qfalse. named: the response has an Upgrade field. Raises NeverBlock::Error where the response may
   not be sent. */
VALUE nb_upgrade_callee(const nb_task *task, int status, VALUE protocol, bool named, VALUE hijack);

#endif
