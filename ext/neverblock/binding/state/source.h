/*
 * source.h - work that comes to a scheduler from elsewhere than its fibers' own waits: an
 * executor's channel.
 *
 * A source is handed in at nb_scheduler_attach. The scheduler calls its functions on its own thread
 * with the GVL, except `wait`; they must not raise. In a forked child none is called: the source is
 * the parent's, and the loop there ends with the fiber that has forked.
 */
#ifndef NB_BINDING_SOURCE_H
#define NB_BINDING_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct nb_wait;

/* How a source's own wait ended. */
typedef enum nb_source_wait {
    NB_SOURCE_CANNOT, /* it has not waited: the loop sleeps in the poller */
    NB_SOURCE_WAITED, /* it has waited; the poller has nothing */
    NB_SOURCE_CALLED, /* it has waited; the poller is to be asked without waiting */
} nb_source_wait;

typedef struct nb_scheduler_source {
    /* A descriptor in the loop's poller, readable (edge) when somebody has rung for the source. */
    int wake_fd;
    /* Each turn, in the loop fiber: takes what has come and makes fibers ready. True: something had
       come. */
    bool (*drain)(void *owner);
    /* The loop is about to sleep: announces it. False: something has come, do not sleep. */
    bool (*prepare_sleep)(void *owner);
    /* After a sleep, or after a prepare_sleep that no sleep has followed. */
    void (*awake)(void *owner);
    /* Sleeps in place of the poller without the GVL, at most timeout_ns (negative: no limit). Or
       NULL. */
    nb_source_wait (*wait)(void *owner, int64_t timeout_ns);
    /* When it wants a turn though nothing has come, in monotonic nanoseconds; INT64_MAX: never. */
    int64_t (*due)(void *owner);
    /* After each pass over the ready queue, in the loop fiber: publishes, rings. */
    void (*turn_end)(void *owner);
    /* Has something come that the next drain takes? Any fiber of the scheduler's thread. */
    bool (*waits)(void *owner);
    /* watched: from now on the first bringer of work makes wake_fd readable, though the loop does
       not sleep. Fences, so that `waits` and `starves` tell right after this call what came before
       it. Not watched: not any more. Or NULL. */
    void (*watch)(void *owner, bool watched);
    /* Would something come if turn_end were called: has all come that the source has asked for? Any
       thread with the GVL. */
    bool (*starves)(void *owner);
    /* The fiber that runs is about to be preempted, as its time slice has ended. Or NULL. */
    void (*preempted)(void *owner);
    /* A wait that counts for its request since `began_ns` has ended, in its fiber
       (nb_account_may_be_observed). Where there are `fibers`. */
    void (*observe)(void *owner, const struct nb_wait *wait, int64_t began_ns);
    /* Will nothing come any more? Then the loop ends when no fiber is left, parked ones
       included. */
    bool (*finished)(void *owner);
    void *owner;
    /* Where each switch of fibers is stamped (nb_pulse; 0: the loop sleeps), or NULL. */
    _Atomic int64_t *switched_ns;
    bool accounts;   /* of each request it is told where its time went (state/accounting.h) */
    bool shares_gvl; /* other loops of the process want the GVL as often as this one */
    /* Where each stamp tells how many fibers are parked, and how many of them are ready; or
       NULL. */
    _Atomic uint32_t *parked, *ready;
    /* Where each wait is recorded (intake/fiber_table.h), or NULL. */
    struct nb_fiber_memory *fibers;
} nb_scheduler_source;

#endif
