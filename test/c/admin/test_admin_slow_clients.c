/*
 * test_admin_slow_clients.c - the clients that take their responses slowly, one by one in
 * /status.json.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/admin_page.h"
#include "support/http2_client.h"

#define FILE_BYTES 30000000

#define CASE(name) cmocka_unit_test_setup(name, nb_test_admin_setup)

/* The object of slow clients, once it begins like that; until then the page is asked for again. */
static const char *slow_clients(nb_test_world *w, const char *begins) {
    static const char name[] = "\"slow_clients\":{";
    for (;;) {
        const char *found = strstr(page(w, "/status.json", 200), name);
        assert_non_null(found);
        if (strncmp(found + strlen(name), begins, strlen(begins)) == 0) return found;
    }
}

static double number(const char *at, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = strstr(at, quoted);
    if (!at) fail_msg("no %s", key);
    return strtod(at + strlen(quoted), NULL);
}

static nb_test_client *ask(nb_test_world *w, const char *path) {
    nb_test_client *client = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(client, path));
    return client;
}

static uint16_t port_of(const nb_test_client *client) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    assert_int_equal(0, getsockname(client->fd, (struct sockaddr *)&address, &size));
    return ntohs(address.sin_port);
}

static void without_any_the_list_is_empty(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_client(w);
    nb_test_world_expect_hello(w, client);
    (void)slow_clients(w, "\"count\":0,\"complete\":true,\"clients\":[]}");
    nb_test_world_close(w);
}

static void a_client_that_reads_nothing_of_a_file_is_shown_until_it_leaves(void **state) {
    nb_test_world *w = *state;
    char peer[64];
    nb_test_world_open(w, 1);
    nb_test_client *client = ask(w, "/file/30000000");
    snprintf(peer, sizeof peer, "\"clients\":[{\"address\":\"127.0.0.1\",\"port\":%u,", port_of(client));
    const char *found = slow_clients(w, "\"count\":1,\"complete\":true");
    assert_non_null(strstr(found, peer));
    assert_non_null(strstr(found, "\"protocol\":\"http/1.1\""));
    assert_non_null(strstr(found, "\"algorithm\":\"auto\""));
    assert_null(strstr(found, "limit_bytes_per_second"));
    assert_true(number(found, "age_s") >= 1);
    double all = number(found, "sent_bytes") + number(found, "left_bytes");
    assert_true(all > FILE_BYTES && all < FILE_BYTES + 1000);
    assert_true(number(found, "left_bytes") > FILE_BYTES / 2);
    nb_test_client_reset(client);
    (void)slow_clients(w, "\"count\":0,");
    nb_test_world_close(w);
}

/* An earlier response of its connection is not counted as its bytes. */
static void what_is_sent_from_memory_has_no_algorithm(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(client, "/big/20000000"));
    nb_test_world_expect(w, client, 200, NULL);
    assert_true(nb_test_get(client, "/lump/9000000"));
    const char *found = slow_clients(w, "\"count\":1,");
    assert_null(strstr(found, "\"algorithm\""));
    assert_true(number(found, "sent_bytes") < 9000000);
    assert_true(number(found, "left_bytes") > 0);
    nb_test_world_expect(w, client, 200, NULL);
    (void)slow_clients(w, "\"count\":0,");
    nb_test_world_close(w);
}

static void a_rate_of_the_server_is_told(void **state) {
    nb_test_world *w = *state;
    w->config.send_rate = 100000;
    nb_test_world_open(w, 1);
    nb_test_client *client = ask(w, "/file/30000000");
    assert_non_null(strstr(slow_clients(w, "\"count\":1,"), "\"limit_bytes_per_second\":100000"));
    nb_test_client_reset(client);
    (void)slow_clients(w, "\"count\":0,");
    nb_test_world_close(w);
}

static void the_list_has_a_bound_and_the_slowest_come_first(void **state) {
    enum { CLIENTS = NB_SLOW_CLIENTS_MAX + 4 };
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < CLIENTS; i++)
        (void)ask(w, "/file/30000000");
    char says[32];
    snprintf(says, sizeof says, "\"count\":%d,", CLIENTS);
    const char *at = slow_clients(w, says);
    double before = 0;
    unsigned shown = 0;
    for (; (at = strstr(at, "\"left_bytes\"")) != NULL; at++, shown++) {
        double rate = number(at, "bytes_per_second");
        assert_true(rate >= before);
        before = rate;
    }
    assert_int_equal(NB_SLOW_CLIENTS_MAX, shown);
    nb_server_stop_now(w->server);
    nb_test_world_close(w);
}

static void clients_of_all_loops_are_shown(void **state) {
    enum { CLIENTS = 4 };
    nb_test_world *w = *state;
    w->config.io_threads = 2;
    nb_test_world_open(w, 1);
    nb_test_client *clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = ask(w, "/file/30000000");
    const char *found = slow_clients(w, "\"count\":4,");
    for (int i = 0; i < CLIENTS; i++) {
        char port[32];
        snprintf(port, sizeof port, "\"port\":%u,", port_of(clients[i]));
        assert_non_null(strstr(found, port));
        nb_test_client_reset(clients[i]);
    }
    (void)slow_clients(w, "\"count\":0,");
    nb_test_world_close(w);
}

#ifdef NB_HAVE_HTTP2
/* Its windows stay shut, so that its connection owes nothing. */
static void a_client_of_http2_is_shown_once_for_all_its_streams(void **state) {
    static nb_test_h2 h2;
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_client(w);
    nb_test_h2_begin(&h2, client, true);
    for (int i = 0; i < 3; i++)
        (void)nb_test_h2_get(&h2, "/lump/300000");
    nb_test_h2_ping(&h2);
    const char *found = slow_clients(w, "\"count\":1,");
    assert_non_null(strstr(found, "\"protocol\":\"h2\""));
    assert_true(number(found, "left_bytes") > 3 * 300000 - 70000);
    nb_test_h2_end(&h2);
    nb_test_client_reset(client);
    (void)slow_clients(w, "\"count\":0,");
    nb_test_world_close(w);
}
#endif

/* Their requests' bodies do not come: they are looked at, and none is slow to read. */
static void one_look_takes_no_more_clients_than_its_bound(void **state) {
    enum { CLIENTS = NB_SLOW_CLIENTS_LOOKED_MAX + 1 };
    static nb_test_client clients[CLIENTS];
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = nb_test_connect(w->port);
        assert_true(clients[i].fd >= 0);
        assert_true(nb_test_send_text(&clients[i], "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"));
    }
    (void)slow_clients(w, "\"count\":0,\"complete\":false");
    nb_test_client_close(&clients[0]);
    (void)slow_clients(w, "\"count\":0,\"complete\":true");
    for (int i = 1; i < CLIENTS; i++)
        nb_test_client_close(&clients[i]);
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(without_any_the_list_is_empty),
        CASE(a_client_that_reads_nothing_of_a_file_is_shown_until_it_leaves),
        CASE(what_is_sent_from_memory_has_no_algorithm),
        CASE(a_rate_of_the_server_is_told),
        CASE(the_list_has_a_bound_and_the_slowest_come_first),
        CASE(clients_of_all_loops_are_shown),
#ifdef NB_HAVE_HTTP2
        CASE(a_client_of_http2_is_shown_once_for_all_its_streams),
#endif
        CASE(one_look_takes_no_more_clients_than_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
