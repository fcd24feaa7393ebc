/*
 * descriptor_about.h - what a descriptor is that a fiber waits for: a database's connection by its
 * driver, an HTTP client's, another socket, something else. It is found out once for each file, and
 * kept with its number: the address by getpeername(2), the driver by the frames of the first wait.
 */
#ifndef NB_BINDING_DESCRIPTOR_ABOUT_H
#define NB_BINDING_DESCRIPTOR_ABOUT_H

#include "binding/state/watches.h"

/* Sets what the wait for this descriptor is for, unless that is known already. The descriptor was
   entered (nb_watch_enter). GVL. Does not raise. */
void nb_descriptor_about(nb_wait *wait, const nb_watch *watch);

#endif
