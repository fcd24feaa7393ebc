/*
 * stalls_signal.c - see stalls_signal.h.
 */
#include "binding/stalls/stalls_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "binding/stalls/stalls_answer.h"

static struct sigaction before;

static void pass_on(int number, siginfo_t *info, void *context) {
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    }
}

static void on_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    bool ours = false;
    for (nb_watched *one = nb_watched_first(); one; one = one->next) {
        if (!pthread_equal(one->thread, pthread_self()) || !atomic_exchange(&one->signalled, false)) continue;
        ours = true;
        if (one->executor) nb_stalls_answer_in_signal(one);
    }
    if (!ours) pass_on(number, info, context);
    errno = error;
}

static bool handles_signal(void) {
    struct sigaction now;
    return sigaction(SIGURG, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal;
}

void nb_stalls_signal_install(void) {
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    if (!handles_signal()) sigaction(SIGURG, &ours, &before);
}

/* Ruby's threads change their native threads (M:N threads, Ruby 3.3): pthread_t does not name
   one. */
static bool threads_move(void) {
    const char *set = getenv("RUBY_MN_THREADS");
    return set && strcmp(set, "1") == 0;
}

/* A futex may be the GVL itself, which another thread keeps: then it is not in a call. */
void nb_stalls_signal_send(nb_watched *one) {
    if (handles_signal() && !threads_move() && nb_thread_restarts(one->thread_number)) {
        one->signalled_ran_ns = atomic_load(&one->served_ran_ns);
        atomic_store(&one->signalled, true);
        pthread_kill(one->thread, SIGURG);
        return;
    }
    one->waits_in = nb_thread_waits_in(one->thread_number);
    if (one->waits_in && strcmp(one->waits_in, "futex(2)") == 0) return;
    atomic_store(&one->call_burst, one->watch.burst_began_ns);
}
