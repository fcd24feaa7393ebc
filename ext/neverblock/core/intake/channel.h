/*
 * channel.h - the connection between I/O loops and one executor.
 *
 * Each loop has a channel to the executor: a ring of requests, a ring of responses, and the loop's
 * doorbell. All channels of one executor are its link. The link has one board, on which the
 * executor says how it is and how many requests it asks for, and one descriptor that wakes the
 * executor.
 *
 * The shared parts (nb_board, nb_channel_memory and what lies beside them) hold no pointers.
 * Within one process they are plain memory. Between a front and a worker they lie in one memfd, and
 * descriptors named by records travel beside the rings in the order of the records
 * (os/descriptor_pipe.h). The front creates such a link; the worker attaches to it by its
 * descriptors.
 *
 * Executors pull. Before an executor waits it raises `asked`, the number of requests it has asked
 * for since the start. A loop hands over a request only while the number of those handed, by all
 * loops, is below `asked`. So a busy or stalled executor gets nothing more. `asked_max` is what
 * `asked` would be if the executor asked for all its free fibers; it asks for a few at a time.
 *
 * Words: board: what an executor says once to all loops. Link: all channels of one executor. Port:
 * the executor's end of one channel (binding/ports). Doorbell: the flag and fences by which a side
 * is woken only when it sleeps (base/doorbell.h).
 *
 * Threads: `pulse` and `figures` may be read by any thread at any time. See the fields.
 */
#ifndef NB_INTAKE_CHANNEL_H
#define NB_INTAKE_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/histogram.h"
#include "base/limits.h"
#include "base/ring.h"
#include "base/status.h"
#include "base/tally.h"
#include "intake/fiber_table.h"
#include "intake/throttle.h"
#include "intake/message.h"
#include "intake/observed.h"
#include "intake/pool_gauges.h"
#include "intake/slowest.h"
#include "intake/stalled.h"
#include "os/net.h"
#include "os/shared_memory.h"
#include "poll/wake.h"

typedef struct nb_pulse {
    /* When the executor last switched fibers (monotonic); 0: it waits. */
    _Alignas(64) _Atomic int64_t switched_ns;
    _Atomic uint64_t running; /* id of the exchange that runs; 0: none */
    /* Scheduler turns done, as a heartbeat; a release store, after what the turn has begun with. */
    _Atomic uint64_t turns;
    /* The value of `switched_ns` at which its spare found it in a call that has released Ruby's
       lock. While both are equal it is blocked. */
    _Atomic int64_t blocked_ns;
} nb_pulse;

/* The question to a spare: can it run? A loop asks (dispatch/dispatch_spares.c), one question at a
   time: the next one follows the answer. */
typedef struct nb_spare_call {
    _Alignas(64) _Atomic int64_t asked_ns; /* when it was asked (monotonic); 0: never */
    /* The last `asked_ns` that it has answered, holding Ruby's lock. */
    _Atomic int64_t answered_ns;
} nb_spare_call;

/* Metrics of the executor, written by its thread. All are relaxed: each number stands for
   itself. */
typedef struct nb_executor_figures {
    _Alignas(64) _Atomic uint64_t taken; /* requests taken since the start */
    _Atomic uint32_t fibers_limit;
    _Atomic uint32_t running; /* requests that have a fiber */
    _Atomic uint32_t pooled;  /* fibers that wait for a request */
    _Atomic uint32_t parked;  /* fibers that wait, including pooled and ready ones */
    _Atomic uint32_t ready;   /* fibers that may go on */
    /* Of a spare: times it found the executor that it helps blocked. */
    _Atomic uint64_t found_blocked;
    _Atomic uint32_t request_ns; /* mean thread time of a request; 0: not known yet */
    /* Of its process: updated every 100 ms while it runs, and before it sleeps. */
    _Atomic uint64_t gc_count, gc_minor, gc_major, gc_time_ns, heap_live_slots;
    _Atomic uint64_t dns_lookups, dns_cached, dns_failed, dns_pending;
    _Atomic uint64_t rss_bytes;
    /* Set by the I/O loop; false: `lag` and the metrics of the process are not kept. */
    _Atomic bool enabled;
    /* Turns, from waking up to the end of the pass: how long a fiber may have waited to go on. */
    nb_histogram lag;
} nb_executor_figures;

/* A listener, as the Rack environment needs it. */
typedef struct nb_channel_listener {
    char address[NB_ADDRESS_TEXT_BYTES]; /* numeric; "" for a UNIX socket */
    uint16_t port;
    uint16_t secure; /* 1: it speaks TLS */
} nb_channel_listener;

/* Version of the shared layout. Attaching fails unless both sides have the same, as the rings trust
   each other's layout. */
#define NB_CHANNEL_LAYOUT 15u

/* What the executor says to all loops, once. */
typedef struct nb_board {
    uint64_t layout;      /* layout of this memory and of the messages */
    uint32_t credit;      /* requests it may ask for ahead of running them, while they are quick */
    uint32_t credit_slow; /* the same while they are slow, or it is not known how long they take */
    uint16_t channels;
    uint16_t lane; /* the lane that its executor runs; 0: fibers */
    uint16_t listener_count;
    /* By number; complete before the first request. */
    nb_channel_listener listeners[NB_LISTENERS_MAX];
    nb_doorbell executor_bell; /* the executor sleeps */
    /* It runs a fiber whose time slice is over, to be preempted when something comes. */
    nb_doorbell busy_bell;
    _Alignas(64) _Atomic uint64_t asked;
    _Atomic uint64_t asked_max;
    _Atomic uint32_t executor_gone; /* the executor has ended and sends nothing more */
    nb_pulse pulse;
    nb_spare_call call; /* of a spare */
    nb_executor_figures figures;
    nb_throttle throttle;
    nb_tally stalls;    /* by kind (nb_stall_kind) and culprit; counted by the watchdog's thread */
    nb_stalled stalled; /* requests whose calls have stalled it; reported by the same thread */
} nb_board;

enum {
    NB_LOOP_STARVED = 1, /* a request would be handed over at once */
    NB_LOOP_THROTTLED,   /* only requests of throttled classes wait (throttle.h) */
};

typedef struct nb_channel_memory {
    nb_doorbell loop_bell; /* the I/O loop sleeps; each channel has its own flag of it */
    /* NB_LOOP_*: the loop has requests and no credit or room, ring it when there is some. */
    _Alignas(64) _Atomic uint32_t loop_starved;
    /* Bytes each response may hold now (limits.h, loop/loop.c); its writer parks at half of
       them. */
    _Atomic uint32_t response_window_bytes;
    /* The executor found the response ring full: ring it when there is room. */
    _Alignas(64) _Atomic uint32_t executor_blocked;
    _Alignas(64) char rings[]; /* the ring of requests, then the ring of responses */
} nb_channel_memory;

typedef struct nb_link nb_link;

typedef struct nb_channel {
    nb_link *link;
    nb_board *board; /* of the link */
    nb_channel_memory *memory;
    const nb_wake *loop_wake; /* polled by the I/O loop; borrowed from it, or `far_wake` */
    nb_wake far_wake;         /* the worker's end of the loop's wake descriptor */
    /* Our end of the descriptor pipe; -1: both sides are in this process. */
    int descriptors;
    int descriptors_far; /* the worker's end, until the worker has it; -1 */
} nb_channel;

struct nb_link {
    nb_board *board;
    nb_fiber_memory *fibers; /* beside the board */
    nb_slowest *slowest;     /* likewise */
    nb_observed *observed;   /* likewise */
    nb_pool_gauges *pools;   /* likewise; those of a process are with its first link */
    nb_wake executor_wake;   /* polled by the executor */
    nb_shared_memory shared; /* address NULL: both sides are in this process */
    /* Requests handed to the executor, and of these requeued, since the start; of a lane, also
       those answered. Written by the loops: by plain stores where there is one loop, else by atomic
       read-modify-write. */
    _Atomic uint64_t handed;
    _Atomic uint64_t requeued;
    _Atomic uint64_t answered;
    _Atomic uint32_t held; /* channels not destroyed yet */
    /* Of a process's first link: the links of its lanes' threads, chained by their own `lanes`. */
    nb_link *lanes;
    uint16_t lane; /* the lane of its executor; 0: fibers */
    /* The link of its spare, the executor that helps out while this one is blocked; a spare may
       have a spare. NULL: none. */
    nb_link *spare;
    uint16_t count;
    nb_channel channels[]; /* by number of the loop */
};

/* Creates a link within this process, with a channel for each of `count` loops. The wakes must
   outlive the link. */
nb_status nb_link_create(const nb_wake *const *loop_wakes, uint16_t count, nb_link **link);
/* Creates the front's side of a link to another process. */
nb_status nb_link_create_shared(const nb_wake *const *loop_wakes, uint16_t count, nb_link **link);

#define NB_LINK_DESCRIPTORS(channels) (2 + 2 * (channels))
#define NB_LINK_DESCRIPTORS_MAX NB_LINK_DESCRIPTORS(NB_IO_THREADS_MAX)

/* Writes the NB_LINK_DESCRIPTORS(link->count) descriptors by which the worker attaches. They stay
   the link's. handed_over closes those that only the worker needs. */
void nb_link_descriptors(const nb_link *link, int *descriptors);
void nb_link_handed_over(nb_link *link);
/* Creates the worker's side. Takes ownership of the descriptors, also on failure. NB_INVALID: the
   other side is of another build. */
nb_status nb_link_attach(const int *descriptors, unsigned count, nb_link **link);
/* For a child forked by a worker: closes the descriptors and leaves the memory as it is. */
void nb_link_abandon(nb_link *link);
/* Destroys the link with all its channels. NULL is fine. */
void nb_link_destroy(nb_link *link);
/* Destroys all links of a process, of which this is the first. NULL is fine. */
void nb_link_destroy_all(nb_link *link);
/* Walks the links of a process from the first: its spares, then those of lanes. NULL: `link` was
   the last. */
nb_link *nb_link_next(const nb_link *first, const nb_link *link);
/* The same loop's channel to the spare. NULL: there is no spare. */
nb_channel *nb_channel_spare(const nb_channel *channel);
/* The loop does not need the channel any more. The link is destroyed with the last of its channels.
   NULL is fine. */
void nb_channel_destroy(nb_channel *channel);
/* The same for the channel and those of its spares. NULL is fine. */
void nb_channel_destroy_all(nb_channel *channel);
void *nb_channel_requests(nb_channel *channel);
void *nb_channel_responses(nb_channel *channel);

/* For the executor: true while the loop has a request that would be handed over at once. */
static inline bool nb_channel_loop_starves(const nb_channel *channel) {
    return atomic_load_explicit(&channel->memory->loop_starved, memory_order_relaxed) == NB_LOOP_STARVED;
}

static inline bool nb_channel_is_shared(const nb_channel *channel) { return channel->link->shared.address != NULL; }

/*
 * Passes a descriptor that a record names to the other side. send: before the record is committed.
 * NB_AGAIN: the pipe is full, treat it like a full ring. On a shared channel the descriptor stays
 * the sender's as well; else it belongs to the receiver. receive: once, when the record is read,
 * in the order of the records. -1: it was lost because this process has no free descriptor.
 */
nb_status nb_channel_send_fd(nb_channel *channel, int fd);
int nb_channel_receive_fd(nb_channel *channel, int64_t fd);

/* Requests that may be handed to the executor now. */
uint64_t nb_link_credit(nb_link *link);
/* Takes one credit. False: another loop has taken the last. */
bool nb_link_take_credit(nb_link *link);
/* Returns a credit that was not used. */
void nb_link_return_credit(nb_link *link);
/* Counts a requeued request, which the executor will pass over. */
void nb_link_count_requeued(nb_link *link);
/* Counts a request of a lane whose answer is complete: its executor will ask for one more. */
void nb_link_count_answered(nb_link *link);
/* True: an executor of a lane has answered all that it was handed. */
bool nb_link_has_answered(const nb_link *link);
/* Requests handed and not yet taken by the executor, without requeued ones. */
uint64_t nb_link_pending(const nb_link *link);

/* To be called after publishing. Wakes the executor if it sleeps, or has it preempt a fiber whose
   time slice is over. */
void nb_channel_ring_executor(nb_channel *channel);
/* To be called after loop_starved was set. The same for a busy executor only: a sleeping one has
   asked for all that it can take. */
void nb_channel_ring_busy_executor(nb_channel *channel);
void nb_channel_ring_loop(nb_channel *channel);

#endif
