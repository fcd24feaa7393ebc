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

static void add(line *to, const char *text) {
    size_t size = strlen(text);
    memcpy(to->out + to->size, text, size);
    to->size += size;
}

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
    char behind[] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10), '\0'};
    add_number(to, us / 1000);
    add(to, behind);
}

static void add_duration(line *to, const char *name, int64_t ns) {
    add(to, name);
    add(to, ";dur=");
    add_ms(to, ns);
}

static void add_wait(line *to, unsigned kind, int64_t ns, uint32_t waits) {
    add(to, ", wait-");
    add_duration(to, nb_fiber_wait_name(kind), ns);
    if (waits < 2) return;
    add(to, ";desc=\"");
    add_number(to, waits);
    add(to, " waits\"");
}

size_t nb_server_timing_write(char *out, const nb_account *account, int64_t now_ns) {
    line to = {out, 0};
    add(&to, "server-timing: ");
    add_duration(&to, "head", account->head_ns);
    if (account->body_ns) add_duration(&to, ", body", account->body_ns);
    add_duration(&to, ", queue", account->queue_ns);
    add_duration(&to, ", run", now_ns - account->taken_ns);
    add_duration(&to, ", ran", account->ran_ns);
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        if (account->wait_ns[kind] || account->waits[kind])
            add_wait(&to, kind, account->wait_ns[kind], account->waits[kind]);
    }
    if (account->gc_ns) add_duration(&to, ", gc", account->gc_ns);
    add(&to, ", allocations;desc=\"");
    add_number(&to, account->allocated);
    add(&to, "\"\r\n");
    NB_ASSERT(to.size <= NB_SERVER_TIMING_BYTES_MAX);
    return to.size;
}
