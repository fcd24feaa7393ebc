/* memory.h - what the C library's heap holds of the process's memory. Any thread. */
#ifndef NB_OS_MEMORY_H
#define NB_OS_MEMORY_H

/* Gives the pages of freed blocks back to the system, also from between blocks that stay (malloc_trim(3)): some
 * milliseconds in a large heap. Nothing where the C library has no such call. */
void nb_memory_trim(void);

#endif
