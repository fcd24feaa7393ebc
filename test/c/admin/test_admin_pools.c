/*
 * test_admin_pools.c - the pools of each process on the admin pages, as executors tell them.
 */
#include <string.h>

#include "os/clock.h"
#include "support/admin_page.h"

static void assert_shows(const nb_test_world *w, const char *text) {
    if (!strstr(w->response.body, text)) fail_msg("no %s in %s", text, w->response.body);
}

/* As an executor tells it: a wait that lasts. */
static void put_pool(nb_pool_gauges *gauges, uint32_t record, const char *name, uint32_t size, uint32_t waiting) {
    nb_pool_gauge gauge;
    int64_t now_ns = nb_clock_monotonic_ns();
    nb_pool_gauge_init(&gauge, NB_POOL_KIND_sequel, nb_slice_of(name, strlen(name)), size);
    (void)nb_pool_gauge_tell(&gauge, NB_POOL_ACQUIRED, 2, 0, now_ns - NB_NS_PER_S);
    if (waiting) (void)nb_pool_gauge_tell(&gauge, NB_POOL_WAITS, 2, waiting, now_ns - NB_NS_PER_S);
    nb_pool_gauges_put(gauges, record, &gauge);
}

static void the_pools_of_each_worker_are_shown(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    (void)page(w, "/status.json", 200);
    assert_shows(w, "\"pools\":[]");
    put_pool(w->channels[0]->link->pools, 0, "a\"b\xff\n", 2, 3);
    put_pool(w->channels[1]->link->pools, NB_POOL_GAUGES_MAX - 1, "shop", 0, 0);
    (void)page(w, "/status.json", 200);
    assert_shows(w, "\"kind\":\"sequel\",\"name\":\"a\\\"b??\",\"size\":2,\"in_use\":2,\"waiting\":3,"
                    "\"last_minute\":{\"demand_max\":5,\"acquired\":1,\"waited\":1,\"waited_s\":3.");
    assert_shows(w, ",\"would_do\":5,\"acquired_total\":1,\"waited_total\":1,\"waited_s_total\":3.");
    assert_shows(w, "\"kind\":\"sequel\",\"name\":\"shop\",\"in_use\":2,\"waiting\":0,\"last_minute\":"
                    "{\"demand_max\":2,\"acquired\":1,\"waited\":0,\"waited_s\":0},\"acquired_total\":1,");
    (void)page(w, "/metrics", 200);
    assert_shows(w, "\nneverblock_pool_waiting{pool=\"a\\\"b??\",kind=\"sequel\",worker=\"0\"} 3\n");
    assert_shows(w, "\nneverblock_pool_size{pool=\"shop\",kind=\"sequel\",worker=\"1\"} 0\n");
    nb_test_world_close(w);
}

/* 14 workers with all the pools that a process may have. */
static void an_answer_of_pools_has_a_bound(void **state) {
    enum { WORKERS = 14 };
    static char name[NB_POOL_NAME_BYTES];
    nb_test_world *w = *state;
    nb_test_world_open(w, WORKERS);
    memset(name, 'x', sizeof(name) - 1);
    for (uint32_t i = 0; i < WORKERS * NB_POOL_GAUGES_MAX; i++)
        put_pool(w->channels[i / NB_POOL_GAUGES_MAX]->link->pools, i % NB_POOL_GAUGES_MAX, name, 2, 3);
    (void)page(w, "/status.json", 200);
    assert_shows(w, "\"worker\":12,\"kind\":\"sequel\"");
    assert_null(strstr(w->response.body, "\"worker\":13,\"kind\":\"sequel\""));
    (void)page(w, "/metrics", 200);
    assert_shows(w, ",kind=\"sequel\",worker=\"12\"} 3\n");
    assert_null(strstr(w->response.body, ",kind=\"sequel\",worker=\"13\"}"));
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_pools_of_each_worker_are_shown, nb_test_admin_setup),
        cmocka_unit_test_setup(an_answer_of_pools_has_a_bound, nb_test_admin_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
