/*
 * watchdog.c - see watchdog.h.
 */
#include "binding/base/watchdog.h"

#include <pthread.h>
#include <ruby.h>
#include <ruby/vm.h>

static nb_clockwork *clockwork; /* NULL: there is none */
static nb_doorbell *bell;

static bool start(void) {
    if (clockwork) return true;
    nb_clockwork *made;
    if (nb_clockwork_create("nb-watchdog", &made) != NB_OK) return false;
    bell = nb_clockwork_bell(made);
    clockwork = made;
    return true;
}

static void stop(void) {
    nb_clockwork *ended = clockwork;
    clockwork = NULL;
    nb_clockwork_destroy(ended);
}

bool nb_watchdog_add(nb_clockwork_look *look, void *owner, int64_t idle_ns) {
    if (!start()) return false;
    if (nb_clockwork_add(clockwork, look, owner, idle_ns) == NB_OK) return true;
    if (nb_clockwork_observers(clockwork) == 0) stop();
    return false;
}

void nb_watchdog_remove(nb_clockwork_look *look, void *owner) {
    if (!clockwork) return;
    nb_clockwork_remove(clockwork, look, owner);
    if (nb_clockwork_observers(clockwork) == 0) stop();
}

void nb_watchdog_stir(void) {
    if (clockwork) nb_clockwork_stir(clockwork, bell);
}

void nb_watchdog_ring(void) {
    if (clockwork) nb_clockwork_ring(clockwork);
}

static void in_child(void) {
    if (clockwork) nb_clockwork_forget(clockwork);
    clockwork = NULL;
}

/* Ruby's virtual machine ends, which observers may use. */
static void vm_ends(ruby_vm_t *vm) {
    (void)vm;
    if (clockwork) stop();
}

void nb_watchdog_define(void) {
    ruby_vm_at_exit(vm_ends);
    pthread_atfork(NULL, NULL, in_child);
}
