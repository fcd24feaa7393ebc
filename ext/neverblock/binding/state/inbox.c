/*
 * inbox.c - see inbox.h.
 */
#include "binding/state/inbox.h"

#include <pthread.h>
#include <ruby.h>
#include <stdatomic.h>

#include "base/alloc.h"

struct nb_inbox {
    pthread_mutex_t lock;
    nb_sleeper *sleeper; /* NULL: nobody sleeps */
    nb_parcel *posted;   /* newest first */
    size_t out;          /* parcels expected and not yet drained */
    bool closed;
    _Atomic bool pending; /* something was posted; read without the lock */
};

static void inbox_destroy(nb_inbox *inbox) {
    pthread_mutex_destroy(&inbox->lock);
    nb_free(inbox);
}

static nb_inbox *inbox_create(void) {
    nb_inbox *inbox = nb_alloc_zero(1, sizeof *inbox);
    if (inbox == NULL) rb_memerror();
    pthread_mutex_init(&inbox->lock, NULL);
    return inbox;
}

void nb_inbox_expect(nb_inbox **place, nb_sleeper *sleeper, nb_parcel *parcel) {
    if (*place == NULL) *place = inbox_create();
    nb_inbox *inbox = *place;
    pthread_mutex_lock(&inbox->lock);
    inbox->sleeper = sleeper;
    inbox->out++;
    pthread_mutex_unlock(&inbox->lock);
    parcel->inbox = inbox;
}

void nb_inbox_unexpect(nb_parcel *parcel) {
    pthread_mutex_lock(&parcel->inbox->lock);
    parcel->inbox->out--;
    pthread_mutex_unlock(&parcel->inbox->lock);
}

void nb_inbox_post(nb_parcel *parcel) {
    nb_inbox *inbox = parcel->inbox;
    pthread_mutex_lock(&inbox->lock);
    if (!inbox->closed) {
        parcel->next = inbox->posted;
        inbox->posted = parcel;
        atomic_store_explicit(&inbox->pending, true, memory_order_relaxed);
        if (inbox->sleeper) nb_sleeper_rouse(inbox->sleeper);
        pthread_mutex_unlock(&inbox->lock);
        return;
    }
    bool last = --inbox->out == 0;
    pthread_mutex_unlock(&inbox->lock);
    parcel->abandoned(parcel);
    if (last) inbox_destroy(inbox);
}

bool nb_inbox_pending(const nb_inbox *inbox) {
    return inbox && atomic_load_explicit(&inbox->pending, memory_order_relaxed);
}

static nb_parcel *take_posted(nb_inbox *inbox) {
    nb_parcel *posted = inbox->posted;
    inbox->posted = NULL;
    for (const nb_parcel *parcel = posted; parcel; parcel = parcel->next)
        inbox->out--;
    return posted;
}

nb_parcel *nb_inbox_take(nb_inbox *inbox) {
    pthread_mutex_lock(&inbox->lock);
    atomic_store_explicit(&inbox->pending, false, memory_order_relaxed);
    nb_parcel *parcel = take_posted(inbox);
    pthread_mutex_unlock(&inbox->lock);
    return parcel;
}

void nb_inbox_mute(nb_inbox *inbox) {
    if (inbox == NULL) return;
    pthread_mutex_lock(&inbox->lock);
    inbox->sleeper = NULL;
    pthread_mutex_unlock(&inbox->lock);
}

/* Waits that are left lie on fibers that will never run: their parcels count as abandoned. */
void nb_inbox_close(nb_inbox *inbox) {
    if (inbox == NULL) return;
    pthread_mutex_lock(&inbox->lock);
    inbox->closed = true;
    nb_parcel *parcel = take_posted(inbox);
    bool last = inbox->out == 0;
    pthread_mutex_unlock(&inbox->lock);

    for (nb_parcel *next; parcel; parcel = next) {
        next = parcel->next;
        parcel->abandoned(parcel);
    }
    if (last) inbox_destroy(inbox);
}
