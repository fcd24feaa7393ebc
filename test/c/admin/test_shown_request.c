/*
 * test_shown_request.c - /slowest.json and /observed.json of a whole server with executors in C:
 * which requests are shown, what of them, and that an answer has a bound.
 */
#include "admin/shown_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "os/clock.h"
#include "support/admin_page.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_admin_setup)

/* As an executor keeps it, a second after it began. */
static void keep_slow(nb_slowest *slowest, uint64_t key, const char *line, int64_t duration_ns, uint32_t waits) {
    static nb_slow_request request;
    int64_t now_ns = nb_clock_monotonic_ns();
    uint32_t record = nb_slowest_place(slowest, key, duration_ns, now_ns);
    assert_int_not_equal(NB_SLOWEST_NONE, record);
    request = (nb_slow_request){
        .about = {.key = key,
                  .duration_ns = duration_ns,
                  .ended_ns = now_ns,
                  .status = 200,
                  .extra = 1,
                  .account = {.queue_ns = 2000000, .taken_ns = now_ns - NB_NS_PER_S, .allocated = 9}}};
    nb_account *account = &request.about.account;
    snprintf(request.about.line, sizeof request.about.line, "%s", line);
    snprintf(request.about.id, sizeof request.about.id, "id-%d", (int)key);
    for (uint32_t i = 0; i < waits; i++) {
        nb_fiber_wait facts = {.since_ns = account->taken_ns + 5000000, .own = i != 1};
        facts.kind = NB_FIBER_WAIT_database;
        nb_account_waited(account, NB_FIBER_WAIT_database, 0, 1000000, 3000000);
        uint32_t place = nb_waterfall_add(&request.waterfall, &facts, NB_SLICE("pg 10.0.0.1:5432"));
        nb_waterfall_end(&request.waterfall, place, facts.since_ns + 1000000, facts.since_ns + 3000000,
                         NB_SLICE("app\"rb:7"));
    }
    nb_slowest_put(slowest, record, &request);
}

static void the_slowest_requests_of_all_executors_are_shown_with_their_waits(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    nb_slowest *first = w->channels[0]->link->slowest, *second = w->channels[1]->link->slowest;
    (void)page(w, "/slowest.json", 200);
    assert_true(shows(w, "\"requests\":[],\"left_out\":0}"));
    for (int64_t i = 1; i <= 4; i++) {
        keep_slow(first, 7, "GET /a/17/b", i * NB_NS_PER_MS, 0);
        keep_slow(second, 7, "GET /a/18/b", i * NB_NS_PER_MS + 500000, 0);
    }
    keep_slow(second, 8, "POST /c\xff", 9 * NB_NS_PER_MS, 2);
    (void)page(w, "/slowest.json", 200);
    const char *slowest = strstr(w->response.body, "\"path\":\"/c?\"");
    assert_non_null(slowest);
    assert_true(shows(w, "\"id\":\"id-8\",\"method\":\"POST\",\"path\":\"/c?\",\"class\":\"/c%FF\",\"status\":200,"));
    assert_true(shows(w, "\"duration_s\":0.009,\"head_s\":0,\"queue_s\":0.002,\"run_s\":1,\"ran_s\":0,\"gc_s\":0,"
                         "\"allocations\":9,\"wait_s\":{\"database\":0.002,\"turn\":0.004},"
                         "\"waits\":{\"database\":2},"));
    assert_true(shows(w, "\"waterfall\":[{\"kind\":\"database\",\"what\":\"pg 10.0.0.1:5432\",\"start_s\":0.005,"
                         "\"for_s\":0.001,\"turn_s\":0.002,\"line\":\"app\\\"rb:7\"},"
                         "{\"kind\":\"database\",\"what\":\"pg 10.0.0.1:5432\",\"fiber\":\"helper\","));
    assert_true(shows(w, "\"class\":\"/a/0/b\""));
    /* Of both executors' eight, the four slowest. */
    assert_true(shows(w, "\"duration_s\":0.0045,") && shows(w, "\"duration_s\":0.003,"));
    assert_false(shows(w, "\"duration_s\":0.0025,"));
    assert_true(strstr(w->response.body, "\"path\":\"/a/") > slowest);
    (void)page(w, "/slowest.json?limit=1", 200);
    assert_true(shows(w, "\"left_out\":4}"));
    assert_false(shows(w, "\"/a/"));
    nb_test_world_close(w);
}

static void an_answer_of_slow_requests_has_a_bound(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (uint64_t key = 1; key <= NB_SLOWEST_CLASSES; key++) {
        for (int64_t i = 1; i <= NB_SLOWEST_EACH; i++)
            keep_slow(w->channels[0]->link->slowest, key, "GET /x", i, NB_WATERFALL_WAITS_MAX + 5);
    }
    (void)page(w, "/slowest.json?limit=9999", 200);
    assert_true(w->response.body_bytes <= NB_ADMIN_BODY_BYTES_MAX);
    assert_true(shows(w, "\"waits_left_out\":5}"));
    assert_true(shows(w, "],\"left_out\":"));
    nb_test_world_close(w);
}

/* As an executor keeps it: two waits with the same frames, and more that have none. */
static void keep_observed(nb_observed *observed, uint64_t key, const char *line, int64_t ended_ns, uint32_t more) {
    static nb_observed_request request;
    nb_observation *observation = &request.observation;
    uint16_t numbers[] = {1, 0};
    request.about = (nb_kept_request){.key = key,
                                      .duration_ns = 9 * NB_NS_PER_MS,
                                      .ended_ns = ended_ns,
                                      .status = 200,
                                      .account = {.queue_ns = 2000000, .taken_ns = ended_ns - NB_NS_PER_S}};
    nb_account *account = &request.about.account;
    snprintf(request.about.line, sizeof request.about.line, "%s", line);
    snprintf(request.about.id, sizeof request.about.id, "id-%d", (int)(ended_ns % 1000));
    nb_observation_begin(observation);
    (void)nb_observation_frame(observation, NB_SLICE("/srv/app/order.rb"), 40, NB_SLICE("Order.total"), false);
    (void)nb_observation_frame(observation, NB_SLICE("/g/\"pg\xff.rb"), 309, NB_SLICE("PG#exec"), true);
    for (uint32_t i = 0; i < 2 + more; i++) {
        nb_observed_wait facts = {.began_ns = account->taken_ns + 5000000, .kind = NB_FIBER_WAIT_database};
        facts.ready_ns = facts.began_ns + 1000000;
        facts.ended_ns = facts.began_ns + (i == 0 ? 3000000 : 1000000);
        facts.ends = i;
        nb_account_waited(account, NB_FIBER_WAIT_database, facts.began_ns, facts.ready_ns, facts.ended_ns);
        nb_observation_add(observation, &facts, NB_SLICE("pg 10.0.0.1:5432"), numbers, i < 2 ? 2 : 0);
    }
    nb_observed_put(observed, &request);
}

static const char *found(const nb_test_world *w, const char *text) {
    const char *at = strstr(w->response.body, text);
    if (!at) fail_msg("no %s in %s", text, w->response.body);
    return at;
}

static void observed_requests_are_shown_with_the_frames_of_their_waits(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    nb_observed *first = w->channels[0]->link->observed, *second = w->channels[1]->link->observed;
    int64_t now_ns = nb_clock_monotonic_ns() / 1000 * 1000;
    (void)page(w, "/observed.json", 200);
    (void)found(w, "\"requests\":[],\"left_out\":0}");
    assert_true(nb_observed_begin(first, 7, 1));
    assert_true(nb_observed_begin(second, 7, 1));
    assert_true(nb_observed_begin(second, 8, 1));
    keep_observed(first, 7, "GET /a/17/b", now_ns - 999, 0);
    keep_observed(second, 7, "GET /a/18/b", now_ns - 998, 0);
    keep_observed(first, 7, "GET /a/19/b", now_ns - 997, 0);
    keep_observed(second, 8, "POST /c", now_ns - 900, 0);
    (void)page(w, "/observed.json", 200);
    (void)found(w, "\"method\":\"GET\",\"path\":\"/a/17/b\",\"class\":\"/a/0/b\",\"status\":200,\"age_s\":");
    (void)found(w, "\"queue_s\":0.002,\"run_s\":1,");
    (void)found(w, "\"wait_s\":{\"database\":0.002,\"turn\":0.002},\"waits_of\":{\"database\":2},\"observed\":2,"
                   "\"frames\":[[\"/srv/app/order.rb\",40,\"Order.total\",false],"
                   "[\"/g/\\\"pg?.rb\",309,\"PG#exec\",true]],"
                   "\"waits\":[{\"kind\":\"database\",\"what\":\"pg 10.0.0.1:5432\",\"start_s\":0.005,\"for_s\":0.001,"
                   "\"turn_s\":0.002,\"ends\":false,\"stack\":[1,0]},"
                   "{\"kind\":\"database\",\"what\":\"pg 10.0.0.1:5432\",\"start_s\":0.005,\"for_s\":0.001,"
                   "\"ends\":true,\"stack\":[1,0]}],\"waits_left_out\":0}");
    /* The newest of a class come first, whoever has kept them. */
    assert_true(found(w, "/a/19/b") < found(w, "/a/18/b"));
    assert_true(found(w, "/a/18/b") < found(w, "/a/17/b"));
    (void)found(w, "],\"left_out\":0}");
    /* Each class is there before one of them is there twice. */
    (void)page(w, "/observed.json?limit=2", 200);
    (void)found(w, "/a/19/b");
    (void)found(w, "\"path\":\"/c\"");
    (void)found(w, "],\"left_out\":2}");
    assert_false(shows(w, "/a/18/b"));
    nb_test_world_close(w);
}

static void an_answer_of_observed_requests_has_a_bound(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_observed *observed = w->channels[0]->link->observed;
    for (uint64_t key = 1; key <= NB_OBSERVED_CLASSES; key++) {
        assert_true(nb_observed_begin(observed, key, (int64_t)key * NB_NS_PER_S));
        for (unsigned i = 0; i < NB_OBSERVED_EACH; i++)
            keep_observed(observed, key, "GET /x", 2 * NB_NS_PER_S, NB_OBSERVED_WAITS_MAX + 5);
    }
    (void)page(w, "/observed.json?limit=9999", 200);
    assert_true(w->response.body_bytes <= NB_ADMIN_BODY_BYTES_MAX);
    (void)found(w, "\"waits_left_out\":7}");
    assert_true(strtod(found(w, "],\"left_out\":") + strlen("],\"left_out\":"), NULL) > 0);
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_slowest_requests_of_all_executors_are_shown_with_their_waits),
        CASE(an_answer_of_slow_requests_has_a_bound),
        CASE(observed_requests_are_shown_with_the_frames_of_their_waits),
        CASE(an_answer_of_observed_requests_has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
