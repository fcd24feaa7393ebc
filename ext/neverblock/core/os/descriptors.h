/* descriptors.h - the descriptors of this process: how many it may have, and has, and which file
   one leads to. Any thread. */
#ifndef NB_OS_DESCRIPTORS_H
#define NB_OS_DESCRIPTORS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The soft limit now (RLIMIT_NOFILE); 256 where it is not known. */
uint64_t nb_os_descriptors_max(void);

/* True for an errno that says: the process, or the system, has no descriptor left. */
static inline bool nb_os_descriptors_short(int error) { return error == EMFILE || error == ENFILE; }

/* The number of the next descriptor, which is the lowest free one. INT_MAX: there is none. fd: any
   open descriptor. */
int nb_os_descriptors_next(int fd);

/* Writes the path of a descriptor's file for messages: at most `size` bytes, without a NUL. Returns
   their number; 0: not known. */
size_t nb_os_descriptor_path(int fd, char *out, size_t size);

#endif
