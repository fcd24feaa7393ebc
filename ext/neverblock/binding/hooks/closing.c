/*
 * closing.c - see closing.h.
 */
#include "binding/hooks/closing.h"

#include <errno.h>
#include <ruby.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/ractor.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binding/base/forks.h"
#include "binding/fibers/frames.h"
#include "binding/hooks/file_io.h"
#include "binding/state/object.h"
#include "binding/state/watches.h"

static ID id_bind_call, id_closed_p;
static VALUE close_itself; /* IO#close, as it was before ours */
static rb_ractor_local_key_t main_key;

/* Schedulers work in the main Ractor only. Another one has IOs of its own, and may not touch what
   is here. */
static bool in_main_ractor(void) { return RTEST(rb_ractor_local_storage_value(main_key)); }

/* Closes the parent's descriptors in a child, in every scheduler, also those of threads that are
   gone. */
static VALUE scheduler_s_after_fork(VALUE klass) {
    volatile VALUE held = Qnil;
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler, &held));) {
        if (scheduler->fork_generation != nb_fork_generation) nb_scheduler_forget(scheduler);
    }
    return klass;
}

static bool some_watch(void) {
    volatile VALUE held = Qnil;
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler, &held));) {
        const nb_watches *watches = &scheduler->watches;
        if (watches->count > 0 || watches->registers || !nb_list_empty(&scheduler->files)) return true;
    }
    return false;
}

/* Fibers that wait for the descriptor, in any scheduler of the process, get IOError. It does not
   look for interrupts: until the close the number is this file's. */
static void close_under(int fd) {
    volatile VALUE held = Qnil;
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler, &held));) {
        if (scheduler->fork_generation != nb_fork_generation) continue;
        if (!nb_list_empty(&scheduler->files)) nb_files_closing(scheduler, fd, nb_watches_closed_error());
        nb_watches_closing(scheduler, fd);
    }
}

/* Whoever waits by this IO, in whatever scheduler of the process, gets IOError. */
static void close_lent_under(int fd, VALUE io) {
    volatile VALUE held = Qnil;
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler, &held));) {
        if (scheduler->fork_generation == nb_fork_generation) nb_watches_closing_lent(scheduler, fd, io);
    }
}

/* It may not look for interrupts, as methods of Ruby do when they return. */
#ifdef HAVE_RB_IO_MODE
static bool is_open(VALUE io) { return !RTEST(rb_io_closed_p(io)); }
#else
static bool is_open(VALUE io) { return RFILE(io)->fptr != NULL && RFILE(io)->fptr->fd >= 0; }
#endif

static void close_io_under(VALUE io) {
    if (!is_open(io) || !some_watch()) return;
    if (nb_io_is_lent(io)) {
        close_lent_under(nb_descriptor_of(io), io);
    } else {
        close_under(nb_descriptor_of(io));
    }
}

/*
 * close, before IO's own. pg closes the IO to which it lends libpq's descriptor after libpq has
 * closed that: the number may be another's soon, and Ruby raises in all threads that wait for it.
 * So no other thread may run before Ruby's own close has looked for them: no step looks for
 * interrupts.
 */
static VALUE io_close(VALUE io) {
    if (!in_main_ractor()) return rb_call_super(0, NULL);
    bool open = is_open(io), lent = open && nb_io_is_lent(io);
    close_io_under(io);
    if (lent) return rb_funcall(close_itself, id_bind_call, 1, io);
    VALUE writer = open ? rb_io_get_write_io(io) : io;
    if (writer != io) close_io_under(writer);
    return rb_call_super(0, NULL);
}

/* Does Ruby close the IO when one of its directions is closed? `other`: FMODE_READABLE or
   FMODE_WRITABLE, that which is left. A socket is shut down while it has both (io.c,
   rb_io_close_read; basicsocket.c, bsock_close_read). */
static bool closes_with(VALUE io, int other) {
    struct stat status;
    if (!is_open(io) || fstat(nb_descriptor_of(io), &status) != 0) return false;
    int mode = nb_io_mode(io);
    if (S_ISSOCK(status.st_mode)) return (mode & other) == 0;
    return (mode & (FMODE_DUPLEX | other)) != other;
}

/* close_read, before those of IO and BasicSocket. */
static VALUE io_close_read(VALUE io) {
    if (in_main_ractor() && some_watch() && closes_with(io, FMODE_WRITABLE)) close_io_under(io);
    return rb_call_super(0, NULL);
}

/* close_write, before those of IO and BasicSocket. */
static VALUE io_close_write(VALUE io) {
    if (!in_main_ractor()) return rb_call_super(0, NULL);
    VALUE writer = is_open(io) ? rb_io_get_write_io(io) : io;
    if (some_watch() && closes_with(writer, FMODE_READABLE)) close_io_under(writer);
    return rb_call_super(0, NULL);
}

/* Fibers that wait for the descriptor, in any scheduler of the process, wait for its new file. */
static void reopened(int fd) {
    volatile VALUE held = Qnil;
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler, &held));) {
        if (scheduler->fork_generation == nb_fork_generation) nb_watches_reopened(scheduler, fd);
    }
}

/* reopen, which puts another file under the descriptor (dup2(2)): IO's own raises in threads that
   wait where that is an IO's, and lets them be where it has a name. */
static VALUE io_reopen(int argc, VALUE *argv, VALUE io) {
    if (!in_main_ractor()) return rb_call_super(argc, argv);
    int fd = argc > 0 && is_open(io) && some_watch() ? nb_descriptor_of(io) : -1;
    VALUE other = fd >= 0 ? rb_io_check_io(argv[0]) : Qnil;
    if (!NIL_P(other) && other != io && is_open(other)) close_under(fd);
    VALUE result = rb_call_super(argc, argv);
    if (fd >= 0 && NIL_P(other)) reopened(fd);
    return result;
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

static void define_io_close(VALUE klass) {
    main_key = rb_ractor_local_storage_value_newkey();
    rb_ractor_local_storage_value_set(main_key, Qtrue);
    VALUE module = rb_define_module_under(klass, "Closing");
    close_itself = rb_funcall(rb_cIO, rb_intern("instance_method"), 1, ID2SYM(rb_intern("close")));
    rb_gc_register_mark_object(close_itself);
    VALUE halves = rb_define_module_under(klass, "HalfClosing");
    rb_ext_ractor_safe(true);
    rb_define_method(module, "close", io_close, 0);
    rb_define_method(module, "reopen", io_reopen, -1);
    rb_define_method(halves, "close_read", io_close_read, 0);
    rb_define_method(halves, "close_write", io_close_write, 0);
    rb_ext_ractor_safe(false);
    nb_frames_stand_in((const void *)(uintptr_t)io_close);
    nb_frames_stand_in((const void *)(uintptr_t)io_reopen);
    nb_frames_stand_in((const void *)(uintptr_t)io_close_read);
    nb_frames_stand_in((const void *)(uintptr_t)io_close_write);
}

void nb_closing_define(VALUE klass) {
    id_bind_call = rb_intern("bind_call");
    id_closed_p = rb_intern("closed?");
    define_io_close(klass);
    rb_define_singleton_method(klass, "after_fork", scheduler_s_after_fork, 0);
    rb_define_singleton_method(klass, "closes_at_once?", scheduler_s_closes_at_once_p, 1);
    define_close(klass);
}
