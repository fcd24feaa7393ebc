/*
 * stalls_signal.h - interrupts the thread of a watched executor by SIGURG, so that it answers where
 * it is from within a C call that keeps the GVL.
 *
 * SIGURG is ignored by default (signal(7)): one that comes late does no harm. A handler that the
 * application had installed before is called for each signal that is not ours. A handler that it
 * has installed since stays, and then nothing is interrupted. A thread whose system call would
 * notice the signal (EINTR) is not interrupted either: its burst is noted as one in a call, and the
 * job that runs when the call returns tells where that was.
 */
#ifndef NB_BINDING_STALLS_SIGNAL_H
#define NB_BINDING_STALLS_SIGNAL_H

#include "binding/stalls/watched.h"

/* Installs the handler, unless it is there. GVL. */
void nb_stalls_signal_install(void);
/* Interrupts the thread, or notes in `waits_in` and `call_burst` the call it is in. The watchdog's
   thread. */
void nb_stalls_signal_send(nb_watched *one);

#endif
