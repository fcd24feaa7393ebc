/*
 * channel.h - what lies between I/O loops and one executor. Each loop has a channel to it: two rings, and the doorbell
 * of the loop. All its channels are a link, which has what there is once: the board, on which the executor says how it
 * is and how many requests it asks for, and the descriptor that wakes it.
 *
 * The shared parts (nb_board, nb_channel_memory) hold no pointer. In one process they are plain memory; between a front
 * and a worker they lie in one memfd, and descriptors that records speak of travel beside the rings, in the order of the
 * records (os/descriptor_pipe.h). The front makes such a link, the worker attaches to it by its descriptors. An executor
 * pulls: each time it has room and is about to wait it raises `wanted`, the number of requests it has asked for since
 * the start; a loop sends a request only while the number of those given, by all loops, is below. So an executor that is
 * busy or stalled gets nothing more. `able` counts likewise those it has fibers for: `wanted` is a few of them at a time.
 *
 * `pulse` and `figures` tell any thread what the executor is doing without asking it: see the fields.
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
#include "intake/crowds.h"
#include "intake/message.h"
#include "intake/stalled.h"
#include "os/net.h"
#include "os/shared_memory.h"
#include "poll/wake.h"

typedef struct nb_pulse {
    _Alignas(64) _Atomic int64_t switched_ns; /* when the executor last switched fibers (monotonic); 0: it waits */
    _Atomic uint64_t running;                 /* exchange that runs, 0: none */
    _Atomic uint64_t turns; /* scheduler turns done: the heartbeat; released after what the turn has begun with */
    /* The switch in which it sits in a call that has released Ruby's lock, as its spare has found: while it is `switched_ns`, it does. */
    _Atomic int64_t blocked_ns;
} nb_pulse;

/* A spare is asked whether it can run, by a loop (dispatch/dispatch_spares.c). One question at a time: the next when this is answered. */
typedef struct nb_spare_call {
    _Alignas(64) _Atomic int64_t asked_ns; /* when (monotonic); 0: never */
    _Atomic int64_t answered_ns;           /* the `asked_ns` it came to last, with Ruby's lock */
} nb_spare_call;

/* What the executor's thread counts; relaxed, each number for itself. */
typedef struct nb_executor_figures {
    _Alignas(64) _Atomic uint64_t taken; /* requests, since the start */
    _Atomic uint32_t fibers_limit;
    _Atomic uint32_t running;    /* requests that have a fiber */
    _Atomic uint32_t pooled;     /* fibers that wait for a request */
    _Atomic uint32_t parked;     /* all that wait, the pooled ones and those that may go on included */
    _Atomic uint32_t ready;      /* fibers that may go on */
    _Atomic uint64_t let_in;     /* of a spare: times it found that the executor it helps was blocked */
    _Atomic uint32_t request_ns; /* of its thread's time that a request takes, about; 0: not known yet */
    /* Of its process; brought up to date every 100 ms while it runs, and before it sleeps. */
    _Atomic uint64_t gc_count, gc_minor, gc_major, gc_time_ns, heap_live_slots;
    _Atomic uint64_t dns_lookups, dns_cached, dns_failed, dns_pending;
    _Atomic uint64_t rss_bytes;
    _Atomic bool wanted; /* by the I/O loop: without it the figures below and those of the process are not kept */
    nb_histogram lag;    /* turns, from waking up to the end of the pass: how long a fiber may have waited to go on */
} nb_executor_figures;

/* Where clients come from, for the env. */
typedef struct nb_channel_listener {
    char address[NB_ADDRESS_TEXT_BYTES]; /* numeric; "" for a UNIX socket */
    uint16_t port;
} nb_channel_listener;

/* Both sides are of one build, or attach fails: the rings trust each other's layout. */
#define NB_CHANNEL_LAYOUT 9u

/* Of the executor, for all loops. */
typedef struct nb_board {
    uint64_t layout;      /* of this memory and of the messages */
    uint32_t credit;      /* requests the executor may ask for ahead of its running them */
    uint32_t credit_slow; /* the same where they take it long, or it is not known how long */
    uint16_t channels;
    uint16_t lane; /* of what its executor runs; 0: fibers */
    uint16_t listener_count;
    nb_channel_listener
        listeners[NB_LISTENERS_MAX]; /* in the order of their numbers; complete before the first request */
    nb_doorbell executor_bell;       /* the executor sleeps */
    nb_doorbell busy_bell;           /* it runs a fiber that has had its time, and is to be left when something comes */
    _Alignas(64) _Atomic uint64_t wanted;
    _Atomic uint64_t able;
    _Atomic uint32_t executor_gone; /* the executor has ended; nothing will come */
    nb_pulse pulse;
    nb_spare_call call; /* of a spare */
    nb_executor_figures figures;
    nb_crowds crowds;
    nb_tally stalls;    /* by kind (nb_stall_kind) and culprit; counted by the watch's thread */
    nb_stalled stalled; /* requests that calls have kept it with; told by the same thread */
} nb_board;

enum {
    NB_LOOP_STARVED = 1, /* something would go at once */
    NB_LOOP_HOLDS,       /* nothing but requests of likes that are held (crowds.h) */
};

typedef struct nb_channel_memory {
    nb_doorbell loop_bell; /* the I/O loop sleeps (each channel has its own flag of it) */
    _Alignas(64) _Atomic uint32_t
        loop_starved; /* the I/O loop has requests and no credit or room: ring it when there is some (NB_LOOP_) */
    _Atomic uint32_t response_window_bytes; /* bytes each response may hold now (limits.h, loop/loop.c); its writer
                                               parks at half of them */
    _Alignas(64) _Atomic uint32_t
        executor_blocked;      /* the executor found the response ring full: ring it when there is room */
    _Alignas(64) char rings[]; /* requests, then responses */
} nb_channel_memory;

typedef struct nb_link nb_link;

typedef struct nb_channel {
    nb_link *link;
    nb_board *board; /* the link's */
    nb_channel_memory *memory;
    const nb_wake *loop_wake; /* polled by the I/O loop; borrowed from it, or `far_wake` */
    nb_wake far_wake;         /* the worker's end of the loop's */
    int descriptors;          /* our end of the descriptor pipe; -1: both sides are in this process */
    int descriptors_far;      /* the worker's end, until it has it; -1 */
} nb_channel;

struct nb_link {
    nb_board *board;
    nb_wake executor_wake;   /* polled by the executor */
    nb_shared_memory shared; /* address NULL: both sides are in this process */
    /* Requests given to it, and of these recalled, since the start. Written by the loops: where there is one, by it
       alone; where there are several, by read-modify-write. */
    _Atomic uint64_t given;
    _Atomic uint64_t recalled;
    _Atomic uint32_t held; /* channels that are not destroyed */
    nb_link *lanes;        /* of the first of a process: those of its threads of lanes, each the next's `lanes` */
    uint16_t lane;         /* whose it is; 0: of fibers */
    nb_link *
        spare; /* of the executor that helps out when this one is blocked; it may have one itself. NULL: there is none */
    uint16_t count;
    nb_channel channels[]; /* by the number of the loop */
};

/* Both sides in this process: a channel for each of `count` loops. The wakes must outlive the link. */
nb_status nb_link_create(const nb_wake *const *loop_wakes, uint16_t count, nb_link **link);
/* The front's side of a link to another process. */
nb_status nb_link_create_shared(const nb_wake *const *loop_wakes, uint16_t count, nb_link **link);

#define NB_LINK_DESCRIPTORS(channels) (2 + 2 * (channels))
#define NB_LINK_DESCRIPTORS_MAX NB_LINK_DESCRIPTORS(NB_IO_THREADS_MAX)

/* What the worker attaches by, NB_LINK_DESCRIPTORS(link->count). They stay the link's; handed_over closes those that only the worker needs. */
void nb_link_descriptors(const nb_link *link, int *descriptors);
void nb_link_handed_over(nb_link *link);
/* The worker's side; takes the descriptors, be it in vain. NB_INVALID: the other side is of another build. */
nb_status nb_link_attach(const int *descriptors, unsigned count, nb_link **link);
/* The child of a worker's fork: closes the descriptors; the memory stays as it is. */
void nb_link_abandon(nb_link *link);
/* All its channels; NULL is fine. */
void nb_link_destroy(nb_link *link);
/* The same with all others of its process. */
void nb_link_destroy_all(nb_link *link);
/* Of the links of a process, beginning with the first: it, its spares, those of lanes. NULL: it was the last. */
nb_link *nb_link_next(const nb_link *first, const nb_link *link);
/* The channel of the same loop to its spare; NULL: it has none. */
nb_channel *nb_channel_spare(const nb_channel *channel);
/* Its loop has done with it. The link ends with the last of its channels. */
void nb_channel_destroy(nb_channel *channel);
/* The same with those of its spares; NULL is fine. */
void nb_channel_destroy_all(nb_channel *channel);
void *nb_channel_requests(nb_channel *channel);
void *nb_channel_responses(nb_channel *channel);

/* The I/O loop has something that would go at once. By the executor's side. */
static inline bool nb_channel_loop_starves(const nb_channel *channel) {
    return atomic_load_explicit(&channel->memory->loop_starved, memory_order_relaxed) == NB_LOOP_STARVED;
}

static inline bool nb_channel_is_shared(const nb_channel *channel) { return channel->link->shared.address != NULL; }

/*
 * The descriptor that a record names, from one side to the other. give: before the record is committed; NB_AGAIN: like a
 * full ring; shared, the descriptor stays the sender's as well, else it is now the receiver's. take: when the record is read, once,
 * in the order of the records; -1: it was lost for want of descriptors.
 */
nb_status nb_channel_give(nb_channel *channel, int fd);
int nb_channel_take(nb_channel *channel, int64_t fd);

/* Requests that may be given to the executor. */
uint64_t nb_link_credit(nb_link *link);
/* Takes one of them. False: another loop has taken the last. */
bool nb_link_take_credit(nb_link *link);
/* Nothing was given with it. */
void nb_link_return_credit(nb_link *link);
/* The request was recalled: the executor will pass over it. */
void nb_link_count_recalled(nb_link *link);
/* Given and not yet come to by the executor, recalled ones left out. */
uint64_t nb_link_pending(const nb_link *link);

/* After publishing towards the other side: wakes it if it sleeps, or has the fiber left that has had its time. */
void nb_channel_ring_executor(nb_channel *channel);
/* After it was stored that the loop starves: the same, but for one that sleeps, which has asked for all that it can take. */
void nb_channel_ring_busy_executor(nb_channel *channel);
void nb_channel_ring_loop(nb_channel *channel);

#endif
