/*
 * channel.h - what lies between one I/O loop and one executor: two rings, their doorbells, and the counter by which the
 * executor pulls.
 *
 * The shared part (nb_channel_memory) holds no pointer and may lie in memory shared by two processes. An executor
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
#include "base/ring.h"
#include "base/status.h"
#include "intake/message.h"
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
    _Atomic bool wanted; /* by the I/O loop: without it the figures below and those of the process are not kept */
    nb_histogram lag;    /* turns, from waking up to the end of the pass: how long a fiber may have waited to go on */
} nb_executor_figures;

typedef struct nb_channel_memory {
    nb_doorbell executor_bell; /* the executor sleeps */
    nb_doorbell loop_bell;     /* the I/O loop sleeps (each channel has its own flag of it) */
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
    const nb_wake *loop_wake; /* polled by the I/O loop; borrowed from it */
} nb_channel;

/* loop_wake must outlive the channel. */
nb_status nb_channel_create(const nb_wake *loop_wake, nb_channel **channel);
void nb_channel_destroy(nb_channel *channel);
void *nb_channel_requests(nb_channel *channel);
void *nb_channel_responses(nb_channel *channel);

/* After publishing towards the other side: wakes it if it sleeps. */
void nb_channel_ring_executor(nb_channel *channel);
void nb_channel_ring_loop(nb_channel *channel);

#endif
