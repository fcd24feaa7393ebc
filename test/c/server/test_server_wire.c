/*
 * test_server_wire.c - a server in C over real sockets: requests, order, bodies, refusals, ends. One or more executors (support/c_executor.h).
 */
#include <stdio.h>
#include <string.h>

#include "support/world.h"

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    *state = &world;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

/* --- one request after another (RFC 9112 section 9.3) --- */

static void a_connection_serves_one_request_after_another(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int i = 0; i < 50; i++) {
        assert_true(nb_test_get(c, "/hello"));
        nb_test_world_expect(w, c, 200, "hello");
        assert_true(w->response.keep_alive);
    }
    assert_int_equal(1, nb_test_world_stats(w).accepted);
    assert_int_equal(50, nb_test_world_stats(w).responses);
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_connection_serves_one_request_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
