/*
 * closing.c - see closing.h.
 */
#include "binding/hooks/closing.h"

#include <errno.h>
#include <ruby.h>
#include <ruby/fiber/scheduler.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binding/base/forks.h"
#include "binding/hooks/file_io.h"
#include "binding/state/object.h"
#include "binding/state/watches.h"

static ID id_closed_p;

/* Closes the parent's descriptors in a child, in every scheduler, also those of threads that are
   gone. */
static VALUE scheduler_s_after_fork(VALUE klass) {
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler));) {
        if (scheduler->fork_generation != nb_fork_generation) nb_scheduler_forget(scheduler);
    }
    return klass;
}

static bool some_watch(void) {
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler));) {
        const nb_watches *watches = &scheduler->watches;
        if (watches->count > 0 || watches->keeps || !nb_list_empty(&scheduler->files)) return true;
    }
    return false;
}

/* Fibers that wait for the descriptor, in any scheduler of the process, get IOError. */
static void close_under(int fd) {
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler));) {
        if (scheduler->fork_generation != nb_fork_generation) continue;
        if (!nb_list_empty(&scheduler->files)) nb_files_closing(scheduler, fd, nb_watches_closed_error());
        nb_watches_closing(scheduler, fd);
    }
}

/* closing(io): to be called before it is closed. */
static VALUE scheduler_s_closing(VALUE klass, VALUE io) {
    if (some_watch() && !RTEST(rb_funcall(io, id_closed_p, 0))) close_under(nb_descriptor_of(io));
    return klass;
}

/* closes_at_once?(io): whether close(2) cannot wait: a pipe, or a socket that does not linger
   (SO_LINGER, socket(7)). A file's may write to the disk. */
static VALUE scheduler_s_closes_at_once_p(VALUE klass, VALUE io) {
    (void)klass;
    if (RTEST(rb_funcall(io, id_closed_p, 0))) return Qfalse;
    int fd = nb_descriptor_of(io);
    struct stat status;
    if (fstat(fd, &status) != 0) return Qfalse;
    if (S_ISFIFO(status.st_mode)) return Qtrue;
    if (!S_ISSOCK(status.st_mode)) return Qfalse;
    struct linger linger = {0};
    socklen_t size = sizeof linger;
    if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size) != 0) return Qfalse;
    return linger.l_onoff == 0 || linger.l_linger == 0 ? Qtrue : Qfalse;
}

#if defined(RUBY_FIBER_SCHEDULER_VERSION) && RUBY_FIBER_SCHEDULER_VERSION >= 3
/* io_close(descriptor), which Ruby calls from 4.0 on. Fibers that wait for the descriptor get
   IOError. */
static VALUE scheduler_io_close(VALUE self, VALUE descriptor) {
    int fd = RB_INTEGER_TYPE_P(descriptor) ? NUM2INT(descriptor) : nb_descriptor_of(descriptor);
    close_under(fd);
    if (close(fd) != 0 && errno != EINTR) rb_sys_fail("close");
    return Qtrue;
}

static void define_close(VALUE klass) { rb_define_method(klass, "io_close", scheduler_io_close, 1); }
#else
static void define_close(VALUE klass) { (void)klass; }
#endif

void nb_closing_define(VALUE klass) {
    id_closed_p = rb_intern("closed?");
    rb_define_singleton_method(klass, "after_fork", scheduler_s_after_fork, 0);
    rb_define_singleton_method(klass, "closing", scheduler_s_closing, 1);
    rb_define_singleton_method(klass, "closes_at_once?", scheduler_s_closes_at_once_p, 1);
    define_close(klass);
}
