/*
 * channel.h - what lies between one I/O loop and one executor: two rings, their doorbells, and the counter by which the
 * executor pulls.
 *
 * The shared part (nb_channel_memory) holds no pointer. In one process it is plain memory; between a front and a worker
 * it lies in a memfd, and descriptors that records speak of travel beside the rings, in the order of the records
 * (os/descriptor_pipe.h). The front makes such a channel, the worker attaches to it by four descriptors. An executor
 * pulls: each time it has room and is about to wait it raises `wanted`, the number of requests it has asked for since
 * the start; the I/O loop sends a request only while its own count of sent ones is below. So an executor that is busy
 * or stalled gets nothing more. `able` counts likewise those it has fibers for: `wanted` is a few of them at a time.
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
#include "intake/message.h"
#include "os/net.h"
#include "os/shared_memory.h"
#include "os/wake.h"

typedef struct nb_pulse {
    _Alignas(64) _Atomic int64_t switched_ns; /* when the executor last switched fibers (monotonic); 0: it waits */
    _Atomic uint64_t running;                 /* exchange that runs, 0: none */
    _Atomic uint64_t turns;                   /* scheduler turns done: the heartbeat */
} nb_pulse;

/* What the executor's thread counts; relaxed, each number for itself. */
typedef struct nb_executor_figures {
    _Alignas(64) _Atomic uint64_t taken; /* requests, since the start */
    _Atomic uint32_t fibers_limit;
    _Atomic uint32_t running; /* requests that have a fiber */
    _Atomic uint32_t pooled;  /* fibers that wait for a request */
    _Atomic uint32_t parked;  /* all that wait, the pooled ones and those that may go on included */
    _Atomic uint32_t ready;   /* fibers that may go on */
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
#define NB_CHANNEL_LAYOUT 1u

typedef struct nb_channel_memory {
    uint64_t layout; /* of this struct and of the messages */
    uint32_t credit; /* requests the executor may ask for ahead of its running them */
    uint16_t listener_count;
    nb_channel_listener
        listeners[NB_LISTENERS_MAX]; /* in the order of their numbers; complete before the first request */
    nb_doorbell executor_bell;       /* the executor sleeps */
    nb_doorbell loop_bell;           /* the I/O loop sleeps (each channel has its own flag of it) */
    _Alignas(64) _Atomic uint64_t wanted;
    _Atomic uint64_t able;
    _Alignas(64) _Atomic uint32_t
        loop_starved; /* the I/O loop has requests and no credit or room: ring it when there is some */
    _Atomic uint32_t
        allowance; /* bytes each response may hold now (limits.h, server/loop.c); its writer parks at half of them */
    _Alignas(64) _Atomic uint32_t
        executor_blocked;           /* the executor found the response ring full: ring it when there is room */
    _Atomic uint32_t executor_gone; /* the executor has ended; nothing will come */
    nb_pulse pulse;
    nb_executor_figures figures;
    _Alignas(64) char rings[]; /* requests, then responses */
} nb_channel_memory;

typedef struct nb_channel {
    nb_channel_memory *memory;
    size_t ring_bytes;
    nb_wake executor_wake;    /* polled by the executor */
    const nb_wake *loop_wake; /* polled by the I/O loop; borrowed from it, or `far_wake` */
    nb_wake far_wake;         /* the worker's end of the loop's */
    nb_shared_memory shared;  /* address NULL: both sides are in this process */
    int descriptors;          /* our end of the descriptor pipe; -1: both sides are in this process */
    int descriptors_far;      /* the worker's end, until it has it; -1 */
} nb_channel;

/* Both sides in this process. loop_wake must outlive the channel. */
nb_status nb_channel_create(const nb_wake *loop_wake, nb_channel **channel);
/* The front's side of a channel to another process. */
nb_status nb_channel_create_shared(const nb_wake *loop_wake, nb_channel **channel);

#define NB_CHANNEL_DESCRIPTORS 4

/* What the worker attaches by. They stay the channel's; nb_channel_handed_over closes those that only the worker needs. */
void nb_channel_descriptors(const nb_channel *channel, int descriptors[NB_CHANNEL_DESCRIPTORS]);
void nb_channel_handed_over(nb_channel *channel);
/* The worker's side; takes the descriptors, be it in vain. NB_INVALID: the other side is of another build. */
nb_status nb_channel_attach(const int descriptors[NB_CHANNEL_DESCRIPTORS], nb_channel **channel);
/* The child of a worker's fork: closes the descriptors; the memory stays as it is. */
void nb_channel_abandon(nb_channel *channel);
void nb_channel_destroy(nb_channel *channel);
void *nb_channel_requests(nb_channel *channel);
void *nb_channel_responses(nb_channel *channel);

static inline bool nb_channel_is_shared(const nb_channel *channel) { return channel->shared.address != NULL; }

/*
 * The descriptor that a record names, from one side to the other. give: before the record is committed; NB_AGAIN: like a
 * full ring; shared, the descriptor stays the sender's as well, else it is now the receiver's. take: when the record is read, once,
 * in the order of the records; -1: it was lost for want of descriptors.
 */
nb_status nb_channel_give(nb_channel *channel, int fd);
int nb_channel_take(nb_channel *channel, int64_t fd);

/* After publishing towards the other side: wakes it if it sleeps. */
void nb_channel_ring_executor(nb_channel *channel);
void nb_channel_ring_loop(nb_channel *channel);

#endif
