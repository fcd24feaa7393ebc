/*
 * ticker.c - see ticker.h.
 */
#include "ticker.h"

#include <ruby.h>
#include <ruby/vm.h>

#include "scheduler.h"

static nb_clockwork *clockwork; /* NULL: there is none */
static nb_doorbell *bell;
static unsigned generation; /* nb_fork_generation, when it was made */

/* In a child the thread is gone, and the lock may be held for ever: what is left of it is left. */
static bool is_here(void) {
    if (clockwork && generation != nb_fork_generation) clockwork = NULL;
    return clockwork != NULL;
}

static bool start(void) {
    if (is_here()) return true;
    nb_clockwork *made;
    if (nb_clockwork_create("nb-ticker", &made) != NB_OK) return false;
    generation = nb_fork_generation;
    bell = nb_clockwork_bell(made);
    clockwork = made;
    return true;
}

static void stop(void) {
    nb_clockwork *ended = clockwork;
    clockwork = NULL;
    nb_clockwork_destroy(ended);
}

bool nb_ticker_add(nb_clockwork_look *look, void *owner, int64_t idle_ns) {
    if (!start()) return false;
    if (nb_clockwork_add(clockwork, look, owner, idle_ns) == NB_OK) return true;
    if (nb_clockwork_lookers(clockwork) == 0) stop();
    return false;
}

void nb_ticker_remove(nb_clockwork_look *look, void *owner) {
    if (!is_here()) return;
    nb_clockwork_remove(clockwork, look, owner);
    if (nb_clockwork_lookers(clockwork) == 0) stop();
}

void nb_ticker_stir(void) {
    if (is_here()) nb_clockwork_stir(clockwork, bell);
}

/* The virtual machine goes away, and lookers may use it. */
static void vm_ends(ruby_vm_t *vm) {
    (void)vm;
    if (is_here()) stop();
}

void nb_ticker_define(void) { ruby_vm_at_exit(vm_ends); }
