/*
 * test_path.c - which file the path of a request names: what is served, and known attacks (notes of
 * issue 8, with the CVE if there is one). Each input ends at a guarded page.
 */
#include "files/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http1/guarded.h"
#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static guarded memory;
static nb_file_path path;

static nb_status decode_bytes(const char *target, size_t size) {
    memset(&path, 0x55, sizeof path);
    return nb_file_path_decode(nb_slice_of(guarded_place(&memory, target, size), size), &path);
}

static nb_status decode(const char *target) { return decode_bytes(target, strlen(target)); }

static void a_path_becomes_a_name_under_the_root(void **state) {
    (void)state;
    static const struct {
        const char *target, *text;
        bool folder;
    } rows[] = {
        {"/", "", true},
        {"/a", "a", false},
        {"/a/b.html", "a/b.html", false},
        {"/a/", "a", true},
        {"/a/b/", "a/b", true},
        {"/a%20b.txt", "a b.txt", false},
        {"/a+b.txt", "a+b.txt", false},
        {"/%61%62", "ab", false},
        {"/caf%C3%A9.html", "caf\xc3\xa9.html", false},
        {"/caf%c3%a9.html", "caf\xc3\xa9.html", false},
        {"/caf\xc3\xa9.html", "caf\xc3\xa9.html", false},
        {"/caf\xc3%a9/\xe2\x82\xac/", "caf\xc3\xa9/\xe2\x82\xac", true},
        {"/%E2%82%AC/%F0%9F%98%80.png", "\xe2\x82\xac/\xf0\x9f\x98\x80.png", false},
        {"/a..b", "a..b", false},
        {"/a../b", "a../b", false},
        {"/a./b.", "a./b.", false},
        {"/%20..%20/a", " .. /a", false},
        {"/~user/a", "~user/a", false},
        {"/a:b@c!$&'()*,;=", "a:b@c!$&'()*,;=", false},
        {"/%3F%23%25%22%3C%7C", "?#%\"<|", false},
        {"/C:/windows", "C:/windows", false},
        /* RFC 8615 */
        {"/.well-known", ".well-known", false},
        {"/.well-known/", ".well-known", true},
        {"/.well-known/acme-challenge/a_-B", ".well-known/acme-challenge/a_-B", false},
        {"/%2ewell-known/a", ".well-known/a", false},
        /* Decoded once: the rest is part of a name (Mongrel, CVE-2007-6612). */
        {"/%252e%252e/etc/passwd", "%2e%2e/etc/passwd", false},
        {"/%252e%252e%252fetc", "%2e%2e%2fetc", false},
        {"/%25%32%65", "%2e", false},
        {"/%2500", "%00", false},
        {"/%255c", "%5c", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_status(NB_OK, decode(rows[i].target));
        assert_string_equal(rows[i].text, path.text);
        assert_int_equal(strlen(rows[i].text), path.size);
        assert_int_equal(rows[i].folder, path.folder);
    }
}

static void every_trick_is_refused(void **state) {
    (void)state;
    static const char *const targets[] = {
        /* no path */
        "",
        "*",
        "a",
        "a/b",
        "http://host/a",
        "//",
        "//a",
        "/a//b",
        "/a//",
        "///",
        "//etc/passwd",
        "/%",
        "/%2",
        "/a%",
        "/a%4",
        "/%zz",
        "/%g0",
        "/%0g",
        "/% 41",
        "/%u002e",
        "/%u002e%u002e/a",
        "/%+41",
        "/%-1",
        /* dot segments, as they are and in any spelling (CVE-2021-41773; Iodine, CVE-2024-22050) */
        "/.",
        "/..",
        "/./",
        "/../",
        "/./a",
        "/../a",
        "/a/.",
        "/a/..",
        "/a/./b",
        "/a/../b",
        "/../../../../etc/passwd",
        "/a/../../etc/passwd",
        "/%2e",
        "/%2E",
        "/%2e/a",
        "/%2e%2e",
        "/%2e%2e/",
        "/.%2e/a",
        "/%2e./a",
        "/%2E%2E/%2E%2E/etc/passwd",
        "/a/%2e%2e/%2e%2e/etc/passwd",
        "/cgi-bin/.%2e/.%2e/.%2e/etc/passwd",
        /* an encoded slash, whatever is beside it (CVE-2018-3760, CVE-2021-42013) */
        "/%2f",
        "/%2F",
        "/a%2fb",
        "/..%2f",
        "/..%2fetc/passwd",
        "/..%2F..%2Fetc%2Fpasswd",
        "/%2e%2e%2fetc",
        "/%2e%2e%2f%2e%2e%2fetc/passwd",
        "/a%2f..%2fb",
        "/.%2f",
        "/a/%2e%2e%2f",
        "/%2f%2fetc/passwd",
        /* backslashes */
        "/\\",
        "/..\\a",
        "/a\\..\\b",
        "/%5c",
        "/%5C",
        "/..%5c..%5cetc",
        "/%2e%2e%5c",
        "/a%5cb",
        /* path parameters, as Java servers read them (CVE-2020-5902) */
        "/..;/a",
        "/..;a=b/c",
        "/.;/a",
        "/%2e%2e;/a",
        "/..%3b/a",
        "/a/..;/b",
        /* NUL and other control bytes */
        "/%00",
        "/a%00",
        "/a%00.html",
        "/..%00/a",
        "/.%00./a",
        "/%0a",
        "/%0d%0aa",
        "/%09a",
        "/%1b[31m",
        "/%1f",
        "/%7f",
        "/a\x01",
        "/a\x7f",
        "/a b",
        "/a\tb",
        "/a\nb",
        "/%c2%80",
        "/%c2%9b31m",
        "/%C2%9F",
        /* the same unencoded, and text that is not UTF-8 */
        "/a\xc2\x9b"
        "31m",
        "/\xc0\xae\xc0\xae/a",
        "/\xc0\xaf",
        "/\xe0\x80\xaf",
        "/%c0\xaf",
        "/\xed\xa0\x80",
        "/caf\xe9",
        "/caf\xc3",
        "/\xff",
        /* the head parser has removed what these begin */
        "/a?b",
        "/a#b",
        /* overlong forms of ".", "/", NUL and "\\" (CVE-2000-0884), and other text that is not
         * UTF-8 */
        "/%c0%ae%c0%ae/a",
        "/%c0%af",
        "/%c0%2f",
        "/%e0%80%af",
        "/%e0%80%ae/a",
        "/%f0%80%80%af",
        "/%f8%80%80%80%af",
        "/%fc%80%80%80%80%af",
        "/%c0%80",
        "/%c1%9c",
        "/%c1%bf",
        "/%e0%9f%bf",
        "/%f0%8f%bf%bf",
        "/%ff",
        "/%fe",
        "/%80",
        "/%bf",
        "/%c3",
        "/%c3/%a9",
        "/%c3a",
        "/%e2%82",
        "/%e2%82/a",
        "/%e2%28%a1",
        "/%f0%9f%98",
        "/%f4%90%80%80",
        "/%f5%80%80%80",
        "/%ed%a0%80",
        "/%ed%bf%bf",
        "/a%e9",
        /* names with a dot in front: repositories, secrets */
        "/.git/config",
        "/.env",
        "/.htpasswd",
        "/a/.git/config",
        "/.a",
        "/...",
        "/..a",
        "/.../a",
        "/%2egit/config",
        "/%2Eenv",
        "/.ssh/id_rsa",
        "/.well-known/.git/a",
        "/.well-known/..",
        "/.well-known/../.git",
        "/a/.well-known/b",
        "/.well-knownx",
        "/.well-known.x",
        "/.Well-Known/a",
        "/.sprockets-manifest-0123.json",
        "/.vite/manifest.json",
        "/a/.DS_Store",
    };
    for (size_t i = 0; i < COUNT(targets); i++) {
        if (decode(targets[i]) != NB_INVALID) fail_msg("%s gives \"%s\"", targets[i], path.text);
    }
}

static void a_nul_byte_ends_nothing(void **state) {
    (void)state;
    assert_status(NB_INVALID, decode_bytes("/a\0b", 4));
    assert_status(NB_INVALID, decode_bytes("/a\0", 3));
    assert_status(NB_INVALID, decode_bytes("\0", 1));
}

static bool may_be_encoded(unsigned byte) { return byte >= 0x20 && byte < 0x7f && byte != '/' && byte != '\\'; }

static void every_byte_may_be_encoded_or_not(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char target[8];
        snprintf(target, sizeof target, "/a%%%02xb", byte);
        nb_status status = decode(target);
        assert_status(may_be_encoded(byte) ? NB_OK : NB_INVALID, status);
        if (status == NB_OK) assert_int_equal(byte, (unsigned char)path.text[1]);
        const char raw[] = {'/', 'a', (char)byte, 'b'};
        bool fine = byte > ' ' && byte < 0x7f && strchr("%?#\\", (int)byte) == NULL;
        assert_status(fine ? NB_OK : NB_INVALID, decode_bytes(raw, sizeof raw));
    }
}

/* The bytes a code point has, and one leading byte more than it needs. */
static size_t encode(uint32_t code, unsigned bytes, char *target) {
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = 0;
    for (unsigned i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(i == 0 ? first[bytes] | code >> 6 * (bytes - 1)
                                                    : 0x80u | (code >> 6 * (bytes - 1 - i) & 0x3fu));
        size += (size_t)sprintf(target + size, "%%%02X", byte);
    }
    return size;
}

static unsigned bytes_of(uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

static void all_of_unicode_and_nothing_else_is_a_name(void **state) {
    (void)state;
    char target[32] = "/";
    for (uint32_t code = 0; code < 0x140000; code += code < 0x11000 ? 1 : 37) {
        for (unsigned bytes = bytes_of(code) > 1 ? bytes_of(code) : 2; bytes <= 4; bytes++) {
            bool shortest = bytes == bytes_of(code);
            bool fine = shortest && code >= 0xa0 && !(code >= 0xd800 && code <= 0xdfff) && code <= 0x10ffff;
            size_t size = 1 + encode(code, bytes, target + 1);
            if (decode_bytes(target, size) != (fine ? NB_OK : NB_INVALID)) fail_msg("U+%04X in %u bytes", code, bytes);
            if (fine) assert_int_equal(bytes, path.size);
            char raw[8] = "/";
            for (unsigned i = 0; i < bytes; i++)
                raw[1 + i] = (char)strtoul((char[]){target[3 * i + 2], target[3 * i + 3], '\0'}, NULL, 16);
            if (decode_bytes(raw, 1 + bytes) != (fine ? NB_OK : NB_INVALID)) fail_msg("U+%04X as it is", code);
            if (fine) assert_memory_equal(raw + 1, path.text, bytes);
        }
    }
}

static void a_name_is_bounded(void **state) {
    (void)state;
    static char target[3 * NB_FILE_PATH_BYTES_MAX + 8];
    memset(target, 'a', sizeof target);
    target[0] = '/';
    assert_status(NB_OK, decode_bytes(target, NB_FILE_PATH_BYTES_MAX + 1));
    assert_int_equal(NB_FILE_PATH_BYTES_MAX, path.size);
    assert_int_equal(NB_FILE_PATH_BYTES_MAX, strlen(path.text));
    assert_status(NB_OVER_LIMIT, decode_bytes(target, NB_FILE_PATH_BYTES_MAX + 2));
    assert_status(NB_OVER_LIMIT, decode_bytes(target, sizeof target));
    for (size_t i = 1; i + 3 <= sizeof target; i += 3)
        memcpy(target + i, "%61", 3);
    assert_status(NB_OK, decode_bytes(target, 3 * NB_FILE_PATH_BYTES_MAX + 1));
    assert_int_equal(NB_FILE_PATH_BYTES_MAX, path.size);
    assert_status(NB_OVER_LIMIT, decode_bytes(target, 3 * NB_FILE_PATH_BYTES_MAX + 4));
}

static void a_name_of_the_application_is_taken_as_it_is(void **state) {
    (void)state;
    static const char *const good[] = {"a",    "a/b",     ".hidden/a", "a b",   "%2e%2e",
                                       "a\\b", "caf\xe9", "..a",       "a/..b", "\n"};
    static const char *const bad[] = {"",     "/",   "//",   "a/",     "a//",   ".",    "..",     "./a",
                                      "../a", "a/.", "a/..", "a/../b", "a/./b", "//..", "a//../b"};
    static const char *const joined[] = {"/a/b", "a//b", "//a///b"};
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_status(NB_OK, nb_file_path_take(nb_slice_of(good[i], strlen(good[i])), &path));
        assert_string_equal(good[i], path.text);
        assert_false(path.folder);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (nb_file_path_take(nb_slice_of(bad[i], strlen(bad[i])), &path) != NB_INVALID) fail_msg("%s", bad[i]);
    }
    for (size_t i = 0; i < COUNT(joined); i++) {
        assert_status(NB_OK, nb_file_path_take(nb_slice_of(joined[i], strlen(joined[i])), &path));
        assert_string_equal("a/b", path.text);
        assert_int_equal(3, path.size);
    }
    assert_status(NB_INVALID, nb_file_path_take(nb_slice_of("a\0b", 3), &path));
    static char name[NB_FILE_PATH_BYTES_MAX + 1];
    memset(name, 'a', sizeof name);
    assert_status(NB_OK, nb_file_path_take(nb_slice_of(name, NB_FILE_PATH_BYTES_MAX), &path));
    assert_status(NB_OVER_LIMIT, nb_file_path_take(nb_slice_of(name, NB_FILE_PATH_BYTES_MAX + 1), &path));
}

static void an_index_is_looked_for_in_its_folder(void **state) {
    (void)state;
    assert_status(NB_OK, decode("/"));
    assert_status(NB_OK, nb_file_path_append(&path, NB_SLICE("index.html")));
    assert_string_equal("index.html", path.text);
    assert_status(NB_OK, decode("/a/b/"));
    assert_true(path.folder);
    assert_status(NB_OK, nb_file_path_append(&path, NB_SLICE("index.html")));
    assert_string_equal("a/b/index.html", path.text);
    assert_int_equal(strlen("a/b/index.html"), path.size);
    assert_false(path.folder);
    static char target[NB_FILE_PATH_BYTES_MAX];
    memset(target, 'a', sizeof target);
    target[0] = '/';
    assert_status(NB_OK, decode_bytes(target, sizeof target - 9));
    assert_status(NB_OVER_LIMIT, nb_file_path_append(&path, NB_SLICE("index.html")));
    assert_int_equal(sizeof target - 10, path.size);
    assert_status(NB_OK, nb_file_path_append(&path, NB_SLICE("index.htm")));
    assert_int_equal(NB_FILE_PATH_BYTES_MAX, path.size);
}

int main(void) {
    nb_test_alarm(60);
    memory = guarded_create(16384);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_becomes_a_name_under_the_root),
        cmocka_unit_test(every_trick_is_refused),
        cmocka_unit_test(a_nul_byte_ends_nothing),
        cmocka_unit_test(every_byte_may_be_encoded_or_not),
        cmocka_unit_test(all_of_unicode_and_nothing_else_is_a_name),
        cmocka_unit_test(a_name_is_bounded),
        cmocka_unit_test(a_name_of_the_application_is_taken_as_it_is),
        cmocka_unit_test(an_index_is_looked_for_in_its_folder),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
