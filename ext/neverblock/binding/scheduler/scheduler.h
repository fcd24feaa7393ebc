/*
 * scheduler.h - NeverBlock::Scheduler, the Fiber::Scheduler of this gem, for the other files of the binding.
 *
 * One scheduler belongs to one Ruby thread. Its loop runs in the fiber that called run (the loop fiber); every other fiber parks by
 * transferring to the loop fiber and is transferred back to when it is ready. Parked fibers are kept alive (marked) by the scheduler.
 */
#ifndef NB_BINDING_SCHEDULER_H
#define NB_BINDING_SCHEDULER_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "os/resolver.h"
#include "base/list.h"

typedef struct nb_scheduler nb_scheduler;

/* How a source's own wait ended. */
typedef enum nb_source_wait {
    NB_SOURCE_CANNOT, /* it did not wait: sleep in the poller */
    NB_SOURCE_WAITED, /* it did; the poller has nothing */
    NB_SOURCE_CALLED, /* it did; look into the poller without waiting */
} nb_source_wait;

/*
 * Work that comes from elsewhere than the fibers' own waits: an executor's channel. All are called on the scheduler's thread, in the
 * loop fiber, with the GVL held (but wait), and must not raise. In a forked child none is called any more: the source is the
 * parent's, and the loop there ends with the fiber that forked.
 */
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
    void (*cut)(void *owner);
    /* Nothing will come any more: the loop may end when no fiber is left, parked ones included. */
    bool (*finished)(void *owner);
    void *owner;
    /* Where to stamp each switch (nb_pulse; 0: asleep), or NULL. */
    _Atomic int64_t *switched_ns;
    bool shares_lock; /* other sources of the process run fibers too, and want Ruby's lock as often as this one */
    /* Where to tell, then, how many fibers wait and how many of them may go on, or NULL. */
    _Atomic uint32_t *parked, *ready;
} nb_scheduler_source;

extern VALUE nb_scheduler_class;
void nb_scheduler_define(VALUE module);

/* At most one; before run. The struct is copied. */
void nb_scheduler_attach(VALUE scheduler, const nb_scheduler_source *source);

/* The source is not called any more. */
void nb_scheduler_detach(VALUE scheduler);

/* When the thread's scheduler is unset, nobody waits for what the fibers that are left wait for: they are dropped. (Where an exception is
   on its way that is so in any case; a Thread#kill cannot be seen in the function of an rb_ensure.) */
void nb_scheduler_abandon(VALUE scheduler);

/* The time of the last switch or later; the time now. Monotonic ns. */
int64_t nb_scheduler_now(VALUE scheduler);
int64_t nb_scheduler_clock(VALUE scheduler);

/* What this process has asked of its resolver; and whether it has asked anything since the figures were last taken. */
nb_resolver_figures nb_scheduler_resolver_figures(void);
bool nb_scheduler_resolver_asked(void);

/* Counts the forks this process descends from. */
extern unsigned nb_fork_generation;

/* The poller's descriptor, so that the source's wait can watch it; -1 when it has none. */
int nb_scheduler_poll_descriptor(VALUE scheduler);

/* Appends `fiber` to the fair ready queue; it runs in a later pass. The fiber must be parked by nb_scheduler_park; if it is not
   parked now, nothing happens (and a later park is not ended). GVL, any thread (wakes the loop when it sleeps). */
void nb_scheduler_ready(VALUE scheduler, VALUE fiber);

/* Parks the current fiber until nb_scheduler_ready or nb_scheduler_switch_to was called for it. Raises what was raised into the fiber
   (Fiber#raise, Thread#raise). Must be called in a fiber of this scheduler, not in the loop fiber of a scheduler with a source. */
void nb_scheduler_park(VALUE scheduler);

/* A timer and what it does when it is due (in the loop fiber; must not raise). */
typedef struct nb_alarm nb_alarm;
struct nb_alarm {
    nb_timer timer;
    void (*fire)(nb_scheduler *scheduler, nb_alarm *alarm);
};

/* What ends the waits of one block (hooks/timeout.c): raised in the wait its fiber is in, or listed as overdue until the next. */
typedef struct nb_late {
    nb_list link;  /* in the scheduler's overdue list */
    nb_list block; /* in its list of blocks, which keeps the fiber alive */
    VALUE fiber;
    VALUE raises; /* an array of raise's arguments */
    bool once;    /* not in the fiber that deals with an error of this class already: a limit */
} nb_late;

/*
 * A stretch of a fiber's work that may be ended from outside, once: by a deadline, or by nb_limit_raise. As with the hook timeout_after, the
 * exception is raised in the wait the fiber is in, or at its next. Lies where it lives as long as it is open; its owner marks late.raises.
 */
typedef struct nb_limit {
    nb_late late;
    nb_alarm alarm;
    nb_scheduler *scheduler; /* NULL: not open */
    bool raised;             /* something was raised, be it that it has not arrived yet */
} nb_limit;

/* Opens it for the current fiber. */
void nb_limit_open(nb_limit *limit, VALUE scheduler);
/* At deadline_ns raises what the array `raises` says, in the words of Kernel#raise. Raises NoMemoryError. */
void nb_limit_arm(nb_limit *limit, int64_t deadline_ns, VALUE raises);
/* The deadline counts no more, nor does what it has raised if that has not arrived. */
void nb_limit_disarm(nb_limit *limit);
/* Raises now. False: it is not open, or something was raised already. GVL, in any fiber but its own. */
bool nb_limit_raise(nb_limit *limit, VALUE raises);
/* What is raised in its place has been: nothing else is. */
void nb_limit_spend(nb_limit *limit);
/* Nothing is raised any more. */
void nb_limit_close(nb_limit *limit);

/* Transfers to `fiber`, new or parked by nb_scheduler_park, at once, from the loop fiber (inside drain); returns when it parks or
   ends. What Thread#raise, a signal or `exit` brings meanwhile is kept and raised by the loop after this turn's turn_end. */
void nb_scheduler_switch_to(VALUE scheduler, VALUE fiber);

/* True: what nb_scheduler_switch_to has kept is a want of memory for the fiber's stack; it is in $! now, and the loop raises it no more. */
bool nb_scheduler_take_want(VALUE scheduler);

/* The fiber that was scheduled and that runs now, by itself or in a fiber it has resumed; nil: none does. The scheduler's own thread, or any with Ruby's lock. */
VALUE nb_scheduler_root(VALUE scheduler);
/* A fiber of the server's own, by Ruby's own Fiber#initialize. body: a Proc. options: a Hash, as of Fiber.new. */
VALUE nb_fiber_make(VALUE body, VALUE options);

/* Does the running fiber run above a C function that keeps something for its thread, so that it has to wait where it is (fibers/frames.c)? */
bool nb_frames_hold(void);

/* $? of the running fiber is nil from now on. */
void nb_scheduler_forget_status(void);
/* Time slices of so many ms from now on; 0: none any more. Raises NeverBlock::Error when there is no thread for the ticker. */
void nb_scheduler_slice(VALUE scheduler, unsigned slice_ms);
/* slice_ms as Ruby has it: an Integer, or nil, which is 0. Raises ArgumentError. */
unsigned nb_slice_ms_read(VALUE slice_ms);
/* Fibers whose slice has ended and that have not gone on since. */
bool nb_scheduler_has_cut(VALUE scheduler);

/* For a fiber that goes on with other work of the source's without parking: stamps as a switch does. */
void nb_scheduler_stamp(VALUE scheduler);

/* Runs the loop on the calling fiber until the source is finished and no fiber is left. Raises what Thread#raise or a signal
   brought; the fibers that were parked stay parked, and the loop may be run again. */
void nb_scheduler_run(VALUE scheduler);

/* A request has computed for so long that it may keep much, nb_heap_request_over is told when it is over: meanwhile collections are put off where that is so (state/heap.c). And when any
   whose slice had ended is over, and no long one is half done, the loop of its scheduler collects what it has left, where that is much. collections: rb_gc_count() when the request
   began. Ruby's lock held; raise nothing. */
#define NB_HEAP_LONG_NS (20 * NB_NS_PER_MS)
void nb_heap_request_long(VALUE scheduler, size_t collections);
void nb_heap_request_over(VALUE scheduler, bool was_long);

#endif
