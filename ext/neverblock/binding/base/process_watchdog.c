/*
 * process_watchdog.c - see process_watchdog.h.
 */
#include "binding/base/process_watchdog.h"

#include <pthread.h>
#include <ruby.h>
#include <ruby/vm.h>

static nb_watchdog *watchdog; /* NULL: there is none */
static nb_doorbell *bell;

static bool start(void) {
    if (watchdog) return true;
    nb_watchdog *made;
    if (nb_watchdog_create("nb-watchdog", &made) != NB_OK) return false;
    bell = nb_watchdog_bell(made);
    watchdog = made;
    return true;
}

static void stop(void) {
    nb_watchdog *ended = watchdog;
    watchdog = NULL;
    nb_watchdog_destroy(ended);
}

bool nb_process_watchdog_add(nb_watchdog_look *look, void *owner, int64_t idle_ns) {
    if (!start()) return false;
    if (nb_watchdog_add(watchdog, look, owner, idle_ns) == NB_OK) return true;
    if (nb_watchdog_observers(watchdog) == 0) stop();
    return false;
}

void nb_process_watchdog_remove(nb_watchdog_look *look, void *owner) {
    if (!watchdog) return;
    nb_watchdog_remove(watchdog, look, owner);
    if (nb_watchdog_observers(watchdog) == 0) stop();
}

void nb_process_watchdog_stir(void) {
    if (watchdog) nb_watchdog_stir(watchdog, bell);
}

void nb_process_watchdog_ring(void) {
    if (watchdog) nb_watchdog_ring(watchdog);
}

static void in_child(void) {
    if (watchdog) nb_watchdog_forget(watchdog);
    watchdog = NULL;
}

/* Ruby's virtual machine ends, which observers may use. */
static void vm_ends(ruby_vm_t *vm) {
    (void)vm;
    if (watchdog) stop();
}

void nb_process_watchdog_define(void) {
    ruby_vm_at_exit(vm_ends);
    pthread_atfork(NULL, NULL, in_child);
}
