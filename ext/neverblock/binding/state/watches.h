/*
 * watches.h - waiting for descriptors: the table by number, and its registrations with the poller.
 *
 * A wait registers its descriptor anew (oneshot), in one system call: changing the old registration
 * fails when the number has been closed and given out again, and then it is added. A registration
 * carries a generation, so that an event of the file that had the number before is dropped. Several
 * fibers may wait for one descriptor; when it fires for some, it is armed again for the others.
 *
 * A wait that comes right after EAGAIN of our own read or write needs no look at what is ready now,
 * only news. Its registration is kept (edge-triggered), and the next such wait of the same IO
 * trusts it: no system call. That the number is still the same file is then not known. Mostly the
 * event comes, and nobody needs to know; where it has not when the loop is about to sleep, or for
 * NB_TRUST_NS in a loop that never sleeps, the wait is proven: registered as any other. A close
 * that Ruby tells of ends the keeping.
 */
#ifndef NB_BINDING_WATCHES_H
#define NB_BINDING_WATCHES_H

#include "binding/state/state.h"
#include "binding/state/wait.h"
#include "binding/state/watch.h"

/* A wait of kind NB_WAIT_IO. */
typedef struct nb_io_wait {
    nb_wait wait; /* first */
    nb_watch *watches;
    size_t count;
} nb_io_wait;

/* Enters the watch, whose wait is set. NB_OK: watched, or ready at once (watch->ready). Else
   NB_SYSTEM and errno, or NB_NO_MEMORY. The poller is open. */
nb_status nb_watch_enter(nb_scheduler *scheduler, nb_watch *watch);
/* Takes all watches of an nb_io_wait out again: its wait's `leave`. */
void nb_watches_leave(nb_wait *wait);
/* Does a fiber wait for this number? */
bool nb_watches_any(const nb_scheduler *scheduler, int fd);

void nb_watches_deliver(nb_scheduler *scheduler, const nb_poll_event *event);
/* The poller goes away, and what was registered with it. Looks at no watch. */
void nb_watches_unregister(nb_scheduler *scheduler);
/* Registers what trusts a kept registration since this time or longer; to be done for all before a
   sleep. false: fibers are ready whose descriptor is closed. */
bool nb_watches_prove(nb_scheduler *scheduler, int64_t since_ns);
/* The wait, of kind NB_WAIT_IO and taken out of all lists, ends by this: an exception or an array
   of raise's arguments. If that ends its fiber's work from outside, the connections it was for are
   cut (lib/neverblock/scheduler/sockets.rb). Raises only what comes from another thread
   meanwhile. */
void nb_watches_cut(const nb_wait *wait, VALUE raises);
/* The same for a fiber that computes, inside the block: the socket it has used last. Only one used
   since the block began, which no fiber uses (nb_watches_use), and which is known to be the same
   file still. True: it is to be cut, by nb_watches_cut_last. Neither raises. */
bool nb_watches_to_cut(nb_scheduler *scheduler, const nb_late *late);
/* Has a fiber of this scheduler used the descriptor since, or does one wait for it? */
bool nb_watches_use(const nb_scheduler *scheduler, const nb_socket_use *last);
/* Calls methods, which look for interrupts. */
void nb_watches_cut_last(nb_scheduler *scheduler);
/* The running fiber transfers, without waiting or before it waits. False: the poller has to be
   opened, and it called again. */
bool nb_watches_transfer(nb_scheduler *scheduler, int fd, VALUE io);
/* It has asked whether the descriptor is ready, without waiting. */
void nb_watches_used(nb_scheduler *scheduler, int fd, VALUE io);
uint64_t nb_socket_uses(void); /* the index of the latest use */
/* The descriptor is about to be closed: fibers that wait for it get nb_watches_closed_error. */
void nb_watches_closing(nb_scheduler *scheduler, int fd);
/* An IO is about to be closed that does not own its descriptor: who waits by this IO gets
   nb_watches_closed_error. Others may wait for the number, which may be another file's by now. */
void nb_watches_closing_lent(nb_scheduler *scheduler, int fd, VALUE io);
/* Another file lies under the descriptor: fibers that wait for it look at that. */
void nb_watches_reopened(nb_scheduler *scheduler, int fd);
/* A new IOError. Calls no method and looks for no interrupts, as do none of the three above. */
VALUE nb_watches_closed_error(void);

int nb_descriptor_of(VALUE io); /* raises IOError, TypeError */
int nb_io_mode(VALUE io);       /* FMODE_READABLE and others, of an IO that is open */
bool nb_io_is_lent(VALUE io);   /* it does not own its descriptor (IO#autoclose=); it is open */
/* The scheduler closes it in a forked child, or, unless it has, by disown. Raises NoMemoryError; it
   is closed then. */
void nb_descriptor_own(nb_scheduler *scheduler, int fd);
void nb_descriptor_disown(nb_scheduler *scheduler, int fd);
/* What was learnt about the number's last file. After a reuse that nobody tells of it is wrong,
   which costs a transfer system calls: no more may depend on it. */
static inline bool nb_descriptor_no_socket(const nb_scheduler *scheduler, int fd) {
    return (size_t)fd < scheduler->watches.table_count && scheduler->watches.table[fd].no_socket;
}
void nb_descriptor_learn_no_socket(nb_scheduler *scheduler, int fd); /* raises NoMemoryError */

/* Takes every watch out of its list, and closes what is owned: in a child, and where a loop will
   not run again. */
void nb_watches_forget(nb_scheduler *scheduler);
void nb_watches_deinit(nb_scheduler *scheduler);

/* Looks up what nb_watches_cut calls. */
void nb_watches_define(void);

#endif
