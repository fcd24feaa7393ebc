/*
 * stalls_reporter.c - see stalls_reporter.h.
 */
#include "binding/stalls/stalls_reporter.h"

#include <pthread.h>
#include <ruby/thread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "os/thread.h"

static struct {
    pthread_mutex_t lock; /* guards `turn`, `wanted` and `interrupted` */
    pthread_cond_t asked;
    VALUE thread; /* nil: there is none */
    pid_t pid;    /* whose thread it is */
    nb_stalls_report *report;
    _Atomic long number; /* of the thread, as os/thread.h takes it */
    unsigned users;      /* watched executors */
    uintptr_t turn;      /* number of the current thread: one with another number ends */
    bool wanted, interrupted;
    _Atomic bool waits; /* it was asked, and has not had the GVL since */
    _Atomic bool begun; /* it has had the GVL, and its number is known */
} reporter = {.lock = PTHREAD_MUTEX_INITIALIZER, .thread = Qnil};

/* A question that finds a thread whose turn is over is left to the next thread. */
static void *await_question(void *turn) {
    pthread_mutex_lock(&reporter.lock);
    while (!reporter.wanted && !reporter.interrupted && reporter.turn == (uintptr_t)turn)
        pthread_cond_wait(&reporter.asked, &reporter.lock);
    if (reporter.turn == (uintptr_t)turn) reporter.wanted = reporter.interrupted = false;
    pthread_mutex_unlock(&reporter.lock);
    return NULL;
}

static void interrupt_reporter(void *unused) {
    (void)unused;
    pthread_mutex_lock(&reporter.lock);
    reporter.interrupted = true;
    pthread_cond_broadcast(&reporter.asked);
    pthread_mutex_unlock(&reporter.lock);
}

static VALUE reporter_main(void *turn) {
    if (reporter.turn != (uintptr_t)turn) return Qnil;
    atomic_store(&reporter.number, nb_thread_number());
    atomic_store(&reporter.begun, true);
    for (;;) {
        rb_thread_call_without_gvl(await_question, turn, interrupt_reporter, NULL);
        if (reporter.turn != (uintptr_t)turn) return Qnil;
        atomic_store(&reporter.waits, false);
        reporter.report(reporter.thread);
    }
}

void nb_stalls_reporter_ask(void) {
    pthread_mutex_lock(&reporter.lock);
    reporter.wanted = true;
    atomic_store(&reporter.waits, true);
    pthread_cond_broadcast(&reporter.asked);
    pthread_mutex_unlock(&reporter.lock);
}

bool nb_stalls_reporter_asked(void) { return atomic_load(&reporter.waits); }

/* A new thread has no number before it has had the GVL once. */
bool nb_stalls_reporter_waits_for_lock(void) {
    if (!atomic_load(&reporter.waits)) return false;
    return !atomic_load(&reporter.begun) || nb_thread_sleeps(atomic_load(&reporter.number));
}

bool nb_stalls_reporter_is(VALUE thread) { return thread == reporter.thread; }

static void forget_parents(void) {
    pthread_mutex_init(&reporter.lock, NULL);
    pthread_cond_init(&reporter.asked, NULL);
    reporter.thread = Qnil;
    reporter.users = 0;
    reporter.pid = getpid();
}

void nb_stalls_reporter_start(nb_stalls_report *report) {
    if (reporter.pid != getpid()) forget_parents();
    reporter.report = report;
    reporter.users++;
    if (!NIL_P(reporter.thread)) return;
    atomic_store(&reporter.begun, false);
    reporter.thread = rb_thread_create(reporter_main, (void *)reporter.turn);
    rb_funcall(reporter.thread, rb_intern("name="), 1, rb_str_new_cstr("nb-stalls"));
    rb_funcall(reporter.thread, rb_intern("report_on_exception="), 1, Qfalse);
}

VALUE nb_stalls_reporter_leave(void) {
    if (--reporter.users > 0) return Qnil;
    VALUE ending = reporter.thread;
    reporter.thread = Qnil;
    pthread_mutex_lock(&reporter.lock);
    reporter.turn++;
    pthread_cond_broadcast(&reporter.asked);
    pthread_mutex_unlock(&reporter.lock);
    return ending;
}

void nb_stalls_reporter_define(void) { rb_gc_register_address(&reporter.thread); }
