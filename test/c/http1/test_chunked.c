/*
 * test_chunked.c - the decoder compared with a slow reading of the grammar: all short texts, every
 * split of many bodies, the limits.
 */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "http1/chunked.h"
#include "http1/guarded.h"
#include "http1/slow_chunked.h"

#define LARGEST 131072u
#define COUNT(array) (sizeof(array) / sizeof *(array))

static guarded memory;
static char decoded_bytes[LARGEST], slow_bytes[LARGEST];

typedef struct result {
    int answer; /* as in slow_chunked */
    size_t used, decoded;
    const char *reason;
} result;

/* Decodes pieces that end at `cuts` (ascending, the last is the size), each at the end of guarded
 * memory. */
static result decode(const char *bytes, uint64_t max, const size_t *cuts, size_t count) {
    nb_chunked chunked;
    nb_refusal refusal = {0, NULL};
    result r = {SLOW_MORE, 0, 0, NULL};
    nb_chunked_init(&chunked, max);
    for (size_t i = 0, from = 0; i < count; from = cuts[i++]) {
        const size_t size = cuts[i] - from;
        char *const piece = guarded_place(&memory, bytes + from, size);
        size_t used = SIZE_MAX, decoded = SIZE_MAX;
        const nb_status status = nb_chunked_decode(&chunked, piece, size, &used, &decoded, &refusal);
        if (status == NB_INVALID || status == NB_OVER_LIMIT) {
            assert_int_equal(used, SIZE_MAX);
            return (result){refusal.http_status, 0, 0, refusal.reason};
        }
        memcpy(decoded_bytes + r.decoded, piece, decoded);
        r.decoded += decoded;
        r.used += used;
        assert_int_equal(r.decoded, chunked.body_bytes);
        if (status == NB_OK) {
            r.answer = SLOW_OK;
            return r;
        }
        assert_status(NB_INCOMPLETE, status);
        assert_int_equal(used, size);
    }
    return r;
}

static result decode_bytewise(const char *bytes, size_t size, uint64_t max) {
    static size_t cuts[LARGEST];
    for (size_t i = 0; i < size; i++)
        cuts[i] = i + 1;
    return decode(bytes, max, cuts, size);
}

static void check(const char *bytes, size_t size, uint64_t max, const result *r, const char *delivery) {
    slow_chunked slow;
    const int expected = slow_chunked_read(&slow, bytes, size, max, slow_bytes);
    if (r->answer != expected)
        fail_msg("expected %d, got %d (%s), %s: %.*s", expected, r->answer, r->reason, delivery, (int)size, bytes);
    if (expected > 0) return;
    assert_int_equal(slow.decoded, r->decoded);
    if (r->decoded) assert_memory_equal(slow_bytes, decoded_bytes, r->decoded);
    if (expected == SLOW_OK) assert_int_equal(slow.at, r->used);
}

static void check_whole_and_bytewise(const char *bytes, size_t size, uint64_t max) {
    const result whole = decode(bytes, max, &size, 1);
    check(bytes, size, max, &whole, "whole");
    const result bytewise = decode_bytewise(bytes, size, max);
    check(bytes, size, max, &bytewise, "byte by byte");
}

/* All texts of `length` letters of an alphabet, behind a beginning that leads to the state to
 * test. */
static void check_all_texts(const char *begin, const char *alphabet, size_t letters, size_t length) {
    char bytes[64];
    size_t digits[8] = {0};
    const size_t start = strlen(begin);
    memcpy(bytes, begin, start);
    for (;;) {
        for (size_t i = 0; i < length; i++)
            bytes[start + i] = alphabet[digits[i]];
        check_whole_and_bytewise(bytes, start + length, 3);
        size_t i = 0;
        while (i < length && ++digits[i] == letters)
            digits[i++] = 0;
        if (i == length) return;
    }
}

static void test_every_short_text_is_read_as_the_grammar_says(void **state) {
    (void)state;
    static const char sizes[] = {'0', '1', 'a', 'G', ';', ' ', '\r', '\n', '\0'};
    static const char extensions[] = {';', '=', '"', '\\', 'x', '\t', '\r', '\n', '\x80'};
    static const char trailers[] = {'x', ':', ' ', '\r', '\n', '\0', '\x80'};
    check_all_texts("", sizes, sizeof sizes, 6);
    check_all_texts("1\r\n", sizes, sizeof sizes, 5);
    check_all_texts("0;x=\"", extensions, sizeof extensions, 5);
    check_all_texts("0;", extensions, sizeof extensions, 5);
    check_all_texts("0\r\n", trailers, sizeof trailers, 6);
    check_all_texts("1\r\nx\r\n0\r\nx:", trailers, sizeof trailers, 5);
}

static const char *const bodies[] = {
    "0\r\n\r\n",
    "5\r\nhello\r\n0\r\n\r\n",
    "1\r\na\r\n1\r\nb\r\n2\r\ncd\r\n0\r\n\r\nGET / HTTP/1.1\r\n",
    "0000000000000003\r\nabc\r\n0000000000000000\r\n\r\n",
    "3;a;b=c;d=\"e\\\"f\"\r\n\r\n\r\r\n1\r\n\n\r\n0;x\r\nA: b\r\nC:\r\n\r\n0\r\n\r\n",
    "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n1A\r\nABCDEFGHIJKLMNOPQRSTUVWXYZ\r\n0\r\n\r\n",
    "2\r\nab\r\n3\r\ncde", /* ends early */
    "2\r\nab\r\n3\r\ncdef\r\n0\r\n\r\n",
    "2\r\nab\r\n0\r\nTrailer: \tx\xe9y \r\n\r\n",
};

static void test_bodies_come_out_the_same_at_every_pair_of_cuts(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        const size_t size = strlen(bodies[i]);
        for (size_t a = 0; a <= size; a++) {
            for (size_t b = a; b <= size; b++) {
                const size_t cuts[] = {a, b, size};
                const result r = decode(bodies[i], 1000, cuts, 3);
                check(bodies[i], size, 1000, &r, "in three");
            }
        }
        check_whole_and_bytewise(bodies[i], size, 1000);
    }
}

/* Writes a random body: random chunks, data of every byte value, sizes across block borders. */
static size_t random_body(nb_test_random *random, char *out) {
    size_t size = 0;
    for (uint64_t chunks = nb_test_random_below(random, 6); chunks > 0; chunks--) {
        const size_t bytes = 1 + (size_t)nb_test_random_below(random, nb_test_random_below(random, 2) ? 20 : 3000);
        size += (size_t)sprintf(out + size, nb_test_random_below(random, 2) ? "%zx\r\n" : "%04zX;a=b\r\n", bytes);
        for (size_t i = 0; i < bytes; i++)
            out[size++] = (char)nb_test_random_next(random);
        size += (size_t)sprintf(out + size, "\r\n");
    }
    return size + (size_t)sprintf(out + size, "0\r\nA: b\r\n\r\nrest");
}

static void test_random_bodies_come_out_the_same_however_they_are_cut(void **state) {
    (void)state;
    nb_test_random random = {42};
    static char bytes[LARGEST];
    for (int round = 0; round < 2000; round++) {
        const size_t size = random_body(&random, bytes);
        size_t cuts[9];
        size_t count = (size_t)nb_test_random_below(&random, 8), at = 0;
        for (size_t i = 0; i < count; i++)
            cuts[i] = at += (size_t)nb_test_random_below(&random, size - at + 1);
        cuts[count++] = size;
        const result r = decode(bytes, UINT64_MAX, cuts, count);
        assert_int_equal(r.answer, SLOW_OK);
        assert_int_equal(r.used, size - 4);
        check(bytes, size, UINT64_MAX, &r, "at random");
    }
}

static void test_a_size_has_sixteen_digits_at_most(void **state) {
    (void)state;
    char bytes[64];
    for (int digits = 1; digits <= 20; digits++) {
        const size_t size = (size_t)sprintf(bytes, "%0*d\r\nabc\r\n0\r\n\r\n", digits, 3);
        const result r = decode(bytes, 100, &size, 1);
        assert_int_equal(r.answer, digits <= 16 ? SLOW_OK : 400);
        check_whole_and_bytewise(bytes, size, 100);
    }
    static const char largest[] = "ffffffffffffffff\r\n";
    const size_t size = sizeof largest - 1;
    assert_int_equal(decode(largest, UINT64_MAX, &size, 1).answer, SLOW_MORE);
    assert_int_equal(decode(largest, UINT64_MAX - 1, &size, 1).answer, 413);
    static const char overflow[] = "1\r\na\r\nffffffffffffffff\r\n";
    const size_t more = sizeof overflow - 1;
    assert_int_equal(decode(overflow, UINT64_MAX, &more, 1).answer, 413);
}

static void test_a_body_over_the_limit_is_refused_before_its_data(void **state) {
    (void)state;
    static const char bytes[] = "5\r\nhello\r\n6\r";
    for (size_t size = 0; size < sizeof bytes; size++) {
        assert_int_equal(decode(bytes, 11, &size, 1).answer, SLOW_MORE);
        assert_int_equal(decode(bytes, 10, &size, 1).answer, size == sizeof bytes - 1 ? 413 : SLOW_MORE);
    }
    const size_t size = 2;
    assert_int_equal(decode("5\r", 4, &size, 1).answer, 413);
    assert_int_equal(decode("0\r", 0, &size, 1).answer, SLOW_MORE);
}

/* Fills LARGEST bytes with units and counts those that pass. */
static size_t units_that_pass(const char *begin, const char *unit, size_t *bytes_before) {
    static char bytes[LARGEST];
    size_t size = strlen(begin), units = 0;
    memcpy(bytes, begin, size);
    while (size + strlen(unit) < LARGEST) {
        memcpy(bytes + size, unit, strlen(unit));
        size += strlen(unit);
        const result r = decode(bytes, UINT64_MAX, &size, 1);
        if (r.answer != SLOW_MORE) {
            assert_int_equal(r.answer, 400);
            check_whole_and_bytewise(bytes, size, UINT64_MAX);
            *bytes_before = size - strlen(unit);
            return units;
        }
        units++;
    }
    *bytes_before = size;
    return units;
}

static void test_extensions_of_a_message_are_bounded_together(void **state) {
    (void)state;
    size_t before = 0;
    assert_int_equal(units_that_pass("5;", "a", &before), NB_CHUNK_EXTENSION_BYTES_MAX - 1);
    assert_int_equal(units_that_pass("", "9;aaaaaaa\r\n123456789\r\n", &before), NB_CHUNK_EXTENSION_BYTES_MAX / 8);
}

static void test_trailers_of_a_message_are_bounded_together(void **state) {
    (void)state;
    size_t before = 0;
    assert_int_equal(units_that_pass("0\r\n", "a", &before), NB_TRAILER_BYTES_MAX);
    assert_int_equal(units_that_pass("0\r\n", "ab: cd\r\n", &before), NB_TRAILER_BYTES_MAX / 8);
    assert_int_equal(units_that_pass("0\r\nA:", " ", &before), NB_TRAILER_BYTES_MAX - 2);
}

static void test_framing_may_not_outweigh_the_data(void **state) {
    (void)state;
    size_t before = 0;
    /* 20 framing bytes for each byte of data, 8 of them allowed: the allowance lasts for 16384 / 12
     * chunks. */
    const size_t units = units_that_pass("", "0000000000000001\r\nx\r\n", &before);
    assert_in_range(units, NB_CHUNK_OVERHEAD_ALLOWANCE_BYTES / 12 - 2, NB_CHUNK_OVERHEAD_ALLOWANCE_BYTES / 12 + 2);
    assert_in_range(before, 1, 30000);
}

static void test_a_body_of_one_byte_chunks_is_served(void **state) {
    (void)state;
    static char bytes[LARGEST];
    size_t size = 0;
    while (size + 12 < LARGEST) {
        memcpy(bytes + size, "1\r\nx\r\n", 6);
        size += 6;
    }
    memcpy(bytes + size, "0\r\n\r\n", 5);
    size += 5;
    const result r = decode(bytes, UINT64_MAX, &size, 1);
    assert_int_equal(r.answer, SLOW_OK);
    assert_int_equal(r.decoded, size / 6);
}

static void test_data_that_stands_at_the_front_is_not_moved_and_nothing_behind_the_body_is_touched(void **state) {
    (void)state;
    char bytes[] = "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET / HTTP/1.1";
    const size_t body = sizeof bytes - 1 - strlen("GET / HTTP/1.1");
    nb_chunked chunked;
    nb_refusal refusal;
    size_t used = 0, decoded = 0;
    nb_chunked_init(&chunked, 100);
    assert_status(NB_OK, nb_chunked_decode(&chunked, bytes, sizeof bytes - 1, &used, &decoded, &refusal));
    assert_int_equal(used, body);
    assert_int_equal(decoded, 11);
    assert_memory_equal(bytes, "hello world", 11);
    assert_string_equal(bytes + used, "GET / HTTP/1.1");
    assert_status(NB_OK, nb_chunked_decode(&chunked, bytes + used, 3, &used, &decoded, &refusal));
    assert_int_equal(used, 0);
    assert_int_equal(decoded, 0);
}

/* Whether a text is in chunks at all is seen by its first line, however that is cut. */
static void test_the_head_of_the_first_chunk_is_known_when_it_has_been_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t begun_at; /* bytes after which it is begun; 0: never */
    } cases[] = {
        {"5\r\nhello\r\n0\r\n\r\n", 3},
        {"a;b=c\r\n0123456789\r\n0\r\n\r\n", 7},
        {"0\r\n\r\n", 3},
        {"5\r", 0},
        {"5\rhello", 0},
        {"fade away", 0},
        {"a;b c", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nb_chunked chunked;
        nb_refusal refusal;
        nb_status status = NB_INCOMPLETE;
        nb_chunked_init(&chunked, UINT64_MAX);
        assert_false(nb_chunked_is_begun(&chunked));
        for (size_t at = 0; at < strlen(cases[i].text) && status == NB_INCOMPLETE; at++) {
            char byte = cases[i].text[at];
            size_t used, decoded;
            status = nb_chunked_decode(&chunked, &byte, 1, &used, &decoded, &refusal);
            bool begun = cases[i].begun_at && at + 1 >= cases[i].begun_at;
            assert_int_equal(nb_chunked_is_begun(&chunked), begun);
        }
    }
}

int main(void) {
    nb_test_alarm(150);
    memory = guarded_create(LARGEST);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_short_text_is_read_as_the_grammar_says),
        cmocka_unit_test(test_bodies_come_out_the_same_at_every_pair_of_cuts),
        cmocka_unit_test(test_random_bodies_come_out_the_same_however_they_are_cut),
        cmocka_unit_test(test_a_size_has_sixteen_digits_at_most),
        cmocka_unit_test(test_a_body_over_the_limit_is_refused_before_its_data),
        cmocka_unit_test(test_extensions_of_a_message_are_bounded_together),
        cmocka_unit_test(test_trailers_of_a_message_are_bounded_together),
        cmocka_unit_test(test_framing_may_not_outweigh_the_data),
        cmocka_unit_test(test_a_body_of_one_byte_chunks_is_served),
        cmocka_unit_test(test_the_head_of_the_first_chunk_is_known_when_it_has_been_read),
        cmocka_unit_test(test_data_that_stands_at_the_front_is_not_moved_and_nothing_behind_the_body_is_touched),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
