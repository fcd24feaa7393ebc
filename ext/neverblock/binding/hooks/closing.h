/*
 * closing.h - descriptors that are about to be closed, by the application or by a fork:
 * Scheduler::Closing, whose #close and #reopen come before IO's, Scheduler::HalfClosing, whose
 * #close_read and #close_write come before those of IO and BasicSocket, Scheduler.closes_at_once?
 * and .after_fork, and the hook io_close.
 */
#ifndef NB_BINDING_CLOSING_H
#define NB_BINDING_CLOSING_H

#include <ruby.h>

void nb_closing_define(VALUE klass);

#endif
