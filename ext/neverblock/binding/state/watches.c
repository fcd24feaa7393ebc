/*
 * watches.c - see watches.h.
 */
#include "binding/state/watches.h"

#include <errno.h>
#include <ruby.h>
#include <ruby/io.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

#define NB_DESCRIPTORS_MIN 64
/* That an IO does not own its descriptor (IO#autoclose=): FMODE_EXTERNAL, before Ruby 3.3
   FMODE_PREP (ruby/io.h). */
#define LENT 0x00010000
/* Registrations for one wait only, after one for longer has brought news that nobody waited for. */
#define SINGLE_AFTER_NEWS 32
#define ANY_READINESS ((uint32_t)(NB_POLL_READ | NB_POLL_WRITE | NB_POLL_PRIORITY))

/* --- The table --- */

static bool descriptors_reserve(nb_scheduler *scheduler, int fd) {
    size_t count = scheduler->watches.table_count ? scheduler->watches.table_count : NB_DESCRIPTORS_MIN;
    if ((size_t)fd < scheduler->watches.table_count) return true;
    while (count <= (size_t)fd)
        count *= 2;

    nb_descriptor *table = nb_realloc(scheduler->watches.table, count * sizeof *table);
    if (table == NULL) return false;
    memset(table + scheduler->watches.table_count, 0, (count - scheduler->watches.table_count) * sizeof *table);
    scheduler->watches.table = table;
    scheduler->watches.table_count = count;
    return true;
}

static void watch_link(nb_scheduler *scheduler, nb_watch *watch) {
    nb_descriptor *descriptor = &scheduler->watches.table[watch->fd];
    watch->next = descriptor->first;
    watch->previous = NULL;
    if (watch->next) watch->next->previous = watch;
    descriptor->first = watch;
    watch->listed = true;
    nb_list_init(&watch->unproven);
    scheduler->watches.count++;
}

static void watch_unlink(nb_scheduler *scheduler, nb_watch *watch) {
    if (!watch->listed) return;
    nb_list_remove(&watch->unproven);
    if (watch->next) watch->next->previous = watch->previous;
    if (watch->previous) {
        watch->previous->next = watch->next;
    } else {
        scheduler->watches.table[watch->fd].first = watch->next;
    }
    watch->listed = false;
    scheduler->watches.count--;
}

void nb_watches_forget(nb_scheduler *scheduler) {
    for (size_t fd = 0; fd < scheduler->watches.table_count; fd++) {
        while (scheduler->watches.table[fd].first)
            watch_unlink(scheduler, scheduler->watches.table[fd].first);
        if (scheduler->watches.table[fd].owned) close((int)fd);
        scheduler->watches.table[fd].owned = false;
        scheduler->watches.table[fd].used = 0; /* a child's sockets are its parent's */
    }
}

void nb_descriptor_own(nb_scheduler *scheduler, int fd) {
    if (!descriptors_reserve(scheduler, fd)) {
        close(fd);
        rb_memerror();
    }
    scheduler->watches.table[fd].owned = true;
}

void nb_descriptor_disown(nb_scheduler *scheduler, int fd) {
    if ((size_t)fd >= scheduler->watches.table_count || !scheduler->watches.table[fd].owned) return;
    scheduler->watches.table[fd].owned = false;
    close(fd);
}

void nb_watches_unregister(nb_scheduler *scheduler) {
    for (size_t fd = 0; fd < scheduler->watches.table_count; fd++) {
        nb_descriptor *descriptor = &scheduler->watches.table[fd];
        descriptor->kept_for = 0;
        descriptor->armed = 0;
        descriptor->known = false;
    }
    scheduler->watches.registers = false;
}

void nb_watches_deinit(nb_scheduler *scheduler) {
    nb_free(scheduler->watches.table);
    scheduler->watches.table = NULL;
    scheduler->watches.table_count = 0;
}

/* --- Uses of sockets --- */

static uint64_t uses;
static VALUE from_outside_module, sockets_module, basic_socket_class, udp_socket_class;
static ID id_cut, id_spared;
static ID id_message, id_backtrace; /* hidden variables of exceptions (error.c) */

uint64_t nb_socket_uses(void) { return uses; }

/* What Sockets.cut would leave alone hides no other socket. */
static bool may_be_cut(VALUE io) {
    if (io == 0 || !RB_TYPE_P(io, T_FILE) || !RTEST(rb_obj_is_kind_of(io, basic_socket_class))) return false;
    if (RTEST(rb_obj_is_kind_of(io, udp_socket_class)) || nb_io_is_lent(io)) return false;
    return !RTEST(rb_attr_get(io, id_spared));
}

static bool use(nb_scheduler *scheduler, nb_socket_use *last, int fd, VALUE io) {
    scheduler->watches.table[fd].used = ++uses;
    if ((last->io != io || last->fd != fd) && !may_be_cut(io)) return false;
    *last = (nb_socket_use){.io = io, .index = uses, .fd = fd};
    return true;
}

/* Of several that were waited for, it is the one that is ready. */
static void use_ready(nb_scheduler *scheduler, const nb_watch *watch) {
    nb_socket_use *last = &watch->wait->last_socket;
    if (!watch->may_be_cut || last->fd == watch->fd) return;
    scheduler->watches.table[watch->fd].used = ++uses;
    *last = (nb_socket_use){.io = watch->io, .index = uses, .fd = watch->fd};
}

void nb_watches_used(nb_scheduler *scheduler, int fd, VALUE io) {
    if (descriptors_reserve(scheduler, fd)) use(scheduler, &scheduler->last_socket, fd, io);
}

/* --- The poller --- */

static uint32_t interest_of(const nb_descriptor *descriptor) {
    uint32_t interest = 0;
    for (const nb_watch *watch = descriptor->first; watch; watch = watch->next)
        interest |= watch->interest;
    return interest;
}

/* As Ruby makes the one that it raises in threads (vm_insnhelper.c,
   ruby_vm_special_exception_copy): allocated, and given what Exception#initialize sets. `new` calls
   methods, at whose end a time slice or a thread's turn may end: the table may grow then, watches
   leave, and the number be another file's. */
VALUE nb_watches_closed_error(void) {
    VALUE exception = rb_obj_alloc(rb_eIOError);
    rb_ivar_set(exception, id_message, rb_str_new_cstr("stream closed in another thread"));
    rb_ivar_set(exception, id_backtrace, Qnil);
    return exception;
}

/* The descriptor's file was closed under the fibers that wait for it, which would wait for ever. */
static void raise_closed(nb_scheduler *scheduler, nb_descriptor *descriptor) {
    VALUE exception = descriptor->first ? nb_watches_closed_error() : Qnil;
    while (descriptor->first) {
        nb_watch *watch = descriptor->first;
        watch_unlink(scheduler, watch);
        nb_wait_fail(watch->wait, exception);
    }
    descriptor->armed = 0;
    descriptor->kept_for = 0;
}

static nb_status registered(nb_scheduler *scheduler, int fd, uint32_t how) {
    nb_descriptor *descriptor = &scheduler->watches.table[fd];
    uint32_t interest = interest_of(descriptor);
    uint64_t cookie = (uint64_t)++descriptor->generation << 32 | (uint32_t)fd;
    nb_status status = NB_NOT_FOUND;

    if (descriptor->known) status = nb_poll_change(scheduler->watches.poll, fd, interest | how, cookie);
    descriptor->added = status == NB_NOT_FOUND;
    if (descriptor->added) {
        descriptor->about_kind = 0;
        descriptor->no_socket = false;
    }
    if (status == NB_NOT_FOUND) status = nb_poll_add(scheduler->watches.poll, fd, interest | how, cookie);
    if (status == NB_EXISTS) status = nb_poll_change(scheduler->watches.poll, fd, interest | how, cookie);
    descriptor->known = status == NB_OK;
    descriptor->armed = status == NB_OK ? interest : 0;
    scheduler->watches.registers = true;
    return status;
}

/* Tells the poller what all watches of the descriptor want. */
static nb_status arm(nb_scheduler *scheduler, int fd) {
    scheduler->watches.table[fd].kept_for = 0;
    return registered(scheduler, fd, NB_POLL_ONESHOT);
}

/* is_same_file needs a registration, also of a socket that nobody has had to wait for. */
bool nb_watches_transfer(nb_scheduler *scheduler, int fd, VALUE io) {
    if (!descriptors_reserve(scheduler, fd)) return true;
    nb_descriptor *descriptor = &scheduler->watches.table[fd];
    if (!use(scheduler, &scheduler->last_socket, fd, io)) return true;
    descriptor->no_socket = false; /* its class knows better */
    if (descriptor->first) return true;
    /* Another file may have had the number: a close in C is not told. */
    if (descriptor->known && descriptor->known_for == io) return true;
    if (scheduler->watches.poll == NULL) return false;
    if (arm(scheduler, fd) == NB_OK) descriptor->known_for = io;
    return true;
}

/* The same, for longer than one event. */
static nb_status arm_for_longer(nb_scheduler *scheduler, int fd, VALUE io) {
    nb_descriptor *descriptor = &scheduler->watches.table[fd];
    if (descriptor->single > 0) {
        descriptor->single--;
        return arm(scheduler, fd);
    }
    nb_status status = registered(scheduler, fd, NB_POLL_EDGE);
    descriptor->kept_for = status == NB_OK ? io : 0;
    return status;
}

static void disarm(nb_scheduler *scheduler, int fd) {
    nb_descriptor *descriptor = &scheduler->watches.table[fd];
    if (descriptor->armed == 0) return;
    nb_poll_remove(scheduler->watches.poll, fd);
    descriptor->generation++;
    descriptor->armed = 0;
    descriptor->known = false;
    descriptor->kept_for = 0;
}

/* Before the close: a file that somebody else has open too would go on ringing, under a number that
   is another's by then. Where the loop sleeps the poller is its own; it drops such events. */
static void unkeep(nb_scheduler *scheduler, int fd) {
    if (!scheduler->sleeper.sleeping) {
        disarm(scheduler, fd);
        return;
    }
    scheduler->watches.table[fd].generation++;
    scheduler->watches.table[fd].armed = 0;
    scheduler->watches.table[fd].kept_for = 0;
}

void nb_watches_closing(nb_scheduler *scheduler, int fd) {
    if (fd < 0 || (size_t)fd >= scheduler->watches.table_count) return;
    scheduler->watches.table[fd].about_kind = 0;
    scheduler->watches.table[fd].no_socket = false;
    scheduler->watches.table[fd].used = 0;
    if (scheduler->watches.table[fd].kept_for) unkeep(scheduler, fd);
    scheduler->watches.table[fd].known = false;
    raise_closed(scheduler, &scheduler->watches.table[fd]);
}

void nb_watches_closing_lent(nb_scheduler *scheduler, int fd, VALUE io) {
    if (fd < 0 || (size_t)fd >= scheduler->watches.table_count) return;
    nb_descriptor *descriptor = &scheduler->watches.table[fd];
    VALUE exception = Qnil;
    for (nb_watch *watch = descriptor->first, *next; watch; watch = next) {
        next = watch->next;
        if (watch->io != io) continue;
        if (NIL_P(exception)) exception = nb_watches_closed_error();
        watch_unlink(scheduler, watch);
        nb_wait_fail(watch->wait, exception);
    }
    if (descriptor->first == NULL && (!NIL_P(exception) || descriptor->kept_for == io)) unkeep(scheduler, fd);
}

void nb_watches_reopened(nb_scheduler *scheduler, int fd) {
    if (fd < 0 || (size_t)fd >= scheduler->watches.table_count) return;
    nb_descriptor *descriptor = &scheduler->watches.table[fd];
    descriptor->about_kind = 0;
    descriptor->no_socket = false;
    descriptor->used = 0;
    unkeep(scheduler, fd);
    while (descriptor->first) {
        nb_watch *watch = descriptor->first;
        watch->ready = watch->interest;
        watch_unlink(scheduler, watch);
        nb_wait_wake(watch->wait, NB_WOKEN);
    }
}

/* News while nobody waits for it, of an IO whose data comes when it likes: each would wake the loop
   for nothing. */
static void keep_no_longer(nb_scheduler *scheduler, int fd) {
    nb_descriptor *descriptor = &scheduler->watches.table[fd];
    uint64_t cookie = (uint64_t)++descriptor->generation << 32 | (uint32_t)fd;
    nb_poll_change(scheduler->watches.poll, fd, NB_POLL_ONESHOT, cookie);
    descriptor->armed = 0;
    descriptor->kept_for = 0;
    descriptor->single = SINGLE_AFTER_NEWS;
}

/* A wait for urgent data alone ends by NB_POLL_HANGUP, of which poll(2) would tell for ever. That
   of IO.select goes on, unarmed: nothing comes any more. */
void nb_watches_deliver(nb_scheduler *scheduler, const nb_poll_event *event) {
    int fd = (int)(event->cookie & INT32_MAX);
    if ((size_t)fd >= scheduler->watches.table_count) return;
    nb_descriptor *descriptor = &scheduler->watches.table[fd];
    if (descriptor->generation != event->cookie >> 32) return;

    uint32_t ready = event->events & ANY_READINESS;
    bool hangup = event->events & NB_POLL_HANGUP, wanted = false;
    if (hangup) ready |= NB_POLL_READ | NB_POLL_WRITE;
    if (event->events & NB_POLL_ERROR) ready = ANY_READINESS;
    if (scheduler->watches.dry_fd == fd) scheduler->watches.dry_fd = -1;
    for (nb_watch *watch = descriptor->first, *next; watch; watch = next) {
        next = watch->next;
        watch->ready = watch->interest & ready;
        if (watch->ready == 0 && hangup && watch->past_hangup) watch->interest = 0;
        if (watch->ready == 0 && hangup && !watch->past_hangup) watch->ready = NB_POLL_HANGUP;
        if (watch->ready == 0) continue;
        watch_unlink(scheduler, watch);
        use_ready(scheduler, watch);
        nb_wait_wake(watch->wait, NB_WOKEN);
        wanted = true;
    }
    if (descriptor->kept_for && descriptor->first == NULL) {
        if (!wanted) keep_no_longer(scheduler, fd);
        return;
    }
    descriptor->armed = 0;
    if (interest_of(descriptor) != 0 && arm(scheduler, fd) != NB_OK) raise_closed(scheduler, descriptor);
}

/* --- Waiting --- */

void nb_watches_leave(nb_wait *wait) {
    nb_io_wait *io_wait = (nb_io_wait *)wait;
    for (size_t i = 0; i < io_wait->count; i++) {
        nb_watch *watch = &io_wait->watches[i];
        if (!watch->listed) continue;
        watch_unlink(wait->scheduler, watch);
        if (wait->scheduler->watches.table[watch->fd].first == NULL) disarm(wait->scheduler, watch->fd);
    }
}

static bool prove(nb_scheduler *scheduler, nb_watch *watch) {
    nb_descriptor *descriptor = &scheduler->watches.table[watch->fd];
    nb_list_remove(&watch->unproven);
    if (arm_for_longer(scheduler, watch->fd, watch->io) != NB_OK) {
        raise_closed(scheduler, descriptor);
        return false;
    }
    watch->doubtful = descriptor->added;
    return true;
}

bool nb_watches_prove(nb_scheduler *scheduler, int64_t since_ns) {
    bool sound = true;
    while (!nb_list_empty(&scheduler->watches.unproven)) {
        nb_watch *watch = NB_LIST_ENTRY(scheduler->watches.unproven.next, nb_watch, unproven);
        if (watch->trusts_since_ns > since_ns) break;
        if (!prove(scheduler, watch)) sound = false;
    }
    return sound;
}

/* Others wait for this number already: is it still the file they mean? Where that cannot be known,
   another IO under the number says no. */
static void drop_stale(nb_scheduler *scheduler, const nb_watch *watch) {
    nb_descriptor *descriptor = &scheduler->watches.table[watch->fd];
    nb_watch *first = descriptor->first;
    if (!nb_list_empty(&first->unproven) && !prove(scheduler, first)) return;
    if (first->doubtful && first->io != watch->io) {
        raise_closed(scheduler, descriptor);
        return;
    }
    uint64_t cookie = (uint64_t)descriptor->generation << 32 | (uint32_t)watch->fd;
    nb_status status = nb_poll_change(scheduler->watches.poll, watch->fd, interest_of(descriptor) | NB_POLL_ONESHOT,
                                      cookie);
    if (status != NB_OK) raise_closed(scheduler, descriptor);
}

/* The first and only wait of its descriptor: may it trust the last registration? */
static bool trust(nb_scheduler *scheduler, nb_watch *watch) {
    const nb_descriptor *descriptor = &scheduler->watches.table[watch->fd];
    if (watch->io != descriptor->kept_for || watch->interest != descriptor->armed) return false;
    watch->trusts_since_ns = scheduler->watches.polled_ns;
    nb_list_append(&scheduler->watches.unproven, &watch->unproven);
    return true;
}

/* Ready at once (EPERM: epoll's word for a file that is always ready; epoll_ctl(2)). */
nb_status nb_watch_enter(nb_scheduler *scheduler, nb_watch *watch) {
    if (!descriptors_reserve(scheduler, watch->fd)) return NB_NO_MEMORY;
    bool only = scheduler->watches.table[watch->fd].first == NULL;
    if (!only) drop_stale(scheduler, watch);
    watch_link(scheduler, watch);
    watch->may_be_cut = use(scheduler, &watch->wait->last_socket, watch->fd, watch->io);
    bool for_longer = only && watch->dry;
    if (for_longer && trust(scheduler, watch)) return NB_OK;
    nb_status status = for_longer ? arm_for_longer(scheduler, watch->fd, watch->io) : arm(scheduler, watch->fd);
    if (status == NB_OK) scheduler->watches.table[watch->fd].known_for = watch->io;
    if (status == NB_OK) return NB_OK;
    int error = errno;
    watch_unlink(scheduler, watch);
    errno = error;
    if (status != NB_SYSTEM || error != EPERM) return status;
    watch->ready = watch->interest;
    return NB_OK;
}

static bool is_from_outside(VALUE raises) {
    if (RB_TYPE_P(raises, T_ARRAY)) raises = RARRAY_LEN(raises) > 0 ? RARRAY_AREF(raises, 0) : Qnil;
    if (RTEST(rb_obj_is_kind_of(raises, from_outside_module))) return true;
    return RB_TYPE_P(raises, T_CLASS) && RTEST(rb_class_inherited_p(raises, from_outside_module));
}

/* By another fiber, which waits for the same descriptor: what comes there is not for this one
   alone. */
static bool is_shared(const nb_wait *wait, int fd) {
    if ((size_t)fd >= wait->scheduler->watches.table_count) return false;
    const nb_watch *watch = wait->scheduler->watches.table[fd].first;
    while (watch && watch->wait == wait)
        watch = watch->next;
    return watch != NULL;
}

void nb_watches_cut(const nb_wait *wait, VALUE raises) {
    const nb_io_wait *io_wait = (const nb_io_wait *)wait;
    if (!is_from_outside(raises)) return;
    for (size_t i = 0; i < io_wait->count; i++) {
        const nb_watch *watch = &io_wait->watches[i];
        if (watch->io == 0 || !RB_TYPE_P(watch->io, T_FILE) || is_shared(wait, watch->fd)) continue;
        rb_funcall(sockets_module, id_cut, 1, watch->io);
    }
}

bool nb_watches_use(const nb_scheduler *scheduler, const nb_socket_use *last) {
    if ((size_t)last->fd >= scheduler->watches.table_count) return false;
    const nb_descriptor *descriptor = &scheduler->watches.table[last->fd];
    return descriptor->used > last->index || descriptor->first;
}

/* epoll forgets a file that is closed, and does not know the one that has its number next. Nobody
   waits, so that what was registered may go. */
static bool is_same_file(nb_scheduler *scheduler, const nb_socket_use *last) {
    if ((size_t)last->fd >= scheduler->watches.table_count) return false;
    nb_descriptor *descriptor = &scheduler->watches.table[last->fd];
    if (descriptor->used != last->index || !descriptor->known) return false;
    uint64_t cookie = (uint64_t)++descriptor->generation << 32 | (uint32_t)last->fd;
    descriptor->armed = 0;
    descriptor->kept_for = 0;
    descriptor->known = nb_poll_change(scheduler->watches.poll, last->fd, NB_POLL_ONESHOT, cookie) == NB_OK;
    return descriptor->known;
}

bool nb_watches_to_cut(nb_scheduler *scheduler, const nb_late *late) {
    const nb_socket_use *last = &scheduler->last_socket;
    if (last->io == 0 || last->index <= late->since || !is_from_outside(late->raises)) return false;
    /* a scheduler above switches fibers of which nothing is told here */
    if (!NIL_P(scheduler->above)) return false;
    return is_same_file(scheduler, last);
}

void nb_watches_cut_last(nb_scheduler *scheduler) {
    nb_socket_use last = scheduler->last_socket;
    scheduler->last_socket = (nb_socket_use){0};
    rb_funcall(sockets_module, id_cut, 2, last.io, INT2NUM(last.fd));
}

/* --- The number --- */

bool nb_watches_any(const nb_scheduler *scheduler, int fd) {
    return (size_t)fd < scheduler->watches.table_count && scheduler->watches.table[fd].first != NULL;
}

int nb_descriptor_of(VALUE io) {
    if (!RB_TYPE_P(io, T_FILE)) io = rb_convert_type(io, T_FILE, "IO", "to_io");
    return rb_io_descriptor(io);
}

#ifdef HAVE_RB_IO_MODE
int nb_io_mode(VALUE io) { return (int)rb_io_mode(io); }
#else
int nb_io_mode(VALUE io) { return RFILE(io)->fptr->mode; }
#endif

bool nb_io_is_lent(VALUE io) { return (nb_io_mode(io) & LENT) != 0; }

void nb_descriptor_learn_no_socket(nb_scheduler *scheduler, int fd) {
    if (!descriptors_reserve(scheduler, fd)) rb_memerror();
    scheduler->watches.table[fd].no_socket = true;
}

void nb_watches_define(void) {
    id_cut = rb_intern("cut");
    id_message = rb_intern("mesg");
    id_backtrace = rb_intern("bt");
    id_spared = rb_intern("@neverblock_spared");
    rb_require("socket");
    basic_socket_class = rb_path2class("BasicSocket");
    rb_gc_register_mark_object(basic_socket_class);
    udp_socket_class = rb_path2class("UDPSocket");
    rb_gc_register_mark_object(udp_socket_class);
    from_outside_module = rb_path2class("NeverBlock::FromOutside");
    rb_gc_register_mark_object(from_outside_module);
    sockets_module = rb_define_module_under(rb_path2class("NeverBlock"), "Sockets");
    rb_gc_register_mark_object(sockets_module);
}
