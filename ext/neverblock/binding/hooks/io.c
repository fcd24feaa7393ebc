/*
 * io.c - see io.h.
 */
#include "binding/hooks/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <ruby.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/io/buffer.h>
#include <ruby/version.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "binding/hooks/descriptor_about.h"
#include "binding/hooks/file_io.h"
#include "binding/scheduler/park.h"
#include "binding/state/object.h"
#include "binding/state/watches.h"

/* What poll(2) says now; NB_POLL_HANGUP where that alone was to be told. */
static uint32_t ready_now(int fd, uint32_t interest) {
    struct pollfd ask = {.fd = fd};
    if (interest & NB_POLL_READ) ask.events |= POLLIN;
    if (interest & NB_POLL_WRITE) ask.events |= POLLOUT;
    if (interest & NB_POLL_PRIORITY) ask.events |= POLLPRI;
    if (poll(&ask, 1, 0) <= 0) return 0;
    if (ask.revents & POLLERR) return interest;
    uint32_t ready = ((ask.revents & (POLLIN | POLLHUP)) ? interest & NB_POLL_READ : 0) |
                     ((ask.revents & (POLLOUT | POLLHUP)) ? interest & NB_POLL_WRITE : 0) |
                     ((ask.revents & POLLPRI) ? interest & NB_POLL_PRIORITY : 0);
    return ready == 0 && (ask.revents & POLLHUP) ? NB_POLL_HANGUP : ready;
}

/* A connect(2) to a near host has ended when Ruby waits for it, and its request may leave now. Once
   between two switches only, so that a fiber whose descriptor is always ready lets the others run;
   and not before an exception that the next wait is to raise. */
static bool ready_at_once(nb_scheduler *scheduler, nb_watch *watch) {
    if ((watch->interest & NB_POLL_WRITE) == 0 || watch->dry || scheduler->went_on) return false;
    if (!nb_list_empty(&scheduler->expired) || !NIL_P(scheduler->deferred) || nb_watches_any(scheduler, watch->fd))
        return false;
    watch->ready = ready_now(watch->fd, watch->interest);
    scheduler->went_on = watch->ready != 0;
    return scheduler->went_on;
}

/* At the deadline the descriptor is asked once more, as the loop may have been too busy to ask
   before. */
static uint32_t watch_wait(nb_scheduler *scheduler, nb_watch *watch, int64_t deadline_ns) {
    bool asks = deadline_ns <= scheduler->now_ns;
    if (asks || ready_at_once(scheduler, watch)) {
        nb_watches_used(scheduler, watch->fd, watch->io);
        return asks ? ready_now(watch->fd, watch->interest) : watch->ready;
    }
    nb_io_wait io_wait = {.watches = watch, .count = 1};
    nb_scheduler_open(scheduler);
    nb_wait_init(&io_wait.wait, scheduler, NB_WAIT_IO);
    io_wait.wait.leave = nb_watches_leave;
    watch->wait = &io_wait.wait;

    nb_status status = nb_watch_enter(scheduler, watch);
    if (status == NB_SYSTEM) rb_syserr_fail(errno, "waiting for a descriptor");
    if (status != NB_OK) rb_memerror();
    if (watch->ready == 0) nb_descriptor_about(&io_wait.wait, watch);
    if (watch->ready == 0 && nb_wait_park(&io_wait.wait, deadline_ns) == NB_TIMED_OUT)
        return ready_now(watch->fd, watch->interest);
    return watch->ready;
}

uint32_t nb_descriptor_wait(nb_scheduler *scheduler, int fd, uint32_t interest, int64_t deadline_ns) {
    nb_watch watch = {.fd = fd, .interest = interest};
    return watch_wait(scheduler, &watch, deadline_ns);
}

/* --- io_wait --- */

/* IO#timeout (from Ruby 3.2 on), which is for waits without a timeout of their own; nil: there is
   none. Ruby leaves it to the hooks (rb_io_wait). */
static VALUE timeout_of(VALUE io) {
#ifdef RUBY_IO_TIMEOUT_DEFAULT
    if (RB_TYPE_P(io, T_FILE)) return rb_io_timeout(io);
#endif
    (void)io;
    return Qnil;
}

NORETURN(static void raise_io_timeout(void));
static void raise_io_timeout(void) {
#ifdef RUBY_IO_TIMEOUT_DEFAULT
    rb_raise(rb_eIOTimeoutError, "Blocking operation timed out!"); /* as Ruby says */
#else
    rb_raise(rb_eIOError, "timeout");
#endif
}

/* Has a transfer of this descriptor just had EAGAIN? Asking forgets it. */
static bool take_dry(nb_scheduler *scheduler, int fd, uint32_t interest) {
    bool dry = scheduler->watches.dry_fd == fd && scheduler->watches.dry_interest == interest;
    scheduler->watches.dry_fd = -1;
    return dry;
}

static VALUE scheduler_io_wait(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 2, 3);
    int fd = nb_descriptor_of(argv[0]), events = NUM2INT(argv[1]);
    uint32_t interest = 0;
    if (events & RUBY_IO_READABLE) interest |= NB_POLL_READ;
    if (events & RUBY_IO_WRITABLE) interest |= NB_POLL_WRITE;
    if (events & RUBY_IO_PRIORITY) interest |= NB_POLL_PRIORITY;

    VALUE timeout = argc == 3 ? argv[2] : Qnil, own = NIL_P(timeout) ? timeout_of(argv[0]) : Qnil;
    int64_t deadline_ns = nb_wait_deadline(scheduler, NIL_P(own) ? timeout : own);
    nb_watch watch = {.fd = fd, .interest = interest, .io = argv[0], .dry = take_dry(scheduler, fd, interest)};
    uint32_t ready = watch_wait(scheduler, &watch, deadline_ns);
    if (ready == 0 && !NIL_P(own)) raise_io_timeout();
    if (ready == 0) return Qfalse;
    int came = 0;
    if (ready & NB_POLL_READ) came |= RUBY_IO_READABLE;
    if (ready & NB_POLL_WRITE) came |= RUBY_IO_WRITABLE;
    if (ready & NB_POLL_PRIORITY) came |= RUBY_IO_PRIORITY;
    return INT2NUM(came & events);
}

/* So many lie on the stack. */
#define FEW_WATCHES 8

typedef struct nb_any_call {
    nb_io_wait io_wait; /* first */
    nb_scheduler *scheduler;
    VALUE readables, writables, exceptables;
    VALUE room; /* keeps the watches that are not on the stack, or 0 */
    int64_t deadline_ns;
} nb_any_call;

/* IO.popen(command, "r+") writes to a descriptor of its own, as IO.select knows. */
static VALUE writer_of(VALUE io) { return rb_io_get_write_io(rb_convert_type(io, T_FILE, "IO", "to_io")); }

static void any_enter(nb_any_call *call, VALUE ios, uint32_t interest, bool *ready) {
    for (long i = 0; i < RARRAY_LEN(ios); i++) {
        nb_watch *watch = &call->io_wait.watches[call->io_wait.count];
        VALUE io = RARRAY_AREF(ios, i);
        if (interest == NB_POLL_WRITE) io = writer_of(io);
        *watch = (nb_watch){.fd = nb_descriptor_of(io),
                            .interest = interest,
                            .io = io,
                            .wait = &call->io_wait.wait,
                            .past_hangup = true};
        nb_status status = nb_watch_enter(call->scheduler, watch);
        if (status == NB_SYSTEM) rb_syserr_fail(errno, "waiting for a descriptor");
        if (status != NB_OK) rb_memerror();
        call->io_wait.count++;
        if (watch->ready != 0) *ready = true;
    }
}

static VALUE any_body(VALUE argument) {
    nb_any_call *call = (nb_any_call *)argument;
    bool ready = false;
    any_enter(call, call->readables, NB_POLL_READ, &ready);
    any_enter(call, call->writables, NB_POLL_WRITE, &ready);
    any_enter(call, call->exceptables, NB_POLL_PRIORITY, &ready);
    if (ready) return Qtrue;
    if (call->io_wait.count > 0) nb_descriptor_about(&call->io_wait.wait, call->io_wait.watches);
    return nb_wait_park(&call->io_wait.wait, call->deadline_ns) == NB_WOKEN ? Qtrue : Qfalse;
}

static VALUE any_end(VALUE argument) {
    nb_any_call *call = (nb_any_call *)argument;
    nb_watches_leave(&call->io_wait.wait);
    if (call->room) rb_free_tmp_buffer(&call->room);
    return Qnil;
}

/* io_wait_any(readables, writables, exceptables, timeout): parks until one of them is ready (true)
   or the time is over (false). The watches lie where Ruby looks for objects, as those of one
   descriptor do: GC.compact moves no IO that is waited for. */
static VALUE scheduler_io_wait_any(VALUE self, VALUE readables, VALUE writables, VALUE exceptables, VALUE timeout) {
    nb_any_call call = {.scheduler = nb_scheduler_get(self)};
    call.readables = rb_ary_dup(rb_Array(readables));
    call.writables = rb_ary_dup(rb_Array(writables));
    call.exceptables = rb_ary_dup(rb_Array(exceptables));
    call.deadline_ns = nb_wait_deadline(call.scheduler, timeout);
    nb_scheduler_open(call.scheduler);
    nb_wait_init(&call.io_wait.wait, call.scheduler, NB_WAIT_IO);
    long count = RARRAY_LEN(call.readables) + RARRAY_LEN(call.writables) + RARRAY_LEN(call.exceptables);
    nb_watch few[FEW_WATCHES];
    call.io_wait.watches = count <= FEW_WATCHES ? few : rb_alloc_tmp_buffer2(&call.room, count, sizeof(nb_watch));
    return rb_ensure(any_body, (VALUE)&call, any_end, (VALUE)&call);
}

/* --- io_read, io_write --- */

/* The first transfer without blocking the thread, whatever the mode of the descriptor: -1 with
   EAGAIN when it would. */
static bool would_block(int fd, short event) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK)) return false;
    struct pollfd ask = {.fd = fd, .events = event};
    return poll(&ask, 1, 0) == 0;
}

/* A pipe or terminal that is ready to write to (POLLOUT), and whose descriptor blocks, takes
   PIPE_BUF bytes (pipe(7)). A write of more would wait for the reader with the GVL, and the reader
   may be another thread of this process. */
static size_t writable_size(int fd, size_t size) {
    if (size <= PIPE_BUF) return size;
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || (flags & O_NONBLOCK) || nb_file_regular(fd) ? size : PIPE_BUF;
}

/* EOPNOTSUPP: a thread has to do it (nb_file_move). */
static ssize_t read_now(nb_scheduler *scheduler, int fd, char *bytes, size_t size) {
    if (!nb_descriptor_no_socket(scheduler, fd)) {
        ssize_t moved = recv(fd, bytes, size, MSG_DONTWAIT);
        if (moved >= 0 || errno != ENOTSOCK) return moved;
        nb_descriptor_learn_no_socket(scheduler, fd);
    }
    ssize_t moved = nb_file_read_now(fd, bytes, size, -1);
    if (moved > 0 || (moved < 0 && errno != EOPNOTSUPP)) return moved;
    if (moved < 0 && nb_file_waits(fd, false)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (!would_block(fd, POLLIN)) return read(fd, bytes, size);
    errno = EAGAIN;
    return -1;
}

/* As read_now. */
static ssize_t write_now(nb_scheduler *scheduler, int fd, const char *bytes, size_t size) {
    if (!nb_descriptor_no_socket(scheduler, fd)) {
        ssize_t moved = send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (moved >= 0 || errno != ENOTSOCK) return moved;
        nb_descriptor_learn_no_socket(scheduler, fd);
    }
    if (nb_file_waits(fd, true)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (!would_block(fd, POLLOUT)) return write(fd, bytes, writable_size(fd, size));
    errno = EAGAIN;
    return -1;
}

/* So often another thread is asked to read what comes next; then the loop's own thread waits for
   the disk, as the pages were read and have gone again. */
#define NB_WARMINGS_MAX 2

typedef struct nb_transfer {
    nb_scheduler *scheduler;
    int fd;
    uint32_t interest;
    VALUE io, buffer;
    size_t offset, size; /* in the buffer */
    size_t minimum;      /* wait until so many have moved; 0: take what there is now */
    size_t moved;
    int warmings;
} nb_transfer;

/* May park. */
static ssize_t transfer_now(const nb_transfer *transfer) {
    bool reads = transfer->interest == NB_POLL_READ;
    char *bytes = nb_buffer_memory(transfer->buffer, reads, transfer->offset, transfer->size) + transfer->moved;
    size_t left = transfer->size - transfer->moved;
    if (reads && transfer->warmings > NB_WARMINGS_MAX) return read(transfer->fd, bytes, left);
    ssize_t moved = reads ? read_now(transfer->scheduler, transfer->fd, bytes, left)
                          : write_now(transfer->scheduler, transfer->fd, bytes, left);
    if (moved >= 0 || errno != EOPNOTSUPP || !nb_descriptor_no_socket(transfer->scheduler, transfer->fd)) return moved;
    return nb_file_move(transfer->scheduler, transfer->fd, !reads, transfer->buffer, transfer->offset + transfer->moved,
                        left);
}

/* A regular file is always ready: EAGAIN then means the disk. */
static bool disk_waits(const nb_transfer *transfer) {
    if (transfer->interest != NB_POLL_READ || !nb_descriptor_no_socket(transfer->scheduler, transfer->fd)) return false;
    return nb_file_regular(transfer->fd);
}

/* Whether to go on after `moved` bytes or errno: parks when there is something to wait for. */
static bool transfer_goes_on(nb_transfer *transfer, ssize_t moved) {
    if (moved == 0) return false;
    if (moved > 0) {
        transfer->moved += (size_t)moved;
        transfer->warmings = 0;
        if (transfer->moved < transfer->minimum) return true;
        /* what was in memory of it */
        return transfer->moved < transfer->size && disk_waits(transfer);
    }
    if (errno == EINTR) return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (disk_waits(transfer)) {
        if (++transfer->warmings <= NB_WARMINGS_MAX)
            nb_file_warm(transfer->scheduler, transfer->fd, transfer->size - transfer->moved);
        return true;
    }
    if (transfer->moved >= transfer->minimum) {
        transfer->scheduler->watches.dry_fd = transfer->fd;
        transfer->scheduler->watches.dry_interest = transfer->interest;
        return false;
    }
    int64_t deadline_ns = nb_wait_deadline(transfer->scheduler, timeout_of(transfer->io));
    nb_watch watch = {.fd = transfer->fd, .interest = transfer->interest, .io = transfer->io, .dry = true};
    if (watch_wait(transfer->scheduler, &watch, deadline_ns) == 0) raise_io_timeout();
    return true;
}

/* Bytes moved, 0 at the end of the file, or -errno: what Ruby's io_read and io_write return. */
static VALUE transfer_bytes(nb_transfer *transfer) {
    ssize_t moved = 0;
    int error = 0;
    while (transfer->moved < transfer->size) {
        errno = 0;
        moved = transfer_now(transfer);
        error = errno;
        if (!transfer_goes_on(transfer, moved)) break;
    }
    if (moved < 0 && transfer->moved == 0) return rb_fiber_scheduler_io_result(-1, error);
    return rb_fiber_scheduler_io_result((ssize_t)transfer->moved, 0);
}

static void note_use(nb_scheduler *scheduler, int fd, VALUE io) {
    if (nb_watches_transfer(scheduler, fd, io)) return;
    nb_scheduler_open(scheduler);
    nb_watches_transfer(scheduler, fd, io);
}

/* The arguments after (io, buffer), by version: Ruby 3.1 has (length), 3.2 to 4.0 (length, offset),
   the length being the least that is asked for and all there is room for being welcome. From
   scheduler version 4 on (Ruby 4.1) there is (offset, length), the length being the most, and what
   cannot be had at once is EAGAIN. */
static VALUE transfer_buffer(int argc, VALUE *argv, VALUE self, uint32_t interest) {
    rb_check_arity(argc, 3, 4);
    nb_transfer transfer = {.scheduler = nb_scheduler_get(self),
                            .fd = nb_descriptor_of(argv[0]),
                            .interest = interest,
                            .io = argv[0],
                            .buffer = argv[1]};
#if defined(RUBY_FIBER_SCHEDULER_VERSION) && RUBY_FIBER_SCHEDULER_VERSION >= 4
    transfer.offset = NUM2SIZET(argv[2]);
    transfer.size = NUM2SIZET(argv[3]);
#else
    transfer.offset = argc == 4 ? NUM2SIZET(argv[3]) : 0;
    transfer.minimum = NUM2SIZET(argv[2]);
    size_t size = nb_buffer_size(transfer.buffer);
    if (transfer.offset > size || transfer.minimum > size - transfer.offset)
        rb_raise(rb_eArgError, "the buffer is too small");
    transfer.size = size - transfer.offset;
#endif
    note_use(transfer.scheduler, transfer.fd, transfer.io);
    VALUE result = transfer_bytes(&transfer);
    RB_GC_GUARD(transfer.buffer);
    return result;
}

static VALUE scheduler_io_read(int argc, VALUE *argv, VALUE self) {
    return transfer_buffer(argc, argv, self, NB_POLL_READ);
}

static VALUE scheduler_io_write(int argc, VALUE *argv, VALUE self) {
    return transfer_buffer(argc, argv, self, NB_POLL_WRITE);
}

/* note_use(io): the running fiber writes to this socket, of which no hook tells. */
static VALUE scheduler_note_use(VALUE self, VALUE io) {
    note_use(nb_scheduler_get(self), nb_descriptor_of(io), io);
    return io;
}

/* The patch level is known at run time only: the headers of 3.3.0 and 3.3.1 are the same. */
static bool io_write_is_sound(void) {
    int major = 0, minor = 0, teeny = 0;
    if (sscanf(ruby_version, "%d.%d.%d", &major, &minor, &teeny) != 3) return false;
    return major * 10000 + minor * 100 + teeny >= 30301;
}

static void define_transfers(VALUE klass) {
    rb_define_method(klass, "io_read", scheduler_io_read, -1);
    rb_define_method(klass, "note_use", scheduler_note_use, 1);
    if (io_write_is_sound()) rb_define_method(klass, "io_write", scheduler_io_write, -1);
}

void nb_io_define(VALUE klass) {
    rb_define_method(klass, "io_wait", scheduler_io_wait, -1);
    rb_define_method(klass, "io_wait_any", scheduler_io_wait_any, 4);
    define_transfers(klass);
}
