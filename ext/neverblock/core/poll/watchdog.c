/*
 * watchdog.c - see watchdog.h.
 */
#include "poll/watchdog.h"

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
    nb_watchdog_look *look;
    void *owner;
    int64_t idle_ns;
    int64_t early_ns, next_ns; /* it may be called from the first on, and is at the second */
    bool wants;                /* its last return was a time, not NB_WATCHDOG_NEVER */
    int fd;                    /* it is also called when this is readable; -1: none */
} observer;

struct nb_watchdog {
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
    int64_t earliest_ns = now_ns + NB_WATCHDOG_TOGETHER_NS;
    looked->fd = -1;
    int64_t wanted_ns = looked->look(looked->owner, now_ns, &looked->fd);
    looked->wants = wanted_ns != NB_WATCHDOG_NEVER;
    looked->next_ns = looked->wants ? wanted_ns : now_ns + looked->idle_ns;
    if (looked->next_ns < earliest_ns) looked->next_ns = earliest_ns;
    looked->early_ns = looked->next_ns - NB_WATCHDOG_EARLY(looked->next_ns - now_ns);
}

/* Calls the observers whose time has come. Returns the next time. */
static int64_t look_around(nb_watchdog *watchdog, int64_t now_ns) {
    int64_t next_ns = NB_WATCHDOG_NEVER;
    for (unsigned i = 0; i < watchdog->count; i++) {
        observer *at = &watchdog->observers[i];
        if (at->early_ns <= now_ns + NB_WATCHDOG_TOGETHER_NS) call(at, now_ns);
        if (at->wants) watchdog->seen_ns = now_ns;
        next_ns = smaller(next_ns, at->next_ns);
    }
    return next_ns;
}

static bool is_quiet(const nb_watchdog *watchdog, int64_t now_ns) {
    return watchdog->count == 0 || now_ns - watchdog->seen_ns >= NB_WATCHDOG_QUIET_NS;
}

static void all_look_now(nb_watchdog *watchdog) {
    for (unsigned i = 0; i < watchdog->count; i++)
        watchdog->observers[i].early_ns = 0;
}

static bool watches_any(const nb_watchdog *watchdog) {
    for (unsigned i = 0; i < watchdog->count; i++) {
        if (watchdog->observers[i].fd >= 0) return true;
    }
    return false;
}

static bool reserve_watched(nb_watchdog *watchdog) {
    if (watchdog->count <= watchdog->watched_capacity) return true;
    struct pollfd *watched = nb_realloc(watchdog->watched, (watchdog->capacity + 1) * sizeof *watched);
    if (watched == NULL) return false;
    watchdog->watched = watched;
    watchdog->watched_capacity = watchdog->capacity;
    return true;
}

/* Waits for a descriptor or the time. Observers may be added and removed meanwhile, and change
   their places: then one is called for nothing, and the other in the next round. False: polling is
   not possible. */
static bool poll_until(nb_watchdog *watchdog, int64_t until_ns) {
    if (!reserve_watched(watchdog)) return false;
    unsigned count = watchdog->count;
    struct pollfd *watched = watchdog->watched;
    for (unsigned i = 0; i < count; i++)
        watched[i + 1] = (struct pollfd){.fd = watchdog->observers[i].fd, .events = POLLIN};
    watchdog->polls = true;
    pthread_mutex_unlock(&watchdog->lock);
    int64_t left_ns = until_ns - nb_clock_monotonic_ns();
    nb_wake_wait_beside(&watchdog->wake, watched, (size_t)count + 1, left_ns > 0 ? left_ns : 0);
    pthread_mutex_lock(&watchdog->lock);
    watchdog->polls = false;
    for (unsigned i = 0; i < count && i < watchdog->count; i++) {
        if (watched[i + 1].revents) watchdog->observers[i].early_ns = 0;
    }
    return !(watched[0].revents & POLLNVAL);
}

static void wait_until(nb_watchdog *watchdog, int64_t until_ns) {
    if (watches_any(watchdog)) {
        if (poll_until(watchdog, until_ns)) return;
        until_ns = smaller(until_ns, nb_clock_monotonic_ns() + UNWATCHED_NS);
        all_look_now(watchdog);
    }
    nb_thread_cond_wait_until(&watchdog->changed, &watchdog->lock, until_ns);
}

/* The calls after the announcement find what was published before it. What is published later
   rings the bell. */
static void sleep_until_rung(nb_watchdog *watchdog) {
    nb_doorbell_announce(&watchdog->bell);
    int64_t now_ns = nb_clock_monotonic_ns();
    all_look_now(watchdog);
    look_around(watchdog, now_ns);
    if (is_quiet(watchdog, now_ns)) {
        while (!watchdog->rung && !watchdog->ends)
            pthread_cond_wait(&watchdog->changed, &watchdog->lock);
        watchdog->seen_ns = nb_clock_monotonic_ns();
        all_look_now(watchdog);
    }
    nb_doorbell_cancel(&watchdog->bell);
    watchdog->rung = false;
}

static void *run(void *pointer) {
    nb_watchdog *watchdog = pointer;
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->ends) {
        int64_t now_ns = nb_clock_monotonic_ns();
        int64_t next_ns = look_around(watchdog, now_ns);
        if (is_quiet(watchdog, now_ns)) {
            sleep_until_rung(watchdog);
        } else if (!watchdog->rung) {
            wait_until(watchdog, next_ns);
        }
        watchdog->rung = false;
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

/* The caller holds the lock. */
static void wake(nb_watchdog *watchdog) {
    watchdog->rung = true;
    pthread_cond_signal(&watchdog->changed);
    if (watchdog->polls) nb_wake_signal(&watchdog->wake);
}

static bool reserve(nb_watchdog *watchdog) {
    if (watchdog->count < watchdog->capacity) return true;
    unsigned capacity = 2 * watchdog->capacity;
    observer *larger = nb_realloc(watchdog->observers, capacity * sizeof *larger);
    if (larger == NULL) return false;
    watchdog->observers = larger;
    watchdog->capacity = capacity;
    return true;
}

static void watchdog_free(nb_watchdog *watchdog) {
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->lock);
    nb_wake_deinit(&watchdog->wake);
    nb_free(watchdog->observers);
    nb_free(watchdog->watched);
    nb_free(watchdog);
}

static nb_status watchdog_init(nb_watchdog *watchdog) {
    nb_doorbell_init(&watchdog->bell);
    watchdog->wake = (nb_wake){.read_fd = -1, .write_fd = -1};
    pthread_mutex_init(&watchdog->lock, NULL);
    nb_thread_cond_init(&watchdog->changed);
    watchdog->seen_ns = nb_clock_monotonic_ns();
    watchdog->capacity = OBSERVERS_AT_FIRST;
    watchdog->observers = nb_alloc_zero(OBSERVERS_AT_FIRST, sizeof *watchdog->observers);
    if (watchdog->observers == NULL) return NB_NO_MEMORY;
    return nb_wake_init(&watchdog->wake);
}

nb_status nb_watchdog_create(const char *name, nb_watchdog **watchdog) {
    nb_watchdog *made = nb_alloc_zero(1, sizeof *made);
    if (made == NULL) return NB_NO_MEMORY;
    nb_status status = watchdog_init(made);
    if (status == NB_OK) status = nb_thread_start(name, run, made, &made->thread);
    if (status != NB_OK) {
        watchdog_free(made);
        return status;
    }
    *watchdog = made;
    return NB_OK;
}

void nb_watchdog_destroy(nb_watchdog *watchdog) {
    if (watchdog == NULL) return;
    pthread_mutex_lock(&watchdog->lock);
    watchdog->ends = true;
    wake(watchdog);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    watchdog_free(watchdog);
}

void nb_watchdog_forget(nb_watchdog *watchdog) { nb_wake_deinit(&watchdog->wake); }

nb_status nb_watchdog_add(nb_watchdog *watchdog, nb_watchdog_look *look, void *owner, int64_t idle_ns) {
    pthread_mutex_lock(&watchdog->lock);
    bool possible = reserve(watchdog);
    if (possible)
        watchdog->observers[watchdog->count++] = (observer){.look = look, .owner = owner, .idle_ns = idle_ns, .fd = -1};
    watchdog->seen_ns = nb_clock_monotonic_ns();
    wake(watchdog);
    pthread_mutex_unlock(&watchdog->lock);
    return possible ? NB_OK : NB_NO_MEMORY;
}

void nb_watchdog_remove(nb_watchdog *watchdog, nb_watchdog_look *look, void *owner) {
    pthread_mutex_lock(&watchdog->lock);
    for (unsigned i = 0; i < watchdog->count; i++) {
        if (watchdog->observers[i].look != look || watchdog->observers[i].owner != owner) continue;
        watchdog->observers[i] = watchdog->observers[--watchdog->count];
        break;
    }
    pthread_mutex_unlock(&watchdog->lock);
}

unsigned nb_watchdog_observers(nb_watchdog *watchdog) {
    pthread_mutex_lock(&watchdog->lock);
    unsigned count = watchdog->count;
    pthread_mutex_unlock(&watchdog->lock);
    return count;
}

bool nb_watchdog_sleeps(nb_watchdog *watchdog) {
    pthread_mutex_lock(&watchdog->lock);
    bool sleeps = nb_doorbell_sleeping(&watchdog->bell) && !watchdog->rung;
    pthread_mutex_unlock(&watchdog->lock);
    return sleeps;
}

nb_doorbell *nb_watchdog_bell(nb_watchdog *watchdog) { return &watchdog->bell; }

void nb_watchdog_ring(nb_watchdog *watchdog) {
    pthread_mutex_lock(&watchdog->lock);
    all_look_now(watchdog);
    wake(watchdog);
    pthread_mutex_unlock(&watchdog->lock);
}
