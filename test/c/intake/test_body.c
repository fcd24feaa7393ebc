/*
 * test_body.c - request bodies cut at every place, decoded as HTTP/1.1: in memory and in files,
 * the budget, failures, bodies that end early.
 */
#include "intake/body.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "dispatch/exchange.h"
#include "http1/body_decoder.h"
#include "support/leaks.h"
#include "support/pattern.h"
#include "support/test.h"

typedef struct fixture {
    nb_spool spool;
    nb_test_gate written;
    nb_test_leaks before;
    nb_body_decoder decoder;
} fixture;

static fixture f;

static void body_written(nb_body *body) {
    (void)body;
    nb_test_gate_open(&f.written);
}

static int setup(void **state) {
    (void)state;
    f = (fixture){.written = NB_TEST_GATE, .before = nb_test_leaks_begin()};
    f.spool = (nb_spool){.directory = "/tmp", .bytes_max = 100000000, .written = body_written};
    nb_test_alarm(60);
    return nb_workers_create("test", 1, 16, &f.spool.workers) == NB_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    nb_workers_destroy(f.spool.workers);
    if (f.spool.bytes > 0) {
        print_error("%d spool bytes are left\n", (int)f.spool.bytes);
        return -1;
    }
    return nb_test_leaks_end(&f.before);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static nb_status create(bool chunked, uint64_t length, nb_body **body) {
    static nb_exchange owner;
    nb_framing framing = {.body = chunked ? NB_BODY_CHUNKED : NB_BODY_LENGTH, .content_length = length};
    nb_request_message *message = nb_alloc_zero(1, sizeof *message);
    if (!message) return NB_NO_MEMORY;
    message->message.bytes = sizeof *message;
    message->body_fd = -1;
    nb_status status = nb_body_create(&f.spool, message, &owner, body);
    nb_body_decoder_init(&f.decoder, &framing, 50000000);
    if (status != NB_OK) nb_free(message);
    return status;
}

/* The pattern, `bytes` of it, on the wire. */
static char *encode(bool chunked, size_t bytes, size_t chunk, size_t *size) {
    char *wire = malloc(bytes * 2 + bytes / chunk * 16 + 64), *at = wire;
    for (size_t done = 0; done < bytes;) {
        size_t step = chunked && bytes - done > chunk ? chunk : bytes - done;
        if (chunked) at += sprintf(at, "%zx\r\n", step);
        for (size_t i = 0; i < step; i++)
            *at++ = nb_test_pattern(done + i);
        if (chunked) at += sprintf(at, "\r\n");
        done += step;
    }
    if (chunked) at += sprintf(at, "0\r\n\r\n");
    *size = (size_t)(at - wire);
    return wire;
}

static void await_write(nb_body *body, unsigned *writes, nb_status expected) {
    nb_test_gate_wait(&f.written, ++*writes);
    assert_status(expected, nb_body_written(body));
}

/* Adds as much as there is room for. NB_INCOMPLETE: all was used, and the body has not ended. */
static nb_status feed_some(nb_body *body, char *bytes, size_t size, size_t *used, nb_refusal *refusal) {
    *used = 0;
    while (!f.decoder.complete && size > *used && nb_body_room(body) > 0) {
        size_t most = size - *used < nb_body_room(body) ? size - *used : nb_body_room(body), step, decoded;
        nb_status status = nb_body_decode(&f.decoder, bytes + *used, most, &step, &decoded, refusal);
        if (status != NB_OK && status != NB_INCOMPLETE) return status;
        status = nb_body_add(body, bytes + *used, decoded);
        if (status != NB_OK) return status;
        *used += step;
    }
    if (f.decoder.complete) return nb_body_end(body);
    return nb_body_room(body) > 0 ? NB_INCOMPLETE : nb_body_write(body);
}

/* Feeds all of the wire, `cut` bytes at first and then `step` at a time, each from a copy of just
   that size. */
static nb_status feed(nb_body *body, const char *wire, size_t size, size_t cut, size_t step, size_t *used_all,
                      unsigned *writes) {
    nb_refusal refusal = {0};
    nb_status status = NB_INCOMPLETE;
    size_t at = 0, give = cut;
    while (status == NB_INCOMPLETE || status == NB_AGAIN) {
        if (status == NB_AGAIN) await_write(body, writes, NB_OK);
        if (give > size - at) give = size - at;
        char *copy = malloc(give + 1);
        memcpy(copy, wire + at, give);
        size_t used = 0;
        status = feed_some(body, give ? copy : NULL, give, &used, &refusal);
        free(copy);
        at += used;
        assert_true(status == NB_AGAIN || status == NB_OK || used == give || (status != NB_INCOMPLETE));
        give = step;
        if (status == NB_INCOMPLETE && at == size) break;
    }
    *used_all = at;
    return status;
}

static void check_message(nb_body *body, size_t bytes) {
    nb_request_message *message = NULL;
    uint64_t spooled = 0;
    assert_status(NB_OK, nb_body_take_message(body, &message, &spooled));
    assert_int_equal(bytes, message->body_bytes);
    char *read_bytes = malloc(bytes + 1);
    if (message->body_fd >= 0) {
        assert_int_equal(bytes, spooled);
        assert_int_equal((ssize_t)bytes, pread((int)message->body_fd, read_bytes, bytes + 1, 0));
        close((int)message->body_fd);
    } else {
        assert_int_equal(0, spooled);
        assert_int_equal(bytes, message->body.size);
        memcpy(read_bytes, (char *)message + message->body.offset, bytes);
    }
    assert_int_equal(0, message->message.bytes % 8);
    for (size_t i = 0; i < bytes; i++)
        if (read_bytes[i] != nb_test_pattern(i)) fail_msg("byte %zu", i);
    free(read_bytes);
    f.spool.bytes -= spooled;
    nb_free(message);
    nb_body_destroy(body);
}

static void take_body(bool chunked, size_t bytes, size_t cut, size_t step) {
    nb_body *body;
    size_t size, used;
    unsigned writes = nb_test_gate_count(&f.written);
    char *wire = encode(chunked, bytes, 100, &size);
    assert_status(NB_OK, create(chunked, bytes, &body));
    assert_status(NB_OK, feed(body, wire, size, cut, step, &used, &writes));
    assert_int_equal(size, used);
    check_message(body, bytes);
    free(wire);
}

static void a_small_body_is_the_same_at_every_split(void **state) {
    (void)state;
    for (int chunked = 0; chunked < 2; chunked++) {
        for (size_t cut = 0; cut <= 260; cut++)
            take_body(chunked, 230, cut, 1000);
        take_body(chunked, 230, 1, 1);
    }
}

static void bodies_about_the_size_of_memory_are_the_same_at_every_step(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 4095, 4096, 4097, 65535, 65536, 65537, 131071, 131072, 131073, 200000};
    static const size_t steps[] = {4096, 16384, 65535, 65536, 65537, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            take_body(false, sizes[i], steps[s], steps[s]);
            take_body(true, sizes[i], steps[s], steps[s]);
        }
    }
}

static void bytes_behind_the_body_are_not_used(void **state) {
    (void)state;
    for (int chunked = 0; chunked < 2; chunked++) {
        nb_body *body;
        size_t size, used;
        unsigned writes = 0;
        char *wire = encode(chunked, 500, 100, &size), *longer = malloc(size + 50);
        memcpy(longer, wire, size);
        memset(longer + size, 'N', 50);
        assert_status(NB_OK, create(chunked, 500, &body));
        assert_status(NB_OK, feed(body, longer, size + 50, 1000, 1000, &used, &writes));
        assert_int_equal(size, used);
        check_message(body, 500);
        free(wire);
        free(longer);
    }
}

static void a_chunked_body_over_its_limit_or_malformed_is_refused(void **state) {
    (void)state;
    static const char *const wires[] = {"5\r\nhelloX", "g\r\n", "5\r\nhello\r\n0\r\n\r\r", "ffffffffffffffff\r\n"};
    static const nb_status statuses[] = {NB_INVALID, NB_INVALID, NB_INVALID, NB_OVER_LIMIT};
    for (size_t i = 0; i < 4; i++) {
        nb_body *body;
        size_t used = 0;
        char wire[64];
        nb_refusal refusal = {0};
        strcpy(wire, wires[i]);
        assert_status(NB_OK, create(true, 0, &body));
        assert_status(statuses[i], feed_some(body, wire, strlen(wire), &used, &refusal));
        assert_int_equal(statuses[i] == NB_INVALID ? 400 : 413, refusal.http_status);
        nb_body_destroy(body);
    }
}

static void past_the_budget_the_spool_is_full(void **state) {
    (void)state;
    nb_body *body;
    size_t size, used;
    unsigned writes = 0;
    f.spool.bytes_max = 150000;
    char *wire = encode(false, 300000, 100, &size);
    assert_status(NB_OK, create(false, 300000, &body));
    assert_status(NB_FULL, feed(body, wire, size, 16384, 16384, &used, &writes));
    assert_int_equal(131072, f.spool.bytes);
    nb_body_destroy(body);
    assert_int_equal(0, f.spool.bytes);
    free(wire);
}

static void a_write_that_fails_is_told_with_its_errno(void **state) {
    (void)state;
    nb_body *body;
    nb_refusal refusal;
    size_t used;
    char *wire = calloc(1, 70000);
    f.spool.directory = "/nonexistent";
    assert_status(NB_OK, create(false, 70000, &body));
    assert_status(NB_AGAIN, feed_some(body, wire, 70000, &used, &refusal));
    nb_test_gate_wait(&f.written, 1);
    assert_status(NB_SYSTEM, nb_body_written(body));
    assert_int_equal(ENOENT, errno);
    nb_body_destroy(body);
    free(wire);
}

static void a_body_destroyed_during_a_write_ends_with_it(void **state) {
    (void)state;
    nb_body *body;
    nb_refusal refusal;
    size_t used;
    char *wire = calloc(1, 70000);
    assert_status(NB_OK, create(false, 200000, &body));
    assert_status(NB_AGAIN, feed_some(body, wire, 70000, &used, &refusal));
    assert_int_equal(NB_BODY_MEMORY_BYTES, used);
    nb_body_destroy(body);
    nb_test_gate_wait(&f.written, 1);
    assert_status(NB_CLOSED, nb_body_written(body));
    free(wire);
    nb_body_destroy(NULL);
}

static void without_a_worker_a_large_body_is_refused_and_leaves_nothing(void **state) {
    (void)state;
    nb_body *body;
    nb_refusal refusal;
    size_t used;
    char *wire = calloc(1, 70000);
    nb_workers *kept = f.spool.workers;
    /* A queue of none is always full. */
    assert_status(NB_OK, nb_workers_create("none", 1, 0, &f.spool.workers));
    assert_status(NB_OK, create(false, 70000, &body));
    assert_status(NB_FULL, feed_some(body, wire, 70000, &used, &refusal));
    assert_int_equal(0, f.spool.bytes);
    nb_body_destroy(body);
    nb_workers_destroy(f.spool.workers);
    f.spool.workers = kept;
    free(wire);
}

static nb_status use_memory(bool chunked, size_t bytes, unsigned long failing) {
    nb_body *body = NULL;
    size_t size, used;
    unsigned writes = nb_test_gate_count(&f.written);
    char *wire = encode(chunked, bytes, 1000, &size);
    nb_alloc_fail_at(failing);
    nb_status status = create(chunked, bytes, &body);
    if (status == NB_OK) status = feed(body, wire, size, 5000, 5000, &used, &writes);
    nb_request_message *message = NULL;
    uint64_t spooled = 0;
    if (status == NB_OK) status = nb_body_take_message(body, &message, &spooled);
    nb_alloc_fail_at(0);
    if (message && message->body_fd >= 0) close((int)message->body_fd);
    f.spool.bytes -= spooled;
    nb_free(message);
    nb_body_destroy(body);
    free(wire);
    return status;
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 60000, 200000};
    for (size_t i = 0; i < 6; i++) {
        unsigned long n = 1;
        nb_status status;
        while ((status = use_memory(i % 2, sizes[i / 2], n)) != NB_OK) {
            /* NB_SYSTEM: the worker's thread. */
            assert_true(status == NB_NO_MEMORY || status == NB_SYSTEM);
            n++;
        }
        assert_true(n >= 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_small_body_is_the_same_at_every_split),
        CASE(bodies_about_the_size_of_memory_are_the_same_at_every_step),
        CASE(bytes_behind_the_body_are_not_used),
        CASE(a_chunked_body_over_its_limit_or_malformed_is_refused),
        CASE(past_the_budget_the_spool_is_full),
        CASE(a_write_that_fails_is_told_with_its_errno),
        CASE(a_body_destroyed_during_a_write_ends_with_it),
        CASE(without_a_worker_a_large_body_is_refused_and_leaves_nothing),
        CASE(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
