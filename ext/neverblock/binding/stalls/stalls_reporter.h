/*
 * stalls_reporter.h - the Ruby thread "nb-stalls" that answers where a fiber is when the fiber's
 * own thread cannot: while a call has released Ruby's lock (GVL).
 *
 * There is one in a process, from the first executor that is watched to the last. A forked child
 * has none of its parent's.
 */
#ifndef NB_BINDING_STALLS_REPORTER_H
#define NB_BINDING_STALLS_REPORTER_H

#include <ruby.h>
#include <stdbool.h>

/* Called on the reporter's thread with the GVL each time it was asked. current: that thread. */
typedef void nb_stalls_report(VALUE current);

/* One more executor is watched; starts the thread. GVL. Raises ThreadError. */
void nb_stalls_reporter_start(nb_stalls_report *report);
/* One fewer. The thread, which ends now, if that was the last; else nil. GVL. */
VALUE nb_stalls_reporter_leave(void);
/* Is this the reporter? GVL. */
bool nb_stalls_reporter_is(VALUE thread);

/* Wakes the thread, which answers as soon as it has the GVL. Any thread. */
void nb_stalls_reporter_ask(void);
/* It was asked, and has not had the GVL since. Any thread. */
bool nb_stalls_reporter_asked(void);
/* It was asked, and waits for the GVL. Any thread. */
bool nb_stalls_reporter_waits_for_lock(void);

void nb_stalls_reporter_define(void);

#endif
