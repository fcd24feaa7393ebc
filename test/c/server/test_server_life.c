/*
 * test_server_life.c - a server in C from its start to its end: the limit of connections, drain and
 * stop, what a child process inherits, and its listeners.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/net.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

/* --- connections --- */

static void at_the_limit_the_connection_idle_longest_makes_room(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[4];
    w->config.connections_max = 3;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 3; i++) {
        clients[i] = nb_test_world_client(w);
        nb_test_world_expect_hello(w, clients[i]);
    }
    clients[3] = nb_test_world_client(w);
    nb_test_world_expect_hello(w, clients[3]);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(clients[0], NULL));
    for (int i = 1; i < 4; i++)
        nb_test_world_expect_hello(w, clients[i]);
    nb_test_world_close(w);
}

static void at_the_limit_with_all_busy_newcomers_wait_for_one_to_end(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[4];
    w->config.connections_max = 3;
    w->config.accept_timeout_ms = 600000;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 4; i++)
        clients[i] = nb_test_world_client(w);
    for (int i = 0; i < 4; i++)
        assert_true(nb_test_get(clients[i], "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    while (nb_test_world_counters(w).connections < 3) {
    }
    assert_int_equal(3, nb_test_world_counters(w).accepted);
    nb_test_client_reset(clients[1]);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 4);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, clients[0], 200, "held");
    nb_test_world_expect(w, clients[2], 200, "held");
    nb_test_world_expect(w, clients[3], 200, "held");
    nb_test_world_close(w);
}

static void who_has_waited_for_a_place_in_vain_is_told_503_and_places_that_are_free_are_taken_at_once(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[3];
    w->config.connections_max = 3;
    w->config.accept_timeout_ms = 20;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 3; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], "/hold"));
    }
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    for (int i = 0; i < 5; i++) {
        nb_test_client *late = nb_test_world_client(w);
        assert_true(nb_test_get(late, "/hello"));
        nb_test_world_expect(w, late, 503, "503 too many connections\n");
        assert_non_null(strstr(w->response.head, "Retry-After: 1\r\n"));
        assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(late, NULL));
    }
    assert_int_equal(5, nb_test_world_counters(w).connections_refused);
    nb_test_client_reset(clients[0]);
    while (nb_test_world_counters(w).connections == 3)
        usleep(1000);
    nb_test_client *next = nb_test_world_client(w);
    nb_test_world_expect_hello(w, next);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, clients[1], 200, "held");
    nb_test_world_close(w);
}

/* --- drain and stop --- */

static void draining_ends_idle_connections_serves_those_under_way_and_refuses_new_ones(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *idle = nb_test_world_client(w), *fresh = nb_test_world_client(w), *busy = nb_test_world_client(w);
    nb_test_world_expect_hello(w, idle);
    assert_true(nb_test_get(busy, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle, NULL));
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(fresh, NULL));
    nb_test_client late = nb_test_connect(w->port);
    assert_int_equal(-1, late.fd);
    assert_int_equal(ECONNREFUSED, errno);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_STOPPED));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, busy, 200, "held");
    assert_false(w->response.keep_alive);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(busy, NULL));
    nb_test_world_close(w);
}

/* It had no sign that the server would not take it. */
static void the_first_request_of_a_new_connection_is_served_while_draining(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *idle = nb_test_world_client(w), *fresh = nb_test_world_client(w);
    nb_test_world_expect_hello(w, idle);
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle, NULL));
    assert_true(nb_test_get(fresh, "/"));
    nb_test_world_expect(w, fresh, 200, NULL);
    assert_false(w->response.keep_alive);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(fresh, NULL));
    nb_test_world_close(w);
}

static void a_body_under_way_is_taken_whole_while_draining(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w), *idle = nb_test_world_client(w);
    char half[50000];
    for (size_t i = 0; i < sizeof half; i++)
        half[i] = nb_test_pattern(i);
    assert_true(nb_test_send_text(c, "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n"));
    assert_true(nb_test_send(c, half, sizeof half));
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle, NULL));
    for (size_t i = 0; i < sizeof half; i++)
        half[i] = nb_test_pattern(i + sizeof half);
    assert_true(nb_test_send(c, half, sizeof half));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 100000));
    assert_false(w->response.keep_alive);
    nb_test_world_close(w);
}

static void pipelined_requests_under_way_are_all_answered_while_draining(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w), *idle = nb_test_world_client(w);
    for (int i = 0; i < 3; i++)
        assert_true(nb_test_get(c, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle, NULL));
    nb_test_executor_release(w->executors[0]);
    for (int i = 0; i < 3; i++) {
        nb_test_world_expect(w, c, 200, "held");
        assert_int_equal(i < 2, w->response.keep_alive);
    }
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

/* A server that drains from its first turn on, while a request lies in its backlog. It has no
   executor yet. */
static nb_test_client *open_draining(nb_test_world *w, const char *streamed) {
    uint16_t number;
    nb_test_alarm(40);
    w->config.header_timeout_ms = 60;
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", 0, 16, &w->port));
    if (streamed) {
        const nb_route route = {.stream_input = true};
        nb_slice pattern = {streamed, strlen(streamed)};
        assert_status(NB_OK, nb_server_route_add(w->server, pattern, route, &number));
    }
    assert_status(NB_OK, nb_server_channel_add(w->server, &w->channels[0]));
    nb_test_client *c = nb_test_world_client(w);
    assert_true(streamed ? nb_test_post(c, streamed, 10, false) : nb_test_get(c, "/hold"));
    while (nb_net_unacknowledged(c->fd) > 0) {
    }
    nb_server_drain(w->server);
    assert_status(NB_OK, nb_server_start(w->server));
    return c;
}

static void begin_to_execute(nb_test_world *w) {
    w->executors[0] = nb_test_executor_start(w->server, w->channels[0], &w->options);
    w->executor_count = 1;
}

static void no_timeout_of_a_head_runs_for_a_request_the_drain_itself_has_read(void **state) {
    nb_test_world *w = *state;
    nb_test_client *c = open_draining(w, NULL);
    begin_to_execute(w);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    assert_false(nb_test_readable(c, 120));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    assert_false(w->response.keep_alive);
    nb_test_world_close(w);
}

static void nor_for_a_streamed_one_that_is_queued_then(void **state) {
    nb_test_world *w = *state;
    nb_test_client *c = open_draining(w, "/count");
    assert_false(nb_test_readable(c, 120));
    begin_to_execute(w);
    nb_test_world_expect(w, c, 200, "10 good");
    nb_test_world_close(w);
}

static void what_is_not_done_by_the_shutdown_timeout_is_cut(void **state) {
    nb_test_world *w = *state;
    w->config.shutdown_timeout_ms = 50;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/never"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    int64_t start = nb_clock_monotonic_ns();
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(c, NULL));
    assert_true(nb_test_since_ms(start) >= 49);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_executor_await(w->executors[0], NB_TEST_STOPPED, 1);
    nb_test_world_close(w);
}

static void stopping_now_cuts_everything_at_once(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    nb_test_client *clients[10];
    static const char *const paths[] = {"/never", "/hold", "/big/90000000", "/late", "/chunked/90000000"};
    for (int i = 0; i < 10; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], paths[i % 5]));
    }
    while (nb_test_world_counters(w).requests < 10)
        nb_test_world_settle(w);
    nb_server_stop_now(w->server);
    for (int i = 0; i < 10; i++)
        assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(clients[i], NULL));
    w->ended = true;
    nb_test_world_close(w);
}

/* Files and bodies that lie in rings when all is cut must not be lost: the world counts
   descriptors. */
static void stopping_now_with_files_on_their_way_loses_none(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 20; i++)
        assert_true(nb_test_get(nb_test_world_client(w), "/file/2000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 5);
    nb_server_stop_now(w->server);
    w->ended = true;
    nb_test_world_close(w);
}

static void a_server_that_never_started_is_destroyed(void **state) {
    (void)state;
    unsigned descriptors = nb_test_descriptors();
    nb_server_config config;
    nb_server *server;
    nb_channel *channel;
    uint16_t port;
    nb_server_config_default(&config);
    assert_status(NB_OK, nb_server_create(&config, &server));
    assert_status(NB_OK, nb_server_listen_tcp(server, "127.0.0.1", 0, 1, &port));
    assert_status(NB_SYSTEM, nb_server_listen_unix(server, "/dev/null", 0, 1));
    assert_status(NB_OK, nb_server_channel_add(server, &channel));
    nb_server_join(server);
    nb_server_destroy(server);
    nb_server_destroy(NULL);
    assert_int_equal(descriptors, nb_test_descriptors());
}

/* The child lives on with nothing of ours: only then does the parent's closing reach the
   clients. */
static void a_forks_child_gives_up_what_it_inherited(void **state) {
    nb_test_world *w = *state;
    int gate[2], ready[2];
    char byte;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_world_expect_hello(w, c);
    assert_int_equal(0, pipe(gate));
    assert_int_equal(0, pipe(ready));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(gate[1]);
        close(c->fd);
        nb_server_abandon(w->server);
        nb_server_destroy(w->server);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(gate[0]);
    assert_int_equal(1, read(ready[0], &byte, 1));
    nb_test_world_expect_hello(w, c);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_server_join(w->server);
    assert_int_equal(-1, nb_test_connect(w->port).fd);
    int status;
    close(gate[1]);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    close(ready[0]);
    close(ready[1]);
    nb_test_world_close(w);
}

/* --- listeners --- */

static nb_server *listen_at(const char *path) {
    nb_server_config config;
    nb_server *server;
    nb_server_config_default(&config);
    assert_status(NB_OK, nb_server_create(&config, &server));
    assert_status(NB_OK, nb_server_listen_unix(server, path, 0600, 16));
    return server;
}

static void a_socket_file_is_removed_only_while_it_is_still_ours(void **state) {
    (void)state;
    char directory[] = "/tmp/neverblock-test-XXXXXX", path[64], other[64];
    struct stat found;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/socket", directory);
    snprintf(other, sizeof other, "%s/other", directory);
    nb_server *first = listen_at(path);
    assert_int_equal(0, stat(path, &found));
    assert_int_equal(0600, found.st_mode & 0777);
    nb_server_destroy(first);
    assert_int_equal(-1, stat(path, &found));
    first = listen_at(path);
    assert_int_equal(0, rename(path, other));
    nb_server *second = listen_at(path);
    nb_server_destroy(first);
    assert_int_equal(0, stat(path, &found));
    nb_server_destroy(second);
    assert_int_equal(-1, stat(path, &found));
    unlink(other);
    rmdir(directory);
}

/* For a host with several addresses: it listens at all or at none. */
static void a_listener_is_taken_back_before_the_start_and_the_others_stay(void **state) {
    nb_test_world *w = *state;
    char directory[] = "/tmp/neverblock-test-XXXXXX", path[64];
    struct stat found;
    uint16_t port, kept;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/socket", directory);
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    nb_server_listen_undo(w->server);
    assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", 0, 16, &kept));
    unsigned descriptors = nb_test_descriptors();
    for (int i = 0; i < 100; i++) { /* more than there is room for */
        assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", 0, 16, &port));
        nb_server_listen_undo(w->server);
    }
    assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", port, 16, &port));
    nb_server_listen_undo(w->server);
    assert_status(NB_OK, nb_server_listen_unix(w->server, path, 0, 16));
    nb_server_listen_undo(w->server);
    assert_int_equal(-1, stat(path, &found));
    assert_int_equal(descriptors, nb_test_descriptors());
    assert_status(NB_OK, nb_server_start(w->server));
    nb_server_listen_undo(w->server); /* too late */
    nb_test_client client = nb_test_connect(kept);
    nb_test_client_close(&client);
    nb_server_drain(w->server);
    nb_server_join(w->server);
    nb_server_destroy(w->server);
    w->server = NULL;
    rmdir(directory);
}

static void requests_come_by_unix_sockets_too(void **state) {
    nb_test_world *w = *state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/neverblock-test-%d", (int)getpid());
    nb_test_alarm(40);
    w->config.cancel_on_disconnect = 1;
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    assert_status(NB_OK, nb_server_listen_unix(w->server, path, 0, 16));
    assert_status(NB_OK, nb_server_channel_add(w->server, &w->channels[0]));
    assert_status(NB_OK, nb_server_start(w->server));
    w->executors[0] = nb_test_executor_start(w->server, w->channels[0], NULL);
    w->executor_count = 1;
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_unix(path)),
                   *goes = nb_test_world_adopt(w, nb_test_connect_unix(path));
    assert_true(nb_test_get(c, "/file/3000000"));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 3000000));
    assert_true(nb_test_get(goes, "/never"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_client_close(goes);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_world_close(w);
    assert_int_equal(-1, access(path, F_OK));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(at_the_limit_the_connection_idle_longest_makes_room),
        CASE(at_the_limit_with_all_busy_newcomers_wait_for_one_to_end),
        CASE(who_has_waited_for_a_place_in_vain_is_told_503_and_places_that_are_free_are_taken_at_once),
        CASE(draining_ends_idle_connections_serves_those_under_way_and_refuses_new_ones),
        CASE(the_first_request_of_a_new_connection_is_served_while_draining),
        CASE(a_body_under_way_is_taken_whole_while_draining),
        CASE(pipelined_requests_under_way_are_all_answered_while_draining),
        CASE(no_timeout_of_a_head_runs_for_a_request_the_drain_itself_has_read),
        CASE(nor_for_a_streamed_one_that_is_queued_then),
        CASE(what_is_not_done_by_the_shutdown_timeout_is_cut),
        CASE(stopping_now_cuts_everything_at_once),
        CASE(stopping_now_with_files_on_their_way_loses_none),
        CASE(a_server_that_never_started_is_destroyed),
        CASE(a_forks_child_gives_up_what_it_inherited),
        CASE(a_socket_file_is_removed_only_while_it_is_still_ours),
        CASE(a_listener_is_taken_back_before_the_start_and_the_others_stay),
        CASE(requests_come_by_unix_sockets_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
