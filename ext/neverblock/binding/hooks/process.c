/*
 * process.c - see process.h.
 */
#include "binding/hooks/process.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binding/fibers/pin.h"
#include "binding/hooks/io.h"
#include "binding/state/serving.h"
#include "binding/state/object.h"
#include "binding/state/watches.h"

static ID id_wait, id_value, id_kill, id_new;
static VALUE status_class;

typedef struct process_call {
    nb_scheduler *scheduler;
    VALUE pid, flags, thread;
    int fd;
} process_call;

#ifdef SYS_pidfd_open
static int pidfd_open_of(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
#else
static int pidfd_open_of(pid_t pid) {
    (void)pid;
    errno = ENOSYS;
    return -1;
}
#endif

/* nil: it has ended and cannot be reaped yet, as while a tracer holds it (ptrace(2)). */
static VALUE wait_for_pidfd(VALUE argument) {
    process_call *call = (process_call *)argument;
    nb_fiber_next_wait(call->scheduler, NB_FIBER_WAIT_process, NUM2INT(call->pid), nb_slice_of(NULL, 0));
    nb_descriptor_wait(call->scheduler, call->fd, NB_POLL_READ, INT64_MAX);
    /* with WNOHANG Ruby does not come back to this hook */
    int flags = NUM2INT(call->flags) | WNOHANG;
    return rb_funcall(status_class, id_wait, 2, call->pid, INT2NUM(flags));
}

static VALUE close_pidfd(VALUE argument) {
    process_call *call = (process_call *)argument;
    nb_descriptor_disown(call->scheduler, call->fd);
    return Qnil;
}

/* The thread may begin when the fiber that made it is gone: what it needs comes as its
   arguments. */
static VALUE wait_in_thread(RB_BLOCK_CALL_FUNC_ARGLIST(first, unused)) {
    (void)first, (void)unused, (void)blockarg;
    return rb_funcall(status_class, id_wait, argc, argv[0], argv[1]);
}

static VALUE call_value(VALUE thread) { return rb_funcall(thread, id_value, 0); }

static VALUE join_thread(VALUE argument) {
    process_call *call = (process_call *)argument;
    return nb_pin_call(call->scheduler, call_value, call->thread);
}

static VALUE kill_thread(VALUE argument) { return rb_funcall(((process_call *)argument)->thread, id_kill, 0); }

/* A pidfd tells the end of one process only: not a stop (WUNTRACED), not the first of a group.
   Always answers with a Process::Status: Kernel#system takes nil for one, and Ruby crashes. */
static VALUE scheduler_process_wait(VALUE self, VALUE pid, VALUE flags) {
    process_call call = {.scheduler = nb_scheduler_get(self), .pid = pid, .flags = flags, .thread = Qnil, .fd = -1};
    pid_t number = NUM2PIDT(pid);
    if (number > 0 && NUM2INT(flags) == 0) call.fd = pidfd_open_of(number);
    if (call.fd >= 0) nb_descriptor_own(call.scheduler, call.fd);
    VALUE status = call.fd < 0 ? Qnil : rb_ensure(wait_for_pidfd, (VALUE)&call, close_pidfd, (VALUE)&call);
    if (!NIL_P(status)) return status;

    VALUE arguments[] = {pid, flags};
    call.thread = rb_block_call(rb_cThread, id_new, 2, arguments, wait_in_thread, Qnil);
    return rb_ensure(join_thread, (VALUE)&call, kill_thread, (VALUE)&call);
}

void nb_process_define(VALUE klass) {
    id_wait = rb_intern("wait");
    id_value = rb_intern("value");
    id_kill = rb_intern("kill");
    id_new = rb_intern("new");
    rb_gc_register_address(&status_class);
    status_class = rb_path2class("Process::Status");
    rb_define_method(klass, "process_wait", scheduler_process_wait, 2);
}
