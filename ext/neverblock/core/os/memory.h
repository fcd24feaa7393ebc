/* memory.h - what this process holds of the machine's memory. Any thread. */
#ifndef NB_OS_MEMORY_H
#define NB_OS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes so many bytes of address space that nothing uses, one such reserve for a process; true where there is one already.
 * Under a limit of address space (RLIMIT_AS, setrlimit(2)) it is what is left when an allocation has failed, and nb_alloc uses it then; it takes no memory.
 * False: the system refuses. */
bool nb_memory_keep_reserve(size_t bytes);
/* Gives the reserve back to the system. Nothing where there is none. */
void nb_memory_use_reserve(void);
/* Can so many bytes of address space still be had? True where there is no limit of it. */
bool nb_memory_has_room(size_t bytes);

/* Gives the pages of freed blocks back to the system, also from between blocks that stay (malloc_trim(3)): some
 * milliseconds in a large heap. Nothing where the C library has no such call. */
void nb_memory_trim(void);

/* Resident now (/proc/self/statm, proc(5)); where the system does not tell, the most there ever was (getrusage(2)). */
uint64_t nb_memory_resident_bytes(void);

#endif
