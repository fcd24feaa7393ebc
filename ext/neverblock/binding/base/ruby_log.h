/*
 * ruby_log.h - NeverBlock::Log: the never-blocking log (core/base/log.h) as a Ruby object.
 */
#ifndef NB_BINDING_RUBY_LOG_H
#define NB_BINDING_RUBY_LOG_H

#include <ruby.h>

#include "base/log.h"

void nb_log_define(VALUE module);

/* What this process writes to, as long as the Log lives; NULL of nil. Raises what Log#write raises. */
nb_log *nb_ruby_log_of(VALUE log);

#endif
