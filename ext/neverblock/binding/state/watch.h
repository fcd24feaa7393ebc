/*
 * watch.h - descriptors that fibers wait for: what is kept of each (state/watches.h has what is
 * done with it).
 */
#ifndef NB_BINDING_WATCH_H
#define NB_BINDING_WATCH_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "poll/poll.h"

typedef struct nb_wait nb_wait;

/* "pg 127.0.0.1:5432" or the address alone; the rest is cut off. */
#define NB_DESCRIPTOR_ABOUT_BYTES 48u

/* One descriptor a wait waits for. Lies on the stack, or in memory where Ruby looks for objects as
   well (rb_alloc_tmp_buffer): so its IO is kept, and GC.compact does not move it. */
typedef struct nb_watch nb_watch;
struct nb_watch {
    nb_watch *next, *previous; /* in nb_descriptor.first */
    /* in the scheduler's list, while it trusts a registration that was kept */
    nb_list unproven;
    int64_t trusts_since_ns;
    nb_wait *wait;
    VALUE io; /* 0: none */
    int fd;
    uint32_t interest; /* NB_POLL_READ, NB_POLL_WRITE */
    uint32_t ready;
    bool listed;
    bool dry;         /* a transfer of this IO has just had EAGAIN */
    bool may_be_cut;  /* its IO, as far as is known here (nb_watches_to_cut) */
    bool past_hangup; /* a hangup alone does not end the wait: select(2) does not tell of it */
    /* what it trusted was gone: its number had changed its file, before this wait or since */
    bool doubtful;
};

/* A fiber's use of a socket: a wait for it, or a transfer by a hook. */
typedef struct nb_socket_use {
    VALUE io;       /* 0: none */
    uint64_t index; /* counts the uses of all descriptors in the process */
    int fd;
} nb_socket_use;

typedef struct nb_descriptor {
    nb_watch *first;
    uint64_t used;       /* nb_socket_use.index of the latest, whatever it is; 0: none */
    uint32_t generation; /* of the latest registration: events of earlier ones are dropped */
    uint32_t armed;      /* the interest told to the poller and not yet answered */
    /* the IO whose registration outlasts its wait, or 0; compared only, as it may be gone, and
       another may lie there. A wait that trusts it is proven before a sleep. */
    VALUE kept_for;
    uint8_t single; /* so many of the next registrations are for one wait only */
    bool added;     /* the latest registration was an add: the poller did not know the file */
    /* the IO whose wait or transfer has registered it last; compared only, as kept_for */
    VALUE known_for;
    bool known;     /* was registered once, so that change is tried before add */
    bool owned;     /* the scheduler's own (a pidfd): closed in a forked child */
    bool no_socket; /* recv(2) said so; a guess where the number was closed untold */
    /* What it is, for those who look at the server (hooks/descriptor_about.h): nb_fiber_wait_kind,
       0: not known; a text; and whether nothing is to be learnt any more. */
    uint8_t about_kind, about_bytes;
    bool about_whole;
    char about[NB_DESCRIPTOR_ABOUT_BYTES];
} nb_descriptor;

/* Of one scheduler. */
typedef struct nb_watches {
    nb_poll *poll;        /* NULL until something needs it */
    int64_t polled_ns;    /* when it was last asked */
    nb_descriptor *table; /* by number */
    size_t table_count;
    nb_list unproven;      /* watches that trust a kept registration, oldest first */
    size_t count;          /* watches in all lists */
    int dry_fd;            /* a transfer of ours has just had EAGAIN of it, or -1 */
    uint32_t dry_interest; /* and for this */
    bool registers;        /* a descriptor was registered, and may be still */
} nb_watches;

#endif
