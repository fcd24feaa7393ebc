/*
 * source.h - work that comes to a scheduler from elsewhere than its fibers' own waits: an
 * executor's channel.
 *
 * The scheduler calls what the source has handed in at nb_scheduler_attach. All are called on the
 * scheduler's thread, in the loop fiber, with the GVL held (but wait), and must not raise. In a
 * forked child none is called any more: the source is the parent's, and the loop there ends with
 * the fiber that forked.
 */
#ifndef NB_BINDING_SOURCE_H
#define NB_BINDING_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How a source's own wait ended. */
typedef enum nb_source_wait {
    NB_SOURCE_CANNOT, /* it did not wait: sleep in the poller */
    NB_SOURCE_WAITED, /* it did; the poller has nothing */
    NB_SOURCE_CALLED, /* it did; look into the poller without waiting */
} nb_source_wait;

typedef struct nb_scheduler_source {
    /* Readable (edge) when somebody rang; the loop polls it. */
    int wake_fd;
    /* Each turn: takes what has come and makes fibers ready; true when there was something. */
    bool (*drain)(void *owner);
    /* About to sleep: announces it. false: something has come, do not sleep. */
    bool (*prepare_sleep)(void *owner);
    /* After a sleep, or after prepare_sleep when the sleep was given up for another reason. */
    void (*awake)(void *owner);
    /* Sleeps in place of the poller, without the GVL, at most timeout_ns (negative: for ever). NULL: there is no such thing. */
    nb_source_wait (*wait)(void *owner, int64_t timeout_ns);
    /* After each pass over the ready queue: publishes, rings. */
    void (*turn_end)(void *owner);
    /* Something has come that the next drain takes; any fiber of the scheduler's thread. */
    bool (*waits)(void *owner);
    /* true: from now on the first who brings something makes wake_fd readable, though nobody sleeps. What came before that, `waits` and `starves` tell right after this call, which
       fences. false: not any more. Or NULL. */
    void (*watch)(void *owner, bool watched);
    /* Something would come if turn_end were called: all that it has asked for has. Any thread with the GVL. */
    bool (*starves)(void *owner);
    /* The slice of the fiber that runs has ended: it is about to be left. Or NULL. */
    void (*preempted)(void *owner);
    /* Nothing will come any more: the loop may end when no fiber is left, parked ones included. */
    bool (*finished)(void *owner);
    void *owner;
    /* Where to stamp each switch (nb_pulse; 0: asleep), or NULL. */
    _Atomic int64_t *switched_ns;
    bool shares_lock; /* other sources of the process run fibers too, and want Ruby's lock as often as this one */
    /* Where to tell, then, how many fibers wait and how many of them may go on, or NULL. */
    _Atomic uint32_t *parked, *ready;
} nb_scheduler_source;

#endif
