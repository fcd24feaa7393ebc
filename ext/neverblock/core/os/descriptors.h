/* descriptors.h - how many descriptors this process may have open, and has. */
#ifndef NB_OS_DESCRIPTORS_H
#define NB_OS_DESCRIPTORS_H

#include <stdint.h>

/* The soft limit of now (RLIMIT_NOFILE); 256 where it cannot be known. */
uint64_t nb_os_descriptors_max(void);

/* The number that the next descriptor will have, the lowest that is free; INT_MAX: there is none. fd: any that is open. */
int nb_os_descriptors_next(int fd);

#endif
