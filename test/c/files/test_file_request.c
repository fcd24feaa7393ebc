/*
 * test_file_request.c - the fields that concern a file: read from a head (joined lines, repeated
 * fields, long values), written as a flat copy and read again, and malformed flat copies.
 */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "files/file_request.h"
#include "http1/head_parser.h"
#include "http1/guarded.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define FIELDS 7u

static char room[NB_FILE_REQUEST_BYTES_MAX];
static nb_head head;
static char head_bytes[65536];

/* Parses the lines after a request line; each ends with CRLF. */
static void parse(const char *method, const char *lines) {
    static const nb_head_limits limits = {sizeof head_bytes, 8000, 256, NB_COMPLIANCE_COMMON};
    nb_head_parser parser;
    nb_refusal refusal;
    size_t used;
    const int size = snprintf(head_bytes, sizeof head_bytes, "%s / HTTP/1.1\r\nHost: a\r\n%s\r\n", method, lines);
    assert_in_range(size, 1, sizeof head_bytes - 1);
    nb_head_parser_init(&parser);
    assert_status(NB_OK, nb_head_parse(&parser, head_bytes, (size_t)size, &limits, &head, &used, &refusal));
}

static nb_file_request read_head(const char *lines) {
    nb_file_request request;
    parse("GET", lines);
    memset(room, 0x5a, sizeof room);
    nb_file_request_of_head(&request, &head, room);
    return request;
}

static const nb_slice *field(const nb_file_request *request, size_t i) {
    const nb_slice *const all[FIELDS] = {
        &request->if_match, &request->if_none_match, &request->if_modified_since, &request->if_unmodified_since,
        &request->if_range, &request->range,         &request->accept_encoding};
    return all[i];
}

#define assert_absent(slice) assert_null((slice).data)
#define assert_unusable(slice)             \
    do {                                   \
        assert_non_null((slice).data);     \
        assert_int_equal((slice).size, 0); \
    } while (0)
#define assert_text(slice, expected)                                   \
    do {                                                               \
        assert_int_equal((slice).size, strlen(expected));              \
        assert_memory_equal((slice).data, expected, strlen(expected)); \
    } while (0)

static void test_a_plain_request_has_none_of_them(void **state) {
    (void)state;
    const nb_file_request request = read_head(
        "Accept: */*\r\nUser-Agent: x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    for (size_t i = 0; i < FIELDS; i++)
        assert_absent(*field(&request, i));
    assert_int_equal(request.method, NB_METHOD_GET);
    assert_int_equal(nb_file_request_bytes(&request), 0);
}

static void test_each_field_is_found(void **state) {
    (void)state;
    const nb_file_request request = read_head("If-Match: \"m\"\r\nif-none-match:  \"n\" \r\nIF-MODIFIED-SINCE: a\r\n"
                                              "If-Unmodified-Since: b\r\nIf-Range: \"r\"\r\nRange: bytes=0-1\r\n"
                                              "Accept-Encoding: gzip\r\n");
    assert_text(request.if_match, "\"m\"");
    assert_text(request.if_none_match, "\"n\"");
    assert_text(request.if_modified_since, "a");
    assert_text(request.if_unmodified_since, "b");
    assert_text(request.if_range, "\"r\"");
    assert_text(request.range, "bytes=0-1");
    assert_text(request.accept_encoding, "gzip");
    parse("HEAD", "");
    nb_file_request bare;
    nb_file_request_of_head(&bare, &head, room);
    assert_int_equal(bare.method, NB_METHOD_HEAD);
}

/* RFC 9110 section 5.3. */
static void test_the_lines_of_a_list_are_one_list(void **state) {
    (void)state;
    nb_file_request request = read_head(
        "If-None-Match: \"a\"\r\nIf-None-Match: \"b\", \"c\"\r\nIf-None-Match: \"d\"\r\n");
    assert_text(request.if_none_match, "\"a\",\"b\", \"c\",\"d\"");
    request = read_head("Accept-Encoding: gzip\r\nIf-Match: \"a\"\r\nAccept-Encoding: br;q=0\r\nIf-Match: \"b\"\r\n"
                        "Accept-Encoding: zstd\r\nIf-None-Match: *\r\nIf-Match: \"c\"\r\n");
    assert_text(request.accept_encoding, "gzip,br;q=0,zstd");
    assert_text(request.if_match, "\"a\",\"b\",\"c\"");
    assert_text(request.if_none_match, "*");
    request = read_head("Accept-Encoding:\r\nAccept-Encoding: gzip\r\nAccept-Encoding:\r\n");
    assert_text(request.accept_encoding, ",gzip,");
}

/* Range, If-Range and dates are not lists (sections 13.1.3, 13.1.4, 14.2). */
static void test_what_may_come_once_and_came_twice_cannot_be_used(void **state) {
    (void)state;
    static const char *const names[] = {"Range", "If-Range", "If-Modified-Since", "If-Unmodified-Since"};
    for (size_t i = 0; i < COUNT(names); i++) {
        for (int times = 2; times <= 3; times++) {
            char lines[256] = "";
            for (int n = 0; n < times; n++)
                sprintf(lines + strlen(lines), "%s: bytes=0-1\r\n", names[i]);
            const nb_file_request request = read_head(lines);
            assert_unusable(i == 0   ? request.range
                            : i == 1 ? request.if_range
                            : i == 2 ? request.if_modified_since
                                     : request.if_unmodified_since);
        }
    }
}

static void test_a_field_without_a_value_is_there(void **state) {
    (void)state;
    const nb_file_request request = read_head(
        "If-Match:\r\nIf-None-Match: \r\nIf-Modified-Since:\r\nIf-Unmodified-Since:\r\n"
        "If-Range:\r\nRange:\r\nAccept-Encoding:\t\r\n");
    for (size_t i = 0; i < FIELDS; i++)
        assert_unusable(*field(&request, i));
}

static void test_a_joined_list_that_is_too_long_cannot_be_used(void **state) {
    (void)state;
    static char lines[8192];
    for (unsigned over = 0; over <= 2; over++) {
        const int first = 1000, second = (int)NB_FILE_REQUEST_BYTES_MAX - 1000 - 2 + (int)over;
        snprintf(lines, sizeof lines, "If-None-Match: %0*d\r\nIf-None-Match: %0*d\r\n", first, 0, second, 0);
        const nb_file_request request = read_head(lines);
        if (over <= 1)
            assert_int_equal(request.if_none_match.size, NB_FILE_REQUEST_BYTES_MAX - 1 + over);
        else
            assert_unusable(request.if_none_match);
    }
    /* A joined list grows in place. */
    snprintf(lines, sizeof lines, "If-Match: %0900d\r\nIf-Match: %0900d\r\nIf-Match: %0*d\r\n", 0, 0,
             (int)NB_FILE_REQUEST_BYTES_MAX - 1802, 0);
    assert_int_equal(read_head(lines).if_match.size, NB_FILE_REQUEST_BYTES_MAX);
    /* It stays unusable, whatever follows. */
    snprintf(lines, sizeof lines,
             "If-Match: %03000d\r\nIf-Match: 1\r\nIf-Match: 2\r\nIf-None-Match: 3\r\nIf-None-Match: 4\r\n", 0);
    const nb_file_request request = read_head(lines);
    assert_unusable(request.if_match);
    assert_text(request.if_none_match, "3,4");
    /* A single line is as long as its head lets it be. */
    snprintf(lines, sizeof lines, "If-Match: %05000d\r\n", 0);
    assert_int_equal(read_head(lines).if_match.size, 5000);
}

static void test_room_is_shared_by_the_lists_that_need_it(void **state) {
    (void)state;
    static char lines[16384];
    lines[0] = 0;
    for (int i = 0; i < 40; i++) /* two lists whose lines alternate are copied again and again */
        sprintf(lines + strlen(lines), "If-Match: \"%020d\"\r\nIf-None-Match: \"%020d\"\r\n", i, i);
    const nb_file_request request = read_head(lines);
    assert_unusable(request.if_match);
    assert_unusable(request.if_none_match);
}

static void check_flat(const nb_file_request *request) {
    static char out[NB_FILE_REQUEST_BYTES_MAX + 1];
    guarded memory = guarded_create(NB_FILE_REQUEST_BYTES_MAX);
    nb_file_request again = {.method = NB_METHOD_HEAD};
    memset(out, 0x5a, sizeof out);
    const size_t bytes = nb_file_request_bytes(request);
    assert_true(bytes <= NB_FILE_REQUEST_BYTES_MAX);
    nb_file_request_write(out, request);
    assert_int_equal(out[bytes], 0x5a);
    assert_true(nb_file_request_read(&again, nb_slice_of(guarded_place(&memory, out, bytes), bytes)));
    assert_int_equal(again.method, NB_METHOD_HEAD);
    for (size_t i = 0; i < FIELDS; i++) {
        const nb_slice before = *field(request, i), after = *field(&again, i);
        assert_int_equal(before.data == NULL, after.data == NULL);
        assert_int_equal(before.size, after.size);
        if (before.size > 0) assert_memory_equal(before.data, after.data, before.size);
    }
    guarded_destroy(&memory);
}

static void test_a_flat_request_is_the_request(void **state) {
    (void)state;
    static const char *const lines[FIELDS] = {"If-Match: \"m\", \"mm\"\r\n", "If-None-Match: *\r\n",
                                              "If-Modified-Since: a\r\n",    "If-Unmodified-Since: bb\r\n",
                                              "If-Range: \"r\"\r\n",         "Range: bytes=0-1\r\n",
                                              "Accept-Encoding:\r\n"};
    for (unsigned set = 0; set < 1u << FIELDS; set++) {
        char text[512] = "";
        for (unsigned i = 0; i < FIELDS; i++)
            if (set & 1u << i) strcat(text, lines[i]);
        const nb_file_request request = read_head(text);
        check_flat(&request);
        assert_int_equal(nb_file_request_bytes(&request) == 0, set == 0);
    }
}

static void test_what_does_not_fit_into_a_flat_request_cannot_be_used(void **state) {
    (void)state;
    static char lines[16384], flat[NB_FILE_REQUEST_BYTES_MAX];
    snprintf(lines, sizeof lines, "If-Match: %02000d\r\nRange: bytes=0-1\r\nIf-None-Match: %0100d\r\n", 0, 0);
    nb_file_request request = read_head(lines), again = {.method = NB_METHOD_GET};
    assert_in_range(nb_file_request_bytes(&request), 1, NB_FILE_REQUEST_BYTES_MAX);
    nb_file_request_write(flat, &request);
    assert_true(nb_file_request_read(&again, nb_slice_of(flat, nb_file_request_bytes(&request))));
    assert_unusable(again.if_match); /* the others have used up its room */
    assert_text(again.range, "bytes=0-1");
    assert_int_equal(again.if_none_match.size, 100);
    assert_absent(again.if_range);
    const size_t most = NB_FILE_REQUEST_BYTES_MAX - 2 * FIELDS;
    for (size_t size = most - 1; size <= most + 1; size++) {
        snprintf(lines, sizeof lines, "If-Match: %0*d\r\n", (int)size, 0);
        request = read_head(lines);
        assert_int_equal(nb_file_request_bytes(&request), size > most ? 2 * FIELDS : 2 * FIELDS + size);
    }
}

static void test_flat_bytes_that_are_none_are_refused(void **state) {
    (void)state;
    char flat[64];
    const nb_file_request request = read_head("If-Match: \"a\"\r\nRange: bytes=0-1\r\n");
    const size_t bytes = nb_file_request_bytes(&request);
    nb_file_request_write(flat, &request);
    nb_file_request again = {.method = NB_METHOD_GET};
    assert_true(nb_file_request_read(&again, nb_slice_of(NULL, 0)));
    for (size_t size = 1; size <= bytes + 1; size++) {
        guarded memory = guarded_create(64);
        assert_int_equal(nb_file_request_read(&again, nb_slice_of(guarded_place(&memory, flat, size), size)),
                         size == bytes);
        if (size != bytes)
            for (size_t i = 0; i < FIELDS; i++)
                assert_absent(*field(&again, i));
        assert_int_equal(again.method, NB_METHOD_GET);
        guarded_destroy(&memory);
    }
    nb_test_random random = {21};
    for (int round = 0; round < 20000; round++) {
        guarded memory = guarded_create(64);
        const size_t size = (size_t)nb_test_random_below(&random, 40);
        char *const bad = guarded_place(&memory, flat, 0) - size;
        for (size_t i = 0; i < size; i++)
            bad[i] = (char)(nb_test_random_below(&random, 3) ? nb_test_random_below(&random, 4) : 0xff);
        if (nb_file_request_read(&again, nb_slice_of(bad, size)))
            for (size_t i = 0; i < FIELDS; i++)
                if (field(&again, i)->data)
                    assert_true(field(&again, i)->data >= bad &&
                                field(&again, i)->data + field(&again, i)->size <= bad + size);
        guarded_destroy(&memory);
    }
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_request_has_none_of_them),
        cmocka_unit_test(test_each_field_is_found),
        cmocka_unit_test(test_the_lines_of_a_list_are_one_list),
        cmocka_unit_test(test_what_may_come_once_and_came_twice_cannot_be_used),
        cmocka_unit_test(test_a_field_without_a_value_is_there),
        cmocka_unit_test(test_a_joined_list_that_is_too_long_cannot_be_used),
        cmocka_unit_test(test_room_is_shared_by_the_lists_that_need_it),
        cmocka_unit_test(test_a_flat_request_is_the_request),
        cmocka_unit_test(test_what_does_not_fit_into_a_flat_request_cannot_be_used),
        cmocka_unit_test(test_flat_bytes_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
