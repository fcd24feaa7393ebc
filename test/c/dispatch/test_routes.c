/*
 * test_routes.c - the table of routes: what is a pattern, which one wins, and its bounds.
 */
#include "dispatch/routes.h"

#include <stdlib.h>
#include <string.h>

#include "support/world.h"

static nb_routes routes;

static int setup(void **state) {
    (void)state;
    memset(&routes, 0, sizeof routes);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static nb_slice text(const char *pattern) { return nb_slice_of(pattern, strlen(pattern)); }

static uint16_t add(const char *pattern) {
    uint16_t number = 0;
    assert_status(NB_OK, nb_routes_add(&routes, text(pattern), (nb_route){0}, &number));
    return number;
}

/* The path lies in memory of exactly its size, so that ASan sees a byte read beyond it. */
static uint16_t match(const char *path) {
    size_t size = strlen(path);
    char *exact = malloc(size ? size : 1);
    memcpy(exact, path, size);
    uint16_t number = nb_routes_match(&routes, nb_slice_of(exact, size));
    free(exact);
    return number;
}

static void no_route_takes_anything_when_there_is_none(void **state) {
    (void)state;
    assert_int_equal(NB_ROUTE_NONE, match("/"));
    assert_null(nb_routes_get(&routes, NB_ROUTE_NONE));
    assert_null(nb_routes_get(&routes, 1));
}

static void a_path_is_taken_as_it_is_and_a_prefix_with_all_that_follows(void **state) {
    (void)state;
    assert_int_equal(1, add("/uploads"));
    assert_int_equal(2, add("/x/*"));
    assert_int_equal(1, match("/uploads"));
    assert_int_equal(2, match("/x/"));
    assert_int_equal(2, match("/x/y/z"));
    const char *const others[] = {"/",        "/upload", "/uploads/", "/uploadss", "/%75ploads",
                                  "/UPLOADS", "/x",      "//x/",      "*",         ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(NB_ROUTE_NONE, match(others[i]));
}

static void a_path_sent_without_encoding_takes_the_route_of_the_encoded_one(void **state) {
    (void)state;
    assert_int_equal(1, add("/caf%C3%A9"));
    assert_int_equal(2, add("/caf%c3%a9/*"));
    assert_int_equal(1, match("/caf%C3%A9"));
    assert_int_equal(1, match("/caf\xc3\xa9"));
    assert_int_equal(1, match("/caf%C3\xa9"));
    assert_int_equal(2, match("/caf\xc3\xa9/"));
    assert_int_equal(2, match("/caf\xc3\xa9/x\xff"));
    assert_int_equal(2, match("/caf%c3%a9/x"));
    const char *const others[] = {"/caf", "/caf\xc3", "/caf\xe9", "/caf%c3%a9", "/caf\xc3\xa9x", "/caf%C3%A9/x"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(NB_ROUTE_NONE, match(others[i]));
}

static void the_first_that_matches_wins(void **state) {
    (void)state;
    add("/a/b");
    add("/a/*");
    add("/*");
    assert_int_equal(1, match("/a/b"));
    assert_int_equal(2, match("/a/c"));
    assert_int_equal(3, match("/b"));
    assert_int_equal(NB_ROUTE_NONE, match("*"));
}

static void what_is_no_pattern_is_refused_and_leaves_the_table_as_it_was(void **state) {
    (void)state;
    const char *const wrong[] = {"",     "*",    "x",    "x/",    "/x*y",      "/*/", "/**",
                                 "/a b", "/a?b", "/a#b", "/\x7f", "/\xc3\xa9", "/\n"};
    uint16_t number = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status(NB_INVALID, nb_routes_add(&routes, text(wrong[i]), (nb_route){0}, &number));
    assert_status(NB_INVALID, nb_routes_add(&routes, nb_slice_of("/a\0b", 4), (nb_route){0}, &number));
    assert_int_equal(7, number);
    assert_int_equal(0, routes.count + routes.text_bytes);
}

static void a_table_that_is_full_takes_no_more(void **state) {
    (void)state;
    uint16_t number = 0;
    for (unsigned i = 0; i < NB_ROUTES_MAX; i++)
        add("/x");
    assert_status(NB_FULL, nb_routes_add(&routes, text("/y"), (nb_route){0}, &number));
    assert_int_equal(1, match("/x"));

    setup(NULL);
    char *longest = malloc(NB_ROUTES_TEXT_BYTES + 1);
    memset(longest, '/', NB_ROUTES_TEXT_BYTES + 1);
    assert_status(NB_FULL,
                  nb_routes_add(&routes, nb_slice_of(longest, NB_ROUTES_TEXT_BYTES + 1), (nb_route){0}, &number));
    assert_status(NB_OK, nb_routes_add(&routes, nb_slice_of(longest, NB_ROUTES_TEXT_BYTES), (nb_route){0}, &number));
    assert_status(NB_FULL, nb_routes_add(&routes, text("/"), (nb_route){0}, &number));
    assert_int_equal(1, nb_routes_match(&routes, nb_slice_of(longest, NB_ROUTES_TEXT_BYTES)));
    free(longest);
}

static void what_a_route_means_is_found_by_its_number(void **state) {
    (void)state;
    uint16_t number = 0;
    assert_status(NB_OK, nb_routes_add(&routes, text("/a"), (nb_route){.stream_input = true}, &number));
    assert_true(nb_routes_get(&routes, number)->stream_input);
    assert_status(NB_OK, nb_routes_add(&routes, text("/b"), (nb_route){.cancel_on_disconnect = NB_ROUTE_NO}, &number));
    assert_int_equal(NB_ROUTE_NO, nb_routes_get(&routes, number)->cancel_on_disconnect);
    assert_false(nb_routes_get(&routes, number)->stream_input);
    assert_null(nb_routes_get(&routes, 3));
    assert_null(nb_routes_get(&routes, UINT16_MAX));
}

static void a_request_message_carries_its_routes_number(void **state) {
    (void)state;
    nb_test_world world;
    uint16_t number = 0;
    nb_test_world_init(&world);
    nb_test_world_open_routed(&world, 1, (const char *const[]){"/never/*", "/route", "/route*", NULL});
    nb_test_client *c = nb_test_world_client(&world);
    assert_status(NB_FULL, nb_server_route_add(world.server, text("/late"), (nb_route){0}, &number));
    assert_true(nb_test_get(c, "/route"));
    nb_test_world_expect(&world, c, 200, "2");
    assert_true(nb_test_get(c, "/route?x=/never/"));
    nb_test_world_expect(&world, c, 200, "2");
    assert_true(nb_test_get(c, "http://localhost/route"));
    nb_test_world_expect(&world, c, 200, "2");
    assert_true(nb_test_get(c, "/route/"));
    nb_test_world_expect(&world, c, 200, "3");
    assert_true(nb_test_send_text(c, "POST /route/body HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\nx"));
    nb_test_world_expect(&world, c, 200, "3");
    nb_test_world_close(&world);

    nb_test_world_init(&world);
    nb_test_world_open(&world, 1);
    c = nb_test_world_client(&world);
    assert_true(nb_test_get(c, "/route"));
    nb_test_world_expect(&world, c, 200, "0");
    nb_test_world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(no_route_takes_anything_when_there_is_none),
        CASE(a_path_is_taken_as_it_is_and_a_prefix_with_all_that_follows),
        CASE(a_path_sent_without_encoding_takes_the_route_of_the_encoded_one),
        CASE(the_first_that_matches_wins),
        CASE(what_is_no_pattern_is_refused_and_leaves_the_table_as_it_was),
        CASE(a_table_that_is_full_takes_no_more),
        CASE(what_a_route_means_is_found_by_its_number),
        CASE(a_request_message_carries_its_routes_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
