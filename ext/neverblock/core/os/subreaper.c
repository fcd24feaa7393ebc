/*
 * subreaper.c - see subreaper.h. FreeBSD has the same as procctl(2), PROC_REAP_ACQUIRE and
 * PROC_PDEATHSIG_CTL.
 */
#include "os/subreaper.h"

#if defined(__linux__)
#include <signal.h>
#include <sys/prctl.h>

bool nb_subreaper_become(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }
bool nb_subreaper_end_with_parent(bool wanted) { return prctl(PR_SET_PDEATHSIG, wanted ? SIGKILL : 0, 0, 0, 0) == 0; }

#elif defined(__FreeBSD__)
#include <signal.h>
#include <stddef.h>
#include <sys/procctl.h>
#include <sys/types.h>

bool nb_subreaper_become(void) { return procctl(P_PID, 0, PROC_REAP_ACQUIRE, NULL) == 0; }

bool nb_subreaper_end_with_parent(bool wanted) {
    int number = wanted ? SIGKILL : 0;
    return procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &number) == 0;
}

#else

bool nb_subreaper_become(void) { return false; }

bool nb_subreaper_end_with_parent(bool wanted) {
    (void)wanted;
    return false;
}

#endif
