/*
 * lease.h - the right to run the loop's turns. It belongs to the server's own thread (the host),
 * or to the thread of the only executor while that has nothing else to do (the guest). With a
 * guest, one thread reads, runs and answers a request without a hand-off between threads. See
 * docs/decisions/0001.
 *
 * The guest takes the lease when it would sleep, waits in the loop's poller instead of its own,
 * and returns the lease before it runs a fiber. While no one has it, sockets wait. The host looks
 * every millisecond, and takes over when the lease has been free for one, that is, when the guest
 * is busy. From then on the loop runs beside the executor as if there were no guest, until the
 * executor is seen waiting again. A host that finds the guest asleep in the poller for ten looks
 * in a row stops looking. The guest wakes it (`standby`, by doorbell.h) when it returns the lease.
 *
 * Threads: all that the loop owns passes with the lease. Taking it acquires, returning it
 * releases.
 */
#ifndef NB_LOOP_LEASE_H
#define NB_LOOP_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/status.h"
#include "poll/wake.h"

typedef enum nb_lease_holder { NB_LEASE_FREE, NB_LEASE_HOST, NB_LEASE_GUEST } nb_lease_holder;

typedef struct nb_lease {
    _Alignas(64) _Atomic uint32_t holder;
    _Atomic bool guest_allowed; /* there is a guest, and it runs */
    _Atomic bool guest_wants;   /* the guest found the lease taken by the host */
    /* Since the guest last had it: events reported once may have gone to the host. */
    _Atomic bool host_ran;
    _Atomic int64_t given_back_ns;
    _Atomic uint64_t guest_turns; /* times the guest took it, as a sign of life */
    nb_doorbell standby;
    nb_wake standby_wake;
} nb_lease;

nb_status nb_lease_init(nb_lease *lease);
void nb_lease_deinit(nb_lease *lease);

/* --- for the guest --- */
bool nb_lease_take_as_guest(nb_lease *lease);
void nb_lease_give_back(nb_lease *lease, int64_t now_ns);
/* The guest has ended. */
void nb_lease_end_guest(nb_lease *lease);

/* --- for the host: waits until it has the lease --- */
void nb_lease_host_standby(nb_lease *lease);
void nb_lease_host_give_back(nb_lease *lease, int64_t now_ns);

#endif
