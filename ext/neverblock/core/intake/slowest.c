/*
 * slowest.c - see slowest.h.
 */
#include "intake/slowest.h"

#include <string.h>

static void forget(nb_slow_record *record) {
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_set(&record->bytes, 0);
    nb_seqlock_write_end(&record->sequence);
}

/* --- the writer --- */

/* What has become too old counts as nothing. */
static int64_t worth(const nb_slow_class *class, unsigned i, int64_t now_ns) {
    return now_ns - class->ended_ns[i] > NB_SLOWEST_KEPT_NS ? 0 : class->durations_ns[i];
}

static unsigned least_of(const nb_slow_class *class, int64_t now_ns) {
    unsigned least = 0;
    for (unsigned i = 1; i < NB_SLOWEST_EACH; i++) {
        if (worth(class, i, now_ns) < worth(class, least, now_ns)) least = i;
    }
    return least;
}

static int64_t most_of(const nb_slow_class *class, int64_t now_ns) {
    int64_t most = 0;
    for (unsigned i = 0; i < NB_SLOWEST_EACH; i++) {
        if (worth(class, i, now_ns) > most) most = worth(class, i, now_ns);
    }
    return most;
}

/* A free class, or the one that makes way; NULL: all are slower. */
static nb_slow_class *make_way(nb_slowest *slowest, int64_t duration_ns, int64_t now_ns) {
    nb_slow_class *least = NULL;
    int64_t least_ns = duration_ns;
    for (unsigned i = 0; i < NB_SLOWEST_CLASSES; i++) {
        nb_slow_class *class = &slowest->classes[i];
        if (slowest->keys[i] == 0) return class;
        int64_t most_ns = most_of(class, now_ns);
        if (most_ns >= least_ns) continue;
        least_ns = most_ns;
        least = class;
    }
    return least;
}

static nb_slow_class *find(nb_slowest *slowest, uint64_t key) {
    for (unsigned i = 0; i < NB_SLOWEST_CLASSES; i++) {
        if (slowest->keys[i] == key) return &slowest->classes[i];
    }
    return NULL;
}

static uint32_t first_of(const nb_slowest *slowest, const nb_slow_class *class) {
    return (uint32_t)(class - slowest->classes) * NB_SLOWEST_EACH;
}

static nb_slow_class *begin_class(nb_slowest *slowest, uint64_t key, int64_t duration_ns, int64_t now_ns) {
    nb_slow_class *class = make_way(slowest, duration_ns, now_ns);
    if (!class) return NULL;
    uint64_t *own_key = &slowest->keys[class - slowest->classes];
    for (unsigned i = 0; i < NB_SLOWEST_EACH && *own_key; i++)
        forget(&slowest->records[first_of(slowest, class) + i]);
    *own_key = key;
    *class = (nb_slow_class){{0}, {0}};
    return class;
}

uint32_t nb_slowest_place(nb_slowest *slowest, uint64_t key, int64_t duration_ns, int64_t now_ns) {
    nb_slow_class *class = find(slowest, key);
    if (!class) class = begin_class(slowest, key, duration_ns, now_ns);
    if (!class) return NB_SLOWEST_NONE;
    unsigned least = least_of(class, now_ns);
    if (worth(class, least, now_ns) >= duration_ns) return NB_SLOWEST_NONE;
    class->durations_ns[least] = duration_ns;
    class->ended_ns[least] = now_ns;
    return first_of(slowest, class) + least;
}

static size_t used_bytes(const nb_slow_request *request) {
    size_t waits = request->about.extra ? request->waterfall.count * sizeof(nb_waited) : 0;
    return offsetof(nb_slow_request, waterfall) + offsetof(nb_waterfall, waits) + waits;
}

void nb_slowest_put(nb_slowest *slowest, uint32_t number, const nb_slow_request *request) {
    nb_slow_record *record = &slowest->records[number];
    size_t bytes = used_bytes(request);
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_store(record->words, request, bytes);
    nb_seqlock_set(&record->bytes, bytes);
    nb_seqlock_write_end(&record->sequence);
}

/* --- readers --- */

static uint64_t word_at(const nb_slow_record *record, size_t offset) {
    return nb_seqlock_get(&record->words[offset / sizeof(uint64_t)]);
}

bool nb_slowest_peek(const nb_slowest *slowest, uint32_t number, uint64_t *key, int64_t *duration_ns,
                     int64_t *ended_ns) {
    const nb_slow_record *record = &slowest->records[number];
    *key = word_at(record, offsetof(nb_kept_request, key));
    *duration_ns = (int64_t)word_at(record, offsetof(nb_kept_request, duration_ns));
    *ended_ns = (int64_t)word_at(record, offsetof(nb_kept_request, ended_ns));
    return nb_seqlock_get(&record->bytes) != 0 && *key != 0;
}

static bool copy(const nb_slow_record *record, nb_slow_request *request) {
    uint64_t sequence;
    if (!nb_seqlock_read_begin(&record->sequence, &sequence)) return false;
    uint64_t bytes = nb_seqlock_get(&record->bytes);
    if (bytes > sizeof(*request)) bytes = sizeof(*request);
    memset(request, 0, sizeof(*request));
    nb_seqlock_load(record->words, request, bytes);
    return nb_seqlock_read_end(&record->sequence, sequence);
}

/* Another process has written it. */
static void bound(nb_slow_request *request) {
    nb_waterfall *waterfall = &request->waterfall;
    nb_kept_request_bound(&request->about);
    if (!request->about.extra) nb_waterfall_begin(waterfall);
    if (waterfall->count > NB_WATERFALL_WAITS_MAX) waterfall->count = NB_WATERFALL_WAITS_MAX;
    if (waterfall->line_count > NB_WATERFALL_LINES_MAX) waterfall->line_count = NB_WATERFALL_LINES_MAX;
    for (unsigned i = 0; i < NB_WATERFALL_LINES_MAX; i++)
        waterfall->lines[i][NB_WATERFALL_LINE_BYTES - 1] = '\0';
    for (uint32_t i = 0; i < waterfall->count; i++) {
        nb_waited *wait = &waterfall->waits[i];
        if (wait->text_bytes > sizeof(wait->text)) wait->text_bytes = sizeof(wait->text);
        if (wait->line > waterfall->line_count) wait->line = 0;
    }
}

bool nb_slowest_read(const nb_slowest *slowest, uint32_t number, nb_slow_request *request) {
    for (int i = 0; i < NB_SEQLOCK_TRIES; i++) {
        if (!copy(&slowest->records[number], request)) continue;
        bound(request);
        return request->about.key != 0;
    }
    return false;
}
