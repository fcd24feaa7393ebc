/*
 * test_server_processes.c - a front and workers that are processes: killed in a loop under load,
 * and such that write garbage. A client sees a failure exactly for what a killed worker had begun
 * with; what the front counts and what its clients saw is compared.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "http1/head_writer.h"
#include "support/mold.h"
#include "support/world.h"

static nb_test_mold mold;

/* The mold is there before the world counts, and before there is a thread. */
static int setup(void **state) {
    static nb_test_world world;
    mold = nb_test_mold_start();
    nb_test_world_init(&world);
    world.config.front = 1;
    *state = &world;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    nb_test_mold_end(&mold);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* --- killed in a loop --- */

typedef struct load {
    nb_test_world *world;
    uint64_t seed;
    _Atomic bool ends;
    unsigned right, lost, cut, wrong;
} load;

static bool ask(nb_test_client *c, nb_test_random *random, uint64_t *bytes) {
    static const struct {
        const char *path;
        uint64_t bytes;
    } pages[] = {{"/hello", 0}, {"/big/300000", 300000}, {"/chunked/90000", 90000}, {"/file/50000", 50000}};
    uint64_t kind = nb_test_random_below(random, 8);
    if (kind < 4) {
        *bytes = pages[kind].bytes;
        return nb_test_get(c, pages[kind].path);
    }
    *bytes = kind == 7 ? 0 : nb_test_random_below(random, 150000);
    return nb_test_post(c, kind == 7 ? "/count" : "/echo", kind == 7 ? 100000 : (size_t)*bytes, kind % 2);
}

static void *run_load(void *argument) {
    load *l = argument;
    nb_test_random random = {l->seed};
    nb_test_response response = {0};
    nb_test_client client = {.fd = -1};
    while (!atomic_load(&l->ends)) {
        uint64_t bytes = 0;
        if (client.fd < 0) client = nb_test_connect(l->world->port);
        bool sent = ask(&client, &random, &bytes), read = nb_test_read(&client, "GET", &response);
        if (sent && read && response.status == 200 && (bytes == 0 || nb_test_is_pattern(&response, bytes))) {
            l->right++;
        } else if (read && response.status == 502) {
            l->lost++;
        } else if (!read && response.status == 200) {
            l->cut++;
        } else {
            l->wrong++;
        }
        if (read && response.keep_alive) continue;
        nb_test_client_close(&client);
        client.fd = -1;
    }
    if (client.fd >= 0) nb_test_client_close(&client);
    free(response.body);
    return NULL;
}

typedef struct worker {
    nb_channel *channel;
    pid_t pid;
} worker;

static worker start_worker(nb_test_world *w, uint16_t number) {
    worker made;
    assert_status(NB_OK, nb_server_channel_create(w->server, 0, &made.channel));
    made.pid = nb_test_mold_worker(&mold, made.channel);
    assert_true(made.pid > 0);
    assert_status(NB_OK, nb_server_channel_serve(w->server, made.channel, number, made.pid));
    return made;
}

/* Stopped first, it has requests in hand; meanwhile the others serve. */
static nb_channel_report kill_worker(nb_test_world *w, const worker *killed, bool stop_first) {
    nb_channel_report report;
    uint64_t responses = nb_test_world_counters(w).responses;
    if (stop_first) assert_int_equal(0, kill(killed->pid, SIGSTOP));
    while (stop_first && nb_test_world_counters(w).responses < responses + 30)
        nb_test_world_settle(w);
    assert_int_equal(0, kill(killed->pid, SIGKILL));
    int status = nb_test_mold_wait(&mold, killed->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    nb_server_channel_end(w->server, killed->channel, &report);
    return report;
}

/* Workers that drain end by themselves. */
static void close_with(nb_test_world *w, const worker *workers, unsigned count) {
    nb_channel_report report;
    nb_server_drain(w->server);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(0, nb_test_mold_wait(&mold, workers[i].pid));
        nb_server_channel_end(w->server, workers[i].channel, &report);
        assert_int_equal(0, report.failed + report.cut + report.again);
    }
    nb_test_world_close(w);
}

static void only_what_a_killed_worker_had_begun_with_fails(void **state) {
    nb_test_world *w = *state;
    enum { CLIENTS = 4, WORKERS = 3, ROUNDS = 24 };
    load loads[CLIENTS];
    pthread_t threads[CLIENTS];
    worker workers[WORKERS];
    uint64_t failed = 0, cut = 0, right = 0;
    w->route.stream_input = true;
    nb_test_world_open_routed(w, 0, (const char *const[]){"/count", NULL});
    for (uint16_t i = 0; i < WORKERS; i++)
        workers[i] = start_worker(w, i);
    for (unsigned i = 0; i < CLIENTS; i++) {
        loads[i] = (load){.world = w, .seed = i + 77};
        threads[i] = nb_test_thread(run_load, &loads[i]);
    }
    for (uint16_t round = 0; round < ROUNDS; round++) {
        nb_channel_report report = kill_worker(w, &workers[round % WORKERS], round % 2);
        failed += report.failed;
        cut += report.cut;
        workers[round % WORKERS] = start_worker(w, round % WORKERS);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        atomic_store(&loads[i].ends, true);
    for (unsigned i = 0; i < CLIENTS; i++) {
        nb_test_join(threads[i]);
        assert_int_equal(0, loads[i].wrong);
        failed -= loads[i].lost;
        cut -= loads[i].cut;
        right += loads[i].right;
    }
    assert_int_equal(0, failed);
    assert_int_equal(0, cut);
    assert_true(right >= ROUNDS / 2 * 20);
    close_with(w, workers, WORKERS);
}

/* A SIGSTOP is a collection of garbage, or a page that comes from a disk: only what it runs has to
   wait. */
static void while_a_worker_is_stopped_the_others_run_what_it_has_not_begun_with(void **state) {
    nb_test_world *w = *state;
    worker workers[2];
    nb_test_client *clients[20];
    nb_test_world_open(w, 0);
    for (uint16_t i = 0; i < 2; i++)
        workers[i] = start_worker(w, i);
    for (int i = 0; i < 20; i++)
        clients[i] = nb_test_world_client(w);
    for (int round = 0; round < 10; round++) {
        assert_int_equal(0, kill(workers[round % 2].pid, SIGSTOP));
        for (int i = 0; i < 20; i++)
            assert_true(i % 3 ? nb_test_get(clients[i], "/hello") : nb_test_post(clients[i], "/hello", 90000, true));
        for (int i = 0; i < 20; i++)
            nb_test_world_expect(w, clients[i], 200, "hello");
        assert_int_equal(0, kill(workers[round % 2].pid, SIGCONT));
    }
    close_with(w, workers, 2);
}

/* --- garbage --- */

typedef struct hand {
    unsigned worker;
    nb_channel *channel;
    nb_ring_consumer requests;
    nb_ring_producer responses;
    pid_t pid; /* of a process that stands for it */
} hand;

static hand hand_serve(nb_test_world *w, unsigned wanted) {
    hand h = {.worker = nb_test_world_mute(w), .pid = nb_test_mold_idler(&mold)};
    w->executor_count--; /* its place is used again */
    h.channel = w->far[h.worker];
    nb_ring_consumer_attach(&h.requests, nb_channel_requests(h.channel));
    nb_ring_producer_attach(&h.responses, nb_channel_responses(h.channel));
    atomic_store(&h.channel->board->asked, wanted);
    assert_status(NB_OK, nb_server_channel_serve(w->server, w->channels[h.worker], 9, h.pid));
    return h;
}

static nb_exchange_id hand_begin(nb_test_world *w, hand *h) {
    size_t bytes;
    const void *record;
    while (!(record = nb_ring_peek(&h->requests, &bytes)))
        nb_test_world_settle(w);
    nb_ring_advance(&h->requests);
    nb_request_message *request = (nb_request_message *)(uintptr_t)record;
    assert_true(nb_request_claim(request, NB_CLAIM_TAKEN));
    nb_request_begin(request);
    atomic_fetch_add(&h->channel->board->pulse.turns, 1);
    return request->message.exchange;
}

static void hand_put(hand *h, const void *part, size_t bytes) {
    void *place = nb_ring_reserve(&h->responses, bytes);
    if (!place) return;
    memcpy(place, part, bytes);
    nb_ring_commit(&h->responses, bytes);
    nb_ring_publish(&h->responses);
}

static void hand_end(nb_test_world *w, hand *h) {
    nb_channel_report report;
    nb_channel_destroy(h->channel);
    w->far[h->worker] = NULL;
    nb_server_channel_end(w->server, w->channels[h->worker], &report);
}

enum garbage {
    NO_TYPE,
    TYPE_OF_A_REQUEST,
    TYPE_PAST_THE_LAST,
    OTHER_BYTES,
    SHORT_RESPONSE,
    SHORT_NAMED,
    SHORT_TAKEN,
    HINTS_WITH_FLAGS,
    TINY,
    FIELDS_TOO_LONG,
    SECOND_HEAD,
    AFTER_THE_LAST,
    ANOTHERS,
    TAKEN_TOO_MUCH,
    RECORD_WITHOUT_SIZE,
    RECORD_TOO_LARGE,
    PUBLISHED_TOO_FAR,
    GARBAGE_KINDS
};

/* Where the rings keep their published index and their data. */
static _Atomic uint64_t *published(hand *h) { return (_Atomic uint64_t *)nb_channel_responses(h->channel); }

static void put_garbage(hand *h, enum garbage kind, nb_exchange_id mine, nb_exchange_id second, nb_exchange_id other) {
    struct {
        nb_response_message response;
        char bytes[64];
    } part = {.response = {.message = {NB_MESSAGE_RESPONSE, 0, sizeof part, mine}, .content_length = 3, .status = 200}};
    nb_message *message = &part.response.message;
    size_t bytes = sizeof part;
    switch (kind) {
    case NO_TYPE:
        message->type = 0;
        break;
    case TYPE_OF_A_REQUEST:
        message->type = NB_MESSAGE_REQUEST;
        break;
    case TYPE_PAST_THE_LAST:
        message->type = NB_MESSAGE_HINTS + 1;
        break;
    case OTHER_BYTES:
        message->bytes = 0x7fffffff;
        break;
    case SHORT_RESPONSE:
        bytes = sizeof(nb_response_message) - 8;
        break;
    case SHORT_NAMED:
        message->type = NB_MESSAGE_NAMED;
        bytes = sizeof(nb_message);
        break;
    case SHORT_TAKEN:
        message->type = NB_MESSAGE_TAKEN;
        bytes = sizeof(nb_message);
        break;
    case HINTS_WITH_FLAGS:
        message->type = NB_MESSAGE_HINTS;
        message->flags = NB_PART_LAST;
        break;
    case TINY:
        bytes = 1;
        break;
    case FIELDS_TOO_LONG:
        part.response.fields_bytes = sizeof part.bytes + 1;
        break;
    case SECOND_HEAD:
        hand_put(h, &part, bytes);
        break;
    case AFTER_THE_LAST:
        message->exchange = second; /* it waits for the first's */
        message->flags = NB_PART_LAST;
        hand_put(h, &part, bytes);
        message->type = NB_MESSAGE_BODY;
        break;
    case ANOTHERS:
        message->exchange = other;
        break;
    case TAKEN_TOO_MUCH:
        message->type = NB_MESSAGE_TAKEN;
        message->exchange = other;
        ((nb_taken_message *)(void *)&part)->bytes = UINT64_MAX;
        break;
    default:
        break;
    }
    if (kind == SHORT_RESPONSE || kind == SHORT_NAMED || kind == SHORT_TAKEN) message->bytes = (uint32_t)bytes;
    hand_put(h, &part, bytes);
    if (kind < RECORD_WITHOUT_SIZE) return;
    uint64_t *header = (uint64_t *)nb_ring_reserve(&h->responses, bytes) - 1;
    nb_ring_commit(&h->responses, bytes);
    if (kind == RECORD_WITHOUT_SIZE) *header = 0;
    if (kind == RECORD_TOO_LARGE) *header = NB_RING_BYTES / 2;
    if (kind == PUBLISHED_TOO_FAR) {
        atomic_store(published(h), UINT64_MAX / 2);
    } else {
        nb_ring_publish(&h->responses);
    }
}

static void a_worker_that_sends_what_none_sends_is_killed_and_the_front_serves_on(void **state) {
    nb_test_world *w = *state;
    w->route.stream_input = true;
    nb_test_world_open_routed(w, 0, (const char *const[]){"/upload", NULL});
    for (int kind = 0; kind < GARBAGE_KINDS; kind++) {
        nb_test_client c = nb_test_connect(w->port), upload = nb_test_connect(w->port),
                       others = nb_test_connect(w->port);
        hand other = hand_serve(w, 1);
        w->executor_count++;
        assert_true(nb_test_get(&others, "/other"));
        nb_exchange_id of_other = hand_begin(w, &other);
        hand h = hand_serve(w, 8);
        assert_true(nb_test_send_text(&c, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"));
        nb_exchange_id first = hand_begin(w, &h), second = hand_begin(w, &h);
        assert_true(nb_test_send_text(&upload, "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1"));
        nb_exchange_id uploads = hand_begin(w, &h);
        put_garbage(&h, kind, first, second, kind == TAKEN_TOO_MUCH ? uploads : of_other);
        nb_channel_ring_loop(h.channel);
        int status = nb_test_mold_wait(&mold, h.pid); /* the front kills it */
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_true(nb_test_get(&others, "/next")); /* nobody is given it before another serves */
        hand_end(w, &h);
        assert_int_not_equal(NB_TEST_END_NONE, (nb_test_client_finish(&c), nb_test_read_end(&c, NULL)));
        w->executor_count--;
        assert_int_equal(0, kill(other.pid, SIGKILL));
        nb_test_mold_wait(&mold, other.pid);
        hand_end(w, &other);
        nb_test_world_expect(w, &others, 502, NULL);
        worker good = start_worker(w, 0);
        nb_test_world_expect(w, &others, 200, NULL);
        kill_worker(w, &good, false);
        nb_test_client_close(&c);
        nb_test_client_close(&upload);
        nb_test_client_close(&others);
    }
    close_with(w, NULL, 0);
}

static void scribble(nb_test_random *random, void *memory, size_t bytes) {
    uint64_t count = nb_test_random_below(random, 64);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *place = (uint64_t *)memory + nb_test_random_below(random, bytes / 8);
        *place = nb_test_random_below(random, 2) ? nb_test_random_next(random) : nb_test_random_below(random, 4096);
    }
}

/* Mostly of a form that could be. */
static void put_random_part(hand *h, nb_test_random *random, const nb_exchange_id *ids, unsigned id_count) {
    static const uint16_t types[] = {NB_MESSAGE_RESPONSE, NB_MESSAGE_RESPONSE, NB_MESSAGE_BODY, NB_MESSAGE_NAMED,
                                     NB_MESSAGE_TAKEN,    NB_MESSAGE_HIJACK,   NB_MESSAGE_HINTS};
    static uint64_t part[4096 / 8];
    size_t bytes = 16 + nb_test_random_below(random, 2000);
    for (size_t i = 0; i < sizeof part / 8; i++)
        part[i] = nb_test_random_below(random, 3) ? nb_test_random_below(random, 3000) : nb_test_random_next(random);
    nb_message *message = (nb_message *)part;
    message->type = nb_test_random_below(random, 20) ? types[nb_test_random_below(random, sizeof types / sizeof *types)]
                                                     : (uint16_t)nb_test_random_next(random);
    message->flags = (uint16_t)(nb_test_random_below(random, 2) ? 0 : nb_test_random_next(random));
    message->exchange = nb_test_random_below(random, 10) ? ids[nb_test_random_below(random, id_count)]
                                                         : nb_test_random_next(random);
    message->bytes = (uint32_t)(nb_test_random_below(random, 30) ? bytes : nb_test_random_next(random));
    if (message->type == NB_MESSAGE_RESPONSE && nb_test_random_below(random, 5)) {
        nb_response_message *head = (nb_response_message *)part;
        if (bytes < sizeof *head) message->bytes = (uint32_t)(bytes = sizeof *head);
        head->fields_bytes = 0;
    }
    if (message->type == NB_MESSAGE_NAMED && nb_test_random_below(random, 2)) (void)nb_channel_send_fd(h->channel, 0);
    hand_put(h, part, bytes);
}

/* Bounded by the rounds; the same seed does the same. Nothing is asked of what clients see, but
   that they see an end of it. */
static void the_front_survives_whatever_a_worker_writes(void **state) {
    nb_test_world *w = *state;
    enum { ROUNDS = 150, CLIENTS = 4 };
    nb_test_random random = {20261122};
    w->route.stream_input = true;
    w->config.guest_turns = 0;
    nb_test_world_open_routed(w, 0, (const char *const[]){"/upload", NULL});
    for (unsigned round = 0; round < ROUNDS; round++) {
        nb_test_client clients[CLIENTS];
        nb_exchange_id ids[8];
        unsigned begun = 0;
        for (unsigned i = 0; i < CLIENTS; i++) {
            clients[i] = nb_test_connect(w->port);
            assert_true(
                i % 2 ? nb_test_send_text(&clients[i], "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1")
                      : nb_test_send_text(&clients[i],
                                          "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"));
        }
        while (nb_test_world_counters(w).queue < 6)
            nb_test_world_settle(w);
        hand h = hand_serve(w, 6);
        for (uint64_t wanted = 1 + nb_test_random_below(&random, 6); begun < wanted; begun++)
            ids[begun] = hand_begin(w, &h);
        /* Also those it has not begun with, and their copies at the end. */
        if (nb_test_random_below(&random, 4) == 0) scribble(&random, nb_channel_requests(h.channel), 8192);
        for (uint64_t parts = nb_test_random_below(&random, 30); parts > 0; parts--) {
            put_random_part(&h, &random, ids, begun);
            if (nb_test_random_below(&random, 5) == 0) nb_channel_ring_loop(h.channel);
        }
        if (nb_test_random_below(&random, 4) == 0) scribble(&random, nb_channel_responses(h.channel), 8192);
        if (nb_test_random_below(&random, 4) == 0)
            scribble(&random, &h.channel->board->pulse, sizeof(nb_pulse) + sizeof(nb_executor_figures));
        nb_channel_ring_loop(h.channel);
        nb_test_world_settle(w);
        (void)kill(h.pid, SIGKILL);
        nb_test_mold_wait(&mold, h.pid);
        hand_end(w, &h);
        for (unsigned i = 0; i < CLIENTS; i++)
            nb_test_client_reset(&clients[i]);
        while (nb_test_world_counters(w).connections > 0 && nb_test_world_counters(w).queue > 0)
            nb_test_world_settle(w);
    }
    worker good = start_worker(w, 0);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_world_expect_hello(w, c);
    close_with(w, &good, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(only_what_a_killed_worker_had_begun_with_fails),
        CASE(while_a_worker_is_stopped_the_others_run_what_it_has_not_begun_with),
        CASE(a_worker_that_sends_what_none_sends_is_killed_and_the_front_serves_on),
        CASE(the_front_survives_whatever_a_worker_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
