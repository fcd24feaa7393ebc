/*
 * subreaper.h - makes orphaned descendants children of this process, which then learns how they
 * end (prctl(2), PR_SET_CHILD_SUBREAPER). Otherwise they would go to the first process of the
 * machine or container.
 */
#ifndef NB_OS_SUBREAPER_H
#define NB_OS_SUBREAPER_H

#include <stdbool.h>

/* Applies to the whole process and cannot be undone. Children do not inherit it. Any thread. False:
   the system does not have it. */
bool nb_subreaper_become(void);

/* The other direction: this process is killed when the thread that created it ends. Children do not
   inherit it. The caller then checks that its parent still exists, as an earlier end is not
   reported. False: the system does not have it. */
bool nb_subreaper_end_with_parent(bool wanted);

#endif
