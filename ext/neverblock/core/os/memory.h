/* memory.h - the memory of this process. Any thread. */
#ifndef NB_OS_MEMORY_H
#define NB_OS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reserves `bytes` of address space, once per process; true where there is a reserve already. Under
   a limit of address space (RLIMIT_AS, setrlimit(2)) nb_alloc gives the reserve up when an
   allocation has failed. It takes no memory. False: the system refuses. */
bool nb_memory_keep_reserve(size_t bytes);
/* Releases the reserve, if there is one. */
void nb_memory_use_reserve(void);
/* True: `bytes` of address space can be had, or there is no limit. */
bool nb_memory_has_room(size_t bytes);

/* Returns the pages of freed blocks to the system, also from between blocks that stay
   (malloc_trim(3)). It takes milliseconds in a large heap. Does nothing where the C library has no
   such call. */
void nb_memory_trim(void);

/* Resident bytes now (/proc/self/statm, proc(5)); where the system does not tell, the peak
   (getrusage(2)). */
uint64_t nb_memory_resident_bytes(void);

#endif
