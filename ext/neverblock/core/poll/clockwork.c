/*
 * clockwork.c - see clockwork.h.
 */
#include "poll/clockwork.h"

#include <poll.h>
#include <pthread.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/thread.h"
#include "poll/wake.h"

#define OBSERVERS_AT_FIRST 4
/* How often all observers are called when their descriptors cannot be polled: there is no memory
   for that, or the wake's descriptor was closed. */
#define UNWATCHED_NS NB_NS_PER_MS

typedef struct observer {
    nb_clockwork_look *look;
    void *owner;
    int64_t idle_ns;
    int64_t early_ns, next_ns; /* it may be called from the first on, and is at the second */
    bool wants;                /* its last return was a time, not NB_CLOCKWORK_NEVER */
    int fd;                    /* it is also called when this is readable; -1: none */
} observer;

struct nb_clockwork {
    nb_doorbell bell; /* rung when something is published while the thread sleeps without a limit */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    nb_wake wake; /* wakes the thread while it polls */
    pthread_t thread;
    observer *observers;
    unsigned count, capacity;
    /* the thread's alone: the wake, and the observers' descriptors in their order */
    struct pollfd *watched;
    unsigned watched_capacity;
    int64_t seen_ns; /* when an observer last wanted a time */
    bool polls, rung, ends;
};

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

static void call(observer *looked, int64_t now_ns) {
    int64_t earliest_ns = now_ns + NB_CLOCKWORK_TOGETHER_NS;
    looked->fd = -1;
    int64_t wanted_ns = looked->look(looked->owner, now_ns, &looked->fd);
    looked->wants = wanted_ns != NB_CLOCKWORK_NEVER;
    looked->next_ns = looked->wants ? wanted_ns : now_ns + looked->idle_ns;
    if (looked->next_ns < earliest_ns) looked->next_ns = earliest_ns;
    looked->early_ns = looked->next_ns - NB_CLOCKWORK_EARLY(looked->next_ns - now_ns);
}

/* Calls the observers whose time has come. Returns the next time. */
static int64_t look_around(nb_clockwork *clockwork, int64_t now_ns) {
    int64_t next_ns = NB_CLOCKWORK_NEVER;
    for (unsigned i = 0; i < clockwork->count; i++) {
        observer *at = &clockwork->observers[i];
        if (at->early_ns <= now_ns + NB_CLOCKWORK_TOGETHER_NS) call(at, now_ns);
        if (at->wants) clockwork->seen_ns = now_ns;
        next_ns = smaller(next_ns, at->next_ns);
    }
    return next_ns;
}

static bool is_quiet(const nb_clockwork *clockwork, int64_t now_ns) {
    return clockwork->count == 0 || now_ns - clockwork->seen_ns >= NB_CLOCKWORK_QUIET_NS;
}

static void all_look_now(nb_clockwork *clockwork) {
    for (unsigned i = 0; i < clockwork->count; i++)
        clockwork->observers[i].early_ns = 0;
}

static bool watches_any(const nb_clockwork *clockwork) {
    for (unsigned i = 0; i < clockwork->count; i++) {
        if (clockwork->observers[i].fd >= 0) return true;
    }
    return false;
}

static bool reserve_watched(nb_clockwork *clockwork) {
    if (clockwork->count <= clockwork->watched_capacity) return true;
    struct pollfd *watched = nb_realloc(clockwork->watched, (clockwork->capacity + 1) * sizeof *watched);
    if (watched == NULL) return false;
    clockwork->watched = watched;
    clockwork->watched_capacity = clockwork->capacity;
    return true;
}

/* Waits for a descriptor or the time. Observers may be added and removed meanwhile, and change
   their places: then one is called for nothing, and the other in the next round. False: polling is
   not possible. */
static bool poll_until(nb_clockwork *clockwork, int64_t until_ns) {
    if (!reserve_watched(clockwork)) return false;
    unsigned count = clockwork->count;
    struct pollfd *watched = clockwork->watched;
    for (unsigned i = 0; i < count; i++)
        watched[i + 1] = (struct pollfd){.fd = clockwork->observers[i].fd, .events = POLLIN};
    clockwork->polls = true;
    pthread_mutex_unlock(&clockwork->lock);
    int64_t left_ns = until_ns - nb_clock_monotonic_ns();
    nb_wake_wait_beside(&clockwork->wake, watched, (size_t)count + 1, left_ns > 0 ? left_ns : 0);
    pthread_mutex_lock(&clockwork->lock);
    clockwork->polls = false;
    for (unsigned i = 0; i < count && i < clockwork->count; i++) {
        if (watched[i + 1].revents) clockwork->observers[i].early_ns = 0;
    }
    return !(watched[0].revents & POLLNVAL);
}

static void wait_until(nb_clockwork *clockwork, int64_t until_ns) {
    if (watches_any(clockwork)) {
        if (poll_until(clockwork, until_ns)) return;
        until_ns = smaller(until_ns, nb_clock_monotonic_ns() + UNWATCHED_NS);
        all_look_now(clockwork);
    }
    nb_thread_cond_wait_until(&clockwork->changed, &clockwork->lock, until_ns);
}

/* The calls after the announcement find what was published before it. What is published later
   rings the bell. */
static void sleep_until_rung(nb_clockwork *clockwork) {
    nb_doorbell_announce(&clockwork->bell);
    int64_t now_ns = nb_clock_monotonic_ns();
    all_look_now(clockwork);
    look_around(clockwork, now_ns);
    if (is_quiet(clockwork, now_ns)) {
        while (!clockwork->rung && !clockwork->ends)
            pthread_cond_wait(&clockwork->changed, &clockwork->lock);
        clockwork->seen_ns = nb_clock_monotonic_ns();
        all_look_now(clockwork);
    }
    nb_doorbell_cancel(&clockwork->bell);
    clockwork->rung = false;
}

static void *run(void *pointer) {
    nb_clockwork *clockwork = pointer;
    pthread_mutex_lock(&clockwork->lock);
    while (!clockwork->ends) {
        int64_t now_ns = nb_clock_monotonic_ns();
        int64_t next_ns = look_around(clockwork, now_ns);
        if (is_quiet(clockwork, now_ns)) {
            sleep_until_rung(clockwork);
        } else if (!clockwork->rung) {
            wait_until(clockwork, next_ns);
        }
        clockwork->rung = false;
    }
    pthread_mutex_unlock(&clockwork->lock);
    return NULL;
}

/* The caller holds the lock. */
static void wake(nb_clockwork *clockwork) {
    clockwork->rung = true;
    pthread_cond_signal(&clockwork->changed);
    if (clockwork->polls) nb_wake_signal(&clockwork->wake);
}

static bool reserve(nb_clockwork *clockwork) {
    if (clockwork->count < clockwork->capacity) return true;
    unsigned capacity = 2 * clockwork->capacity;
    observer *larger = nb_realloc(clockwork->observers, capacity * sizeof *larger);
    if (larger == NULL) return false;
    clockwork->observers = larger;
    clockwork->capacity = capacity;
    return true;
}

static void clockwork_free(nb_clockwork *clockwork) {
    pthread_cond_destroy(&clockwork->changed);
    pthread_mutex_destroy(&clockwork->lock);
    nb_wake_deinit(&clockwork->wake);
    nb_free(clockwork->observers);
    nb_free(clockwork->watched);
    nb_free(clockwork);
}

static nb_status clockwork_init(nb_clockwork *clockwork) {
    nb_doorbell_init(&clockwork->bell);
    clockwork->wake = (nb_wake){.read_fd = -1, .write_fd = -1};
    pthread_mutex_init(&clockwork->lock, NULL);
    nb_thread_cond_init(&clockwork->changed);
    clockwork->seen_ns = nb_clock_monotonic_ns();
    clockwork->capacity = OBSERVERS_AT_FIRST;
    clockwork->observers = nb_alloc_zero(OBSERVERS_AT_FIRST, sizeof *clockwork->observers);
    if (clockwork->observers == NULL) return NB_NO_MEMORY;
    return nb_wake_init(&clockwork->wake);
}

nb_status nb_clockwork_create(const char *name, nb_clockwork **clockwork) {
    nb_clockwork *made = nb_alloc_zero(1, sizeof *made);
    if (made == NULL) return NB_NO_MEMORY;
    nb_status status = clockwork_init(made);
    if (status == NB_OK) status = nb_thread_start(name, run, made, &made->thread);
    if (status != NB_OK) {
        clockwork_free(made);
        return status;
    }
    *clockwork = made;
    return NB_OK;
}

void nb_clockwork_destroy(nb_clockwork *clockwork) {
    if (clockwork == NULL) return;
    pthread_mutex_lock(&clockwork->lock);
    clockwork->ends = true;
    wake(clockwork);
    pthread_mutex_unlock(&clockwork->lock);
    pthread_join(clockwork->thread, NULL);
    clockwork_free(clockwork);
}

void nb_clockwork_forget(nb_clockwork *clockwork) { nb_wake_deinit(&clockwork->wake); }

nb_status nb_clockwork_add(nb_clockwork *clockwork, nb_clockwork_look *look, void *owner, int64_t idle_ns) {
    pthread_mutex_lock(&clockwork->lock);
    bool possible = reserve(clockwork);
    if (possible)
        clockwork->observers[clockwork->count++] = (observer){
            .look = look, .owner = owner, .idle_ns = idle_ns, .fd = -1};
    clockwork->seen_ns = nb_clock_monotonic_ns();
    wake(clockwork);
    pthread_mutex_unlock(&clockwork->lock);
    return possible ? NB_OK : NB_NO_MEMORY;
}

void nb_clockwork_remove(nb_clockwork *clockwork, nb_clockwork_look *look, void *owner) {
    pthread_mutex_lock(&clockwork->lock);
    for (unsigned i = 0; i < clockwork->count; i++) {
        if (clockwork->observers[i].look != look || clockwork->observers[i].owner != owner) continue;
        clockwork->observers[i] = clockwork->observers[--clockwork->count];
        break;
    }
    pthread_mutex_unlock(&clockwork->lock);
}

unsigned nb_clockwork_observers(nb_clockwork *clockwork) {
    pthread_mutex_lock(&clockwork->lock);
    unsigned count = clockwork->count;
    pthread_mutex_unlock(&clockwork->lock);
    return count;
}

bool nb_clockwork_sleeps(nb_clockwork *clockwork) {
    pthread_mutex_lock(&clockwork->lock);
    bool sleeps = nb_doorbell_sleeping(&clockwork->bell) && !clockwork->rung;
    pthread_mutex_unlock(&clockwork->lock);
    return sleeps;
}

nb_doorbell *nb_clockwork_bell(nb_clockwork *clockwork) { return &clockwork->bell; }

void nb_clockwork_ring(nb_clockwork *clockwork) {
    pthread_mutex_lock(&clockwork->lock);
    all_look_now(clockwork);
    wake(clockwork);
    pthread_mutex_unlock(&clockwork->lock);
}
