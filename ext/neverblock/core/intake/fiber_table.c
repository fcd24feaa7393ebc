/*
 * fiber_table.c - see fiber_table.h.
 */
#include "intake/fiber_table.h"

#include <string.h>

#include "base/seqlock.h"

static const char *const names[] = {
#define NB_FIBER_WAIT(name) #name,
    NB_FIBER_WAIT_LIST(NB_FIBER_WAIT)
#undef NB_FIBER_WAIT
};

const char *nb_fiber_wait_name(unsigned kind) { return names[kind < NB_FIBER_WAIT_KINDS ? kind : 0]; }

nb_fiber_wait_kind nb_fiber_wait_named(const char *name) {
    unsigned kind = 0;
    while (kind < NB_FIBER_WAIT_KINDS && strcmp(names[kind], name) != 0)
        kind++;
    return (nb_fiber_wait_kind)kind;
}

/* out: with room for `size` and an end. */
static void get_bytes(const nb_seqlock_word *words, char *out, size_t size) {
    nb_seqlock_load(words, out, size);
    out[size] = '\0';
}

/* --- free records --- */

/* The link of a free record is the number of the next one + 1, as `first` is. */
static uint32_t take(uint32_t *first, _Atomic uint32_t *used, uint32_t max, uint32_t *next) {
    if (*first) {
        uint32_t record = *first - 1;
        *first = next[0];
        return record;
    }
    uint32_t record = atomic_load_explicit(used, memory_order_relaxed);
    if (record >= max) return NB_FIBER_NONE;
    atomic_store_explicit(used, record + 1, memory_order_release);
    return record;
}

/* --- requests --- */

/* The first is known to nb_fiber_request_is. */
enum { REQUEST_EXCHANGE, REQUEST_ARRIVED, REQUEST_TAKEN, REQUEST_FIBER, REQUEST_SIZES, REQUEST_LINE };
enum { REQUEST_ID = REQUEST_LINE + NB_FIBER_LINE_BYTES / 8 };

static size_t append(char *line, size_t size, const char *bytes, size_t count) {
    if (count > NB_FIBER_LINE_BYTES - size) count = NB_FIBER_LINE_BYTES - size;
    if (count) memcpy(line + size, bytes, count);
    return size + count;
}

uint32_t nb_fiber_request_begin(nb_fiber_memory *memory, const nb_fiber_request_facts *facts) {
    uint32_t first = memory->request_free;
    uint32_t *next = first ? &memory->requests[first - 1].next_free : NULL;
    uint32_t number = take(&memory->request_free, &memory->requests_used, NB_FIBER_REQUESTS_MAX, next);
    if (number == NB_FIBER_NONE) return NB_FIBER_NONE;

    char line[NB_FIBER_LINE_BYTES], id[NB_FIBER_ID_BYTES] = {0};
    if (facts->id.size) memcpy(id, facts->id.data, facts->id.size < sizeof id ? facts->id.size : sizeof id);
    size_t size = append(line, 0, facts->method.data, facts->method.size);
    size = append(line, size, " ", 1);
    size = append(line, size, facts->path.data, facts->path.size);
    size_t path_bytes = size;
    if (facts->query.size) size = append(line, size, "?", 1);
    size = append(line, size, facts->query.data, facts->query.size);

    nb_fiber_request_record *record = &memory->requests[number];
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_set(&record->words[REQUEST_EXCHANGE], facts->exchange);
    nb_seqlock_set(&record->words[REQUEST_ARRIVED], (uint64_t)facts->arrived_ns);
    nb_seqlock_set(&record->words[REQUEST_TAKEN], (uint64_t)facts->taken_ns);
    nb_seqlock_set(&record->words[REQUEST_FIBER], facts->fiber);
    nb_seqlock_set(&record->words[REQUEST_SIZES], facts->route | (uint64_t)path_bytes << 16 | (uint64_t)size << 32);
    nb_seqlock_store(&record->words[REQUEST_LINE], line, size);
    nb_seqlock_store(&record->words[REQUEST_ID], id, sizeof id);
    atomic_store_explicit(&record->ran_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&record->wait, 0, memory_order_relaxed);
    atomic_store_explicit(&record->trace, 0, memory_order_relaxed);
    nb_seqlock_write_end(&record->sequence);
    return number;
}

void nb_fiber_request_end(nb_fiber_memory *memory, uint32_t number) {
    if (number == NB_FIBER_NONE) return;
    nb_fiber_request_record *record = &memory->requests[number];
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_set(&record->words[REQUEST_EXCHANGE], 0);
    nb_seqlock_write_end(&record->sequence);
    record->next_free = memory->request_free;
    memory->request_free = number + 1;
}

void nb_fiber_request_ran(nb_fiber_memory *memory, uint32_t number, int64_t ns) {
    if (number == NB_FIBER_NONE || ns <= 0) return;
    _Atomic uint64_t *ran = &memory->requests[number].ran_ns;
    atomic_store_explicit(ran, atomic_load_explicit(ran, memory_order_relaxed) + (uint64_t)ns, memory_order_relaxed);
}

static bool copy_request(const nb_fiber_request_record *record, nb_fiber_request *request) {
    uint64_t number, sizes;
    if (!nb_seqlock_read_begin(&record->sequence, &number)) return false;
    request->exchange = nb_seqlock_get(&record->words[REQUEST_EXCHANGE]);
    request->arrived_ns = (int64_t)nb_seqlock_get(&record->words[REQUEST_ARRIVED]);
    request->taken_ns = (int64_t)nb_seqlock_get(&record->words[REQUEST_TAKEN]);
    request->fiber = nb_seqlock_get(&record->words[REQUEST_FIBER]);
    sizes = nb_seqlock_get(&record->words[REQUEST_SIZES]);
    size_t size = sizes >> 32 <= NB_FIBER_LINE_BYTES ? sizes >> 32 : NB_FIBER_LINE_BYTES;
    request->route = (uint16_t)sizes;
    request->path_bytes = (uint16_t)(sizes >> 16) <= size ? (uint16_t)(sizes >> 16) : (uint16_t)size;
    get_bytes(&record->words[REQUEST_LINE], request->line, size);
    get_bytes(&record->words[REQUEST_ID], request->id, NB_FIBER_ID_BYTES);
    request->ran_ns = atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&record->ran_ns, memory_order_acquire);
    uint32_t wait = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&record->wait, memory_order_acquire);
    request->wait = wait >= 1 && wait <= NB_FIBER_WAITS_MAX ? wait - 1 : NB_FIBER_NONE;
    uint32_t trace = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&record->trace, memory_order_acquire);
    request->trace = trace >= 1 && trace <= NB_FIBER_TRACES_MAX ? trace - 1 : NB_FIBER_NONE;
    return nb_seqlock_read_end(&record->sequence, number);
}

bool nb_fiber_request_read(const nb_fiber_memory *memory, uint32_t number, nb_fiber_request *request) {
    if (number >= NB_FIBER_REQUESTS_MAX) return false;
    for (int i = 0; i < NB_SEQLOCK_TRIES; i++) {
        if (copy_request(&memory->requests[number], request)) return request->exchange != 0;
    }
    return false;
}

static uint32_t bounded(const _Atomic uint32_t *used, uint32_t max) {
    uint32_t count = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)used, memory_order_acquire);
    return count < max ? count : max;
}

uint32_t nb_fiber_requests_used(const nb_fiber_memory *memory) {
    return bounded(&memory->requests_used, NB_FIBER_REQUESTS_MAX);
}

uint32_t nb_fiber_waits_used(const nb_fiber_memory *memory) { return bounded(&memory->waits_used, NB_FIBER_WAITS_MAX); }

bool nb_fiber_request_peek(const nb_fiber_memory *memory, uint32_t number, int64_t *since_ns) {
    const nb_fiber_request_record *record = &memory->requests[number];
    *since_ns = (int64_t)nb_seqlock_get(&record->words[REQUEST_ARRIVED]);
    return nb_seqlock_get(&record->words[REQUEST_EXCHANGE]) != 0;
}

/* --- waits --- */

/* WAIT_FACTS: 1 (it is used), kind, direction, own, size of the text; a byte each. */
enum { WAIT_SINCE, WAIT_UNTIL, WAIT_SUBJECT, WAIT_FIBER, WAIT_EXCHANGE, WAIT_NUMBERS, WAIT_FACTS, WAIT_TEXT };

uint32_t nb_fiber_wait_begin(nb_fiber_memory *memory, const nb_fiber_wait *facts, nb_slice text) {
    uint32_t first = memory->wait_free;
    uint32_t *next = first ? &memory->waits[first - 1].next_free : NULL;
    uint32_t number = take(&memory->wait_free, &memory->waits_used, NB_FIBER_WAITS_MAX, next);
    if (number == NB_FIBER_NONE) return NB_FIBER_NONE;

    nb_fiber_wait_record *record = &memory->waits[number];
    size_t size = text.size < NB_FIBER_TEXT_BYTES ? text.size : NB_FIBER_TEXT_BYTES;
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_set(&record->words[WAIT_SINCE], (uint64_t)facts->since_ns);
    nb_seqlock_set(&record->words[WAIT_UNTIL], (uint64_t)facts->until_ns);
    nb_seqlock_set(&record->words[WAIT_SUBJECT], facts->subject);
    nb_seqlock_set(&record->words[WAIT_FIBER], facts->fiber);
    nb_seqlock_set(&record->words[WAIT_EXCHANGE], facts->exchange);
    nb_seqlock_set(&record->words[WAIT_NUMBERS], (uint64_t)(uint32_t)facts->number << 32 | facts->request);
    nb_seqlock_set(&record->words[WAIT_FACTS], 1u | (uint64_t)facts->kind << 8 | (uint64_t)facts->direction << 16 |
                                                   (uint64_t)facts->own << 24 | (uint64_t)size << 32);
    if (size) nb_seqlock_store(&record->words[WAIT_TEXT], text.data, size);
    atomic_store_explicit(&record->ready, 0, memory_order_relaxed);
    atomic_store_explicit(&record->trace, 0, memory_order_relaxed);
    nb_seqlock_write_end(&record->sequence);
    if (facts->own && facts->request != NB_FIBER_NONE)
        atomic_store_explicit(&memory->requests[facts->request].wait, number + 1, memory_order_release);
    return number;
}

void nb_fiber_wait_end(nb_fiber_memory *memory, uint32_t number, uint32_t request) {
    nb_fiber_wait_record *record = &memory->waits[number];
    if (request != NB_FIBER_NONE) atomic_store_explicit(&memory->requests[request].wait, 0, memory_order_relaxed);
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_set(&record->words[WAIT_FACTS], 0);
    nb_seqlock_write_end(&record->sequence);
    record->next_free = memory->wait_free;
    memory->wait_free = number + 1;
}

static nb_fiber_wait_kind kind_of(uint64_t facts) {
    uint8_t kind = (uint8_t)(facts >> 8);
    return kind < NB_FIBER_WAIT_KINDS ? (nb_fiber_wait_kind)kind : NB_FIBER_WAIT_other;
}

static bool is_own(uint64_t facts) { return facts >> 24 & 1; }

static bool copy_wait(const nb_fiber_wait_record *record, nb_fiber_wait *wait, bool *used) {
    if (!nb_seqlock_read_begin(&record->sequence, &wait->sequence)) return false;
    uint64_t facts = nb_seqlock_get(&record->words[WAIT_FACTS]), numbers = nb_seqlock_get(&record->words[WAIT_NUMBERS]);
    size_t size = facts >> 32 <= NB_FIBER_TEXT_BYTES ? facts >> 32 : NB_FIBER_TEXT_BYTES;
    *used = facts & 1;
    wait->since_ns = (int64_t)nb_seqlock_get(&record->words[WAIT_SINCE]);
    wait->until_ns = (int64_t)nb_seqlock_get(&record->words[WAIT_UNTIL]);
    wait->subject = nb_seqlock_get(&record->words[WAIT_SUBJECT]);
    wait->fiber = nb_seqlock_get(&record->words[WAIT_FIBER]);
    wait->exchange = nb_seqlock_get(&record->words[WAIT_EXCHANGE]);
    wait->request = (uint32_t)numbers < NB_FIBER_REQUESTS_MAX ? (uint32_t)numbers : NB_FIBER_NONE;
    wait->number = (int32_t)(uint32_t)(numbers >> 32);
    wait->kind = (uint8_t)kind_of(facts);
    wait->direction = (uint8_t)(facts >> 16);
    wait->own = is_own(facts);
    wait->ready = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&record->ready, memory_order_acquire) != 0;
    uint32_t trace = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&record->trace, memory_order_acquire);
    wait->trace = trace >= 1 && trace <= NB_FIBER_TRACES_MAX ? trace - 1 : NB_FIBER_NONE;
    get_bytes(&record->words[WAIT_TEXT], wait->text, size);
    return nb_seqlock_read_end(&record->sequence, wait->sequence);
}

bool nb_fiber_wait_read(const nb_fiber_memory *memory, uint32_t number, nb_fiber_wait *wait) {
    bool used;
    if (number >= NB_FIBER_WAITS_MAX) return false;
    for (int i = 0; i < NB_SEQLOCK_TRIES; i++) {
        if (copy_wait(&memory->waits[number], wait, &used)) return used;
    }
    return false;
}

bool nb_fiber_wait_peek(const nb_fiber_memory *memory, uint32_t number, int64_t *since_ns, nb_fiber_wait_kind *kind,
                        bool *own) {
    const nb_fiber_wait_record *record = &memory->waits[number];
    uint64_t facts = nb_seqlock_get(&record->words[WAIT_FACTS]);
    *since_ns = (int64_t)nb_seqlock_get(&record->words[WAIT_SINCE]);
    *kind = kind_of(facts);
    *own = is_own(facts);
    return facts & 1;
}

static bool request_of_waiting(const nb_fiber_memory *memory, uint64_t fiber, nb_fiber_request *request) {
    nb_fiber_wait wait;
    for (uint32_t i = 0, used = nb_fiber_waits_used(memory); i < used; i++) {
        if (nb_seqlock_get(&memory->waits[i].words[WAIT_FIBER]) != fiber || !nb_fiber_wait_read(memory, i, &wait))
            continue;
        if (wait.fiber == fiber && nb_fiber_request_read(memory, wait.request, request))
            return request->exchange == wait.exchange;
    }
    return false;
}

bool nb_fiber_request_of(const nb_fiber_memory *memory, uint64_t fiber, nb_fiber_request *request) {
    for (uint32_t i = 0, used = nb_fiber_requests_used(memory); i < used; i++) {
        if (nb_seqlock_get(&memory->requests[i].words[REQUEST_FIBER]) != fiber) continue;
        if (nb_fiber_request_read(memory, i, request) && request->fiber == fiber) return true;
    }
    return request_of_waiting(memory, fiber, request);
}

/* --- traces --- */

enum { TRACE_WAIT, TRACE_SEQUENCE, TRACE_EXCHANGE, TRACE_TAKEN, TRACE_SINCE, TRACE_SIZES, TRACE_TEXT };

/* Whole lines only. */
static size_t whole_lines(nb_slice text) {
    if (text.size <= NB_FIBER_TRACE_BYTES) return text.size;
    size_t size = NB_FIBER_TRACE_BYTES;
    while (size > 0 && text.data[size - 1] != '\n')
        size--;
    return size;
}

static void put(nb_fiber_trace_record *record, const nb_fiber_trace *facts, nb_slice text) {
    size_t size = whole_lines(text);
    nb_seqlock_write_begin(&record->sequence);
    nb_seqlock_set(&record->words[TRACE_WAIT], facts->wait);
    nb_seqlock_set(&record->words[TRACE_SEQUENCE], facts->wait_sequence);
    nb_seqlock_set(&record->words[TRACE_EXCHANGE], facts->exchange);
    nb_seqlock_set(&record->words[TRACE_TAKEN], (uint64_t)facts->taken_ns);
    nb_seqlock_set(&record->words[TRACE_SINCE], (uint64_t)facts->since_ns);
    nb_seqlock_set(&record->words[TRACE_SIZES], (uint64_t)size | (uint64_t)facts->kind << 32);
    nb_seqlock_store(&record->words[TRACE_TEXT], text.data, size);
    nb_seqlock_write_end(&record->sequence);
}

static bool is_of(const nb_fiber_trace *trace, uint32_t wait, uint64_t sequence) {
    return trace->wait == wait && trace->wait_sequence == sequence;
}

/* Of the writer, so that nothing changes meanwhile. */
int64_t nb_fiber_trace_taken_ns(const nb_fiber_memory *memory, uint32_t wait) {
    const nb_fiber_wait_record *record = &memory->waits[wait];
    uint32_t number = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&record->trace, memory_order_relaxed);
    if (number == 0) return 0;
    const nb_seqlock_word *words = memory->traces[number - 1].words;
    nb_fiber_trace trace = {.wait = (uint32_t)nb_seqlock_get(&words[TRACE_WAIT]),
                            .wait_sequence = nb_seqlock_get(&words[TRACE_SEQUENCE])};
    return is_of(&trace, wait, nb_seqlock_get(&record->sequence)) ? (int64_t)nb_seqlock_get(&words[TRACE_TAKEN]) : 0;
}

size_t nb_fiber_trace_line(const nb_fiber_memory *memory, uint32_t wait, char *out, size_t room) {
    char text[NB_FIBER_TRACE_BYTES + 1];
    if (wait == NB_FIBER_NONE || nb_fiber_trace_taken_ns(memory, wait) == 0) return 0;
    uint32_t number = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&memory->waits[wait].trace,
                                           memory_order_relaxed);
    const nb_fiber_trace_record *record = &memory->traces[number - 1];
    size_t size = (uint32_t)nb_seqlock_get(&record->words[TRACE_SIZES]);
    if (size > NB_FIBER_TRACE_BYTES) size = NB_FIBER_TRACE_BYTES;
    get_bytes(&record->words[TRACE_TEXT], text, size);
    const char *end = memchr(text, '\n', size);
    size_t line = end ? (size_t)(end - text) : size;
    if (line > room) line = room;
    memcpy(out, text, line);
    return line;
}

/* The record of the request whose own fiber was preempted; NB_FIBER_NONE: it waits for
   something. */
static uint32_t preempted_request(const nb_fiber_wait_record *record) {
    uint64_t facts = nb_seqlock_get(&record->words[WAIT_FACTS]);
    bool preempted = is_own(facts) && kind_of(facts) == NB_FIBER_WAIT_turn;
    return preempted ? (uint32_t)nb_seqlock_get(&record->words[WAIT_NUMBERS]) : NB_FIBER_NONE;
}

void nb_fiber_trace_put(nb_fiber_memory *memory, uint32_t wait, int64_t taken_ns, nb_slice text) {
    nb_fiber_wait_record *record = &memory->waits[wait];
    uint32_t number = atomic_load_explicit(&record->trace, memory_order_relaxed);
    if (nb_fiber_trace_taken_ns(memory, wait) == 0) {
        number = memory->trace_next + 1;
        memory->trace_next = (memory->trace_next + 1) % NB_FIBER_TRACES_MAX;
    }
    nb_fiber_trace facts = {.wait = wait,
                            .wait_sequence = atomic_load_explicit(&record->sequence, memory_order_relaxed),
                            .exchange = nb_seqlock_get(&record->words[WAIT_EXCHANGE]),
                            .taken_ns = taken_ns};
    put(&memory->traces[number - 1], &facts, text);
    atomic_store_explicit(&record->trace, number, memory_order_release);
    uint32_t request = preempted_request(record);
    if (nb_fiber_request_is(memory, request, facts.exchange))
        atomic_store_explicit(&memory->requests[request].trace, number, memory_order_release);
}

static bool copy_trace(const nb_fiber_trace_record *record, nb_fiber_trace *trace) {
    uint64_t number;
    if (!nb_seqlock_read_begin(&record->sequence, &number)) return false;
    uint64_t sizes = nb_seqlock_get(&record->words[TRACE_SIZES]);
    trace->wait = (uint32_t)nb_seqlock_get(&record->words[TRACE_WAIT]);
    trace->wait_sequence = nb_seqlock_get(&record->words[TRACE_SEQUENCE]);
    trace->exchange = nb_seqlock_get(&record->words[TRACE_EXCHANGE]);
    trace->taken_ns = (int64_t)nb_seqlock_get(&record->words[TRACE_TAKEN]);
    trace->since_ns = (int64_t)nb_seqlock_get(&record->words[TRACE_SINCE]);
    trace->text_bytes = (uint32_t)sizes <= NB_FIBER_TRACE_BYTES ? (uint32_t)sizes : NB_FIBER_TRACE_BYTES;
    trace->kind = (uint16_t)(sizes >> 32);
    get_bytes(&record->words[TRACE_TEXT], trace->text, trace->text_bytes);
    return nb_seqlock_read_end(&record->sequence, number);
}

bool nb_fiber_trace_read(const nb_fiber_memory *memory, uint32_t record, const nb_fiber_wait *wait,
                         nb_fiber_trace *trace) {
    if (wait->trace >= NB_FIBER_TRACES_MAX) return false;
    for (int i = 0; i < NB_SEQLOCK_TRIES; i++) {
        if (copy_trace(&memory->traces[wait->trace], trace)) return is_of(trace, record, wait->sequence);
    }
    return false;
}

bool nb_fiber_preempted_read(const nb_fiber_memory *memory, const nb_fiber_request *request, nb_fiber_trace *trace) {
    if (request->trace >= NB_FIBER_TRACES_MAX) return false;
    for (int i = 0; i < NB_SEQLOCK_TRIES; i++) {
        if (copy_trace(&memory->traces[request->trace], trace)) return trace->exchange == request->exchange;
    }
    return false;
}

void nb_fiber_stall_put(nb_fiber_memory *memory, uint16_t kind, int64_t since_ns, int64_t now_ns, nb_slice text) {
    nb_fiber_trace facts = {.since_ns = since_ns, .taken_ns = now_ns, .kind = kind};
    put(&memory->stall, &facts, text);
}

bool nb_fiber_stall_read(const nb_fiber_memory *memory, int64_t since_ns, nb_fiber_trace *trace) {
    for (int i = 0; i < NB_SEQLOCK_TRIES; i++) {
        if (copy_trace(&memory->stall, trace)) return trace->since_ns == since_ns;
    }
    return false;
}
