/*
 * test_static.c - files of a served folder through a whole server, over real sockets: in the order
 * of the requests, from the loop and by way of the threads that open files, with nobody waiting
 * for them any more, and without descriptors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/world.h"

static char folder[NB_TEST_FOLDER_BYTES];

/* A file system whose missing names only a worker can tell (files/open_files.h). */
#define ELSEWHERE "/dev/shm"

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    nb_test_folder_create(folder);
    nb_test_write(folder, "a.txt", "static");
    nb_test_make_folder(folder, "docs");
    nb_test_write(folder, "docs/index.html", "index");
    world.served = folder;
    *state = &world;
    return 0;
}

static int setup_elsewhere(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    if (access(ELSEWHERE, W_OK) != 0) return setup(state);
    memcpy(folder, ELSEWHERE "/nb-static-XXXXXX", sizeof(ELSEWHERE "/nb-static-XXXXXX"));
    assert_non_null(mkdtemp(folder));
    nb_test_write(folder, "a.txt", "static");
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
#define CASE_ELSEWHERE(name) cmocka_unit_test_setup_teardown(name, setup_elsewhere, teardown)

#define GET(path) "GET " path " HTTP/1.1\r\nHost: test\r\n\r\n"

static void files_and_an_executors_answers_come_in_the_order_of_the_requests(void **state) {
    nb_test_world *w = *state;
    for (int guest = 0; guest < 2; guest++) {
        w->options.guest = guest;
        nb_test_world_open(w, 1);
        nb_test_client *c = nb_test_world_client(w);
        assert_true(nb_test_send_text(c, GET("/a.txt") GET("/hello") GET("/docs/") GET("/a.txt") GET("/hello")));
        nb_test_world_expect(w, c, 200, "static");
        nb_test_world_expect(w, c, 200, "hello");
        nb_test_world_expect(w, c, 200, "index");
        nb_test_world_expect(w, c, 200, "static");
        nb_test_world_expect(w, c, 200, "hello");
        nb_test_world_close(w);
        if (guest == 0) {
            nb_test_world_init(w);
            w->served = folder;
        }
    }
}

static void a_head_request_and_a_condition_have_no_body_and_the_connection_goes_on(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "HEAD /a.txt HTTP/1.1\r\nHost: test\r\n\r\n"));
    assert_true(nb_test_read(c, "HEAD", &w->response));
    assert_int_equal(200, w->response.status);
    assert_non_null(strstr(w->response.head, "Content-Length: 6\r\n"));
    assert_true(nb_test_send_text(c, "GET /a.txt HTTP/1.1\r\nHost: test\r\nIf-None-Match: *\r\n\r\n"));
    nb_test_world_expect(w, c, 304, "");
    assert_true(nb_test_send_text(c, "GET /a.txt HTTP/1.1\r\nHost: test\r\nRange: bytes=1-2\r\n\r\n"));
    nb_test_world_expect(w, c, 206, "ta");
    assert_true(nb_test_send_text(c, "GET /a.txt HTTP/1.1\r\nHost: test\r\nRange: bytes=9-\r\n\r\n"));
    nb_test_world_expect(w, c, 416, "416 Range Not Satisfiable\n");
    assert_true(nb_test_get(c, "/docs?x=1"));
    nb_test_world_expect(w, c, 301, "");
    assert_non_null(strstr(w->response.head, "Location: /docs/?x=1\r\n"));
    assert_true(nb_test_get(c, "/d%6fcs?\xc3\xa9%C3\\[]"));
    nb_test_world_expect(w, c, 301, "");
    assert_non_null(strstr(w->response.head, "Location: /d%6fcs/?%C3%A9%C3%5C[]\r\n"));
    nb_test_world_close(w);
}

/* --- what only a worker can tell --- */

static void a_name_that_needs_the_disk_waits_in_its_place(void **state) {
    nb_test_world *w = *state;
    w->config.io_threads = 2;
    nb_test_world_open(w, 1);
    for (int round = 0; round < 20; round++) {
        nb_test_client *c = nb_test_world_client(w);
        assert_true(nb_test_send_text(c, GET("/hello?none") GET("/a.txt") GET("/none/of/these") GET("/a.txt")));
        nb_test_world_expect(w, c, 200, "hello");
        nb_test_world_expect(w, c, 200, "static");
        nb_test_world_expect(w, c, 200, "");
        nb_test_world_expect(w, c, 200, "static");
    }
    nb_test_world_close(w);
}

static void a_client_that_does_not_wait_leaves_nothing_behind(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 40; i++) {
        char target[64];
        nb_test_client c = nb_test_connect(w->port);
        snprintf(target, sizeof target, "/gone/%d", i);
        assert_true(nb_test_get(&c, target));
        if (i % 2) nb_test_client_reset(&c);
        nb_test_client_close(&c);
    }
    nb_test_world_close(w);
}

static void a_server_that_is_stopped_does_not_wait_for_them(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int i = 0; i < 10; i++) {
        char request[128];
        snprintf(request, sizeof request, "GET /never/%d HTTP/1.1\r\nHost: test\r\n\r\n", i);
        assert_true(nb_test_send_text(c, request));
    }
    nb_server_stop_now(w->server);
    w->ended = true;
    nb_test_world_close(w);
}

/* --- without descriptors --- */

static void without_a_descriptor_a_file_is_503_and_served_when_there_is_one_again(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_world_expect_hello(w, c);
    nb_test_descriptors_exhaust();
    bool sent = nb_test_get(c, "/a.txt") && nb_test_read(c, "GET", &w->response);
    nb_test_descriptors_free();
    assert_true(sent);
    assert_int_equal(503, w->response.status);
    assert_non_null(strstr(w->response.head, "Retry-After: "));
    assert_true(w->response.keep_alive);
    assert_true(nb_test_get(c, "/a.txt"));
    nb_test_world_expect(w, c, 200, "static");
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(files_and_an_executors_answers_come_in_the_order_of_the_requests),
        CASE(a_head_request_and_a_condition_have_no_body_and_the_connection_goes_on),
        CASE(without_a_descriptor_a_file_is_503_and_served_when_there_is_one_again),
        CASE_ELSEWHERE(a_name_that_needs_the_disk_waits_in_its_place),
        CASE_ELSEWHERE(a_client_that_does_not_wait_leaves_nothing_behind),
        CASE_ELSEWHERE(a_server_that_is_stopped_does_not_wait_for_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
