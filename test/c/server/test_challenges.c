/*
 * test_challenges.c - answers to an ACME server (responses/challenges.h) through a whole server:
 * before the application and before a redirect, from every loop, and what may be set.
 */
#include "responses/challenges.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/world.h"

#define PATH "/.well-known/acme-challenge/"

/* NB_SLICE is no constant expression of C11. */
#define TEXT(literal) \
    { (literal), sizeof(literal) - 1 }

static const nb_challenge one[] = {{TEXT("token-1_A"), TEXT("token-1_A.digest")}};
static const nb_challenge two[] = {{TEXT("token-2"), TEXT("token-2.x")}, {TEXT("token-3"), TEXT("token-3.y")}};

static void they_come_before_the_application_until_they_are_taken_back(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, PATH "token-1_A"));
    nb_test_world_expect(w, c, 200, ""); /* the application's */
    assert_status(NB_OK, nb_server_challenges(w->server, one, 1));
    assert_true(nb_test_get(c, PATH "token-1_A"));
    nb_test_world_expect(w, c, 200, "token-1_A.digest");
    assert_non_null(strstr(w->response.head, "Content-Type: application/octet-stream\r\n"));
    assert_true(nb_test_get(c, PATH "token-1_A?x=1"));
    nb_test_world_expect(w, c, 200, "token-1_A.digest");
    const char *const others[] = {PATH, PATH "token-1", PATH "token-1_A/", PATH "token-1_AB",
                                  "/.well-known/acme-challenge"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_true(nb_test_get(c, others[i]));
        nb_test_world_expect(w, c, 200, "");
    }
    assert_true(nb_test_get(c, "/hello"));
    nb_test_world_expect(w, c, 200, "hello");
    assert_true(nb_test_send_text(c, "HEAD " PATH "token-1_A HTTP/1.1\r\nHost: test\r\n\r\n"));
    assert_true(nb_test_read(c, "HEAD", &w->response));
    assert_non_null(strstr(w->response.head, "Content-Length: 16\r\n"));
    assert_true(nb_test_send_text(c, "DELETE " PATH "token-1_A HTTP/1.1\r\nHost: test\r\n\r\n"));
    nb_test_world_expect(w, c, 200, "");
    assert_status(NB_OK, nb_server_challenges(w->server, two, 2));
    assert_true(nb_test_get(c, PATH "token-1_A"));
    nb_test_world_expect(w, c, 200, "");
    assert_true(nb_test_get(c, PATH "token-3"));
    nb_test_world_expect(w, c, 200, "token-3.y");
    assert_status(NB_OK, nb_server_challenges(w->server, NULL, 0));
    assert_true(nb_test_get(c, PATH "token-3"));
    nb_test_world_expect(w, c, 200, "");
    nb_test_world_close(w);
}

static void they_come_before_a_redirect_and_from_each_loop(void **state) {
    nb_test_world *w = *state;
    w->config.io_threads = 2;
    w->config.redirect_port = 443;
    nb_test_world_open(w, 1);
    assert_status(NB_OK, nb_server_challenges(w->server, one, 1));
    for (int i = 0; i < 4; i++) {
        nb_test_client *c = nb_test_world_client(w);
        assert_true(nb_test_get(c, PATH "token-1_A"));
        nb_test_world_expect(w, c, 200, "token-1_A.digest");
        assert_true(nb_test_get(c, PATH "other"));
        assert_true(nb_test_read(c, "GET", &w->response));
        assert_int_equal(301, w->response.status);
    }
    nb_test_world_close(w);
}

static void refused(nb_slice token, nb_slice answer) {
    nb_challenges challenges;
    nb_challenge wrong = {token, answer};
    assert_status(NB_OK, nb_challenges_init(&challenges));
    assert_status(NB_OK, nb_challenges_set(&challenges, two, 2));
    assert_status(NB_INVALID, nb_challenges_set(&challenges, &wrong, 1));
    assert_int_equal(2, challenges.count); /* as before */
    nb_challenges_deinit(&challenges);
}

static void what_is_no_token_is_refused(void **state) {
    (void)state;
    static char longer[NB_CHALLENGE_ANSWER_BYTES_MAX + 1];
    nb_slice fine = NB_SLICE("fine");
    memset(longer, 'a', sizeof(longer));
    refused(NB_SLICE(""), fine);
    refused(fine, NB_SLICE(""));
    refused(NB_SLICE("../x"), fine);
    refused(NB_SLICE("a.b"), fine);
    refused(fine, NB_SLICE("a\r\nb"));
    refused(nb_slice_of(longer, NB_CHALLENGE_TOKEN_BYTES_MAX + 1), fine);
    refused(fine, nb_slice_of(longer, NB_CHALLENGE_ANSWER_BYTES_MAX + 1));
    nb_challenges challenges;
    nb_challenge longest = {nb_slice_of(longer, NB_CHALLENGE_TOKEN_BYTES_MAX),
                            nb_slice_of(longer, NB_CHALLENGE_ANSWER_BYTES_MAX)};
    assert_status(NB_OK, nb_challenges_init(&challenges));
    assert_status(NB_OK, nb_challenges_set(&challenges, &longest, 1));
    assert_status(NB_FULL, nb_challenges_set(&challenges, &longest, NB_CHALLENGES_MAX + 1));
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_challenges_set(&challenges, two, 2));
    nb_alloc_fail_at(0);
    assert_int_equal(1, challenges.count);
    nb_challenges_deinit(&challenges);
    assert_int_equal(0, nb_alloc_live());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(they_come_before_the_application_until_they_are_taken_back, nb_test_world_setup),
        cmocka_unit_test_setup(they_come_before_a_redirect_and_from_each_loop, nb_test_world_setup),
        cmocka_unit_test(what_is_no_token_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
