/* descriptors.h - how many descriptors this process may have open, and has; what one is of. */
#ifndef NB_OS_DESCRIPTORS_H
#define NB_OS_DESCRIPTORS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The soft limit of now (RLIMIT_NOFILE); 256 where it cannot be known. */
uint64_t nb_os_descriptors_max(void);

/* Of an errno: the process has no descriptor left, or the system none. */
static inline bool nb_os_descriptors_short(int error) { return error == EMFILE || error == ENFILE; }

/* The number that the next descriptor will have, the lowest that is free; INT_MAX: there is none. fd: any that is open. */
int nb_os_descriptors_next(int fd);

/* Where the file lies that a descriptor is of, for messages: bytes of it in `out`, without a NUL, `size` at most. 0: that cannot be known. */
size_t nb_os_descriptor_path(int fd, char *out, size_t size);

#endif
