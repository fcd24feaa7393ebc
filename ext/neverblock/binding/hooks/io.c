/*
 * io.c - waiting for descriptors, and the hooks io_wait, io_read and io_write.
 *
 * Watches hang in a table by descriptor number. A wait registers its descriptor anew (oneshot), in one system call: changing the old
 * registration fails when the number has been closed and given out again, and then it is added. A registration carries a
 * generation, so that an event of the file that had the number before is dropped. Several fibers may wait for one
 * descriptor; when it fires for some, it is armed again for the others.
 *
 * A wait that comes right after EAGAIN of our own read or write needs no look at what is ready now, only news. Its registration is kept
 * (edge-triggered), and the next such wait of the same IO trusts it: no system call. That the number is still the same file is
 * then not known. Mostly the event comes, and nobody needs to know; where it has not when the loop is about to sleep, or for NB_TRUST_NS
 * in a loop that never sleeps, the wait is proven: registered as any other. A close that Ruby tells of ends the keeping.
 */
#include "binding/state/state.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/io/buffer.h>
#include <ruby/version.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NB_DESCRIPTORS_MIN 64
/* Registrations for one wait only, after one for longer has brought news that nobody waited for. */
#define SINGLE_AFTER_NEWS 32
#define ANY_READINESS ((uint32_t)(NB_POLL_READ | NB_POLL_WRITE | NB_POLL_PRIORITY))

typedef struct nb_io_wait {
    nb_wait wait; /* first */
    nb_watch *watches;
    size_t count;
} nb_io_wait;

/* --- The table --- */

static bool descriptors_reserve(nb_scheduler *scheduler, int fd) {
    size_t count = scheduler->descriptor_count ? scheduler->descriptor_count : NB_DESCRIPTORS_MIN;
    if ((size_t)fd < scheduler->descriptor_count) return true;
    while (count <= (size_t)fd)
        count *= 2;

    nb_descriptor *table = nb_realloc(scheduler->descriptors, count * sizeof *table);
    if (table == NULL) return false;
    memset(table + scheduler->descriptor_count, 0, (count - scheduler->descriptor_count) * sizeof *table);
    scheduler->descriptors = table;
    scheduler->descriptor_count = count;
    return true;
}

static void watch_link(nb_scheduler *scheduler, nb_watch *watch) {
    nb_descriptor *descriptor = &scheduler->descriptors[watch->fd];
    watch->next = descriptor->first;
    watch->previous = NULL;
    if (watch->next) watch->next->previous = watch;
    descriptor->first = watch;
    watch->listed = true;
    nb_list_init(&watch->unproven);
    scheduler->watching++;
}

static void watch_unlink(nb_scheduler *scheduler, nb_watch *watch) {
    if (!watch->listed) return;
    nb_list_remove(&watch->unproven);
    if (watch->next) watch->next->previous = watch->previous;
    if (watch->previous) {
        watch->previous->next = watch->next;
    } else {
        scheduler->descriptors[watch->fd].first = watch->next;
    }
    watch->listed = false;
    scheduler->watching--;
}

void nb_descriptors_forget(nb_scheduler *scheduler) {
    for (size_t fd = 0; fd < scheduler->descriptor_count; fd++) {
        while (scheduler->descriptors[fd].first)
            watch_unlink(scheduler, scheduler->descriptors[fd].first);
        if (scheduler->descriptors[fd].owned) close((int)fd);
    }
}

void nb_descriptor_own(nb_scheduler *scheduler, int fd) {
    if (!descriptors_reserve(scheduler, fd)) {
        close(fd);
        rb_memerror();
    }
    scheduler->descriptors[fd].owned = true;
}

void nb_descriptor_disown(nb_scheduler *scheduler, int fd) {
    if ((size_t)fd >= scheduler->descriptor_count || !scheduler->descriptors[fd].owned) return;
    scheduler->descriptors[fd].owned = false;
    close(fd);
}

void nb_descriptors_unkeep(nb_scheduler *scheduler) {
    for (size_t fd = 0; scheduler->keeps && fd < scheduler->descriptor_count; fd++)
        scheduler->descriptors[fd].kept_for = 0;
    scheduler->keeps = false;
}

void nb_descriptors_deinit(nb_scheduler *scheduler) {
    nb_free(scheduler->descriptors);
    scheduler->descriptors = NULL;
    scheduler->descriptor_count = 0;
}

/* --- The poller --- */

static uint32_t interest_of(const nb_descriptor *descriptor) {
    uint32_t interest = 0;
    for (const nb_watch *watch = descriptor->first; watch; watch = watch->next)
        interest |= watch->interest;
    return interest;
}

/* The descriptor's file was closed under those who wait for it: they would wait for ever. */
static VALUE closed_error(void) {
    return rb_exc_new_cstr(rb_eIOError, "stream closed in another thread"); /* as Ruby says to threads */
}

static void raise_closed(nb_scheduler *scheduler, nb_descriptor *descriptor) {
    VALUE exception = closed_error();
    while (descriptor->first) {
        nb_watch *watch = descriptor->first;
        watch_unlink(scheduler, watch);
        nb_wait_raise(watch->wait, exception, NULL);
    }
    descriptor->armed = 0;
    descriptor->kept_for = 0;
}

static nb_status registered(nb_scheduler *scheduler, int fd, uint32_t how) {
    nb_descriptor *descriptor = &scheduler->descriptors[fd];
    uint32_t interest = interest_of(descriptor);
    uint64_t cookie = (uint64_t)++descriptor->generation << 32 | (uint32_t)fd;
    nb_status status = NB_NOT_FOUND;

    if (descriptor->known) status = nb_poll_change(scheduler->poll, fd, interest | how, cookie);
    descriptor->added = status == NB_NOT_FOUND;
    if (status == NB_NOT_FOUND) status = nb_poll_add(scheduler->poll, fd, interest | how, cookie);
    if (status == NB_EXISTS) status = nb_poll_change(scheduler->poll, fd, interest | how, cookie);
    descriptor->known = status == NB_OK;
    descriptor->armed = status == NB_OK ? interest : 0;
    return status;
}

/* Tells the poller what all watches of the descriptor want. */
static nb_status arm(nb_scheduler *scheduler, int fd) {
    scheduler->descriptors[fd].kept_for = 0;
    return registered(scheduler, fd, NB_POLL_ONESHOT);
}

/* The same, for longer than one event. */
static nb_status arm_for_longer(nb_scheduler *scheduler, int fd, VALUE io) {
    nb_descriptor *descriptor = &scheduler->descriptors[fd];
    if (descriptor->single > 0) {
        descriptor->single--;
        return arm(scheduler, fd);
    }
    nb_status status = registered(scheduler, fd, NB_POLL_EDGE);
    descriptor->kept_for = status == NB_OK ? io : 0;
    scheduler->keeps = true;
    return status;
}

static void disarm(nb_scheduler *scheduler, int fd) {
    nb_descriptor *descriptor = &scheduler->descriptors[fd];
    if (descriptor->armed == 0) return;
    nb_poll_remove(scheduler->poll, fd);
    descriptor->generation++;
    descriptor->armed = 0;
    descriptor->known = false;
    descriptor->kept_for = 0;
}

/* Before the close: a file that somebody else has open too would go on ringing, under a number that is another's by then. Where the loop
   sleeps the poller is its own; it drops such events. */
static void unkeep(nb_scheduler *scheduler, int fd) {
    if (!scheduler->sleeping) {
        disarm(scheduler, fd);
        return;
    }
    scheduler->descriptors[fd].generation++;
    scheduler->descriptors[fd].armed = 0;
    scheduler->descriptors[fd].kept_for = 0;
}

void nb_descriptor_closing(nb_scheduler *scheduler, int fd) {
    if (!nb_list_empty(&scheduler->files)) nb_files_closing(scheduler, fd, closed_error());
    if (fd < 0 || (size_t)fd >= scheduler->descriptor_count) return;
    if (scheduler->descriptors[fd].kept_for) unkeep(scheduler, fd);
    if (scheduler->descriptors[fd].first) raise_closed(scheduler, &scheduler->descriptors[fd]);
}

/* News while nobody waits for it, of an IO whose data comes when it likes: each would wake the loop for nothing. */
static void keep_no_longer(nb_scheduler *scheduler, int fd) {
    nb_descriptor *descriptor = &scheduler->descriptors[fd];
    uint64_t cookie = (uint64_t)++descriptor->generation << 32 | (uint32_t)fd;
    nb_poll_change(scheduler->poll, fd, NB_POLL_ONESHOT, cookie);
    descriptor->armed = 0;
    descriptor->kept_for = 0;
    descriptor->single = SINGLE_AFTER_NEWS;
}

void nb_descriptors_deliver(nb_scheduler *scheduler, const nb_poll_event *event) {
    int fd = (int)(event->cookie & INT32_MAX);
    if ((size_t)fd >= scheduler->descriptor_count) return;
    nb_descriptor *descriptor = &scheduler->descriptors[fd];
    if (descriptor->generation != event->cookie >> 32) return;

    uint32_t ready = event->events & ANY_READINESS;
    if (event->events & (NB_POLL_HANGUP | NB_POLL_ERROR)) ready = ANY_READINESS;
    bool wanted = false;
    if (scheduler->dry_fd == fd) scheduler->dry_fd = -1;
    for (nb_watch *watch = descriptor->first, *next; watch; watch = next) {
        next = watch->next;
        if ((watch->interest & ready) == 0) continue;
        watch->ready = watch->interest & ready;
        watch_unlink(scheduler, watch);
        nb_wait_wake(watch->wait, NB_WOKEN);
        wanted = true;
    }
    if (descriptor->kept_for && descriptor->first == NULL) {
        if (!wanted) keep_no_longer(scheduler, fd);
        return;
    }
    descriptor->armed = 0;
    if (descriptor->first && arm(scheduler, fd) != NB_OK) raise_closed(scheduler, descriptor);
}

/* --- Waiting --- */

static void leave_watches(nb_wait *wait) {
    nb_io_wait *io_wait = (nb_io_wait *)wait;
    for (size_t i = 0; i < io_wait->count; i++) {
        nb_watch *watch = &io_wait->watches[i];
        if (!watch->listed) continue;
        watch_unlink(wait->scheduler, watch);
        if (wait->scheduler->descriptors[watch->fd].first == NULL) disarm(wait->scheduler, watch->fd);
    }
}

static bool prove(nb_scheduler *scheduler, nb_watch *watch) {
    nb_descriptor *descriptor = &scheduler->descriptors[watch->fd];
    nb_list_remove(&watch->unproven);
    if (arm_for_longer(scheduler, watch->fd, watch->io) != NB_OK) {
        raise_closed(scheduler, descriptor);
        return false;
    }
    watch->doubtful = descriptor->added;
    return true;
}

bool nb_descriptors_prove(nb_scheduler *scheduler, int64_t since_ns) {
    bool sound = true;
    while (!nb_list_empty(&scheduler->unproven)) {
        nb_watch *watch = NB_LIST_ENTRY(scheduler->unproven.next, nb_watch, unproven);
        if (watch->trusts_since_ns > since_ns) break;
        if (!prove(scheduler, watch)) sound = false;
    }
    return sound;
}

/* Others wait for this number already: is it still the file they mean? Where that cannot be known, another IO under the number says no. */
static void drop_stale(nb_scheduler *scheduler, const nb_watch *watch) {
    nb_descriptor *descriptor = &scheduler->descriptors[watch->fd];
    nb_watch *first = descriptor->first;
    if (!nb_list_empty(&first->unproven) && !prove(scheduler, first)) return;
    if (first->doubtful && first->io != watch->io) {
        raise_closed(scheduler, descriptor);
        return;
    }
    uint64_t cookie = (uint64_t)descriptor->generation << 32 | (uint32_t)watch->fd;
    nb_status status = nb_poll_change(scheduler->poll, watch->fd, interest_of(descriptor) | NB_POLL_ONESHOT, cookie);
    if (status != NB_OK) raise_closed(scheduler, descriptor);
}

/* The first and only wait of its descriptor: may it trust the last registration? */
static bool trust(nb_scheduler *scheduler, nb_watch *watch) {
    const nb_descriptor *descriptor = &scheduler->descriptors[watch->fd];
    if (watch->io != descriptor->kept_for || watch->interest != descriptor->armed) return false;
    watch->trusts_since_ns = scheduler->polled_ns;
    nb_list_append(&scheduler->unproven, &watch->unproven);
    return true;
}

/* NB_OK: watched, or ready at once (EPERM: epoll's word for a file that is always ready; epoll_ctl(2)). */
static nb_status watch_enter(nb_scheduler *scheduler, nb_watch *watch) {
    if (!descriptors_reserve(scheduler, watch->fd)) return NB_NO_MEMORY;
    bool only = scheduler->descriptors[watch->fd].first == NULL;
    if (!only) drop_stale(scheduler, watch);
    watch_link(scheduler, watch);
    bool for_longer = only && watch->dry;
    if (for_longer && trust(scheduler, watch)) return NB_OK;
    nb_status status = for_longer ? arm_for_longer(scheduler, watch->fd, watch->io) : arm(scheduler, watch->fd);
    if (status == NB_OK) return NB_OK;
    int error = errno;
    watch_unlink(scheduler, watch);
    errno = error;
    if (status != NB_SYSTEM || error != EPERM) return status;
    watch->ready = watch->interest;
    return NB_OK;
}

/* What poll(2) says now. */
static uint32_t ready_now(int fd, uint32_t interest) {
    struct pollfd ask = {.fd = fd};
    if (interest & NB_POLL_READ) ask.events |= POLLIN;
    if (interest & NB_POLL_WRITE) ask.events |= POLLOUT;
    if (interest & NB_POLL_PRIORITY) ask.events |= POLLPRI;
    if (poll(&ask, 1, 0) <= 0) return 0;
    if (ask.revents & (POLLHUP | POLLERR)) return interest;
    return ((ask.revents & POLLIN) ? interest & NB_POLL_READ : 0) |
           ((ask.revents & POLLOUT) ? interest & NB_POLL_WRITE : 0) |
           ((ask.revents & POLLPRI) ? interest & NB_POLL_PRIORITY : 0);
}

static bool watched(const nb_scheduler *scheduler, int fd) {
    return (size_t)fd < scheduler->descriptor_count && scheduler->descriptors[fd].first != NULL;
}

/* A connect(2) to a near host has ended when Ruby waits for it, and its request may leave now. Once between two switches, so that a fiber
   whose descriptor is always ready lets the others run; and not past an exception that waits for the next wait. */
static bool ready_at_once(nb_scheduler *scheduler, nb_watch *watch) {
    if ((watch->interest & NB_POLL_WRITE) == 0 || watch->dry || scheduler->went_on) return false;
    if (!nb_list_empty(&scheduler->overdue) || !NIL_P(scheduler->deferred) || watched(scheduler, watch->fd))
        return false;
    watch->ready = ready_now(watch->fd, watch->interest);
    scheduler->went_on = watch->ready != 0;
    return scheduler->went_on;
}

/* At the deadline the descriptor itself is asked once more: the loop may have been too busy to ask before. */
static uint32_t watch_wait(nb_scheduler *scheduler, nb_watch *watch, int64_t deadline_ns) {
    if (deadline_ns <= scheduler->now_ns) return ready_now(watch->fd, watch->interest);
    if (ready_at_once(scheduler, watch)) return watch->ready;
    nb_io_wait io_wait = {.watches = watch, .count = 1};
    nb_scheduler_open(scheduler);
    nb_wait_init(&io_wait.wait, scheduler, NB_WAIT_IO);
    io_wait.wait.leave = leave_watches;
    watch->wait = &io_wait.wait;

    nb_status status = watch_enter(scheduler, watch);
    if (status == NB_SYSTEM) rb_syserr_fail(errno, "waiting for a descriptor");
    if (status != NB_OK) rb_memerror();
    if (watch->ready == 0 && nb_wait_park(&io_wait.wait, deadline_ns) == NB_TIMED_OUT)
        return ready_now(watch->fd, watch->interest);
    return watch->ready;
}

uint32_t nb_descriptor_wait(nb_scheduler *scheduler, int fd, uint32_t interest, int64_t deadline_ns) {
    nb_watch watch = {.fd = fd, .interest = interest};
    return watch_wait(scheduler, &watch, deadline_ns);
}

/* --- Ends from outside --- */

static VALUE from_outside_module, sockets_module;
static ID id_cut;

static bool is_from_outside(VALUE raises) {
    if (RB_TYPE_P(raises, T_ARRAY)) raises = RARRAY_LEN(raises) > 0 ? RARRAY_AREF(raises, 0) : Qnil;
    if (RTEST(rb_obj_is_kind_of(raises, from_outside_module))) return true;
    return RB_TYPE_P(raises, T_CLASS) && RTEST(rb_class_inherited_p(raises, from_outside_module));
}

/* By another fiber, which waits for the same descriptor: what comes there is not for this one alone. */
static bool is_shared(const nb_wait *wait, int fd) {
    if ((size_t)fd >= wait->scheduler->descriptor_count) return false;
    const nb_watch *watch = wait->scheduler->descriptors[fd].first;
    while (watch && watch->wait == wait)
        watch = watch->next;
    return watch != NULL;
}

void nb_descriptors_cut(const nb_wait *wait, VALUE raises) {
    const nb_io_wait *io_wait = (const nb_io_wait *)wait;
    if (!is_from_outside(raises)) return;
    for (size_t i = 0; i < io_wait->count; i++) {
        const nb_watch *watch = &io_wait->watches[i];
        if (watch->io == 0 || !RB_TYPE_P(watch->io, T_FILE) || is_shared(wait, watch->fd)) continue;
        rb_funcall(sockets_module, id_cut, 1, watch->io);
    }
}

/* --- io_wait --- */

int nb_descriptor_of(VALUE io) {
    if (!RB_TYPE_P(io, T_FILE)) io = rb_convert_type(io, T_FILE, "IO", "to_io");
    return rb_io_descriptor(io);
}

/* IO#timeout (Ruby 3.2 and later), which holds for waits that are given none; nil: there is none. Ruby leaves it to the hooks (rb_io_wait). */
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

/* Is the last that was heard of the descriptor that there is nothing? Asked once. */
static bool take_dry(nb_scheduler *scheduler, int fd, uint32_t interest) {
    bool dry = scheduler->dry_fd == fd && scheduler->dry_interest == interest;
    scheduler->dry_fd = -1;
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

    VALUE given = argc == 3 ? argv[2] : Qnil, own = NIL_P(given) ? timeout_of(argv[0]) : Qnil;
    int64_t deadline_ns = nb_wait_deadline(scheduler, NIL_P(own) ? given : own);
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

typedef struct nb_any_call {
    nb_io_wait io_wait; /* first */
    nb_scheduler *scheduler;
    VALUE readables, writables, exceptables;
    int64_t deadline_ns;
} nb_any_call;

static void any_enter(nb_any_call *call, VALUE ios, uint32_t interest, bool *ready) {
    for (long i = 0; i < RARRAY_LEN(ios); i++) {
        nb_watch *watch = &call->io_wait.watches[call->io_wait.count];
        VALUE io = RARRAY_AREF(ios, i);
        *watch = (nb_watch){.fd = nb_descriptor_of(io), .interest = interest, .io = io, .wait = &call->io_wait.wait};
        nb_status status = watch_enter(call->scheduler, watch);
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
    return nb_wait_park(&call->io_wait.wait, call->deadline_ns) == NB_WOKEN ? Qtrue : Qfalse;
}

static VALUE any_end(VALUE argument) {
    nb_any_call *call = (nb_any_call *)argument;
    leave_watches(&call->io_wait.wait);
    nb_free(call->io_wait.watches);
    return Qnil;
}

/* io_wait_any(readables, writables, exceptables, timeout): parks until one of them is ready (true) or the time is over (false). */
static VALUE scheduler_io_wait_any(VALUE self, VALUE readables, VALUE writables, VALUE exceptables, VALUE timeout) {
    nb_any_call call = {.scheduler = nb_scheduler_get(self)};
    call.readables = rb_ary_dup(rb_Array(readables));
    call.writables = rb_ary_dup(rb_Array(writables));
    call.exceptables = rb_ary_dup(rb_Array(exceptables));
    call.deadline_ns = nb_wait_deadline(call.scheduler, timeout);
    nb_scheduler_open(call.scheduler);
    nb_wait_init(&call.io_wait.wait, call.scheduler, NB_WAIT_IO);
    size_t count = (size_t)(RARRAY_LEN(call.readables) + RARRAY_LEN(call.writables) + RARRAY_LEN(call.exceptables));
    call.io_wait.watches = nb_alloc_zero(count + 1, sizeof(nb_watch));
    if (call.io_wait.watches == NULL) rb_memerror();
    return rb_ensure(any_body, (VALUE)&call, any_end, (VALUE)&call);
}

/* --- io_read, io_write --- */

/* The first transfer without blocking the thread, whatever the mode of the descriptor: -1 with EAGAIN when it would. */
static bool would_block(int fd, short event) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK)) return false;
    struct pollfd ask = {.fd = fd, .events = event};
    return poll(&ask, 1, 0) == 0;
}

/* A pipe or terminal whose descriptor blocks and that is ready to write to (POLLOUT) takes PIPE_BUF bytes (pipe(7)); a write of more would wait for the
   reader with Ruby's lock held, who may be another thread of this process. */
static size_t writable_size(int fd, size_t size) {
    if (size <= PIPE_BUF) return size;
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || (flags & O_NONBLOCK) || nb_file_regular(fd) ? size : PIPE_BUF;
}

/* What was learnt about the number's last file; wrong after reuse, which costs a system call and nothing else. */
static bool thought_no_socket(const nb_scheduler *scheduler, int fd) {
    return (size_t)fd < scheduler->descriptor_count && scheduler->descriptors[fd].no_socket;
}

static void learn_no_socket(nb_scheduler *scheduler, int fd) {
    if (!descriptors_reserve(scheduler, fd)) rb_memerror();
    scheduler->descriptors[fd].no_socket = true;
}

/* EOPNOTSUPP: a thread has to do it (nb_file_move). */
static ssize_t read_now(nb_scheduler *scheduler, int fd, char *bytes, size_t size) {
    if (!thought_no_socket(scheduler, fd)) {
        ssize_t moved = recv(fd, bytes, size, MSG_DONTWAIT);
        if (moved >= 0 || errno != ENOTSOCK) return moved;
        learn_no_socket(scheduler, fd);
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
    if (!thought_no_socket(scheduler, fd)) {
        ssize_t moved = send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (moved >= 0 || errno != ENOTSOCK) return moved;
        learn_no_socket(scheduler, fd);
    }
    if (nb_file_waits(fd, true)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (!would_block(fd, POLLOUT)) return write(fd, bytes, writable_size(fd, size));
    errno = EAGAIN;
    return -1;
}

/* How often another thread is asked to read what comes next before the loop's own waits for the disk: it was read, and went again. */
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
    if (moved >= 0 || errno != EOPNOTSUPP || !thought_no_socket(transfer->scheduler, transfer->fd)) return moved;
    return nb_file_move(transfer->scheduler, transfer->fd, !reads, transfer->buffer, transfer->offset + transfer->moved,
                        left);
}

/* A regular file is always ready: EAGAIN then means the disk. */
static bool disk_waits(const nb_transfer *transfer) {
    if (transfer->interest != NB_POLL_READ || !thought_no_socket(transfer->scheduler, transfer->fd)) return false;
    return nb_file_regular(transfer->fd);
}

/* Whether to go on after `moved` bytes or errno: parks when there is something to wait for. */
static bool transfer_goes_on(nb_transfer *transfer, ssize_t moved) {
    if (moved == 0) return false;
    if (moved > 0) {
        transfer->moved += (size_t)moved;
        transfer->warmings = 0;
        if (transfer->moved < transfer->minimum) return true;
        return transfer->moved < transfer->size && disk_waits(transfer); /* what was in memory of it */
    }
    if (errno == EINTR) return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (disk_waits(transfer)) {
        if (++transfer->warmings <= NB_WARMINGS_MAX)
            nb_file_warm(transfer->scheduler, transfer->fd, transfer->size - transfer->moved);
        return true;
    }
    if (transfer->moved >= transfer->minimum) {
        transfer->scheduler->dry_fd = transfer->fd;
        transfer->scheduler->dry_interest = transfer->interest;
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

/* The arguments after (io, buffer), by version: Ruby 3.1 has (length), 3.2 to 4.0 (length, offset), the length being the least that is asked for
   and all there is room for being welcome. From scheduler version 4 on (Ruby 4.1) there is (offset, length), the length
   being the most, and what cannot be had at once is EAGAIN. */
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

/* The patch level is known at run time only: the headers of 3.3.0 and 3.3.1 are the same. */
static bool io_write_is_sound(void) {
    int major = 0, minor = 0, teeny = 0;
    if (sscanf(ruby_version, "%d.%d.%d", &major, &minor, &teeny) != 3) return false;
    return major * 10000 + minor * 100 + teeny >= 30301;
}

static void define_transfers(VALUE klass) {
    rb_define_method(klass, "io_read", scheduler_io_read, -1);
    if (io_write_is_sound()) rb_define_method(klass, "io_write", scheduler_io_write, -1);
}

#if defined(RUBY_FIBER_SCHEDULER_VERSION) && RUBY_FIBER_SCHEDULER_VERSION >= 3
/* io_close(descriptor), from Ruby 4.0 on; before, Ruby does not call it. Whoever waits for it gets IOError. */
static VALUE scheduler_io_close(VALUE self, VALUE descriptor) {
    int fd = RB_INTEGER_TYPE_P(descriptor) ? NUM2INT(descriptor) : nb_descriptor_of(descriptor);
    nb_scheduler_closing(fd);
    if (close(fd) != 0 && errno != EINTR) rb_sys_fail("close");
    return Qtrue;
}

static void define_close(VALUE klass) { rb_define_method(klass, "io_close", scheduler_io_close, 1); }
#else
static void define_close(VALUE klass) { (void)klass; }
#endif

void nb_scheduler_io_define(VALUE klass) {
    id_cut = rb_intern("cut");
    from_outside_module = rb_path2class("NeverBlock::FromOutside");
    rb_gc_register_mark_object(from_outside_module);
    sockets_module = rb_define_module_under(rb_path2class("NeverBlock"), "Sockets");
    rb_gc_register_mark_object(sockets_module);
    rb_define_method(klass, "io_wait", scheduler_io_wait, -1);
    rb_define_method(klass, "io_wait_any", scheduler_io_wait_any, 4);
    define_transfers(klass);
    define_close(klass);
}
