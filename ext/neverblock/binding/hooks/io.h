/*
 * io.h - the hooks io_wait, io_read and io_write, and io_wait_any.
 */
#ifndef NB_BINDING_IO_H
#define NB_BINDING_IO_H

#include "binding/state/state.h"

/* Waits for one descriptor: the NB_POLL_ events that came, 0 at the deadline. Raises. */
uint32_t nb_descriptor_wait(nb_scheduler *scheduler, int fd, uint32_t interest, int64_t deadline_ns);

void nb_io_define(VALUE klass);

#endif
