/*
 * resolver.c - one entry per name: its last answer, and during a lookup the list of those who wait
 * for it. One lock protects everything but lookups and `done` calls. Answers are copied to the
 * waiters under the lock, which removes them from the list: so a withdrawal either finds its query
 * in an entry or comes too late. Lock order: ours, then the pool's.
 */
#include "os/resolver.h"

#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "os/clock.h"
#include "os/workers.h"

enum {
    NAMES_MAX = 1024,  /* kept at once, 2 KB each */
    WAITING_MAX = 256, /* names whose lookup waits for a worker */
    BUCKETS = 256,
};

#define FRESH_NS (30 * NB_NS_PER_S)
#define NEGATIVE_NS (5 * NB_NS_PER_S)
#define STALE_NS (600 * NB_NS_PER_S)

typedef struct entry entry;

/* A running lookup. A block of its own, so that an idle entry holds one answer only. */
typedef struct question {
    nb_job job;
    nb_resolver *resolver;
    entry *entry;
    bool ran;
    nb_resolver_answer answer;
} question;

struct entry {
    entry *next;            /* in its bucket */
    entry *older, *younger; /* by last use */
    question *running;
    nb_resolver_query *first, **last; /* the queries that wait for it */
    /* Answer and answered_ns are set: addresses, or a definite error. */
    bool known;
    int64_t answered_ns;
    nb_resolver_answer answer;
    size_t bytes;
    char name[NB_RESOLVER_NAME_BYTES_MAX + 1];
};

struct nb_resolver {
    pthread_mutex_t lock;
    nb_workers *workers;
    nb_resolver_lookup lookup;
    nb_resolver_clock clock;
    bool closing; /* no one waits any more: lookups that have not begun are dropped */
    size_t names;
    nb_resolver_figures figures;
    entry *oldest, *youngest;
    entry *buckets[BUCKETS];
};

void nb_resolver_answer_copy(nb_resolver_answer *to, const nb_resolver_answer *from) {
    to->error = from->error;
    to->count = from->count;
    memcpy(to->addresses, from->addresses, from->count * sizeof from->addresses[0]);
}

static void set_error(nb_resolver_answer *answer, int error) {
    answer->error = error;
    answer->count = 0;
}

/* --- getaddrinfo --- */

static void add_address(nb_resolver_answer *answer, const struct addrinfo *found) {
    char *text = answer->addresses[answer->count];
    if (answer->count == NB_RESOLVER_ADDRESSES_MAX) return;
    if (getnameinfo(found->ai_addr, found->ai_addrlen, text, NB_RESOLVER_TEXT_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        return;
    for (unsigned i = 0; i < answer->count; i++) {
        if (strcmp(answer->addresses[i], text) == 0) return;
    }
    answer->count++;
}

static void ask_system(const char *name, nb_resolver_answer *answer) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    set_error(answer, getaddrinfo(name, NULL, &hints, &found));
    if (answer->error != 0) return;
    for (const struct addrinfo *one = found; one != NULL; one = one->ai_next)
        add_address(answer, one);
    freeaddrinfo(found);
}

/* --- names --- */

/* A bad hash costs a walk over at most NAMES_MAX entries. */
static entry **bucket_of(nb_resolver *self, const char *name, size_t bytes) {
    return &self->buckets[nb_hash(name, bytes) % BUCKETS];
}

static void unlink_age(nb_resolver *self, entry *it) {
    *(it->older != NULL ? &it->older->younger : &self->oldest) = it->younger;
    *(it->younger != NULL ? &it->younger->older : &self->youngest) = it->older;
}

static void link_youngest(nb_resolver *self, entry *it) {
    it->older = self->youngest;
    it->younger = NULL;
    *(self->youngest != NULL ? &self->youngest->younger : &self->oldest) = it;
    self->youngest = it;
}

static void forget(nb_resolver *self, entry *it) {
    entry **link = bucket_of(self, it->name, it->bytes);
    while (*link != it)
        link = &(*link)->next;
    *link = it->next;
    unlink_age(self, it);
    self->names--;
    nb_free(it);
}

/* Names with a lookup cannot be removed. They are at most WAITING_MAX and the workers, far fewer
   than NAMES_MAX. */
static void forget_oldest(nb_resolver *self) {
    entry *it = self->oldest;
    while (it != NULL && it->running != NULL)
        it = it->younger;
    if (it != NULL) forget(self, it);
}

static entry *find(nb_resolver *self, const char *name, size_t bytes) {
    entry *it = *bucket_of(self, name, bytes);
    while (it != NULL && (it->bytes != bytes || memcmp(it->name, name, bytes) != 0))
        it = it->next;
    return it;
}

static void use(nb_resolver *self, entry *it) {
    if (it == self->youngest) return;
    unlink_age(self, it);
    link_youngest(self, it);
}

static entry *remember(nb_resolver *self, const char *name, size_t bytes) {
    entry *it = find(self, name, bytes);
    if (it != NULL) {
        use(self, it);
        return it;
    }
    it = nb_alloc_zero(1, sizeof *it);
    if (it == NULL) return NULL;
    if (self->names >= NAMES_MAX) forget_oldest(self);
    it->last = &it->first;
    it->bytes = bytes;
    memcpy(it->name, name, bytes);
    entry **bucket = bucket_of(self, name, bytes);
    it->next = *bucket;
    *bucket = it;
    link_youngest(self, it);
    self->names++;
    return it;
}

/* --- answers --- */

static bool is_fresh(const entry *it, int64_t now_ns) {
    return it->known && now_ns - it->answered_ns < (it->answer.error == 0 ? FRESH_NS : NEGATIVE_NS);
}

static bool is_usable_when_stale(const entry *it, int64_t now_ns) {
    return it->known && it->answer.error == 0 && now_ns - it->answered_ns < STALE_NS;
}

static bool is_definite(int error) {
    switch (error) {
    case 0:
    case EAI_NONAME:
#if defined(EAI_NODATA) && EAI_NODATA != EAI_NONAME
    case EAI_NODATA:
#endif
#ifdef EAI_ADDRFAMILY
    case EAI_ADDRFAMILY:
#endif
        return true;
    default:
        return false;
    }
}

/* The answer for a lookup that failed for the moment. */
static void answer_failure(const entry *it, int64_t now_ns, int error, nb_resolver_answer *answer) {
    if (is_usable_when_stale(it, now_ns)) {
        nb_resolver_answer_copy(answer, &it->answer);
    } else {
        set_error(answer, error);
    }
}

static void learn(entry *it, question *asked, int64_t now_ns) {
    if (asked->answer.error == 0 && asked->answer.count == 0) asked->answer.error = EAI_NONAME;
    if (!is_definite(asked->answer.error)) {
        answer_failure(it, now_ns, asked->answer.error, &asked->answer);
        return;
    }
    nb_resolver_answer_copy(&it->answer, &asked->answer);
    it->answered_ns = now_ns;
    it->known = true;
}

static nb_resolver_query *take_waiters(entry *it) {
    nb_resolver_query *first = it->first;
    it->first = NULL;
    it->last = &it->first;
    return first;
}

static void call_done(nb_resolver_query *query) {
    while (query != NULL) {
        nb_resolver_query *next = query->next;
        query->done(query);
        query = next;
    }
}

/* --- the worker's side --- */

static void run_lookup(nb_job *job) {
    question *asked = (question *)job;
    nb_resolver *self = asked->resolver;
    pthread_mutex_lock(&self->lock);
    bool closing = self->closing;
    pthread_mutex_unlock(&self->lock);
    if (closing) return;
    /* The name never changes while the entry has a lookup running. */
    self->lookup(asked->entry->name, &asked->answer);
    asked->ran = true;
}

static void finish_lookup(nb_job *job) {
    question *asked = (question *)job;
    nb_resolver *self = asked->resolver;
    entry *it = asked->entry;
    if (!asked->ran) set_error(&asked->answer, EAI_AGAIN);
    int64_t now_ns = self->clock();
    pthread_mutex_lock(&self->lock);
    learn(it, asked, now_ns);
    it->running = NULL;
    self->figures.pending--;
    if (asked->answer.error != 0) self->figures.failed++;
    nb_resolver_query *waiters = take_waiters(it);
    for (nb_resolver_query *one = waiters; one != NULL; one = one->next)
        nb_resolver_answer_copy(&one->answer, &asked->answer);
    pthread_mutex_unlock(&self->lock);
    nb_free(asked);
    call_done(waiters);
}

/* --- the asker's side --- */

static nb_status start_lookup(nb_resolver *self, entry *it) {
    question *asked = nb_alloc_zero(1, sizeof *asked);
    if (asked == NULL) return NB_NO_MEMORY;
    asked->job = (nb_job){.run = run_lookup, .done = finish_lookup};
    asked->resolver = self;
    asked->entry = it;
    it->running = asked;
    nb_status status = nb_workers_submit(self->workers, &asked->job);
    if (status == NB_OK) {
        self->figures.lookups++;
        self->figures.pending++;
        return NB_OK;
    }
    it->running = NULL;
    nb_free(asked);
    return status;
}

/* Call with the lock held. NB_AGAIN: the query waits. NB_OK: its answer is set. */
static nb_status ask(nb_resolver *self, const char *name, size_t bytes, int64_t now_ns, nb_resolver_query *query) {
    entry *it = remember(self, name, bytes);
    if (it == NULL) return NB_NO_MEMORY;
    if (is_fresh(it, now_ns)) {
        self->figures.cached++;
        nb_resolver_answer_copy(&query->answer, &it->answer);
        return NB_OK;
    }
    nb_status status = it->running != NULL ? NB_OK : start_lookup(self, it);
    if (status == NB_NO_MEMORY) return status;
    if (status != NB_OK) {
        answer_failure(it, now_ns, EAI_AGAIN, &query->answer);
        return NB_OK;
    }
    query->next = NULL;
    *it->last = query;
    it->last = &query->next;
    return NB_AGAIN;
}

static bool cannot_exist(const char *name, size_t bytes) { return bytes == 0 || memchr(name, '\0', bytes) != NULL; }

nb_status nb_resolver_known(nb_resolver *resolver, const char *name, size_t bytes, nb_resolver_answer *answer) {
    if (bytes > NB_RESOLVER_NAME_BYTES_MAX) return NB_OVER_LIMIT;
    if (cannot_exist(name, bytes)) {
        set_error(answer, EAI_NONAME);
        return NB_OK;
    }
    int64_t now_ns = resolver->clock();
    pthread_mutex_lock(&resolver->lock);
    entry *it = find(resolver, name, bytes);
    bool known = it != NULL && is_fresh(it, now_ns);
    if (known) {
        use(resolver, it);
        resolver->figures.cached++;
        nb_resolver_answer_copy(answer, &it->answer);
    }
    pthread_mutex_unlock(&resolver->lock);
    return known ? NB_OK : NB_NOT_FOUND;
}

nb_status nb_resolver_ask(nb_resolver *resolver, const char *name, size_t bytes, nb_resolver_query *query) {
    if (bytes > NB_RESOLVER_NAME_BYTES_MAX) return NB_OVER_LIMIT;
    if (cannot_exist(name, bytes)) {
        set_error(&query->answer, EAI_NONAME);
        query->done(query);
        return NB_OK;
    }
    int64_t now_ns = resolver->clock();
    pthread_mutex_lock(&resolver->lock);
    nb_status status = ask(resolver, name, bytes, now_ns, query);
    pthread_mutex_unlock(&resolver->lock);
    if (status == NB_OK) query->done(query);
    return status == NB_AGAIN ? NB_OK : status;
}

nb_resolver_figures nb_resolver_figures_read(nb_resolver *resolver) {
    pthread_mutex_lock(&resolver->lock);
    nb_resolver_figures figures = resolver->figures;
    pthread_mutex_unlock(&resolver->lock);
    return figures;
}

static bool remove_waiter(entry *it, nb_resolver_query *query) {
    nb_resolver_query **link = &it->first;
    while (*link != NULL && *link != query)
        link = &(*link)->next;
    if (*link == NULL) return false;
    *link = query->next;
    if (*link == NULL) it->last = link;
    return true;
}

int nb_resolver_withdraw(nb_resolver *resolver, nb_resolver_query *query) {
    bool found = false;
    pthread_mutex_lock(&resolver->lock);
    for (entry *it = resolver->youngest; it != NULL && !found; it = it->older)
        found = remove_waiter(it, query);
    pthread_mutex_unlock(&resolver->lock);
    return found;
}

/* --- life --- */

nb_status nb_resolver_create(unsigned threads, nb_resolver_lookup lookup, nb_resolver_clock clock,
                             nb_resolver **resolver) {
    NB_ASSERT(threads > 0 && threads + WAITING_MAX < NAMES_MAX);
    nb_resolver *self = nb_alloc_zero(1, sizeof *self);
    if (self == NULL) return NB_NO_MEMORY;
    nb_status status = nb_workers_create("nb-resolver", threads, WAITING_MAX, &self->workers);
    if (status != NB_OK) {
        nb_free(self);
        return status;
    }
    pthread_mutex_init(&self->lock, NULL);
    self->lookup = lookup != NULL ? lookup : ask_system;
    self->clock = clock != NULL ? clock : nb_clock_monotonic_ns;
    *resolver = self;
    return NB_OK;
}

static nb_resolver_query *take_all_waiters(nb_resolver *self) {
    nb_resolver_query *all = NULL, **last = &all;
    for (entry *it = self->oldest; it != NULL; it = it->younger) {
        *last = take_waiters(it);
        while (*last != NULL) {
            set_error(&(*last)->answer, EAI_AGAIN);
            last = &(*last)->next;
        }
    }
    return all;
}

void nb_resolver_destroy(nb_resolver *resolver) {
    if (resolver == NULL) return;
    pthread_mutex_lock(&resolver->lock);
    resolver->closing = true;
    nb_resolver_query *waiting = take_all_waiters(resolver);
    pthread_mutex_unlock(&resolver->lock);
    call_done(waiting);
    nb_workers_destroy(resolver->workers);
    while (resolver->oldest != NULL)
        forget(resolver, resolver->oldest);
    pthread_mutex_destroy(&resolver->lock);
    nb_free(resolver);
}
