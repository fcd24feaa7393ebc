/*
 * test_cache_rules.c - Cache-Control by pattern, and which names have a fingerprint: real names of
 * asset pipelines, and names that only look like them.
 */
#include "files/cache_rules.h"

#include <stdio.h>
#include <string.h>

#include "http1/guarded.h"
#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static nb_cache_rules rules;
static guarded memory;

static int set_up(void **state) {
    (void)state;
    memset(&rules, 0, sizeof rules);
    return 0;
}

static nb_slice slice(const char *text) { return nb_slice_of(text, strlen(text)); }

static nb_status add(const char *pattern, const char *value) {
    return nb_cache_rules_add(&rules, slice(pattern), slice(value));
}

static void expect(const char *value, const char *path) {
    size_t size = strlen(path);
    nb_slice found = nb_cache_rules_find(&rules, nb_slice_of(guarded_place(&memory, path, size), size));
    if (!nb_slice_equal(found, slice(value)))
        fail_msg("%s has \"%.*s\", not \"%s\"", path, (int)found.size, found.data, value);
}

static void the_first_rule_that_matches_wins(void **state) {
    (void)state;
    assert_status(NB_OK, add("/favicon.ico", "public, max-age=3600"));
    assert_status(NB_OK, add("/a/b/*", "no-cache"));
    assert_status(NB_OK, add("/a/*", "private"));
    assert_status(NB_OK, add("/a/c", "never seen"));
    expect("public, max-age=3600", "favicon.ico");
    expect("", "favicon.icon");
    expect("", "x/favicon.ico");
    expect("no-cache", "a/b/c");
    expect("private", "a/b");
    expect("private", "a/c");
    expect("", "a");
    expect("", "a-b/c"); /* Rack CVE-2026-34785: a prefix ends where a name ends */
    expect("", "ab");
    expect("", "");
    assert_status(NB_OK, add("/*", "all"));
    expect("all", "a");
    expect("all", "");
}

static void a_rule_goes_before_fingerprints_and_may_say_nothing(void **state) {
    (void)state;
    expect(NB_CACHE_FINGERPRINTED, "assets/app-1a2b3c4d.js");
    assert_status(NB_OK, add("/assets/*", ""));
    expect("", "assets/app-1a2b3c4d.js");
}

static void rules_are_checked_and_bounded(void **state) {
    (void)state;
    static const char *const patterns[] = {"", "a", "*", "/a*b", "/**", "/a\n"};
    for (size_t i = 0; i < COUNT(patterns); i++)
        assert_status(NB_INVALID, add(patterns[i], "no-cache"));
    assert_status(NB_INVALID, add("/a", "no-cache\r\nx: y"));
    assert_int_equal(0, rules.count);
    for (unsigned i = 0; i < NB_CACHE_RULES_MAX; i++)
        assert_status(NB_OK, add("/a", "no-cache"));
    assert_status(NB_FULL, add("/a", "no-cache"));
    set_up(NULL);
    static char text[NB_CACHE_RULES_TEXT_BYTES];
    memset(text, '/', sizeof text);
    assert_status(NB_FULL, nb_cache_rules_add(&rules, nb_slice_of(text, sizeof text), slice("a")));
    assert_status(NB_OK, nb_cache_rules_add(&rules, nb_slice_of(text, sizeof text - 1), slice("a")));
    assert_status(NB_FULL, add("/", ""));
}

static void names_that_carry_a_fingerprint_never_change(void **state) {
    (void)state;
    static const char *const names[] = {
        /* Sprockets: SHA-256 in hex; MD5 before version 3.5 */
        "assets/application-0c8d6a3f0b7e5f1d2c4b6a8091e3f5d7c9b1a3e5f70812345678abcdef901234.js",
        "assets/rails-ujs-20eaf715d23a6a1c8ccc7ae6fa0d1a3eb5a7e3b8ef9a5f7a7cb5a1e0e5ec3a4c.js",
        "assets/trix-686f3a33b0de8a3d75c2d4c4d5b6d7d5a8f2d7be5b1e0aa3bd6b5a4e0f9c1d3e.css",
        "assets/application-908e25f4bf641868d8683022a5b62f54.css",
        "assets/icons/logo-0c8d6a3f0b7e5f1d2c4b6a8091e3f5d7c9b1a3e5f70812345678abcdef901234.svg",
        "assets/manifest-7ae6fa0d1a3eb5a7e3b8ef9a5f7a7cb5.json",
        "assets/application-908e25f4bf641868d8683022a5b62f54.js.map",
        "assets/application-908e25f4bf641868d8683022a5b62f54.css.gz",
        /* Propshaft: eight digits of SHA-1 */
        "assets/application-6d58c9e6.js",
        "assets/turbo.min-7ab2ea9f.js",
        "assets/controllers/hello_controller-549135e8.js",
        "assets/es-module-shims.min-4ca9b3dd.js",
        "assets/application-6d58c9e6.js.map",
        /* All of it, before version 1. */
        "assets/application-5d41402abc4b2a76b9719d911017c592ae5f3b1c.css",
        /* jsbundling: chunks of esbuild, whose names Propshaft keeps */
        "assets/chunk-4QTUNIID.digested.js",
        "assets/admin/chunk-BUSYBEES.digested.js.map",
        /* Shakapacker, Webpacker */
        "packs/js/application-3f2c1d0e9b8a7f6e5d4c.js",
        "packs/css/application-1f2e3d4c.css",
        "packs/media/images/logo-c38deda30895059837cf.png",
        "packs/application.3f2c1d0e9b8a7f6e5d4c.js",
        /* vite_ruby */
        "vite/assets/application-d2zs9FjN.js",
        "vite/assets/application-BfQx-k_1.css",
        "vite/assets/index-DiwrgTda.js",
        "vite/assets/inter-4a7b9c2d.woff2",
        "vite/assets/application.7b3dc243.js",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        expect(NB_CACHE_FINGERPRINTED, names[i]);
}

static void names_that_only_look_so_may_change(void **state) {
    (void)state;
    static const char *const names[] = {
        "assets/application.js",
        "assets/logo-20241231.png",     /* a date */
        "assets/report-2024123112.pdf", /* and an hour */
        "assets/cafe-deadbeef.png",     /* a word */
        "assets/app-1a2b3c4.js",        /* short */
        "assets/app-1a2b3c4d",          /* without a type */
        "assets/app-1A2B3C4D.js",
        "assets/app-1a2b3c4dx.js",
        "assets/app_1a2b3c4d.js",
        "assets/1a2b3c4d.js",
        "assets/app-1a2b3c4d/index.js",
        "assets/photo-iPhone15.png",
        "assets/chunk-4QTUNIID.js", /* esbuild's own: a rule says so */
        "assets/chunk-4QTUNI.digested.js",
        "assets/chunk-4QTUNIID.digested",
        "assets/user-settings.js",
        "assets/index-DiwrgTda.js", /* Vite without vite_ruby: a rule says so */
        "uploads/avatar-550e8400-e29b-41d4-a716-446655440000.png",
        "app-1a2b3c4d.js",
        "my/assets/app-1a2b3c4d.js",
        "assetsx/app-1a2b3c4d.js",
        "vite/index-d2zs9FjN.js",
        "vite/assets/application.js",
        "vite/assets/application-d2zs9Fj.js",
        "vite/manifest.json",
        "404.html",
        "favicon.ico",
        "robots.txt",
        "",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        expect("", names[i]);
    char longest[256] = "assets/a-";
    memset(longest + 9, 'a', 128);
    longest[10] = '1';
    strcpy(longest + 9 + 128, ".js");
    expect(NB_CACHE_FINGERPRINTED, longest);
    strcpy(longest + 9 + 128, "a.js");
    expect("", longest);
}

#define CASE(name) cmocka_unit_test_setup(name, set_up)

int main(void) {
    nb_test_alarm(30);
    memory = guarded_create(4096);
    const struct CMUnitTest tests[] = {
        CASE(the_first_rule_that_matches_wins),   CASE(a_rule_goes_before_fingerprints_and_may_say_nothing),
        CASE(rules_are_checked_and_bounded),      CASE(names_that_carry_a_fingerprint_never_change),
        CASE(names_that_only_look_so_may_change),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
