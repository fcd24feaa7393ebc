/*
 * inbox.h - where native threads leave their answers for a scheduler's loop, which they wake.
 *
 * A parcel is a heap block that may outlive the wait. The thread owns it until nb_inbox_post, the
 * loop from then until it has woken the wait, the waiter from then on. A fiber that stops waiting
 * sets parcel->wait to NULL, with the GVL; the loop then gives the parcel to `abandoned`. The inbox
 * outlives its scheduler for as long as a parcel is out.
 */
#ifndef NB_BINDING_INBOX_H
#define NB_BINDING_INBOX_H

#include <stdbool.h>

#include "binding/state/sleeper.h"

typedef struct nb_wait nb_wait;
typedef struct nb_inbox nb_inbox;

typedef struct nb_parcel nb_parcel;
struct nb_parcel {
    nb_parcel *next;
    nb_inbox *inbox;
    nb_wait *wait;
    bool arrived;
    void (*abandoned)(nb_parcel *parcel); /* frees it; any thread */
};

/* Before the parcel goes out: *inbox is made where it is NULL, and wakes this sleeper, which is
   open. Raises NoMemoryError. */
void nb_inbox_expect(nb_inbox **inbox, nb_sleeper *sleeper, nb_parcel *parcel);
/* The parcel will not be posted after all. */
void nb_inbox_unexpect(nb_parcel *parcel);
/* Any thread, without the GVL: the parcel is done. */
void nb_inbox_post(nb_parcel *parcel);
/* Was something posted that was not taken? inbox: NULL where there is none, here and below. */
bool nb_inbox_pending(const nb_inbox *inbox);
/* Takes what was posted, by `next`, newest first. */
nb_parcel *nb_inbox_take(nb_inbox *inbox);
/* The sleeper's wake is about to be closed. */
void nb_inbox_mute(nb_inbox *inbox);
/* The scheduler goes away; what is still out frees itself. */
void nb_inbox_close(nb_inbox *inbox);

#endif
