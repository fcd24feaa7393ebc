/* memory.h - what this process holds of the machine's memory. Any thread. */
#ifndef NB_OS_MEMORY_H
#define NB_OS_MEMORY_H

#include <stdint.h>

/* Gives the pages of freed blocks back to the system, also from between blocks that stay (malloc_trim(3)): some
 * milliseconds in a large heap. Nothing where the C library has no such call. */
void nb_memory_trim(void);

/* Resident now (/proc/self/statm, proc(5)); where the system does not tell, the most there ever was (getrusage(2)). */
uint64_t nb_memory_resident_bytes(void);

#endif
