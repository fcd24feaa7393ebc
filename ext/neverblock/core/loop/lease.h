/*
 * lease.h - which thread runs the loop's turns: the server's own thread (the host), or the only executor's while it has
 * nothing else to do (the guest), so that a request needs no hand-off between threads: read, run and answered by one.
 * docs/decisions/0001 has the figures.
 *
 * The guest takes the lease when it would sleep, waits in the loop's poller in place of its own, and gives it back
 * before it runs a fiber. While nobody holds it, sockets wait; the host looks every millisecond and takes over when the
 * lease has been free for one, that is, when the guest is busy: from then on the loop runs beside it as if there were
 * no guest, until the executor is seen waiting again. A host that finds the guest asleep in the poller for ten looks in
 * a row stops looking; the guest wakes it (standby, by the protocol of doorbell.h) when it gives the lease back.
 *
 * Everything the loop owns is handed over with the lease: taking it acquires, giving it back releases.
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
    _Atomic bool guest_allowed; /* there is one, and it runs */
    _Atomic bool guest_wants;   /* it found the lease taken by the host */
    _Atomic bool host_ran;      /* since the guest last had it: events told once may have been told to the host */
    _Atomic int64_t given_back_ns;
    _Atomic uint64_t guest_turns; /* times the guest took it: sign of life */
    nb_doorbell standby;
    nb_wake standby_wake;
} nb_lease;

nb_status nb_lease_init(nb_lease *lease);
void nb_lease_deinit(nb_lease *lease);

/* The guest's side. */
bool nb_lease_take_as_guest(nb_lease *lease);
void nb_lease_give_back(nb_lease *lease, int64_t now_ns);
/* The guest will not come any more. */
void nb_lease_end_guest(nb_lease *lease);

/* The host's side: waits until the lease is its own. */
void nb_lease_host_standby(nb_lease *lease);
void nb_lease_host_give_back(nb_lease *lease, int64_t now_ns);

#endif
