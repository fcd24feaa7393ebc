/*
 * test_server_loops.c - a server with several I/O loops: connections are spread over them,
 * executors get requests from all, credit and limits are common, and whatever begins or ends does
 * so on each. (NB_TEST_IO_THREADS=2 runs the other suites with two.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/server_inside.h"
#include "support/world.h"

#define LOOPS 2

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    world.config.io_threads = LOOPS;
    world.inspect = nb_test_nothing_is_left;
    *state = &world;
    return 0;
}

static int setup_front(void **state) {
    (void)setup(state);
    ((nb_test_world *)*state)->config.front = 1;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)
#define FRONT_CASE(name) \
    { #name " (front)", name, setup_front, NULL, NULL }

static nb_loop *loop_of(nb_test_world *w, int number) { return &w->server->loops.each[number]; }

/* A client of each loop: the next connection goes to the loop that has the fewest. */
static void connect_each(nb_test_world *w, nb_test_client *clients[LOOPS]) {
    for (int i = 0; i < LOOPS; i++) {
        uint64_t before = nb_connections_count(&(loop_of(w, i))->connections);
        clients[i] = nb_test_world_client(w);
        while (nb_connections_count(&(loop_of(w, i))->connections) == before)
            usleep(1000);
    }
}

static unsigned received(nb_test_world *w, unsigned executor) {
    return nb_test_executor_count(w->executors[executor], NB_TEST_RECEIVED);
}

/* --- connections --- */

static void each_connection_goes_to_the_loop_that_has_the_fewest(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[6];
    w->config.io_threads = 3;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 6; i++) {
        clients[i] = nb_test_world_client(w);
        nb_test_world_expect_hello(w, clients[i]);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(2, nb_connections_count(&(loop_of(w, i))->connections));
    nb_test_client_close(clients[1]);
    nb_test_client_close(clients[4]);
    while (nb_connections_count(&(loop_of(w, 1))->connections) > 0)
        usleep(1000);
    nb_test_world_expect_hello(w, nb_test_world_client(w));
    nb_test_world_expect_hello(w, nb_test_world_client(w));
    for (int i = 0; i < 3; i++)
        assert_int_equal(2, nb_connections_count(&(loop_of(w, i))->connections));
    assert_int_equal(8, nb_test_world_counters(w).accepted);
    nb_test_world_close(w);
}

static void every_kind_of_body_comes_and_goes_by_each(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS];
    char path[64];
    w->route.stream_input = true;
    nb_test_world_open_routed(w, 2, (const char *const[]){"/count", "/duplex", NULL});
    connect_each(w, clients);
    for (int i = 0; i < LOOPS; i++) {
        nb_test_client *c = clients[i];
        nb_test_world_expect_hello(w, c);
        assert_true(nb_test_post(c, "/echo", 1000, false));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 1000));
        assert_true(nb_test_post(c, "/echo", 300000, true)); /* in a file */
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 300000));
        assert_true(nb_test_post(c, "/count", 400000, true)); /* streamed */
        nb_test_world_expect(w, c, 200, "400000 good");
        static const char *const kinds[] = {"big", "chunked", "lump", "file"};
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            snprintf(path, sizeof path, "/%s/3000000", kinds[k]);
            assert_true(nb_test_get(c, path));
            nb_test_world_expect(w, c, 200, NULL);
            assert_true(nb_test_is_pattern(&w->response, 3000000));
        }
    }
    nb_test_world_close(w);
}

static void connections_are_hijacked_from_each(void **state) {
    nb_test_world *w = *state;
    const nb_server_config config = w->config;
    for (int i = 0; i < LOOPS; i++) {
        nb_test_client *clients[LOOPS];
        char bytes[65536];
        size_t size;
        nb_test_world_init(w);
        w->config = config;
        nb_test_world_open(w, 1);
        connect_each(w, clients);
        assert_true(nb_test_get(clients[i], "/hijack"));
        nb_test_executor_await(w->executors[0], NB_TEST_HIJACKED, 1);
        int fd = nb_test_executor_taken(w->executors[0], bytes, &size);
        /* What comes then is nothing of the loop's, though a worker's descriptor is of the socket
           that it had in its poller. */
        assert_true(nb_test_send_text(clients[i], "later"));
        nb_test_world_settle(w);
        assert_int_equal(5, read(fd, bytes, sizeof bytes));
        static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        assert_int_equal(sizeof answer - 1, write(fd, answer, sizeof answer - 1));
        nb_test_world_expect(w, clients[i], 200, "hi");
        close(fd);
        nb_test_world_close(w);
    }
}

/* --- what executors ask for --- */

/* A worker played by hand, with the rings of both loops. */
typedef struct hand {
    nb_test_world *world;
    unsigned worker;
    nb_link *link;
    nb_ring_consumer requests[LOOPS];
    nb_ring_producer responses[LOOPS];
} hand;

static hand hand_serve(nb_test_world *w, uint64_t wanted) {
    hand h = {.world = w, .worker = nb_test_world_mute(w)};
    h.link = w->far[h.worker]->link;
    for (int i = 0; i < LOOPS; i++) {
        nb_ring_consumer_attach(&h.requests[i], nb_channel_requests(&h.link->channels[i]));
        nb_ring_producer_attach(&h.responses[i], nb_channel_responses(&h.link->channels[i]));
    }
    atomic_store(&h.link->board->asked, wanted);
    nb_doorbell_announce(&h.link->board->executor_bell);
    nb_test_world_serve(w, h.worker);
    return h;
}

/* A handed request that was not looked at: the number of the loop by which it came; -1: there is
   none. */
static int hand_has(hand *h) {
    for (int i = 0; i < LOOPS; i++) {
        if (nb_ring_readable(&h->requests[i])) return i;
    }
    return -1;
}

/* Begins with the next request, and answers it. */
static int hand_answer(hand *h) {
    size_t bytes;
    int loop;
    while ((loop = hand_has(h)) < 0)
        usleep(1000);
    nb_request_message *request = (nb_request_message *)(uintptr_t)nb_ring_peek(&h->requests[loop], &bytes);
    assert_int_equal(NB_MESSAGE_REQUEST, request->message.type);
    assert_int_equal(loop, nb_exchange_id_loop(request->message.exchange));
    assert_true(nb_request_claim(request, NB_CLAIM_TAKEN));
    atomic_fetch_add(&h->link->board->figures.taken, 1);
    nb_request_begin(request);
    nb_response_message part = {.message = {NB_MESSAGE_RESPONSE, NB_PART_LAST, sizeof part, request->message.exchange},
                                .content_length = 0,
                                .status = 200};
    nb_ring_advance(&h->requests[loop]);
    nb_ring_release(&h->requests[loop]);
    atomic_fetch_add(&h->link->board->pulse.turns, 1);
    memcpy(nb_ring_reserve(&h->responses[loop], sizeof part), &part, sizeof part);
    nb_ring_commit(&h->responses[loop], sizeof part);
    nb_ring_publish(&h->responses[loop]);
    nb_channel_ring_loop(&h->link->channels[loop]);
    return loop;
}

/* Asks for one more, as an executor whose fiber has ended. */
static void hand_ask(hand *h) {
    atomic_fetch_add(&h->link->board->asked, 1);
    nb_doorbell_fence(&h->link->board->executor_bell);
    for (int i = 0; i < LOOPS; i++) {
        nb_channel *channel = &h->link->channels[i];
        if (atomic_load(&channel->memory->loop_starved)) nb_channel_ring_loop(channel);
    }
}

static void await_queue(nb_test_world *w, uint64_t count) {
    while (nb_test_world_counters(w).queue != count)
        usleep(1000);
}

/* The next that is sent comes more than a millisecond after this one, however late this one came:
   what is closer may change places. */
static void queue_one(nb_test_world *w, nb_test_client *client, uint64_t count) {
    assert_true(nb_test_get(client, "/"));
    await_queue(w, count);
    int64_t come_ns = nb_clock_monotonic_ns();
    while (nb_clock_monotonic_ns() - come_ns < 3 * NB_NS_PER_MS)
        usleep(1000);
}

static void an_executor_that_asks_for_one_is_given_one_whichever_loop_has_it(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS];
    nb_test_world_open(w, 0);
    hand h = hand_serve(w, 1);
    connect_each(w, clients);
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < LOOPS; i++)
            assert_true(nb_test_get(clients[i], "/"));
        await_queue(w, 1); /* one is with the executor, and the other waits */
        assert_int_equal(2 * round - 1, atomic_load(&w->channels[h.worker]->link->handed));
        int one = hand_answer(&h);
        assert_int_equal(-1, hand_has(&h));
        hand_ask(&h);
        assert_int_equal(1 - one, hand_answer(&h)); /* it went to the loop that had none */
        for (int i = 0; i < LOOPS; i++)
            nb_test_world_expect(w, clients[i], 200, "");
        hand_ask(&h);
    }
    nb_test_world_lose(w, h.worker);
    nb_test_world_close(w);
}

static void a_request_is_not_overtaken_by_those_of_another_loop_that_came_later(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS], *more[LOOPS];
    nb_test_world_open(w, 0);
    hand h = hand_serve(w, 0);
    connect_each(w, clients);
    connect_each(w, more);
    nb_test_client *order[] = {clients[1], clients[0], more[0], more[1]};
    static const int loops[] = {1, 0, 0, 1};
    for (unsigned i = 0; i < 4; i++)
        queue_one(w, order[i], i + 1);
    for (unsigned i = 0; i < 4; i++) {
        hand_ask(&h);
        assert_int_equal(loops[i], hand_answer(&h));
        nb_test_world_expect(w, order[i], 200, "");
    }
    /* all of it at once: the loop that gives way is told when its turn has come */
    for (unsigned i = 0; i < 4; i++)
        queue_one(w, order[i], i + 1);
    atomic_fetch_add(&h.link->board->asked, 3);
    hand_ask(&h);
    for (unsigned i = 0; i < 4; i++)
        (void)hand_answer(&h);
    for (unsigned i = 0; i < 4; i++)
        nb_test_world_expect(w, order[i], 200, "");
    nb_test_world_lose(w, h.worker);
    nb_test_world_close(w);
}

/* --- limits --- */

static void the_limit_of_connections_is_that_of_all_and_the_longest_idle_makes_room(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[6];
    w->config.connections_max = 4;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 4; i++) {
        clients[i] = nb_test_world_client(w);
        nb_test_world_expect_hello(w, clients[i]);
    }
    assert_true(nb_test_get(clients[0], "/hold")); /* of the first loop, as the third */
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 5);
    clients[4] = nb_test_world_client(w);
    nb_test_world_expect_hello(w, clients[4]);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(clients[1], NULL)); /* with the other loop */
    nb_server_counters stats = nb_test_world_counters(w);
    assert_int_equal(1, stats.evicted);
    nb_test_world_expect_hello(w, clients[2]);
    nb_test_world_expect_hello(w, clients[3]);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, clients[0], 200, "held");
    nb_test_world_close(w);
}

static void at_the_limit_with_all_busy_one_that_ends_with_any_loop_lets_the_next_in(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS];
    w->config.connections_max = LOOPS;
    w->config.accept_timeout_ms = 600000;
    nb_test_world_open(w, 1);
    for (int round = 0; round < LOOPS; round++) {
        connect_each(w, clients);
        for (int i = 0; i < LOOPS; i++)
            assert_true(nb_test_get(clients[i], "/hold"));
        nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, (unsigned)(round * (LOOPS + 1) + LOOPS));
        nb_test_client *next = nb_test_world_client(w);
        assert_true(nb_test_get(next, "/hello"));
        assert_false(nb_test_readable(next, 20));
        nb_test_client_reset(clients[round]);
        nb_test_world_expect(w, next, 200, "hello");
        nb_test_executor_release(w->executors[0]);
        nb_test_world_expect(w, clients[1 - round], 200, "held");
        nb_test_client_close(next);
        nb_test_client_close(clients[1 - round]);
        while (nb_loops_connections(&w->server->loops) > 0)
            usleep(1000);
    }
    nb_test_world_close(w);
}

static void the_bound_of_the_queue_is_that_of_all(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS], *more[LOOPS];
    w->config.queue_max = 2;
    nb_test_world_open(w, 0);
    hand h = hand_serve(w, 0);
    connect_each(w, clients);
    connect_each(w, more);
    for (int i = 0; i < LOOPS; i++) {
        assert_true(nb_test_get(clients[i], "/"));
        await_queue(w, (uint64_t)i + 1);
    }
    for (int i = 0; i < LOOPS; i++) {
        assert_true(nb_test_get(more[i], "/"));
        nb_test_world_expect(w, more[i], 503, NULL);
    }
    assert_int_equal(2, nb_test_world_counters(w).shed);
    for (int i = 0; i < LOOPS; i++) {
        hand_ask(&h);
        (void)hand_answer(&h);
    }
    for (int i = 0; i < LOOPS; i++)
        nb_test_world_expect(w, clients[i], 200, "");
    nb_test_world_lose(w, h.worker);
    nb_test_world_close(w);
}

static void the_budget_of_bodies_in_files_is_that_of_all(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS];
    w->config.spool_bytes_max = 300000;
    nb_test_world_open(w, 0);
    hand h = hand_serve(w, 0);
    connect_each(w, clients);
    assert_true(nb_test_post(clients[0], "/echo", 200000, true));
    await_queue(w, 1);
    assert_true(nb_test_post(clients[1], "/echo", 200000, true));
    nb_test_world_expect(w, clients[1], 503, NULL);
    hand_ask(&h);
    (void)hand_answer(&h);
    nb_test_world_expect(w, clients[0], 200, "");
    nb_test_world_lose(w, h.worker);
    nb_test_world_close(w);
}

/* --- ends --- */

static void a_drain_lets_each_finish_and_then_the_executor_ends(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS], *idle[LOOPS];
    nb_test_world_open(w, 1);
    connect_each(w, clients);
    connect_each(w, idle);
    for (int i = 0; i < LOOPS; i++)
        assert_true(nb_test_get(clients[i], "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, LOOPS);
    nb_server_drain(w->server);
    for (int i = 0; i < LOOPS; i++)
        assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle[i], NULL));
    assert_int_equal(-1, nb_test_connect(w->port).fd);
    nb_test_executor_release(w->executors[0]);
    for (int i = 0; i < LOOPS; i++) {
        nb_test_world_expect(w, clients[i], 200, "held");
        assert_false(w->response.keep_alive);
    }
    nb_test_executor_await(w->executors[0], NB_TEST_STOPPED, LOOPS);
    nb_test_world_close(w);
}

/* A thread that writes bodies, kept from it. */
typedef struct held_writer {
    nb_job job;
    nb_test_gate held, go;
} held_writer;

static void hold_writer(nb_job *job) {
    held_writer *writer = (held_writer *)(void *)job;
    nb_test_gate_open(&writer->held);
    nb_test_gate_wait(&writer->go, 1);
}

static void let_writer_go(nb_job *job) { (void)job; }

/* Its client has left; the file, and its place in the budget, are the loop's to give back. */
static void a_drain_waits_for_a_body_that_is_being_written(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS];
    held_writer writers[LOOPS];
    static const char block[70000];
    w->config.file_workers = LOOPS; /* one each */
    nb_test_world_open(w, 1);
    connect_each(w, clients);
    for (int i = 0; i < LOOPS; i++) {
        writers[i] = (held_writer){{hold_writer, let_writer_go, NULL}, NB_TEST_GATE, NB_TEST_GATE};
        assert_status(NB_OK, nb_workers_submit(loop_of(w, i)->connections.spool.workers, &writers[i].job));
        nb_test_gate_wait(&writers[i].held, 1);
        assert_true(nb_test_send_text(clients[i], "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"));
        assert_true(nb_test_send(clients[i], block, sizeof(block)));
    }
    while (nb_test_world_counters(w).spool_bytes < LOOPS * NB_BODY_MEMORY_BYTES)
        usleep(1000);
    for (int i = 0; i < LOOPS; i++)
        nb_test_client_reset(clients[i]);
    nb_server_drain(w->server);
    while (nb_test_world_counters(w).connections > 0)
        usleep(1000);
    uint64_t turns = nb_test_world_counters(w).turns + 8L * LOOPS;
    /* It would have ended in one. */
    while (nb_server_running(w->server) && nb_test_world_counters(w).turns < turns)
        usleep(1000);
    assert_true(nb_server_running(w->server));
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_STOPPED));
    for (int i = 0; i < LOOPS; i++)
        nb_test_gate_open(&writers[i].go);
    nb_test_world_close(w);
}

static void connections_that_wait_to_be_accepted_are_served_when_the_server_drains(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[8];
    nb_test_world_open(w, 1);
    for (int i = 0; i < 8; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], "/hello"));
    }
    nb_server_drain(w->server);
    for (int i = 0; i < 8; i++)
        nb_test_world_expect(w, clients[i], 200, "hello");
    nb_test_world_close(w);
}

static void stopping_now_cuts_the_connections_of_each(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS];
    nb_test_world_open(w, 1);
    connect_each(w, clients);
    for (int i = 0; i < LOOPS; i++)
        assert_true(nb_test_get(clients[i], "/never"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, LOOPS);
    nb_server_stop_now(w->server);
    for (int i = 0; i < LOOPS; i++)
        assert_int_not_equal(NB_TEST_END_NONE, nb_test_read_end(clients[i], NULL));
    nb_test_world_close(w);
}

static void a_worker_retires_when_all_loops_have_let_it_go(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS];
    nb_test_world_open(w, 1);
    connect_each(w, clients);
    for (int i = 0; i < LOOPS; i++)
        assert_true(nb_test_get(clients[i], "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, LOOPS);
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_server_channel_retire(w->server, w->channels[0]);
    nb_test_executor_await(w->executors[0], NB_TEST_RETIRED, LOOPS);
    nb_test_client *others[LOOPS];
    connect_each(w, others);
    for (int i = 0; i < LOOPS; i++)
        nb_test_world_expect_hello(w, others[i]);
    assert_int_equal(LOOPS, received(w, 0));
    nb_test_executor_release(w->executors[0]);
    for (int i = 0; i < LOOPS; i++)
        nb_test_world_expect(w, clients[i], 200, "held");
    nb_channel_report report = nb_test_world_end(w, 0);
    assert_int_equal(0, report.failed + report.cut + report.again);
    for (int i = 0; i < LOOPS; i++)
        nb_test_world_expect_hello(w, clients[i]);
    nb_test_world_close(w);
}

static void a_lost_workers_requests_are_answered_by_each_loop_and_counted_together(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS], *waiting[LOOPS];
    nb_test_world_open(w, 1);
    connect_each(w, clients);
    connect_each(w, waiting);
    for (int i = 0; i < LOOPS; i++)
        assert_true(nb_test_get(clients[i], "/never"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, LOOPS);
    nb_channel_report running;
    nb_server_channel_running(w->server, w->channels[0], &running);
    assert_int_equal(LOOPS, running.line_count);
    nb_test_executor_stall(w->executors[0], true);
    for (int i = 0; i < LOOPS; i++)
        assert_true(nb_test_get(waiting[i], "/hello"));
    while (nb_link_pending(w->channels[0]->link) + nb_test_world_counters(w).queue < LOOPS)
        usleep(1000);
    nb_channel_report report = nb_test_world_lose(w, 0);
    assert_int_equal(LOOPS, report.failed);
    assert_int_equal(0, report.cut);
    assert_int_equal(LOOPS, report.line_count);
    for (int i = 0; i < LOOPS; i++)
        nb_test_world_expect(w, clients[i], 502, NULL);
    nb_test_world_serve(w, nb_test_world_worker(w));
    for (int i = 0; i < LOOPS; i++)
        nb_test_world_expect(w, waiting[i], 200, "hello");
    assert_int_equal(LOOPS, nb_test_world_counters(w).lost);
    nb_test_world_close(w);
}

/* --- figures --- */

static void the_admin_pages_tell_the_sum(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[LOOPS];
    w->admin = true;
    nb_test_world_open(w, 1);
    connect_each(w, clients);
    for (int i = 0; i < LOOPS; i++) {
        nb_test_world_expect_hello(w, clients[i]);
        nb_test_world_expect_hello(w, clients[i]);
    }
    nb_test_client *admin = nb_test_world_admin(w);
    for (;;) { /* a loop tells what it has sent after it has sent it */
        assert_true(nb_test_get(admin, "/metrics"));
        nb_test_world_expect(w, admin, 200, NULL);
        w->response.body = realloc(w->response.body, w->response.body_bytes + 1);
        w->response.body[w->response.body_bytes] = '\0';
        if (strstr(w->response.body, "neverblock_request_duration_seconds_count 4\n") &&
            strstr(w->response.body, "neverblock_connections{state=\"idle\"} 2\n"))
            break;
    }
    assert_non_null(strstr(w->response.body, "neverblock_requests_total 4\n"));
    assert_non_null(strstr(w->response.body, "neverblock_responses_total{class=\"2xx\"} 4\n"));
    assert_non_null(strstr(w->response.body, "neverblock_connections_accepted_total 2\n"));
    assert_non_null(strstr(w->response.body, "neverblock_executor_requests_total{executor=\"0\"} 4\n"));
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(each_connection_goes_to_the_loop_that_has_the_fewest),
        CASE(every_kind_of_body_comes_and_goes_by_each),
        FRONT_CASE(every_kind_of_body_comes_and_goes_by_each),
        CASE(connections_are_hijacked_from_each),
        FRONT_CASE(connections_are_hijacked_from_each),
        FRONT_CASE(an_executor_that_asks_for_one_is_given_one_whichever_loop_has_it),
        FRONT_CASE(a_request_is_not_overtaken_by_those_of_another_loop_that_came_later),
        CASE(the_limit_of_connections_is_that_of_all_and_the_longest_idle_makes_room),
        CASE(at_the_limit_with_all_busy_one_that_ends_with_any_loop_lets_the_next_in),
        FRONT_CASE(the_bound_of_the_queue_is_that_of_all),
        FRONT_CASE(the_budget_of_bodies_in_files_is_that_of_all),
        CASE(a_drain_lets_each_finish_and_then_the_executor_ends),
        FRONT_CASE(a_drain_lets_each_finish_and_then_the_executor_ends),
        CASE(a_drain_waits_for_a_body_that_is_being_written),
        CASE(connections_that_wait_to_be_accepted_are_served_when_the_server_drains),
        CASE(stopping_now_cuts_the_connections_of_each),
        FRONT_CASE(stopping_now_cuts_the_connections_of_each),
        FRONT_CASE(a_worker_retires_when_all_loops_have_let_it_go),
        FRONT_CASE(a_lost_workers_requests_are_answered_by_each_loop_and_counted_together),
        CASE(the_admin_pages_tell_the_sum),
        FRONT_CASE(the_admin_pages_tell_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
