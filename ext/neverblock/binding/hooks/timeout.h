/*
 * timeout.h - the hook timeout_after, which Timeout.timeout calls (an alarm ends the waits of its
 * block), and cancellable (Scheduler::Cancellation#cancel does).
 */
#ifndef NB_BINDING_TIMEOUT_H
#define NB_BINDING_TIMEOUT_H

#include <ruby.h>

void nb_timeout_define(VALUE klass);

#endif
