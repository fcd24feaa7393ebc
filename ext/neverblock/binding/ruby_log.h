/*
 * ruby_log.h - NeverBlock::Log: the never-blocking log (core/base/log.h) as a Ruby object.
 */
#ifndef NB_BINDING_RUBY_LOG_H
#define NB_BINDING_RUBY_LOG_H

#include <ruby.h>

void nb_log_define(VALUE module);

#endif
