/*
 * shared_memory.h - memory that two processes see: made by one, reached by the other through a descriptor. Zeroed; it
 * ends with its last mapping and descriptor, so nothing is left behind by a process that was killed.
 *
 * On Linux a memfd (memfd_create(2)) sealed against shrinking, so that no other process can take pages away from under
 * a reader (that would be a SIGBUS); elsewhere, or where it is forbidden, a POSIX object (shm_open(3)) whose name is
 * removed at once.
 */
#ifndef NB_OS_SHARED_MEMORY_H
#define NB_OS_SHARED_MEMORY_H

#include <stddef.h>

#include "base/status.h"

typedef struct nb_shared_memory {
    void *address; /* page-aligned; NULL: none */
    size_t bytes;
    int fd; /* CLOEXEC; -1: closed */
} nb_shared_memory;

/* NB_SYSTEM: errno. */
nb_status nb_shared_memory_create(size_t bytes, nb_shared_memory *memory);
/* Maps what the descriptor leads to, which is taken on success. NB_INVALID: fewer than `bytes` bytes. */
nb_status nb_shared_memory_attach(int fd, size_t bytes, nb_shared_memory *memory);
/* The mapping stays. */
void nb_shared_memory_close_fd(nb_shared_memory *memory);
void nb_shared_memory_destroy(nb_shared_memory *memory);

#endif
