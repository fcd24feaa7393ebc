/*
 * stalls_tell.h - how a stall is told: counted on the executor's board, and written into the log.
 *
 * Each stall by a culprit is counted. An entry is made of the first in ten seconds; it says how
 * many there were without one. A stall whose thread a debugger has stopped is neither counted nor
 * told. All of it runs on the watchdog's thread, without the GVL, and reads an answer that is
 * ready.
 */
#ifndef NB_BINDING_STALLS_TELL_H
#define NB_BINDING_STALLS_TELL_H

#include <stdbool.h>
#include <stdint.h>

#include "binding/stalls/watched.h"

/* Finds the culprit by the answer's trace. late: the trace is of when the call had returned; then
   the system call in which the thread had waited is what ran. */
void nb_stalls_blame(nb_watched *one, bool late);
/* A stall is there, and lasts. */
void nb_stalls_tell(nb_watched *one, int64_t now_ns);
/* The stall that was told is over. */
void nb_stalls_tell_over(nb_watched *one, int64_t lasted_ns);
/* The stall is over and was not told while it lasted. nb_stalls_blame has found its culprit. */
void nb_stalls_tell_late(nb_watched *one, int64_t now_ns, int64_t lasted_ns);

#endif
