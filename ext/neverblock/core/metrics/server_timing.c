/*
 * server_timing.c - see server_timing.h. Numbers are written here and not by snprintf, as each
 * response waits for them.
 */
#include "metrics/server_timing.h"

#include <string.h>

#include "base/assert.h"

typedef struct line {
    char *out;
    size_t size;
} line;

static void add_bytes(line *to, const char *bytes, size_t size) {
    memcpy(to->out + to->size, bytes, size);
    to->size += size;
}

/* A literal. */
#define ADD(to, text) add_bytes(to, text, sizeof(text) - 1)

static void add_number(line *to, uint64_t number) {
    char digits[20];
    size_t first = sizeof(digits);
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(to->out + to->size, digits + first, sizeof(digits) - first);
    to->size += sizeof(digits) - first;
}

/* Milliseconds with three digits behind the point. */
static void add_ms(line *to, int64_t ns) {
    uint64_t us = ns > 0 ? (uint64_t)ns / 1000 : 0;
    uint64_t part = us % 1000;
    char behind[] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10)};
    add_number(to, us / 1000);
    add_bytes(to, behind, sizeof(behind));
}

/* name: a literal. */
#define ADD_DURATION(to, name, ns) (ADD(to, name ";dur="), add_ms(to, ns))

static void add_wait(line *to, unsigned kind, int64_t ns, uint32_t waits) {
    const char *name = nb_fiber_wait_name(kind);
    ADD(to, ", wait-");
    add_bytes(to, name, strlen(name));
    ADD_DURATION(to, "", ns);
    if (waits < 2) return;
    ADD(to, ";desc=\"");
    add_number(to, waits);
    ADD(to, " waits\"");
}

size_t nb_server_timing_write(char *out, const nb_account *account, int64_t now_ns) {
    line to = {out, 0};
    ADD(&to, "server-timing: ");
    ADD_DURATION(&to, "head", account->head_ns);
    if (account->body_ns) ADD_DURATION(&to, ", body", account->body_ns);
    ADD_DURATION(&to, ", queue", account->queue_ns);
    ADD_DURATION(&to, ", run", now_ns - account->taken_ns);
    ADD_DURATION(&to, ", ran", account->ran_ns);
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        if (account->wait_ns[kind] || account->waits[kind])
            add_wait(&to, kind, account->wait_ns[kind], account->waits[kind]);
    }
    if (account->gc_ns) ADD_DURATION(&to, ", gc", account->gc_ns);
    ADD(&to, ", allocations;desc=\"");
    add_number(&to, account->allocated);
    ADD(&to, "\"\r\n");
    NB_ASSERT(to.size <= NB_SERVER_TIMING_BYTES_MAX);
    return to.size;
}
