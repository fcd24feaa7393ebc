/*
 * subreaper.h - so that a descendant whose parent has died becomes a child of this process, which then learns how it ends (prctl(2),
 * PR_SET_CHILD_SUBREAPER), and not one of the first process of the machine or container.
 */
#ifndef NB_OS_SUBREAPER_H
#define NB_OS_SUBREAPER_H

#include <stdbool.h>

/* For the whole process and for good; its children do not inherit it. Any thread. False: this system does not have it. */
bool nb_subreaper_become(void);

/* The other direction: whether this process is killed when the thread that made it ends, whatever it does then. Its children do not inherit it. Who has
 * asked looks whether the parent is there still: an end before is not told. False: this system does not have it. */
bool nb_subreaper_end_with_parent(bool wanted);

#endif
