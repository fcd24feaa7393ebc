/*
 * scheduler_internal.h - what the scheduler's own files share: the scheduler, the wait, and how the two meet.
 *
 * A wait lives on the C stack of the fiber that waits, from nb_wait_init to the end of nb_wait_park. It is found by its fiber (table),
 * by its deadline (timers) and by its descriptors (nb_watch); nb_wait_park enters it and takes it out of all three, whatever ends
 * it. A wake that comes late therefore finds no wait, and one that comes second finds a wait that is no longer NB_WAITING: no
 * wake reaches a later wait and none counts twice.
 *
 * The scheduler is not WB_PROTECTED: it is marked at every minor collection, so that parking needs no write barrier. (Fibers
 * are not protected either; nothing would be won.) Everything marked is pinned: the table hashes addresses.
 */
#ifndef NB_BINDING_SCHEDULER_INTERNAL_H
#define NB_BINDING_SCHEDULER_INTERNAL_H

#include <pthread.h>
#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "scheduler.h"
#include "base/list.h"
#include "os/poll.h"
#include "os/wake.h"

/* Events taken from the poller at once; what is left comes with the next turn. */
#define NB_POLL_EVENTS_MAX 128
/* While fibers are ready the poller is asked this often: an I/O wake is at most this late behind CPU work. */
#define NB_BUSY_POLL_NS 50000

typedef enum nb_wait_kind {
    NB_WAIT_PARK,  /* nb_scheduler_park: nb_scheduler_ready wakes it */
    NB_WAIT_SLEEP, /* kernel_sleep: its deadline or unblock */
    NB_WAIT_BLOCK, /* block: its deadline or unblock */
    NB_WAIT_IO,    /* its descriptors or its deadline */
    NB_WAIT_SPAWN, /* until the fiber it has started parks or ends */
    NB_WAIT_ASK,   /* a native thread's answer */
    NB_WAIT_CUT,   /* for nothing: its fiber's slice of time has ended (scheduler_slice.c) */
} nb_wait_kind;

typedef enum nb_wait_state {
    NB_WAITING,
    NB_READY,   /* in the ready queue (or, NB_WAIT_SPAWN, about to be switched to) */
    NB_RESUMED, /* its fiber runs again */
} nb_wait_state;

typedef enum nb_wait_outcome { NB_WOKEN, NB_TIMED_OUT, NB_RAISES } nb_wait_outcome;

/* What a fiber asks of who has resumed it (scheduler_resume.c): does a wait hold the thread; may its slice not end? */
typedef enum nb_resume_question { NB_ASKS_NOTHING, NB_ASKS_HOLD, NB_ASKS_SLICE } nb_resume_question;
typedef struct nb_resume nb_resume;

typedef struct nb_wait nb_wait;
struct nb_wait {
    nb_list link; /* ready queue or spawners; linked to itself when in neither */
    nb_alarm alarm;
    nb_scheduler *scheduler;
    VALUE self; /* the scheduler's object: seen on this stack, it keeps `scheduler` alive */
    VALUE fiber;
    VALUE root;                   /* the fiber's root (scheduler_root.c), or nil */
    VALUE status;                 /* $? of the root: Ruby keeps one for the thread */
    VALUE exception;              /* NB_RAISES: what nb_wait_park raises, or an array of raise's arguments */
    nb_list *overdue;             /* NB_RAISES: the link of the nb_late that raises, or NULL */
    VALUE spawned;                /* NB_WAIT_SPAWN: where the fiber goes instead of to the loop */
    nb_wait *outer;               /* a wait of the same fiber that this one lies on top of */
    void (*leave)(nb_wait *wait); /* called when the wait ends, however it ends; must not raise */
    nb_wait_kind kind;
    nb_wait_state state;
    nb_wait_outcome outcome;
    bool shielded; /* what is raised into it is raised in the fiber's next wait that is not */
    bool counted;  /* in ready_count */
    bool held;     /* keeps the thread: no other fiber runs until it ends (scheduler_hold.c) */
    bool masked;   /* the scheduler's, while this fiber does not run */
    bool root_shielded;
    uint8_t question; /* the scheduler's, while this fiber does not run, as are all of these */
    unsigned uncut;
    nb_resume *resumes;
};

/* One descriptor a wait waits for. Lies beside the wait on the stack, or in an array of the waiter's. */
typedef struct nb_watch nb_watch;
struct nb_watch {
    nb_watch *next, *previous; /* in nb_descriptor.first */
    nb_list unproven;          /* in the scheduler's list, while it trusts a registration that was kept */
    int64_t trusts_since_ns;
    nb_wait *wait;
    VALUE io; /* 0: none. Compared only */
    int fd;
    uint32_t interest; /* NB_POLL_READ, NB_POLL_WRITE */
    uint32_t ready;
    bool listed;
    bool dry;      /* a transfer of this IO has just had EAGAIN */
    bool doubtful; /* what it trusted was gone: its number had changed its file, before this wait or since */
};

typedef struct nb_descriptor {
    nb_watch *first;
    uint32_t generation; /* of the latest registration: events of earlier ones are dropped */
    uint32_t armed;      /* the interest told to the poller and not yet answered */
    VALUE kept_for;      /* the IO whose registration outlasts its wait, or 0; compared only: the object may be gone */
    uint8_t single;      /* so many of the next registrations are for one wait only */
    bool added;          /* the latest registration was an add: the poller did not know the file */
    bool known;          /* was registered once, so that change is tried before add */
    bool owned;          /* the scheduler's own (a pidfd): closed in a forked child */
    bool no_socket;      /* recv(2) said so; a guess once the number is given out again */
} nb_descriptor;

typedef struct nb_parked {
    VALUE fiber; /* 0: empty */
    nb_wait *wait;
} nb_parked;

/* Fiber to wait, open addressing, at most half full. */
typedef struct nb_parked_table {
    nb_parked *slots;
    size_t count, capacity; /* a power of two */
} nb_parked_table;

typedef struct nb_inbox nb_inbox;
typedef struct nb_slices nb_slices;

struct nb_scheduler {
    VALUE self;
    VALUE loop;           /* the fiber that parked fibers transfer to; meaningful while switched */
    VALUE root;           /* the root of the fiber that runs (scheduler_root.c); meaningful while switched */
    bool root_shielded;   /* that root is in a shield block */
    bool switched;        /* a fiber runs that the loop has switched to */
    bool parks;           /* the fiber that has come back to the loop waits */
    bool running;         /* inside nb_scheduler_run */
    bool closing;         /* run was called for close */
    pthread_t sleeper;    /* whose thread sleeps, or slept last */
    atomic_bool asleep;   /* it is on its way into the poller, or in it */
    atomic_bool signaled; /* it is to leave it at a signal */
    bool sleeping;        /* in the poller without the GVL: a wake must signal. Changed and read under the GVL only */
    bool attached;        /* source is set */
    bool abandoned;       /* nb_scheduler_abandon */
    nb_list ready;
    nb_list pass; /* the snapshot of `ready` that the current pass works off */
    nb_list cut;  /* waits of fibers whose slice has ended; each turn goes on with one */
    nb_list spawners;
    nb_list files;    /* waits for a native thread that uses a descriptor (nb_file_wait) */
    nb_list overdue;  /* each nb_late that came while its fiber was in no wait that could be ended */
    nb_list blocks;   /* each nb_late whose block has not ended */
    nb_list awaiting; /* waits for the fibers that their own has scheduled (scheduler_children.c) */
    nb_list children; /* each nb_child that has not ended */
    VALUE
    expecting; /* fiber => whether a wake has come, of those on their way into a ConditionVariable's sleep, or nil */
    VALUE
    deferred; /* [fiber, exception] of the others that were to be raised and have to wait for the next wait, or nil */
    nb_parked_table parked;
    size_t ready_count;     /* waits that were woken and whose fiber does not run yet */
    size_t room_for;        /* fibers that Ruby's heap was given room for, at least */
    bool collection_due;    /* a long request has left much behind */
    unsigned long_requests; /* half done, of those that were told of as long (nb_heap_request_long) */
    nb_timers timers;
    int64_t now_ns;
    bool now_fresh;    /* now_ns was read since the last switch to a fiber */
    bool went_on;      /* since then a fiber did not park, as its descriptor was ready (ready_at_once) */
    uint64_t switches; /* to fibers, since it was made */
    int64_t polled_ns;
    nb_poll *poll; /* NULL until something needs it */
    nb_wake wake;
    nb_descriptor *descriptors;
    size_t descriptor_count;
    nb_list unproven;      /* watches that trust a kept registration, oldest first */
    int dry_fd;            /* a transfer of ours has just had EAGAIN of it, or -1 */
    uint32_t dry_interest; /* and for this */
    bool keeps;            /* registrations were kept */
    size_t watching;       /* watches in all lists */
    size_t shields;        /* shield blocks that fibers are in: 0 saves looking for one */
    nb_slices *slices;     /* NULL: fibers switch only where they wait */
    int64_t cut_ns;        /* when a fiber of `cut` last went on */
    unsigned uncut;        /* blocks the running fiber is in that no slice may end in */
    nb_resume *resumes;    /* the last of those that have resumed each other down to it, or NULL */
    uint8_t question;      /* nb_resume_question: the fiber that was resumed has yielded to ask this */
    bool answer;           /* to the last */
    bool masked;           /* it is in Thread.handle_interrupt, and interrupts have to wait */
    size_t lent;           /* lend blocks that fibers are in: their work needs Ruby's lock on other threads */
    int64_t lend_ns;       /* what the thread will have run when it offers the lock again */
    size_t holds;          /* hold blocks that fibers are in: 0 saves looking for one */
    nb_inbox *inbox;
    nb_scheduler_source source;
    VALUE starter, starter_thread; /* scheduler_start.c; nil: not made yet */
    VALUE start_error;             /* what was raised in the starter, to be raised by the loop, or nil */
    int pending_tag;               /* a tag caught in nb_scheduler_switch_to, to be jumped to by the loop */
    unsigned fork_generation;
    nb_list all; /* every scheduler of the process, for fork */
};

/* scheduler.c */
nb_scheduler *nb_scheduler_get(VALUE self); /* raises TypeError; after a fork it is a fresh one */
/* Makes poller and wake if they are not there; raises. */
void nb_scheduler_open(nb_scheduler *scheduler);
/* Closes poller and wake; they are made again when needed. */
void nb_scheduler_release(nb_scheduler *scheduler);
/* The descriptor is about to be closed: whoever waits for it, in whatever scheduler of the process, gets IOError. */
void nb_scheduler_closing(int fd);
/* In a child process: forgets the parent's waits, source and descriptors. */
void nb_scheduler_forget(nb_scheduler *scheduler);

/* scheduler_wait.c */
void nb_wait_init(nb_wait *wait, nb_scheduler *scheduler, nb_wait_kind kind);
/* Parks the current fiber until the wait is woken; deadline_ns INT64_MAX: no limit; past: one turn. Raises what was raised into the
   fiber, and NoMemoryError; the wait is out of table, timers and queues, and `leave` was called, in every case. */
nb_wait_outcome nb_wait_park(nb_wait *wait, int64_t deadline_ns);
/* The wait is over, or its fiber runs: it is not among the ready ones any more. */
void nb_wait_uncount(nb_wait *wait);
/* Puts the wait into the ready queue, once; false when it is no longer NB_WAITING. Wakes the loop when it sleeps. */
bool nb_wait_wake(nb_wait *wait, nb_wait_outcome outcome);
/* Wakes it so that nb_wait_park raises. false when it was woken before: a Mutex or Queue that has woken this fiber has woken no other, and
   what it was woken for must not be lost. Nor must it when the wake comes after this and before the fiber runs: the wait then ends as
   woken, and the exception is raised in the fiber's next wait. `overdue`: the link of the nb_late that raises, or NULL. */
bool nb_wait_raise(nb_wait *wait, VALUE exception, nb_list *overdue);
/* Lets the current fiber wait while `fiber`, which is new, runs until it first parks. */
void nb_wait_spawn(nb_scheduler *scheduler, VALUE fiber);
/* Lets the current fiber wait until its turn comes again, for nothing else; what is raised into it is raised in its next wait. Does not raise. */
void nb_wait_cut(nb_scheduler *scheduler);
/* What could not be raised in the current fiber is raised in its next wait. */
void nb_wait_defer(nb_scheduler *scheduler, VALUE exception);
/* The wait of a parked fiber, or NULL. */
nb_wait *nb_parked_find(const nb_parked_table *table, VALUE fiber);
/* A wait of a fiber that this one has resumed, directly or not, or NULL. Looks at all parked fibers. */
nb_wait *nb_parked_below(const nb_parked_table *table, VALUE fiber);
/* A time interval of Ruby's as a deadline: nil is INT64_MAX. Raises TypeError, ArgumentError (negative). */
int64_t nb_wait_deadline(nb_scheduler *scheduler, VALUE interval);
void nb_parked_table_deinit(nb_parked_table *table);

void nb_scheduler_wait_define(VALUE klass);

/* scheduler_loop.c */
int64_t nb_loop_now(nb_scheduler *scheduler);   /* reads the clock at most once a switch */
int64_t nb_loop_clock(nb_scheduler *scheduler); /* reads the clock */
/* Asks the poller without waiting, and makes ready whom it names; true when it knew something. Any fiber of the scheduler's thread. */
bool nb_loop_poll(nb_scheduler *scheduler);
/* Transfers to a fiber that is not parked or whose wait is taken out of its queue; returns when it has parked or ended. Raises. */
void nb_loop_switch(nb_scheduler *scheduler, VALUE fiber, nb_wait *wait);
/* Runs turns on the current fiber until the wait is woken (wait NULL: until all is over). Raises. */
void nb_loop_run(nb_scheduler *scheduler, nb_wait *wait);
/* Serves timers, descriptors and inbox on the current fiber, and lets no other run, until the wait is woken. Raises. */
void nb_loop_hold(nb_scheduler *scheduler, const nb_wait *wait);
void nb_loop_wake(nb_scheduler *scheduler); /* GVL held */
/* Ends its sleep, or the next one; only its sleep when somebody has closed its wake descriptor. Any thread. */
void nb_loop_rouse(nb_scheduler *scheduler);
/* Lets the alarms go off that are due. Any fiber of the scheduler's thread. */
void nb_loop_expire(nb_scheduler *scheduler);
void nb_loop_forget_others(void);
nb_status nb_loop_open(nb_scheduler *scheduler);
/* The source's descriptor, in an open poller. */
nb_status nb_loop_watch_source(nb_scheduler *scheduler);

/* scheduler_start.c: the fiber to transfer to instead of `fiber`, which is new, and which it starts. Afterwards nb_start_check raises what
   was raised there: FiberError when there is no stack to be had. */
VALUE nb_start_by(nb_scheduler *scheduler, VALUE fiber);
void nb_start_check(nb_scheduler *scheduler);
void nb_scheduler_start_define(void);

/* scheduler_hold.c: hold, held? */
void nb_scheduler_hold_define(VALUE klass);
/* Is the current fiber in a hold block that this wait falls under, or above a C function that holds its thread? */
bool nb_hold_covers(const nb_wait *wait);
/* Calls body; in a hold block also what waits by `block` in it keeps the thread: for waits of ours that another thread ends. */
VALUE nb_hold_on(nb_scheduler *scheduler, VALUE (*body)(VALUE), VALUE argument);

/* Is the current fiber in a hold block at all? */
bool nb_hold_now(const nb_scheduler *scheduler);

/* scheduler_slice.c: the end of a running fiber's slice of time */
void nb_scheduler_slice_define(VALUE klass, VALUE module);
/* A fiber is about to run: `cut`: it goes on where its slice had ended, right after nb_slices_work_waits. */
void nb_slices_switch(nb_slices *slices, int64_t now_ns, bool cut);
/* No fiber runs. */
void nb_slices_rest(nb_slices *slices);
/* The thread is about to sleep without Ruby's lock; it waits for it; it has it again. */
void nb_slices_sleep(nb_slices *slices);
void nb_slices_want_lock(nb_slices *slices);
void nb_slices_have_lock(nb_slices *slices);
/* Slices of so long from now on, a ticker looking after them. Raises NeverBlock::Error, NoMemoryError. */
void nb_slices_open(nb_scheduler *scheduler, int64_t slice_ns);
/* The loop runs on the calling thread from now on, until nb_slices_sleep. */
void nb_slices_begin(nb_slices *slices);
void nb_slices_close(nb_scheduler *scheduler);
/* Is there anything to do before the next fiber of `cut` goes on? Asks the poller. */
bool nb_slices_work_waits(nb_scheduler *scheduler);
/* The fiber that runs, or another thread with the GVL, has made something that waits for the fiber's end. */
void nb_slices_work_comes(nb_slices *slices);
/* scheduler_frames.c: may the current fiber be left where it is, as far as its frames tell? */
typedef enum nb_place {
    NB_PLACE_FREE,
    NB_PLACE_STAYS,
    NB_PLACE_BETWEEN, /* two fibers: it may just be given something */
} nb_place;
nb_place nb_frames_place(void);
/* Does a function lie below the current fiber's frames above which no slice ends? */
bool nb_frames_below(void);
/* Is a library loaded whose functions hold the thread? Else nb_frames_hold is false. */
bool nb_frames_watched(void);
void nb_scheduler_frames_define(VALUE klass);

/* scheduler_resume.c: what do the frames of those say that have resumed the current fiber? False: there are none. Other threads may run meanwhile. Does not raise. */
bool nb_resume_ask(nb_scheduler *scheduler, nb_resume_question question);
/* Has the fiber resumed the one that `last` is the record of, directly or not? The record may be NULL. */
bool nb_resume_is_above(const nb_resume *last, VALUE fiber);
/* Is it one of ours that does what Ruby's own does? */
bool nb_resume_stands_in(const void *function);
void nb_scheduler_resume_define(VALUE klass);

/* The scheduler of the current thread, if it is ours and not a parent's; else NULL. */
nb_scheduler *nb_scheduler_of_thread(void);

/* scheduler_io.c */
void nb_scheduler_io_define(VALUE klass);
void nb_descriptors_deliver(nb_scheduler *scheduler, const nb_poll_event *event);
/* The poller goes away, and what was registered with it. */
void nb_descriptors_unkeep(nb_scheduler *scheduler);
/* Registers what trusts a kept registration since this time or longer; to be done for all before a sleep. false: fibers are ready whose
   descriptor is closed. */
bool nb_descriptors_prove(nb_scheduler *scheduler, int64_t since_ns);
/* The wait, of kind NB_WAIT_IO and taken out of all lists, ends by this: an exception or an array of raise's arguments. If that ends its fiber's work from outside, the
   connections it was for are cut (lib/neverblock/sockets.rb). Raises only what comes from another thread meanwhile. */
void nb_descriptors_cut(const nb_wait *wait, VALUE raises);
/* The descriptor is about to be closed: who waits for it gets IOError. */
void nb_descriptor_closing(nb_scheduler *scheduler, int fd);
int nb_descriptor_of(VALUE io); /* raises IOError, TypeError */
/* The scheduler closes it in a forked child, or, unless it has, by disown. Raises NoMemoryError; it is closed then. */
void nb_descriptor_own(nb_scheduler *scheduler, int fd);
void nb_descriptor_disown(nb_scheduler *scheduler, int fd);
/* In a child: takes every watch out of its list, and closes what is owned; then deinit. */
void nb_descriptors_forget(nb_scheduler *scheduler);
void nb_descriptors_deinit(nb_scheduler *scheduler);
/* Waits for one descriptor: the NB_POLL_ events that came, 0 at the deadline. Raises. */
uint32_t nb_descriptor_wait(nb_scheduler *scheduler, int fd, uint32_t interest, int64_t deadline_ns);

/* scheduler_file.c: io_pread, io_pwrite */
void nb_scheduler_file_define(VALUE klass);
/* preadv2(2) without waiting for the disk; from -1: at the file's position. -1 with EAGAIN: it would wait (also a pipe that is
   empty); EOPNOTSUPP: the kernel or the file system cannot tell. */
ssize_t nb_file_read_now(int fd, char *bytes, size_t size, off_t from);
bool nb_file_regular(int fd);
/* A regular file for which a thread has to wait: the kernel could not tell (EOPNOTSUPP of nb_file_read_now), or, for a write, another machine or
   process answers (NFS, FUSE...). */
bool nb_file_waits(int fd, bool writes);
/* Parks until a thread has read or written, at the file's position, what a read(2) or write(2) would. Bytes, or -1 and errno. Raises. */
ssize_t nb_file_move(nb_scheduler *scheduler, int fd, bool writes, VALUE buffer, size_t offset, size_t size);
/* Parks until what comes next in the file, `size` bytes at most, has been read by another thread; the position stays. Raises. */
void nb_file_warm(nb_scheduler *scheduler, int fd, size_t size);
/* The descriptor is about to be closed: returns when no native thread uses it, and who waits for one gets the exception. */
void nb_files_closing(nb_scheduler *scheduler, int fd, VALUE exception);
/* The memory of an IO::Buffer from offset on. To be asked for again after each wait: it may have been freed or made smaller. Raises. */
size_t nb_buffer_size(VALUE buffer);
char *nb_buffer_memory(VALUE buffer, bool writable, size_t offset, size_t size);

/*
 * scheduler_inbox.c - answers from native threads. A parcel is a heap block that outlives the wait when it must: the thread owns it
 * until nb_inbox_post, the loop from then until it has woken the wait, the waiter from then on. Who stops waiting sets parcel->wait to NULL,
 * under the GVL; the loop then gives the parcel to `abandoned`.
 */
typedef struct nb_parcel nb_parcel;
struct nb_parcel {
    nb_parcel *next;
    nb_inbox *inbox;
    nb_wait *wait;
    bool arrived;
    void (*abandoned)(nb_parcel *parcel); /* frees it; any thread */
};
/* Before the parcel goes out: raises NoMemoryError. */
void nb_inbox_expect(nb_scheduler *scheduler, nb_parcel *parcel);
/* The parcel will not be posted after all. */
void nb_inbox_unexpect(nb_parcel *parcel);
/* Any thread, without the GVL: the parcel is done. */
void nb_inbox_post(nb_parcel *parcel);
bool nb_inbox_pending(const nb_scheduler *scheduler);
void nb_inbox_drain(nb_scheduler *scheduler);
/* The wake is about to be closed. */
void nb_inbox_mute(nb_scheduler *scheduler);
/* The scheduler goes away; what is still out frees itself. */
void nb_inbox_close(nb_scheduler *scheduler);

/* scheduler_heap.c. What a fiber that computes has allocated beside objects since the last collection is not counted, up to a bound, so that objects alone call for the next. Once
   16 to 32 MB are counted Ruby collects at once, and first finishes at once whatever it marks and sweeps bit by bit (gc.c, objspace_malloc_increase): 30 to 110 ms beside 50,000 rows.
   And once a collection has walked much that it keeps, the next are put off until its request is over, up to a bound: they would walk it all again, and more, 20 to 150 ms, and have
   it grow old. In the job that looks whether its slice is over; raises nothing. True: it should be called again in a millisecond. */
bool nb_heap_computes(const nb_scheduler *scheduler);
/* Nothing is put off any more for fibers of the scheduler: a request is over, nothing has happened for a while, or it goes away, also as a child does after a fork. */
void nb_heap_let_collect(const nb_scheduler *scheduler);
/* Whether collections are put off for it; so long it may sleep then. */
#define NB_HEAP_WAITS_NS (20 * NB_NS_PER_MS)
bool nb_heap_waits(const nb_scheduler *scheduler);
/* A source is attached. Before the first, nothing is a request's. */
void nb_heap_attached(void);
/* Between fibers, in the loop fiber. Where more of them are parked than there is room for in Ruby's heap, it is made for twice as many. And when a long
   request is over (nb_heap_request_over) and none is half done, a collection of what is young, swept bit by bit as it is needed: what it has made is garbage by then, and found to be
   that in some 10 ms. Later collections would come in the middle of the next such request, walk all that that one keeps, and have the garbage grow old meanwhile, which only collections of
   all objects free. */
#define NB_ROOM_FOR_MIN 128
void nb_heap_turn(nb_scheduler *scheduler);
void nb_scheduler_heap_define(VALUE module);

/* scheduler_resolve.c: address_resolve */
void nb_scheduler_resolve_define(VALUE klass);

/* scheduler_mutex.c: unblock was called for this blocker; a Mutex of Ruby 3.1 needs help with it. */
void nb_mutex_unlocking(VALUE blocker);
void nb_scheduler_mutex_define(void);

/* scheduler_process.c: process_wait */
void nb_scheduler_process_define(VALUE klass);

/* scheduler_transfer.c: transfers to the fiber, whose root is scheduler->root, and returns when that has parked or
   ended. Raises. */
void nb_transfer_to(nb_scheduler *scheduler, VALUE fiber);
/* A switch to a fiber has ended by this tag: if it is an exception of a fiber that the root had transferred to, it is
   raised in the root. The tag that is left; 0: the loop may go on. */
int nb_transfer_raised(nb_scheduler *scheduler, int tag);

/* scheduler_children.c. Lies on the stack of a fiber that was scheduled, while it runs. */
typedef struct nb_child {
    nb_list link;
    VALUE fiber;
    VALUE parent; /* the root of who has scheduled it, or nil: nobody of the loop's */
} nb_child;
void nb_child_begin(nb_scheduler *scheduler, nb_child *child); /* NULL: a scheduler that is not its thread's */
void nb_child_end(nb_scheduler *scheduler, nb_child *child);
void nb_children_mark(const nb_scheduler *scheduler);
void nb_children_forget(nb_scheduler *scheduler); /* in a forked child */
/* In a fiber that the loop has switched to: parks until its root's children have ended, but for a turn at least. Raises. */
void nb_children_await(nb_scheduler *scheduler);

/* scheduler_timeout.c: timeout_after, cancellable */
void nb_scheduler_timeout_define(VALUE klass);
/* The first that has something to raise in the running fiber, still listed as overdue, or NULL: its own, or of one that has resumed it. */
nb_late *nb_timeout_overdue(nb_scheduler *scheduler);

/*
 * scheduler_root.c - the root of a fiber: the fiber that was scheduled, of those that have resumed each other down to this one. What Ruby and
 * libraries keep for a thread belongs to the root here: a request and the Enumerators it uses are one.
 */
/* The root of the running fiber, or nil: nobody has scheduled it. */
static inline VALUE nb_root_now(const nb_scheduler *scheduler) { return scheduler->switched ? scheduler->root : Qnil; }
/* Gives the thread this $?: a Process::Status, or nil. Does not raise. */
void nb_root_set_status(VALUE status);
void nb_scheduler_root_define(VALUE klass);

/* scheduler_interrupt.c */
void nb_scheduler_interrupt_define(void);
/* Makes the helper thread if there is none; false: there is no thread to be had, and nothing is raised into a fiber that computes. */
bool nb_interrupt_prepare(void);
/* Ends it; not in a fiber that runs under a scheduler. */
void nb_interrupt_end(void);
/* In a postponed job, as the last that it does: has the array `raises` of raise's arguments raised in the current thread right after the job, or the thread killed (nil). False: it is not. */
bool nb_interrupt_self(VALUE raises);

#endif
