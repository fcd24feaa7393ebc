/*
 * inbox.c - where native threads leave their answers for a scheduler's loop, which they wake. It outlives the scheduler for as
 * long as an answer is out.
 */
#include "binding/state/state.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>

struct nb_inbox {
    pthread_mutex_t lock;
    nb_scheduler *sleeper; /* NULL: nobody sleeps */
    nb_parcel *arrived;    /* newest first */
    size_t out;            /* parcels expected and not yet drained */
    bool closed;
    _Atomic bool pending; /* something has arrived; readable without the lock */
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

void nb_inbox_expect(nb_scheduler *scheduler, nb_parcel *parcel) {
    nb_scheduler_open(scheduler);
    if (scheduler->inbox == NULL) scheduler->inbox = inbox_create();
    nb_inbox *inbox = scheduler->inbox;
    pthread_mutex_lock(&inbox->lock);
    inbox->sleeper = scheduler;
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
        parcel->next = inbox->arrived;
        inbox->arrived = parcel;
        atomic_store_explicit(&inbox->pending, true, memory_order_relaxed);
        if (inbox->sleeper) nb_loop_rouse(inbox->sleeper);
        pthread_mutex_unlock(&inbox->lock);
        return;
    }
    bool last = --inbox->out == 0;
    pthread_mutex_unlock(&inbox->lock);
    parcel->abandoned(parcel);
    if (last) inbox_destroy(inbox);
}

bool nb_inbox_pending(const nb_scheduler *scheduler) {
    return scheduler->inbox && atomic_load_explicit(&scheduler->inbox->pending, memory_order_relaxed);
}

static nb_parcel *take_arrived(nb_inbox *inbox) {
    nb_parcel *arrived = inbox->arrived;
    inbox->arrived = NULL;
    for (const nb_parcel *parcel = arrived; parcel; parcel = parcel->next)
        inbox->out--;
    return arrived;
}

void nb_inbox_drain(nb_scheduler *scheduler) {
    nb_inbox *inbox = scheduler->inbox;
    pthread_mutex_lock(&inbox->lock);
    atomic_store_explicit(&inbox->pending, false, memory_order_relaxed);
    nb_parcel *parcel = take_arrived(inbox);
    pthread_mutex_unlock(&inbox->lock);

    for (nb_parcel *next; parcel; parcel = next) {
        next = parcel->next;
        parcel->arrived = true;
        if (parcel->wait) {
            nb_wait_wake(parcel->wait, NB_WOKEN);
        } else {
            parcel->abandoned(parcel);
        }
    }
}

void nb_inbox_mute(nb_scheduler *scheduler) {
    nb_inbox *inbox = scheduler->inbox;
    if (inbox == NULL) return;
    pthread_mutex_lock(&inbox->lock);
    inbox->sleeper = NULL;
    pthread_mutex_unlock(&inbox->lock);
}

/* Waits that are left lie on fibers that will never run: their parcels count as abandoned. */
void nb_inbox_close(nb_scheduler *scheduler) {
    nb_inbox *inbox = scheduler->inbox;
    if (inbox == NULL) return;
    scheduler->inbox = NULL;
    pthread_mutex_lock(&inbox->lock);
    inbox->closed = true;
    nb_parcel *parcel = take_arrived(inbox);
    bool last = inbox->out == 0;
    pthread_mutex_unlock(&inbox->lock);

    for (nb_parcel *next; parcel; parcel = next) {
        next = parcel->next;
        parcel->abandoned(parcel);
    }
    if (last) inbox_destroy(inbox);
}
