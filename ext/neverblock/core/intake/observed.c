/*
 * observed.c - see observed.h.
 */
#include "intake/observed.h"

/* --- which requests --- */

static nb_observed_class *find(nb_observed *observed, uint64_t key) {
    for (unsigned i = 0; i < NB_OBSERVED_CLASSES; i++) {
        if (observed->classes[i].key == key) return &observed->classes[i];
    }
    return NULL;
}

static nb_observed_record *first_of(nb_observed *observed, const nb_observed_class *class) {
    return &observed->records[(class - observed->classes) * (ptrdiff_t)NB_OBSERVED_EACH];
}

static void forget(nb_observed_record *record) {
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_set(&record->words[0], 0);
    nb_seqlock_write_end(&record->sequence);
}

static nb_observed_class *longest_ago(nb_observed *observed) {
    nb_observed_class *longest = &observed->classes[0];
    for (unsigned i = 1; i < NB_OBSERVED_CLASSES; i++) {
        if (observed->classes[i].began_ns < longest->began_ns) longest = &observed->classes[i];
    }
    return longest;
}

/* NULL: none makes way now. */
static nb_observed_class *make_way(nb_observed *observed, int64_t now_ns) {
    nb_observed_class *class = longest_ago(observed);
    bool quiet = now_ns - class->began_ns >= NB_OBSERVED_QUIET_NS;
    bool turn = observed->made_way_ns == 0 || now_ns - observed->made_way_ns >= NB_OBSERVED_EVERY_NS;
    if (!quiet && !turn) return NULL;
    if (!quiet) observed->made_way_ns = now_ns;
    for (unsigned i = 0; i < NB_OBSERVED_EACH; i++)
        forget(&first_of(observed, class)[i]);
    return class;
}

static nb_observed_class *place_for(nb_observed *observed, uint64_t key, int64_t now_ns) {
    nb_observed_class *class = find(observed, 0);
    if (!class) class = make_way(observed, now_ns);
    if (class) *class = (nb_observed_class){.key = key};
    return class;
}

static bool second_is_full(nb_observed *observed, int64_t now_ns) {
    if (now_ns - observed->second_ns >= NB_OBSERVED_EVERY_NS) {
        observed->second_ns = now_ns;
        observed->begun = 0;
    }
    return observed->begun >= NB_OBSERVED_BEGUN_MAX;
}

bool nb_observed_begin(nb_observed *observed, uint64_t key, int64_t now_ns) {
    nb_observed_class *class = find(observed, key);
    if (class && class->begun >= NB_OBSERVED_EACH && now_ns - class->began_ns < NB_OBSERVED_EVERY_NS) return false;
    if (second_is_full(observed, now_ns)) return false;
    if (!class) class = place_for(observed, key, now_ns);
    if (!class) return false;
    class->began_ns = now_ns;
    class->begun++;
    observed->begun++;
    return true;
}

/* --- a record --- */

/* What a record begins with; the used parts of the arrays follow. */
enum { HEAD_BYTES = offsetof(nb_observed_request, observation) + offsetof(nb_observation, waits) };
_Static_assert(HEAD_BYTES % sizeof(uint64_t) == 0, "a record is copied by words");

typedef struct parts {
    struct {
        void *at;
        size_t bytes;
    } all[4];
} parts;

static parts parts_of(nb_observation *observation) {
    return (parts){{{observation->waits, observation->wait_count * sizeof(*observation->waits)},
                    {observation->frames, observation->frame_count * sizeof(*observation->frames)},
                    {observation->numbers, observation->number_count * sizeof(*observation->numbers)},
                    {observation->text, observation->text_bytes}}};
}

static void store(nb_observed_record *record, nb_observed_request *request) {
    const parts used = parts_of(&request->observation);
    nb_seqlock_word *words = record->words + nb_seqlock_words(HEAD_BYTES);
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_store(record->words, request, HEAD_BYTES);
    for (unsigned i = 0; i < 4; i++) {
        nb_seqlock_store(words, used.all[i].at, used.all[i].bytes);
        words += nb_seqlock_words(used.all[i].bytes);
    }
    nb_seqlock_write_end(&record->sequence);
}

void nb_observed_put(nb_observed *observed, nb_observed_request *request) {
    nb_observed_class *class = find(observed, request->about.key);
    if (!class) return;
    uint32_t place = class->kept % NB_OBSERVED_EACH;
    request->about.extra = ++class->kept;
    store(&first_of(observed, class)[place], request);
}

/* --- readers --- */

bool nb_observed_peek(const nb_observed *observed, uint32_t number, uint64_t *key, int64_t *ended_ns) {
    const nb_seqlock_word *words = observed->records[number].words;
    *key = nb_seqlock_get(&words[offsetof(nb_kept_request, key) / sizeof(uint64_t)]);
    *ended_ns = (int64_t)nb_seqlock_get(&words[offsetof(nb_kept_request, ended_ns) / sizeof(uint64_t)]);
    return *key != 0;
}

static bool copy(const nb_observed_record *record, nb_observed_request *request) {
    uint64_t sequence;
    if (!nb_seqlock_read_begin(&record->sequence, &sequence)) return false;
    nb_seqlock_load(record->words, request, HEAD_BYTES);
    nb_observation_bound_counts(&request->observation);
    const parts used = parts_of(&request->observation);
    const nb_seqlock_word *words = record->words + nb_seqlock_words(HEAD_BYTES);
    for (unsigned i = 0; i < 4; i++) {
        nb_seqlock_load(words, used.all[i].at, used.all[i].bytes);
        words += nb_seqlock_words(used.all[i].bytes);
    }
    return nb_seqlock_read_end(&record->sequence, sequence);
}

bool nb_observed_read(const nb_observed *observed, uint32_t number, nb_observed_request *request) {
    for (int i = 0; i < NB_SEQLOCK_TRIES; i++) {
        if (!copy(&observed->records[number], request)) continue;
        nb_kept_request_bound(&request->about);
        nb_observation_bound(&request->observation);
        return request->about.key != 0;
    }
    return false;
}
