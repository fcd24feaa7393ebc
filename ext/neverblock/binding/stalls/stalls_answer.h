/*
 * stalls_answer.h - finds out where the fiber of a watched executor is.
 *
 * Three ways, the gentlest first:
 *   - a postponed job of Ruby, in the executor's own thread: the fiber runs Ruby code;
 *   - the job or the reporter (stalls/stalls_reporter.h) in another Ruby thread: the
 *     executor's thread is in a call that has released the GVL, or waits for it;
 *   - a signal (stalls/stalls_signal.h): the executor's thread is in a C call that keeps the GVL.
 * The thread that answers first claims the record's place for the answer (nb_answer_state), and
 * writes it there.
 */
#ifndef NB_BINDING_STALLS_ANSWER_H
#define NB_BINDING_STALLS_ANSWER_H

#include <ruby.h>
#include <stdbool.h>

#include "binding/stalls/watched.h"

/* Ruby code that makes short calls, which release the GVL, runs the job between two of them. */
#define NB_STALLS_QUIET_NS (4 * NB_NS_PER_MS)

/* Asks Ruby for the job, which answers all that is asked. Any thread. */
void nb_stalls_answer_trigger_job(void);
/* Answers what is asked of all executors. The reporter, with the GVL. */
void nb_stalls_answer_all(VALUE reporter);
/* Answers in the signal handler of the executor's thread. Async-signal-safe. */
void nb_stalls_answer_in_signal(nb_watched *one);

void nb_stalls_answer_define(void);

#endif
