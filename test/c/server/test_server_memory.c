/*
 * test_server_memory.c - the n-th allocation fails, for every n: nothing crashes, nothing leaks,
 * and the server serves afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

static char socket_path[64];

static nb_status try_life(const nb_server_config *config, nb_server **server) {
    uint16_t port;
    nb_channel *channel;
    nb_status status = nb_server_create(config, server);
    if (status == NB_OK) status = nb_server_listen_tcp(*server, "127.0.0.1", 0, 5, &port);
    if (status == NB_OK) status = nb_server_listen_unix(*server, socket_path, 0, 5);
    if (status == NB_OK) status = nb_server_listen_admin_tcp(*server, "127.0.0.1", 0, &port);
    if (status == NB_OK) status = nb_server_channel_add(*server, &channel);
    if (status == NB_OK) status = nb_server_channel_add(*server, &channel);
    if (status == NB_OK) status = nb_server_start(*server);
    return status;
}

static void a_server_that_cannot_be_made_leaves_nothing(void **state) {
    (void)state;
    static const char *const pollers[] = {NULL, "poll"};
    snprintf(socket_path, sizeof socket_path, "/tmp/neverblock-memory-%d", (int)getpid());
    for (int i = 0; i < 3; i++) {
        nb_server_config config;
        nb_server_config_default(&config);
        config.log_fd = STDERR_FILENO;
        config.poller = pollers[i % 2];
        config.io_threads = i < 2 ? 1 : 3;
        unsigned long n = 0;
        nb_status status = NB_NO_MEMORY;
        while (status == NB_NO_MEMORY) {
            nb_server *server = NULL;
            long live = nb_alloc_live();
            unsigned descriptors = nb_test_descriptors();
            nb_alloc_fail_at(++n);
            status = try_life(&config, &server);
            nb_alloc_fail_at(0);
            nb_server_destroy(server);
            if (live != nb_alloc_live()) fail_msg("allocation %lu: %ld blocks are left", n, nb_alloc_live() - live);
            if (descriptors != nb_test_descriptors()) fail_msg("allocation %lu: descriptors are left", n);
            if (access(socket_path, F_OK) == 0) fail_msg("allocation %lu: the socket file is left", n);
        }
        assert_true(n > 8);
    }
}

static void unknown_pollers_and_addresses_leave_nothing(void **state) {
    (void)state;
    nb_server_config config;
    nb_server *server = NULL;
    uint16_t port;
    long live = nb_alloc_live();
    unsigned descriptors = nb_test_descriptors();
    nb_server_config_default(&config);
    config.poller = "none such";
    assert_status(NB_UNSUPPORTED, nb_server_create(&config, &server));
    config.poller = NULL;
    assert_status(NB_OK, nb_server_create(&config, &server));
    assert_status(NB_INVALID, nb_server_listen_tcp(server, "no address", 0, 5, &port));
    assert_status(NB_SYSTEM, nb_server_listen_unix(server, "/nonexistent/socket", 0, 5));
    nb_server_destroy(server);
    assert_int_equal(live, nb_alloc_live());
    assert_int_equal(descriptors, nb_test_descriptors());
}

/* Until the connection is the executor's, or has ended. */
static bool hijack_once(nb_test_world *w) {
    static char bytes[65536];
    size_t size;
    nb_test_executor *e = w->executors[0];
    unsigned before = nb_test_executor_count(e, NB_TEST_HIJACKED);
    nb_test_client client = nb_test_connect(w->port);
    bool sent = nb_test_send_text(&client, "GET /hijack HTTP/1.1\r\nHost: test\r\n\r\nmore");
    while (sent && nb_test_executor_count(e, NB_TEST_HIJACKED) == before && !nb_test_readable(&client, 1)) {
    }
    bool good = nb_test_executor_count(e, NB_TEST_HIJACKED) > before;
    if (good) close(nb_test_executor_taken(e, bytes, &size));
    nb_test_client_close(&client);
    return good;
}

/* One round of what a client does; whatever comes back, it must come to an end. */
static bool use_once(nb_test_world *w, int kind) {
    static const char *const paths[] = {"/hello", "/fields/9000", "/file/100000", "/chunked/100000"};
    if (kind == 9) return hijack_once(w);
    nb_test_response response = {0};
    nb_test_client client = nb_test_connect(w->port);
    bool good = false;
    if (kind < 4) {
        good = nb_test_get(&client, paths[kind]);
    } else if (kind < 7) {
        good = nb_test_post(&client, "/echo", kind == 4 ? 1000 : 150000, kind == 6);
    } else if (kind == 8) {
        nb_test_client_close(&client);
        client = nb_test_connect(w->admin_port);
        good = nb_test_get(&client, "/metrics");
    } else {
        good = nb_test_send_text(
            &client, "GET /big/30000 HTTP/1.1\r\nHost: test\r\n\r\nGET /hello HTTP/1.1\r\nHost: test\r\n\r\n"
                     "OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\nBAD\r\n\r\n");
        for (int i = 0; i < 3; i++)
            good = good && nb_test_read(&client, "GET", &response) && response.status == 200;
        good = good && nb_test_read(&client, "GET", &response) && response.status == 400;
        nb_test_client_close(&client);
        free(response.body);
        return good;
    }
    good = good && nb_test_read(&client, "GET", &response) && response.status == 200;
    nb_test_client_close(&client);
    free(response.body);
    return good;
}

/* The failure may strike a connection, a response or a body of a cold server; what comes after it
   is served. */
static bool fail_once(const nb_test_world *settings, int kind, unsigned long n) {
    static nb_test_world w;
    nb_test_world_init(&w);
    w.options = settings->options;
    w.admin = true;
    nb_test_world_open(&w, 1);
    nb_alloc_fail_at(n);
    int64_t start_ns = nb_clock_monotonic_ns();
    bool good = use_once(&w, kind);
    nb_alloc_fail_at(0);
    if (nb_clock_monotonic_ns() - start_ns > NB_TEST_PATIENCE_MS / 2 * NB_NS_PER_MS)
        fail_msg("kind %d: nothing at all came after allocation %lu failed", kind, n);
    for (int after = 0; after < 8; after += 4) /* the same, and one of the other sort */
        if (!use_once(&w, (kind + after) % 10)) fail_msg("kind %d: not served after allocation %lu failed", kind, n);
    nb_test_world_close(&w);
    return good;
}

static void serve_through_failures(const nb_test_world *settings) {
    for (int kind = 0; kind < 10; kind++) {
        unsigned failed = 0;
        for (unsigned long n = 1; n <= 22; n++)
            failed += !fail_once(settings, kind, n);
        if (failed < 3) fail_msg("kind %d: only %u allocations failed anything", kind, failed);
    }
}

static void the_server_serves_on_after_any_allocation_failed(void **state) { serve_through_failures(*state); }

static void so_it_does_on_a_guests_thread(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    serve_through_failures(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_server_that_cannot_be_made_leaves_nothing),
        CASE(unknown_pollers_and_addresses_leave_nothing),
        CASE(the_server_serves_on_after_any_allocation_failed),
        CASE(so_it_does_on_a_guests_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
