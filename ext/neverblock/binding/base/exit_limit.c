/*
 * exit_limit.c - see exit_limit.h.
 */
#include "binding/base/exit_limit.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "os/thread.h"

/* One in a process. Not freed: its thread reads it until the process ends. */
static struct { int ms, status; } limit;

static void report(void) {
    char line[200];
    size_t size = nb_log_begin_line(line, sizeof(line), "warning");
    int added = snprintf(line + size, sizeof(line) - size,
                         "threads of this process do not end: exiting without them\n");
    ssize_t written = write(STDERR_FILENO, line, size + (size_t)added);
    (void)written;
}

static void *wait_and_exit(void *unused) {
    (void)unused;
    poll(NULL, 0, limit.ms);
    report();
    _exit(limit.status);
}

/* begin(seconds, status): seconds: Integer; status: of the process. To be called once, when Ruby is
   about to end. Without memory for a thread there is no limit. */
static VALUE exit_limit_begin(VALUE self, VALUE seconds, VALUE status) {
    (void)self;
    pthread_t thread;
    limit.ms = NUM2INT(seconds) * 1000;
    limit.status = NUM2INT(status);
    if (nb_thread_start("nb-exit", wait_and_exit, NULL, &thread) == NB_OK) pthread_detach(thread);
    return Qnil;
}

void nb_exit_limit_define(VALUE module) {
    VALUE limits = rb_define_module_under(module, "ExitLimit");
    rb_define_singleton_method(limits, "begin", exit_limit_begin, 2);
}
