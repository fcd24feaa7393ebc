/*
 * ruby_log.h - NeverBlock::Log: the log that never blocks (base/log.h) as a Ruby object.
 */
#ifndef NB_BINDING_RUBY_LOG_H
#define NB_BINDING_RUBY_LOG_H

#include <ruby.h>

#include "base/log.h"

void nb_log_define(VALUE module);

/* The log of a NeverBlock::Log in this process; NULL for nil. Valid as long as the object. Raises
   as Log#write does. */
nb_log *nb_ruby_log_of(VALUE log);

#endif
