/*
 * shared_memory.h - memory shared by two processes: one creates it, the other attaches by a
 * descriptor. It is zeroed. It ends with its last mapping and descriptor, so that a killed process
 * leaves nothing behind. Any thread.
 *
 * On Linux a memfd (memfd_create(2)), sealed against shrinking, so that no process can take pages
 * away from a reader, which would be a SIGBUS. Elsewhere, or where memfd is forbidden, a POSIX
 * object (shm_open(3)) whose name is removed at once.
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

/* Creates `bytes` of zeroed memory. NB_SYSTEM: errno. */
nb_status nb_shared_memory_create(size_t bytes, nb_shared_memory *memory);
/* Maps the memory behind the descriptor, which it owns on success. NB_INVALID: it has fewer than
   `bytes` bytes. */
nb_status nb_shared_memory_attach(int fd, size_t bytes, nb_shared_memory *memory);
/* Closes the descriptor; the mapping stays. */
void nb_shared_memory_close_fd(nb_shared_memory *memory);
void nb_shared_memory_destroy(nb_shared_memory *memory);

#endif
