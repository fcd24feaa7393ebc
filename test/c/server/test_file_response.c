/*
 * test_file_response.c - a file becomes a response: whole, one range, several, 304, 412, 416, and
 * which field lines go with each. By a served folder, through a whole server.
 */
#include "responses/file_response.h"

#include <stdio.h>
#include <string.h>

#include "support/folder.h"
#include "support/world.h"

enum { BYTES = 5000 };

static char folder[NB_TEST_FOLDER_BYTES], content[BYTES + 1];

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    nb_test_folder_create(folder);
    for (size_t i = 0; i < BYTES; i++)
        content[i] = nb_test_pattern(i);
    nb_test_write(folder, "a.txt", content);
    nb_test_write(folder, "empty", "");
    nb_test_set_time(folder, "a.txt", NB_TEST_MODIFIED_S * INT64_C(1000000000));
    world.served = folder;
    *state = &world;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    nb_test_folder_remove(folder);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#define DATE "Tue, 14 Nov 2023 22:13:20 GMT" /* NB_TEST_MODIFIED_S */

typedef struct row {
    const char *fields;
    int status;
    size_t from, bytes;  /* of the content, in the body; 0: not looked at */
    const char *present; /* a field line; NULL: none in particular */
    const char *absent;
} row;

static const row rows[] = {
    {"", 200, 0, BYTES, "Last-Modified: " DATE "\r\n", "Content-Range"},
    {"Range: bytes=0-0\r\n", 206, 0, 1, "Content-Range: bytes 0-0/5000\r\n", "multipart"},
    {"Range: bytes=4999-\r\n", 206, 4999, 1, "Content-Length: 1\r\n", "multipart"},
    {"Range: bytes=-10\r\n", 206, 4990, 10, "ETag: ", "multipart"},
    {"Range: bytes=10-19,20-29\r\n", 206, 10, 20, "Content-Range: bytes 10-29/5000\r\n", "multipart"},
    {"Range: bytes=0-1,4000-4001\r\n", 206, 0, 0,
     "Content-Type: multipart/byteranges; boundary=", "Content-Range: bytes 0"},
    {"Range: lines=0-1\r\n", 200, 0, BYTES, NULL, "Content-Range"},
    {"Range: bytes=5000-\r\n", 416, 0, 0, "Content-Range: bytes */5000\r\n", "ETag"},
    {"If-Range: " DATE "\r\nRange: bytes=1-1\r\n", 206, 1, 1, NULL, NULL},
    {"If-Range: \"x\"\r\nRange: bytes=1-1\r\n", 200, 0, BYTES, NULL, "Content-Range"},
    {"If-None-Match: *\r\nRange: bytes=1-1\r\n", 304, 0, 0, "ETag: ", "Content-Length"},
    {"If-Modified-Since: " DATE "\r\n", 304, 0, 0, "Last-Modified: " DATE "\r\n", "Content-Type"},
    {"If-Match: \"x\"\r\n", 412, 0, 0, "Content-Type: text/plain", "ETag"},
    {"If-Unmodified-Since: Mon, 13 Nov 2023 22:13:20 GMT\r\nRange: bytes=1-1\r\n", 412, 0, 0, NULL, "Content-Range"},
};

static void check(nb_test_world *w, const row *expected, bool head) {
    const char *line = w->response.head;
    if (w->response.status != expected->status) fail_msg("%s: %d", expected->fields, w->response.status);
    if (expected->present && !strstr(line, expected->present))
        fail_msg("%s: no %s", expected->fields, expected->present);
    if (expected->absent && strstr(line, expected->absent)) fail_msg("%s: %s", expected->fields, expected->absent);
    assert_true(w->response.keep_alive);
    if (head || expected->bytes == 0) return;
    assert_int_equal(expected->bytes, w->response.body_bytes);
    assert_memory_equal(content + expected->from, w->response.body, expected->bytes);
}

static void each_request_gets_what_it_asks_for_and_head_the_same_without_a_body(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char request[512];
        snprintf(request, sizeof request, "GET /a.txt HTTP/1.1\r\nHost: test\r\n%s\r\n", rows[i].fields);
        assert_true(nb_test_send_text(c, request) && nb_test_read(c, "GET", &w->response));
        check(w, &rows[i], false);
        if (strstr(rows[i].fields, "Range: ")) continue; /* of GET alone (RFC 9110 section 14.2) */
        snprintf(request, sizeof request, "HEAD /a.txt HTTP/1.1\r\nHost: test\r\n%s\r\n", rows[i].fields);
        assert_true(nb_test_send_text(c, request) && nb_test_read(c, "HEAD", &w->response));
        check(w, &rows[i], true);
        assert_int_equal(0, w->response.body_bytes);
    }
    nb_test_world_close(w);
}

static void the_parts_of_several_ranges_are_what_their_heads_say(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET /a.txt HTTP/1.1\r\nHost: test\r\nRange: bytes=4000-4004,0-2\r\n\r\n"));
    nb_test_world_expect(w, c, 206, NULL);
    char boundary[64], expected[512];
    const char *found = strstr(w->response.head, "boundary=");
    assert_non_null(found);
    assert_int_equal(1, sscanf(found, "boundary=%63[0-9a-f]", boundary));
    int bytes = snprintf(
        expected, sizeof expected,
        "--%s\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes 4000-4004/5000\r\n\r\n%.5s\r\n"
        "--%s\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes 0-2/5000\r\n\r\n%.3s\r\n--%s--\r\n",
        boundary, content + 4000, boundary, content, boundary);
    const char *body = w->response.body;
    size_t skip = w->response.body_bytes > 2 && body[0] == '\r'
                      ? 2
                      : 0; /* a line's end may come before the first (RFC 2046 section 5.1.1) */
    assert_int_equal(bytes, w->response.body_bytes - skip);
    assert_memory_equal(expected, body + skip, (size_t)bytes);
    nb_test_world_close(w);
}

static void an_empty_file_has_a_length_and_no_ranges(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET /empty HTTP/1.1\r\nHost: test\r\nRange: bytes=0-\r\n\r\n"));
    nb_test_world_expect(w, c, 200, "");
    assert_non_null(strstr(w->response.head, "Content-Length: 0\r\n"));
    nb_test_world_close(w);
}

static void a_line_is_found_by_its_name_in_any_case_and_without_blanks_around_its_value(void **state) {
    (void)state;
    static const char lines[] = "A: 1\r\nContent-Type:text/html \r\nETag:  \"x\"\r\nEmpty:\r\nA: 2\r\n";
    static const struct {
        const char *name, *value;
    } found[] = {{"a", "1"}, {"content-type", "text/html"}, {"etag", "\"x\""}, {"empty", ""}};
    const nb_slice all = {lines, sizeof lines - 1};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        nb_slice value = nb_file_lines_find(all, nb_slice_of(found[i].name, strlen(found[i].name)));
        assert_non_null(value.data);
        assert_true(nb_slice_equal(value, nb_slice_of(found[i].value, strlen(found[i].value))));
    }
    assert_null(nb_file_lines_find(all, NB_SLICE("content")).data);
    assert_null(nb_file_lines_find(all, NB_SLICE("tag")).data);
    assert_null(nb_file_lines_find((nb_slice){NULL, 0}, NB_SLICE("a")).data);
}

static void seconds_before_1970_are_whole_ones_too(void **state) {
    (void)state;
    assert_int_equal(-1, nb_file_modified_s(-1));
    assert_int_equal(-1, nb_file_modified_s(-1000000000));
    assert_int_equal(0, nb_file_modified_s(999999999));
    assert_int_equal(1, nb_file_modified_s(1000000000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(each_request_gets_what_it_asks_for_and_head_the_same_without_a_body),
        CASE(the_parts_of_several_ranges_are_what_their_heads_say),
        CASE(an_empty_file_has_a_length_and_no_ranges),
        cmocka_unit_test(a_line_is_found_by_its_name_in_any_case_and_without_blanks_around_its_value),
        cmocka_unit_test(seconds_before_1970_are_whole_ones_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
