/*
 * traced.h - whether a debugger (gdb, strace) has attached to this process.
 */
#ifndef NB_OS_TRACED_H
#define NB_OS_TRACED_H

#include <stdbool.h>

/* False also where it cannot be found out. */
bool nb_process_traced(void);

#endif
