/*
 * test_server_soak.c - random clients, valid, broken, slow and vanishing ones, for a few seconds;
 * in the end every counter must balance. Prints its seed; NB_TEST_SEED=n repeats it (as far as
 * threads allow), NB_TEST_SOAK_MS=n changes how long it runs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "http1/vectors.h"
#include "support/server_inside.h"
#include "support/world.h"

enum { THREADS = 4 };

typedef struct client_thread {
    nb_test_world *world;
    nb_test_random random;
    int64_t end_ns;
    _Atomic unsigned wrong, served;
} client_thread;

static uint64_t below(client_thread *t, uint64_t bound) { return nb_test_random_below(&t->random, bound); }

/* Valid requests, pipelined or not; each must be answered with 200, or 503 when the server is
   full. */
static void be_good(client_thread *t, nb_test_client *client) {
    static const char *const paths[] = {"/hello",   "/big/%u",  "/chunked/%u", "/file/%u",
                                        "/lump/%u", "/file/%u", "/fields/%u",  "/echo"};
    nb_test_response response = {0};
    for (uint64_t rounds = below(t, 8) + 1; rounds > 0; rounds--) {
        unsigned depth = (unsigned)below(t, 5) + 1;
        bool sent = true;
        for (unsigned i = 0; i < depth && sent; i++) {
            char path[64];
            uint64_t kind = below(t, 10);
            unsigned size = (unsigned)(below(t, 4) ? below(t, 3000) : below(t, 400000));
            if (kind == 6) size %= 12000;
            snprintf(path, sizeof path, paths[kind % 8], size); /* NOLINT: literals */
            sent = kind < 8 ? nb_test_get(client, path) : nb_test_post(client, "/echo", size, kind == 9);
        }
        for (unsigned i = 0; i < depth && sent; i++) {
            bool read = nb_test_read(client, "GET", &response);
            if (!read || (response.status != 200 && response.status != 503)) atomic_fetch_add(&t->wrong, 1);
            if (!read || !response.keep_alive) rounds = 1;
            if (!read || !response.keep_alive) break;
            atomic_fetch_add(&t->served, 1);
        }
    }
    free(response.body);
}

static void be_broken(client_thread *t, nb_test_client *client) {
    const vector *v = &vectors[below(t, VECTOR_COUNT)];
    for (size_t at = 0; at < v->size;) {
        size_t step = (size_t)below(t, v->size - at) + 1;
        if (!nb_test_send(client, v->bytes + at, step)) return;
        at += step;
    }
}

/* Begins something and goes: in a head, in a body, in a response, while it waits. Who leaves a
   response that never comes leaves with a reset: one that only finished sending is still waited
   for. */
static void vanish(client_thread *t, nb_test_client *client) {
    static const char *const paths[] = {"/big/9000000", "/chunked/9000000", "/file/9000000", "/hello",
                                        "/late",        "/lump/700000",     "/abort",        "/hello"};
    switch (below(t, 5)) {
    case 4:
        if (nb_test_get(client, "/never")) nb_test_client_reset(client);
        break;
    case 0:
        (void)nb_test_send_text(client, "GET / HTTP/1.1\r\nHo");
        break;
    case 1:
        (void)nb_test_send_text(client, "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\n");
        for (uint64_t blocks = below(t, 20); blocks > 0; blocks--) {
            static const char block[8192];
            if (!nb_test_send(client, block, sizeof block)) return;
        }
        break;
    default:
        for (uint64_t count = below(t, 20) + 1; count > 0; count--)
            if (!nb_test_get(client, paths[below(t, 8)])) return;
        if (below(t, 2)) (void)nb_test_readable(client, 5);
    }
}

static void *run_clients(void *argument) {
    client_thread *t = argument;
    for (unsigned done = 0; done < 20 || nb_clock_monotonic_ns() < t->end_ns; done++) {
        nb_test_client client = nb_test_connect_narrow(t->world->port, below(t, 4) ? 0 : 4096);
        if (client.fd < 0) {
            atomic_fetch_add(&t->wrong, 1);
            continue;
        }
        uint64_t kind = below(t, 4);
        if (kind < 2) be_good(t, &client);
        if (kind == 2) be_broken(t, &client);
        if (kind == 3) vanish(t, &client);
        if (client.fd < 0) continue;
        if (below(t, 3) == 0) nb_test_client_finish(&client);
        if (below(t, 2)) {
            nb_test_client_reset(&client);
        } else {
            nb_test_client_close(&client);
        }
    }
    return NULL;
}

/* Stalls and frees the executors again and again, and reads the figures. */
static void disturb(nb_test_world *w, int64_t end_ns, nb_test_random *random) {
    while (nb_clock_monotonic_ns() < end_ns) {
        nb_test_executor *executor = w->executors[nb_test_random_below(random, w->executor_count)];
        nb_test_executor_stall(executor, true);
        (void)nb_test_world_counters(w);
        int64_t until_ns = nb_clock_monotonic_ns() + (int64_t)nb_test_random_below(random, 4) * NB_NS_PER_MS;
        while (nb_clock_monotonic_ns() < until_ns)
            (void)nb_test_world_counters(w);
        nb_test_executor_stall(executor, false);
        nb_test_world_settle(w);
    }
}

static uint64_t number_from(const char *name, uint64_t standard) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : standard;
}

static void soak(unsigned executors, bool guest, const char *poller) {
    static nb_test_world w;
    client_thread clients[THREADS];
    pthread_t threads[THREADS];
    uint64_t seed = number_from("NB_TEST_SEED", (uint64_t)nb_clock_monotonic_ns());
    nb_test_world_init(&w);
    print_message("seed %llu\n", (unsigned long long)seed);
    w.config.queue_max = 20;
    w.config.spool_bytes_max = 2000000;
    w.config.response_backlog_bytes = 262144;
    w.config.connections_max = 400;
    w.options.guest = guest;
    w.config.poller = poller;
    w.inspect = nb_test_nothing_is_left;
    nb_test_world_open(&w, executors);
    int64_t end_ns = nb_clock_monotonic_ns() + (int64_t)number_from("NB_TEST_SOAK_MS", 1500) * NB_NS_PER_MS;
    for (unsigned i = 0; i < THREADS; i++) {
        clients[i] = (client_thread){.world = &w, .random = {seed + i}, .end_ns = end_ns};
        threads[i] = nb_test_thread(run_clients, &clients[i]);
    }
    nb_test_random random = {seed + THREADS};
    disturb(&w, end_ns, &random);
    unsigned served = 0, wrong = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        nb_test_join(threads[i]);
        served += clients[i].served;
        wrong += clients[i].wrong;
    }
    nb_server_counters stats = nb_test_world_counters(&w);
    print_message("%u served, %u wrong; %u connections, %u refused, %u shed, %u aborted, %u timed out\n", served, wrong,
                  (unsigned)stats.accepted, (unsigned)stats.requests_refused, (unsigned)stats.shed,
                  (unsigned)stats.aborted, (unsigned)stats.timed_out);
    assert_int_equal(0, wrong);
    assert_true(served > 0);
    nb_test_world_close(&w);
}

static void random_clients_leave_nothing_behind(void **state) {
    (void)state;
    soak(2, false, NULL);
}

static void random_clients_leave_nothing_behind_with_a_guest(void **state) {
    (void)state;
    soak(1, true, NULL);
}

static void random_clients_leave_nothing_behind_with_the_plainest_poller(void **state) {
    (void)state;
    soak(2, false, "poll");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_clients_leave_nothing_behind),
        cmocka_unit_test(random_clients_leave_nothing_behind_with_a_guest),
        cmocka_unit_test(random_clients_leave_nothing_behind_with_the_plainest_poller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
