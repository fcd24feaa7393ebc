/*
 * test_server_vectors.c - the vectors of the strictness policy (test/c/http1/vectors.h) against a
 * whole server: whole, byte by byte, cut at every CRLF, and behind a valid request. What is
 * refused never reaches the executor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http1/vectors.h"
#include "protocols/http1_session.h"
#include "support/world.h"

static const char first[] = "GET /hello HTTP/1.1\r\nHost: first\r\n\r\n";

enum delivery { WHOLE, BYTEWISE, BY_LINE, BEHIND, DELIVERIES };

static bool deliver(nb_test_client *client, const vector *v, enum delivery how) {
    if (how == WHOLE) return nb_test_send(client, v->bytes, v->size);
    if (how == BEHIND) {
        char *both = malloc(sizeof first + v->size);
        memcpy(both, first, sizeof first - 1);
        memcpy(both + sizeof first - 1, v->bytes, v->size);
        bool sent = nb_test_send(client, both, sizeof first - 1 + v->size);
        free(both);
        return sent;
    }
    for (size_t at = 0; at < v->size;) {
        size_t end = at + 1;
        while (how == BY_LINE && end < v->size && v->bytes[end - 1] != '\n')
            end++;
        /* Refused before its end. */
        if (!nb_test_send(client, v->bytes + at, end - at)) return true;
        at = end;
    }
    return true;
}

static bool is_head(const vector *v) { return v->size > 5 && memcmp(v->bytes, "HEAD ", 5) == 0; }

static void judge(nb_test_world *w, const vector *v, enum delivery how) {
    nb_test_response *response = &w->response;
    unsigned received = nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED);
    nb_test_client client = nb_test_connect(w->port);
    assert_true(deliver(&client, v, how));
    nb_test_client_finish(&client);
    if (how == BEHIND && !(nb_test_read(&client, "GET", response) && nb_test_body_is(response, "hello"))) {
        fail_msg("%d, %s: the request before it was not served", v->number, v->name);
    }
    bool cut_short = v->refused == INCOMPLETE;
    if (cut_short && !strstr(v->name, "chunk")) {
        if (nb_test_read_end(&client, NULL) != NB_TEST_END_FIN) fail_msg("%d, %s: no clean end", v->number, v->name);
    } else {
        int status = cut_short ? 400 : v->refused ? v->refused : 200;
        bool read = nb_test_read(&client, is_head(v) ? "HEAD" : "GET", response);
        if (!read || response->status != status)
            fail_msg("%d, %s, delivery %d: %d", v->number, v->name, how, response->status);
        if (status != 200 && response->keep_alive)
            fail_msg("%d, %s: refused without Connection: close", v->number, v->name);
        bool own = strncmp(v->bytes, "OPTIONS *", 9) == 0;
        if (status == 200 && !own && !is_head(v) && !nb_test_body_is(response, v->body))
            fail_msg("%d, %s: another body", v->number, v->name);
    }
    if (v->rest > 0 && v->refused == 0 && !nb_test_read(&client, "GET", response))
        fail_msg("%d, %s: the next request", v->number, v->name);
    size_t dropped = 1;
    (void)nb_test_read_end(&client, &dropped);
    if (dropped > 0) fail_msg("%d, %s, delivery %d: %zu bytes behind the answer", v->number, v->name, how, dropped);
    nb_test_client_close(&client);
    unsigned expected = how == BEHIND ? 1 : 0;
    if (v->refused == 0 && strncmp(v->bytes, "OPTIONS *", 9) != 0) expected++;
    if (v->refused == 0 && v->rest > 0) expected++;
    received = nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED) - received;
    if (received != expected)
        fail_msg("%d, %s, delivery %d: the executor saw %u requests", v->number, v->name, how, received);
}

static void run_vectors(enum delivery how) {
    static nb_test_world w;
    nb_test_world_init(&w);
    w.config.protocol = &nb_http1; /* the preface of HTTP/2 is a vector */
    nb_test_world_open(&w, 1);
    for (size_t i = 0; i < VECTOR_COUNT; i++)
        judge(&w, &vectors[i], how);
    nb_test_world_close(&w);
}

static void vectors_delivered_whole(void **state) {
    (void)state;
    run_vectors(WHOLE);
}

static void vectors_delivered_byte_by_byte(void **state) {
    (void)state;
    run_vectors(BYTEWISE);
}

static void vectors_delivered_line_by_line(void **state) {
    (void)state;
    run_vectors(BY_LINE);
}

static void vectors_delivered_behind_a_valid_request(void **state) {
    (void)state;
    run_vectors(BEHIND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_delivered_whole),
        cmocka_unit_test(vectors_delivered_byte_by_byte),
        cmocka_unit_test(vectors_delivered_line_by_line),
        cmocka_unit_test(vectors_delivered_behind_a_valid_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
