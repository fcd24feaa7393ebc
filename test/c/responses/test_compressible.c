/*
 * test_compressible.c - which responses are compressed, and what becomes of their fields.
 */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "responses/compressible.h"

static nb_slice slice(const char *text) { return nb_slice_of(text, strlen(text)); }

/* --- types --- */

static void the_usual_types(void **state) {
    (void)state;
    nb_compress_types types = {0};
    nb_compress_types_add_usual(&types);
    static const char *const compressed[] = {
        "text/html",     "Text/HTML; charset=utf-8", "application/json",  "application/vnd.api+json;v=1",
        "image/svg+xml", "application/wasm",         "text/event-stream", " application/xml "};
    static const char *const others[] = {
        "",  "image/png", "application/octet-stream", "application/jsonx", "texts/html", "application/zip",
        ";", "text",      "application/+jso",         "video/mp4"};
    for (size_t i = 0; i < sizeof(compressed) / sizeof(*compressed); i++) {
        if (!nb_compress_types_have(&types, slice(compressed[i]))) fail_msg("%s", compressed[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (nb_compress_types_have(&types, slice(others[i]))) fail_msg("%s", others[i]);
    }
}

static void types_of_the_configuration(void **state) {
    (void)state;
    nb_compress_types types = {0};
    assert_status(NB_OK, nb_compress_types_add(&types, slice("Application/X-Own*")));
    assert_true(nb_compress_types_have(&types, slice("application/x-own")));
    assert_true(nb_compress_types_have(&types, slice("application/x-owner")));
    assert_false(nb_compress_types_have(&types, slice("application/x-ow")));
    assert_false(nb_compress_types_have(&types, slice("text/html")));
    static const char *const none[] = {"", "text", "text/", "/html", "a/*b*", "a/b;q=1", "a b/c", "a/b/c"};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_status(NB_INVALID, nb_compress_types_add(&types, slice(none[i])));
}

static void the_table_of_types_is_bounded(void **state) {
    (void)state;
    nb_compress_types types = {0};
    for (unsigned i = 0; i < NB_COMPRESS_TYPES_MAX; i++)
        assert_status(NB_OK, nb_compress_types_add(&types, slice("text/x")));
    assert_status(NB_FULL, nb_compress_types_add(&types, slice("text/x")));
    nb_compress_types few = {0};
    char large[NB_COMPRESS_TYPES_BYTES / 2 + 1];
    memset(large, 'a', sizeof large);
    large[1] = '/';
    assert_status(NB_OK, nb_compress_types_add(&few, nb_slice_of(large, sizeof large)));
    assert_status(NB_FULL, nb_compress_types_add(&few, nb_slice_of(large, sizeof large)));
}

/* --- requests --- */

typedef struct asked {
    nb_field field;
    const char *value;
} asked;

static bool guarded(const asked *fields, size_t count, bool secure, bool certified) {
    nb_head head = {.header_count = (uint16_t)count};
    for (size_t i = 0; i < count; i++)
        head.headers[i] = (nb_header){nb_field_name(fields[i].field), slice(fields[i].value), fields[i].field};
    return nb_compress_is_guarded(&head, secure, certified);
}

static void requests_that_another_site_may_have_caused(void **state) {
    (void)state;
    const asked cookie = {NB_FIELD_COOKIE, "a=1"}, basic = {NB_FIELD_AUTHORIZATION, "Basic x"},
                cross = {NB_FIELD_SEC_FETCH_SITE, "cross-site"}, own = {NB_FIELD_SEC_FETCH_SITE, "same-origin"},
                typed = {NB_FIELD_SEC_FETCH_SITE, "none"}, proxy = {NB_FIELD_X_FORWARDED_PROTO, "HTTPS"};
    assert_false(guarded(NULL, 0, true, false));
    assert_true(guarded(NULL, 0, true, true));
    assert_true(guarded((asked[]){cookie}, 1, true, false));
    assert_false(guarded((asked[]){cookie}, 1, false, false));
    assert_true(guarded((asked[]){cookie, proxy}, 2, false, false));
    assert_true(guarded((asked[]){basic, cross}, 2, true, false));
    assert_true(guarded((asked[]){basic, cross}, 2, false, false));
    assert_false(guarded((asked[]){cross}, 1, true, false));
    assert_false(guarded((asked[]){cookie, own}, 2, true, false));
    assert_false(guarded((asked[]){cookie, typed}, 2, true, true));
    /* Two of them, against all rules: the stricter counts. */
    assert_true(guarded((asked[]){own, cookie, cross}, 3, true, false));
    assert_true(guarded((asked[]){cross, cookie, own}, 3, true, false));
}

/* --- responses --- */

#define TYPE "Content-Type: text/html\r\n"

static bool may(uint16_t status, const char *lines) {
    nb_compress_types types = {0};
    nb_response_fields fields;
    nb_compress_types_add_usual(&types);
    nb_response_fields_read(&fields, slice(lines));
    return nb_compress_may(&types, status, &fields);
}

static void what_is_compressed(void **state) {
    (void)state;
    static const uint16_t never[] = {101, 204, 205, 206, 304};
    static const char *const fixed[] = {"Content-Encoding: gzip",
                                        "content-encoding: identity",
                                        "Content-Range: bytes 0-1/2",
                                        "Digest: a=b",
                                        "Content-Digest: sha-256=:x:",
                                        "Repr-Digest: sha-256=:x:",
                                        "CONTENT-MD5: x",
                                        "Cache-Control: no-transform",
                                        "cache-control: private,No-Transform , max-age=1"};
    assert_true(may(200, TYPE));
    assert_true(may(404, "content-type:text/html\r\n"));
    assert_false(may(200, "X: text/html\r\n"));
    assert_false(may(200, ""));
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
        assert_false(may(never[i], TYPE));
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        char lines[200];
        snprintf(lines, sizeof lines, TYPE "%s\r\n", fixed[i]);
        if (may(200, lines)) fail_msg("%s", fixed[i]);
    }
    assert_true(may(200, TYPE "Cache-Control: max-age=1, x-no-transform\r\nDate: x\r\nDigested: x\r\n"));
}

static void expect_lines(const char *lines, unsigned changes, const char *expected) {
    nb_response_fields fields;
    nb_slice given = slice(lines);
    nb_response_fields_read(&fields, given);
    /* Exactly so many, so that a sanitizer sees one more. */
    char *out = malloc(NB_COMPRESS_LINES_BYTES(given));
    size_t bytes = nb_compress_lines_write(out, given, &fields, changes, NB_ENCODING_GZIP);
    assert_true(bytes <= NB_COMPRESS_LINES_BYTES(given));
    if (bytes != strlen(expected) || memcmp(out, expected, bytes) != 0)
        fail_msg("%.*s\nnot\n%s", (int)bytes, out, expected);
    free(out);
}

static void changed_fields(void **state) {
    (void)state;
    unsigned all = NB_COMPRESS_VARY | NB_COMPRESS_WEAKEN | NB_COMPRESS_ENCODE;
    expect_lines(TYPE, 0, TYPE);
    expect_lines(TYPE, all, TYPE "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
    expect_lines("vary: Origin\r\nA: b\r\n", NB_COMPRESS_VARY, "vary: Origin, Accept-Encoding\r\nA: b\r\n");
    expect_lines("Vary: A\r\nVary: B\r\n", NB_COMPRESS_VARY, "Vary: A, Accept-Encoding\r\nVary: B\r\n");
    expect_lines("Vary: A\r\nVary: accept-ENCODING\r\n", NB_COMPRESS_VARY, "Vary: A\r\nVary: accept-ENCODING\r\n");
    expect_lines("Vary: *\r\n", NB_COMPRESS_VARY, "Vary: *\r\n");
    expect_lines("Vary:\r\n", NB_COMPRESS_VARY, "Vary:\r\nVary: Accept-Encoding\r\n");
    expect_lines("etag: \"a\"\r\n", NB_COMPRESS_WEAKEN, "ETag: W/\"a\"\r\n");
    expect_lines("ETag:\"a\"\r\n", all, "ETag: W/\"a\"\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
    expect_lines("ETag: W/\"a\"\r\n", NB_COMPRESS_WEAKEN, "ETag: W/\"a\"\r\n");
    expect_lines("ETag: \"a\"\r\n", NB_COMPRESS_VARY, "ETag: \"a\"\r\nVary: Accept-Encoding\r\n");
    expect_lines("ETag:\r\nA: \"b\"\r\n", NB_COMPRESS_WEAKEN, "ETag:\r\nA: \"b\"\r\n");
    expect_lines("Accept-Ranges: bytes\r\n", NB_COMPRESS_ENCODE, "Content-Encoding: gzip\r\n");
    expect_lines("Accept-Ranges: bytes\r\n", NB_COMPRESS_WEAKEN, "Accept-Ranges: bytes\r\n");
    expect_lines(TYPE "ETag: \"a\"\r\n", NB_COMPRESS_EMPTY | NB_COMPRESS_WEAKEN, "ETag: W/\"a\"\r\n");
}

/* Lines that no application sends, as a worker with damaged memory might: the room is enough. */
static void any_bytes_fit_the_room(void **state) {
    (void)state;
    static const char letters[] = ":\r\n \"*,/WwEeTtAaGgVvRrYy";
    nb_test_random chance = {3};
    for (int round = 0; round < 20000; round++) {
        char bytes[120];
        size_t size = nb_test_random_below(&chance, sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = letters[nb_test_random_below(&chance, sizeof letters - 1)];
        if (round % 2 && size > 12) memcpy(bytes, "\netag:\"\nvary:", 12);
        nb_response_fields fields;
        nb_slice given = nb_slice_of(bytes, size);
        nb_response_fields_read(&fields, given);
        char *out = malloc(NB_COMPRESS_LINES_BYTES(given));
        size_t written = nb_compress_lines_write(out, given, &fields, 7, NB_ENCODING_GZIP);
        assert_true(written <= NB_COMPRESS_LINES_BYTES(given));
        free(out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_types),
        cmocka_unit_test(types_of_the_configuration),
        cmocka_unit_test(the_table_of_types_is_bounded),
        cmocka_unit_test(requests_that_another_site_may_have_caused),
        cmocka_unit_test(what_is_compressed),
        cmocka_unit_test(changed_fields),
        cmocka_unit_test(any_bytes_fit_the_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
