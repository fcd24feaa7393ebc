/*
 * subreaper.c - see subreaper.h. FreeBSD has the same as procctl(2), PROC_REAP_ACQUIRE.
 */
#include "os/subreaper.h"

#if defined(__linux__)
#include <sys/prctl.h>

bool nb_subreaper_become(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

#elif defined(__FreeBSD__)
#include <stddef.h>
#include <sys/procctl.h>
#include <sys/types.h>

bool nb_subreaper_become(void) { return procctl(P_PID, 0, PROC_REAP_ACQUIRE, NULL) == 0; }

#else

bool nb_subreaper_become(void) { return false; }

#endif
