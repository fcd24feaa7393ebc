/*
 * lease.c - see lease.h.
 */
#include "loop/lease.h"

#include "os/clock.h"

/* How long the loop may go unattended while the executor runs, and how often the host looks. */
#define LOOK_NS (1 * NB_NS_PER_MS)

/* Looks at an unmoving guest before the host stops looking. */
#define QUIET_LOOKS 10

nb_status nb_lease_init(nb_lease *lease) {
    atomic_init(&lease->holder, NB_LEASE_FREE);
    atomic_init(&lease->guest_allowed, false);
    atomic_init(&lease->guest_wants, false);
    atomic_init(&lease->host_ran, true);
    atomic_init(&lease->given_back_ns, 0);
    atomic_init(&lease->guest_turns, 0);
    nb_doorbell_init(&lease->standby);
    return nb_wake_init(&lease->standby_wake);
}

void nb_lease_deinit(nb_lease *lease) { nb_wake_deinit(&lease->standby_wake); }

static bool take(nb_lease *lease, nb_lease_holder holder) {
    uint32_t expected = NB_LEASE_FREE;
    return atomic_compare_exchange_strong_explicit(&lease->holder, &expected, holder, memory_order_acquire,
                                                   memory_order_relaxed);
}

bool nb_lease_take_as_guest(nb_lease *lease) {
    if (!take(lease, NB_LEASE_GUEST)) {
        atomic_store_explicit(&lease->guest_wants, true, memory_order_relaxed);
        return false;
    }
    atomic_fetch_add_explicit(&lease->guest_turns, 1, memory_order_relaxed);
    return true;
}

void nb_lease_give_back(nb_lease *lease, int64_t now_ns) {
    atomic_store_explicit(&lease->given_back_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&lease->holder, NB_LEASE_FREE, memory_order_release);
    if (nb_doorbell_ring_needed(&lease->standby)) nb_wake_signal(&lease->standby_wake);
}

void nb_lease_end_guest(nb_lease *lease) {
    atomic_store_explicit(&lease->guest_allowed, false, memory_order_release);
    nb_wake_signal(&lease->standby_wake);
}

static bool guest_sits(nb_lease *lease, uint64_t turn) {
    return atomic_load_explicit(&lease->holder, memory_order_acquire) == NB_LEASE_GUEST &&
           atomic_load_explicit(&lease->guest_turns, memory_order_relaxed) == turn;
}

/* Waits while the guest sleeps in the poller. The guest wakes the host when it leaves. */
static void wait_for_guest(nb_lease *lease, uint64_t turn) {
    nb_doorbell_announce(&lease->standby);
    bool allowed = atomic_load_explicit(&lease->guest_allowed, memory_order_acquire);
    if (allowed && guest_sits(lease, turn)) nb_wake_wait(&lease->standby_wake, -1);
    nb_doorbell_cancel(&lease->standby);
}

static bool unattended(nb_lease *lease) {
    if (!atomic_load_explicit(&lease->guest_allowed, memory_order_acquire)) return true;
    if (atomic_load_explicit(&lease->holder, memory_order_relaxed) != NB_LEASE_FREE) return false;
    return nb_clock_monotonic_ns() - atomic_load_explicit(&lease->given_back_ns, memory_order_relaxed) >= LOOK_NS;
}

void nb_lease_host_standby(nb_lease *lease) {
    unsigned quiet = 0;
    uint64_t turn = atomic_load_explicit(&lease->guest_turns, memory_order_relaxed);
    while (!unattended(lease) || !take(lease, NB_LEASE_HOST)) {
        quiet = guest_sits(lease, turn) ? quiet + 1 : 0;
        turn = atomic_load_explicit(&lease->guest_turns, memory_order_relaxed);
        if (quiet >= QUIET_LOOKS) {
            wait_for_guest(lease, turn);
            quiet = 0;
        } else {
            nb_wake_wait(&lease->standby_wake, LOOK_NS);
        }
    }
    atomic_store_explicit(&lease->guest_wants, false, memory_order_relaxed);
}

void nb_lease_host_give_back(nb_lease *lease, int64_t now_ns) {
    atomic_store_explicit(&lease->host_ran, true, memory_order_relaxed);
    atomic_store_explicit(&lease->given_back_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&lease->holder, NB_LEASE_FREE, memory_order_release);
}
