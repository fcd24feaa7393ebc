/*
 * pool_gauges.c - see pool_gauges.h.
 */
#include "intake/pool_gauges.h"

#include <string.h>

static const char *const kinds[] = {
#define NB_NAME(name) #name,
    NB_POOL_KIND_LIST(NB_NAME)
#undef NB_NAME
};

const char *nb_pool_kind_name(unsigned kind) { return kinds[kind < NB_POOL_KINDS ? kind : NB_POOL_KINDS - 1]; }

nb_pool_kind nb_pool_kind_named(const char *name) {
    for (unsigned kind = 0; kind < NB_POOL_KINDS; kind++) {
        if (strcmp(kinds[kind], name) == 0) return (nb_pool_kind)kind;
    }
    return NB_POOL_KINDS;
}

/* --- one gauge --- */

void nb_pool_gauge_init(nb_pool_gauge *gauge, nb_pool_kind kind, nb_slice name, uint32_t size) {
    size_t room = sizeof(gauge->name) - 1, bytes = name.size < room ? name.size : room;
    memset(gauge, 0, sizeof(*gauge));
    gauge->kind = kind;
    gauge->size = size;
    if (bytes) memcpy(gauge->name, name.data + name.size - bytes, bytes);
}

static int64_t slice_at(int64_t ns) { return ns / NB_POOL_SLICE_NS; }

static nb_pool_slice *slice_of(nb_pool_gauge *gauge, int64_t slice) {
    return &gauge->slices[(uint64_t)slice % NB_POOL_SLICES];
}

static uint32_t demand_of(const nb_pool_gauge *gauge) {
    uint64_t demand = (uint64_t)gauge->in_use + gauge->waiting;
    return demand < UINT32_MAX ? (uint32_t)demand : UINT32_MAX;
}

static void pass(nb_pool_gauge *gauge, nb_pool_slice *slice, int64_t until_ns) {
    slice->waited_ns += (uint64_t)(until_ns - gauge->changed_ns) * gauge->waiting;
    gauge->changed_ns = until_ns;
}

static void meets(const nb_pool_gauge *gauge, nb_pool_slice *slice) {
    if (demand_of(gauge) > slice->demand_max) slice->demand_max = demand_of(gauge);
}

/* The numbers have held until now. Of a time longer than the window its end counts. */
static bool advance(nb_pool_gauge *gauge, int64_t now_ns) {
    int64_t last = slice_at(gauge->changed_ns), now = slice_at(now_ns);
    if (now_ns <= gauge->changed_ns) return false;
    if (gauge->changed_ns == 0) last = now;
    gauge->waited_ns_total += (uint64_t)(now_ns - gauge->changed_ns) * gauge->waiting;
    if (now - last > NB_POOL_SLICES) {
        last = now - NB_POOL_SLICES;
        gauge->changed_ns = last * NB_POOL_SLICE_NS;
    }
    bool begins = last < now;
    for (; last < now; last++) {
        pass(gauge, slice_of(gauge, last), (last + 1) * NB_POOL_SLICE_NS);
        *slice_of(gauge, last + 1) = (nb_pool_slice){.demand_max = demand_of(gauge)};
    }
    pass(gauge, slice_of(gauge, now), now_ns);
    return begins;
}

bool nb_pool_gauge_tell(nb_pool_gauge *gauge, nb_pool_event event, uint32_t in_use, uint32_t waiting, int64_t now_ns) {
    bool begins = advance(gauge, now_ns);
    nb_pool_slice *slice = slice_of(gauge, slice_at(gauge->changed_ns));
    gauge->in_use = in_use;
    gauge->waiting = waiting;
    meets(gauge, slice);
    if (event == NB_POOL_ACQUIRED) {
        slice->acquired++;
        gauge->acquired_total++;
    } else if (event == NB_POOL_WAITS) {
        slice->waited++;
        gauge->waited_total++;
    } else if (event == NB_POOL_HELD_BACK) {
        slice->held_back = 1;
    }
    return begins;
}

bool nb_pool_gauge_is_idle(const nb_pool_gauge *gauge, int64_t now_ns) {
    return gauge->in_use == 0 && gauge->waiting == 0 && now_ns - gauge->changed_ns > NB_POOL_WINDOW_NS;
}

nb_pool_minute nb_pool_gauge_minute(const nb_pool_gauge *gauge) {
    nb_pool_minute minute = {0};
    for (unsigned i = 0; i < NB_POOL_SLICES; i++) {
        const nb_pool_slice *slice = &gauge->slices[i];
        if (slice->demand_max > minute.demand_max) minute.demand_max = slice->demand_max;
        minute.acquired += slice->acquired;
        minute.waited += slice->waited;
        minute.waited_ns += slice->waited_ns;
        minute.held_back |= slice->held_back != 0;
    }
    /* who waits since before is not among those that began to */
    uint32_t waits = minute.waited > gauge->waiting ? minute.waited : gauge->waiting;
    bool worth_it = waits && minute.waited_ns / waits >= (uint64_t)NB_POOL_TRIFLE_NS;
    if (worth_it && gauge->size && minute.demand_max > gauge->size) minute.would_do = minute.demand_max;
    return minute;
}

/* --- records --- */

static void put(nb_pool_record *record, const nb_pool_gauge *gauge, size_t from, size_t bytes) {
    uint64_t value;
    for (size_t at = from; at < from + bytes; at += sizeof(value)) {
        memcpy(&value, (const char *)gauge + at, sizeof(value));
        nb_seqlock_set(&record->words[at / sizeof(value)], value);
    }
}

void nb_pool_gauges_put(nb_pool_gauges *gauges, uint32_t number, const nb_pool_gauge *gauge) {
    nb_pool_record *record = &gauges->records[number];
    nb_seqlock_write_begin(&record->sequence);
    put(record, gauge, 0, sizeof(*gauge));
    nb_seqlock_write_end(&record->sequence);
}

void nb_pool_gauges_put_numbers(nb_pool_gauges *gauges, uint32_t number, const nb_pool_gauge *gauge) {
    nb_pool_record *record = &gauges->records[number];
    size_t slice = (uint64_t)slice_at(gauge->changed_ns) % NB_POOL_SLICES;
    nb_seqlock_write_begin(&record->sequence);
    put(record, gauge, 0, offsetof(nb_pool_gauge, slices));
    put(record, gauge, offsetof(nb_pool_gauge, slices) + slice * sizeof(nb_pool_slice), sizeof(nb_pool_slice));
    nb_seqlock_write_end(&record->sequence);
}

void nb_pool_gauges_clear(nb_pool_gauges *gauges, uint32_t number) {
    static const nb_pool_gauge empty;
    nb_pool_gauges_put(gauges, number, &empty);
}

static bool copy(const nb_pool_record *record, nb_pool_gauge *gauge) {
    uint64_t sequence, value;
    if (!nb_seqlock_read_begin(&record->sequence, &sequence)) return false;
    for (size_t i = 0; i < NB_POOL_GAUGE_WORDS; i++) {
        value = nb_seqlock_get(&record->words[i]);
        memcpy((char *)gauge + i * sizeof(value), &value, sizeof(value));
    }
    return nb_seqlock_read_end(&record->sequence, sequence);
}

/* Another process has written it. */
static bool bound(nb_pool_gauge *gauge) {
    gauge->name[sizeof(gauge->name) - 1] = '\0';
    for (char *at = gauge->name; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
    }
    return gauge->changed_ns > 0 && gauge->kind < NB_POOL_KINDS;
}

bool nb_pool_gauges_read(const nb_pool_gauges *gauges, uint32_t number, int64_t now_ns, nb_pool_gauge *gauge) {
    for (int i = 0; i < NB_SEQLOCK_TRIES; i++) {
        if (!copy(&gauges->records[number], gauge)) continue;
        if (!bound(gauge)) return false;
        advance(gauge, now_ns);
        return true;
    }
    return false;
}
