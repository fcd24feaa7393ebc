/*
 * test_admin.c - the admin pages and the metrics they show, of a whole server with executors in C.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "os/clock.h"
#include "support/admin_page.h"

static int setup_guest(void **state) {
    (void)nb_test_admin_setup(state);
    ((nb_test_world *)*state)->options.guest = true;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, nb_test_admin_setup)
#define GUEST_CASE(name) \
    { #name " (guest)", name, setup_guest, NULL, NULL }

/* The number behind `key` in the object `section` of /status.json as it was last read. */
static double number(const nb_test_world *w, const char *section, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":{", section);
    const char *at = strstr(w->response.body, quoted);
    if (!at) fail_msg("no %s in %s", section, w->response.body);
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = strstr(at, quoted);
    if (!at) fail_msg("no %s in %s", key, section);
    return strtod(at + strlen(quoted), NULL);
}

static double now(nb_test_world *w, const char *section, const char *key) {
    (void)page(w, "/status.json", 200);
    return number(w, section, key);
}

static void get(nb_test_world *w, const char *path, int status) {
    nb_test_client *client = nb_test_world_client(w);
    assert_true(nb_test_get(client, path));
    nb_test_world_expect(w, client, status, NULL);
}

static void each_thread_of_a_lane_is_in_the_figures(void **state) {
    enum { THREADS = 3 };
    nb_test_world *w = *state;
    w->lane_threads = THREADS;
    w->lane_queue = 1;
    nb_test_world_open(w, 1);
    for (unsigned i = 0; i <= THREADS; i++)
        nb_tally_count(&w->channels[i]->board->stalls, NB_TALLY_OTHER, 1, 0);
    assert_int_equal(1 + THREADS, (int)now(w, "stalls", "total"));
    nb_test_world_close(w);
}

static void a_label_with_control_characters_is_one_that_prometheus_reads(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_tally *stalls = &w->channels[0]->board->stalls;
    nb_tally_count(stalls, nb_tally_row_of(stalls, 0, "a\tb\nc\x01.erb:3"), 1, 0);
    (void)page(w, "/metrics", 200);
    assert_true(shows(w, "culprit=\"a?b\\nc?.erb:3\"} 1\n"));
    nb_test_world_close(w);
}

static void pages_answer_while_the_executors_thread_is_kept(void **state) {
    static const char *const paths[] = {
        "/", "/health", "/ready", "/metrics", "/status.json", "/fibers.json", "/slowest.json", "/observed.json"};
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_client(w);
    assert_true(nb_test_get(client, "/block"));
    nb_test_executor_await(w->executors[0], NB_TEST_BLOCKED, 1);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        (void)page(w, paths[i], 200);
    assert_string_equal("ok\n", page(w, "/health", 200));
    nb_test_executor_unblock(w->executors[0]);
    nb_test_world_expect(w, client, 200, NULL);
    nb_test_world_close(w);
}

static void the_list_says_how_a_page_that_is_not_built_is_made(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    (void)page(w, "/", 200);
    assert_true(shows(w, "cd \"$(bundle show neverblock)\" && bin/live-page\n"));
    assert_true(shows(w, "A released gem has it."));
    nb_test_world_close(w);
}

static void a_server_whose_executors_have_not_asked_for_anything_is_not_ready(void **state) {
    nb_test_world *w = *state;
    nb_channel *channel;
    nb_test_alarm(40);
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    assert_status(NB_OK, nb_server_listen_admin_tcp(w->server, "127.0.0.1", 0, &w->admin_port));
    assert_status(NB_OK, nb_server_channel_add(w->server, &channel));
    assert_status(NB_OK, nb_server_start(w->server));
    assert_non_null(strstr(page(w, "/ready", 503), "starting"));
    assert_non_null(strstr(page(w, "/status.json", 200), "\"state\":\"starting\""));
    assert_string_equal("ok\n", page(w, "/health", 200));
    nb_server_stop_now(w->server);
    w->ended = true;
    nb_test_world_close(w);
}

/* As an executor records them. */
static uint32_t record_request(nb_fiber_memory *memory, uint64_t exchange, const char *path, int64_t arrived_ns) {
    nb_fiber_request_facts facts = {.exchange = exchange,
                                    .arrived_ns = arrived_ns,
                                    .fiber = exchange,
                                    .method = NB_SLICE("GET"),
                                    .path = nb_slice_of(path, strlen(path)),
                                    .query = NB_SLICE("secret=1"),
                                    .id = NB_SLICE("id")};
    return nb_fiber_request_begin(memory, &facts);
}

static uint32_t record_wait(nb_fiber_memory *memory, uint32_t request, uint64_t exchange, nb_fiber_wait_kind kind,
                            const char *text) {
    nb_fiber_wait facts = {.since_ns = 1,
                           .until_ns = INT64_MAX,
                           .fiber = exchange,
                           .exchange = exchange,
                           .request = request,
                           .number = -1,
                           .kind = (uint8_t)kind,
                           .own = request != NB_FIBER_NONE};
    return nb_fiber_wait_begin(memory, &facts, nb_slice_of(text, strlen(text)));
}

static void fibers_are_shown_by_their_records(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_fiber_memory *memory = w->channels[0]->link->fibers;
    (void)page(w, "/fibers.json", 200);
    assert_true(shows(w, "\"fibers\":[],\"left_out\":0,\"unrecorded\":0,\"waits\":{}"));
    uint32_t first = record_request(memory, 7, "/a\xff", 1), second = record_request(memory, 8, "/b", 2);
    uint32_t wait = record_wait(memory, first, 7, NB_FIBER_WAIT_database, "pg 10.0.0.1:5432");
    (void)record_wait(memory, NB_FIBER_NONE, 0, NB_FIBER_WAIT_dns, "example.org");
    nb_fiber_trace_put(memory, wait, 1, NB_SLICE("app.rb:7\n/srv/app.rb:7:in `x'\n"));

    (void)page(w, "/fibers.json", 200);
    assert_true(shows(w, "\"id\":\"id\",\"method\":\"GET\",\"path\":\"/a?\",\"age_s\":"));
    assert_true(shows(w, "\"waits_for\":{\"kind\":\"database\",\"for_s\":"));
    assert_true(shows(w, "\"driver\":\"pg\",\"address\":\"10.0.0.1:5432\""));
    assert_true(shows(w, "\"line\":\"app.rb:7\""));
    assert_true(shows(w, "\"path\":\"/b\",\"age_s\":"));
    assert_true(shows(w, "\"state\":\"ready\""));
    assert_true(shows(w, "\"fiber\":\"background\""));
    assert_true(shows(w, "\"name\":\"example.org\""));
    assert_true(shows(w, "\"waits\":{\"database\":1,\"dns\":1}"));
    assert_false(shows(w, "secret"));
    assert_false(shows(w, "\"backtrace\""));

    (void)page(w, "/fibers.json?limit=1&query&backtrace=kept", 200);
    assert_true(shows(w, "\"query\":\"secret=1\""));
    assert_true(shows(w, "\"backtrace\":[\"/srv/app.rb:7:in `x'\"]"));
    assert_true(shows(w, "\"left_out\":2"));
    assert_true(shows(w, "\"backtraces_complete\":true"));
    assert_int_equal(0, atomic_load(&memory->asked_ns));
    (void)page(w, "/fibers.json?backtrace=1", 200);
    assert_true(atomic_load(&memory->asked_ns) > 0);
    assert_true(shows(w, "\"backtraces_complete\":false"));
    nb_fiber_wait_end(memory, wait, first);
    nb_fiber_request_end(memory, first);
    nb_fiber_request_end(memory, second);
    nb_test_world_close(w);
}

/* Each entry is as large as it gets: more than fit into one answer are left out. */
static void an_answer_of_fibers_has_a_bound(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_fiber_memory *memory = w->channels[0]->link->fibers;
    char path[NB_FIBER_LINE_BYTES], trace[NB_FIBER_TRACE_BYTES + 1];
    memset(path, '"', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    for (size_t i = 0; i < NB_FIBER_TRACE_BYTES; i++)
        trace[i] = i % 400 == 399 ? '\n' : '"';
    trace[NB_FIBER_TRACE_BYTES] = '\0';
    for (uint64_t i = 1; i <= 5000; i++) {
        uint32_t request = record_request(memory, i, path, (int64_t)i);
        uint32_t wait = record_wait(memory, request, i, NB_FIBER_WAIT_io, path);
        if (i <= NB_FIBER_TRACES_MAX) nb_fiber_trace_put(memory, wait, 1, nb_slice_of(trace, NB_FIBER_TRACE_BYTES));
    }
    (void)page(w, "/fibers.json?limit=1000&query=1&backtrace=kept", 200);
    assert_true(w->response.body_bytes <= NB_ADMIN_BODY_BYTES_MAX);
    assert_true(shows(w, "\"waits\":{\"io\":5000}"));
    double left_out = strtod(strstr(w->response.body, "\"left_out\":") + strlen("\"left_out\":"), NULL);
    assert_true(left_out > 4000); /* the page was full before the limit was met */
    assert_true(shows(w, "\"executors\":[{\"worker\":0,"));
    for (uint32_t i = 0; i < 5000; i++)
        nb_fiber_request_end(memory, i);
    nb_test_world_close(w);
}

static void readiness_ends_with_drain_and_the_pages_stay(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_client(w), *admin = nb_test_world_admin(w);
    assert_true(nb_test_get(client, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_server_drain(w->server);
    assert_non_null(strstr(page(w, "/ready", 503), "draining"));
    assert_true(nb_test_get(admin, "/health"));
    nb_test_world_expect(w, admin, 200, "ok\n");
    assert_true(w->response.keep_alive);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, client, 200, "held");
    nb_test_world_close(w);
}

static void every_stage_of_a_request_is_taken_down_once(void **state) {
    static const char *const stages[] = {"head", "queue", "run", "write"};
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_client(w);
    for (int i = 0; i < 5; i++)
        nb_test_world_expect_hello(w, client);
    assert_true(nb_test_post(client, "/echo", 200000, true));
    nb_test_world_expect(w, client, 200, NULL);
    get(w, "/status/404", 404);
    (void)page(w, "/status.json", 200);
    for (int i = 0; i < 4; i++)
        assert_int_equal(7, (int)number(w, stages[i], "count"));
    assert_int_equal(1, (int)number(w, "body", "count"));
    assert_int_equal(7, (int)number(w, "requests", "total"));
    assert_int_equal(6, (int)number(w, "by_class", "2xx"));
    assert_int_equal(1, (int)number(w, "by_class", "4xx"));
    assert_int_equal(0, (int)number(w, "requests", "writing"));
    assert_true(number(w, "bytes", "received_total") > 200000);
    assert_true(number(w, "bytes", "sent_total") > 200000);
    nb_test_world_close(w);
}

static void a_response_nobody_reads_is_being_written_until_its_client_leaves(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(client, "/file/30000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    while (now(w, "requests", "writing") < 1)
        continue;
    assert_int_equal(1, (int)number(w, "connections", "answering"));
    assert_int_equal(0, (int)number(w, "write", "count"));
    nb_test_client_reset(client);
    while (now(w, "requests", "writing") > 0)
        continue;
    assert_int_equal(0, (int)now(w, "connections", "open"));
    assert_int_equal(0, (int)number(w, "write", "count"));
    nb_test_world_close(w);
}

static void what_is_aborted_counts_as_an_error_and_leaves_nothing_behind(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_client(w);
    assert_true(nb_test_get(client, "/abort"));
    assert_false(nb_test_read(client, "GET", &w->response));
    (void)page(w, "/status.json", 200);
    assert_int_equal(1, (int)number(w, "requests", "errors_total"));
    assert_int_equal(0, (int)number(w, "requests", "writing"));
    nb_test_world_close(w);
}

static void a_connection_is_counted_under_what_it_does(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *idle = nb_test_world_client(w), *reading = nb_test_world_client(w), *held = nb_test_world_client(w);
    nb_test_world_expect_hello(w, idle);
    assert_true(nb_test_send_text(reading, "GET /hel"));
    assert_true(nb_test_get(held, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    while (now(w, "connections", "reading") < 1)
        continue;
    assert_int_equal(3, (int)number(w, "connections", "open"));
    assert_int_equal(1, (int)number(w, "connections", "idle"));
    assert_int_equal(1, (int)number(w, "connections", "answering"));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, held, 200, "held");
    assert_int_equal(2, (int)now(w, "connections", "idle"));
    nb_test_world_close(w);
}

/* The one that has been idle longest makes room. */
static void admin_connections_have_a_bound_of_their_own(void **state) {
    nb_test_world *w = *state;
    w->config.connections_max = 1;
    nb_test_world_open(w, 1);
    static nb_test_client clients[NB_ADMIN_CONNECTIONS_MAX + 1];
    for (unsigned i = 0; i <= NB_ADMIN_CONNECTIONS_MAX; i++) {
        clients[i] = nb_test_connect(w->admin_port);
        assert_true(clients[i].fd >= 0);
        assert_true(nb_test_get(&clients[i], "/health"));
        nb_test_world_expect(w, &clients[i], 200, "ok\n");
    }
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(&clients[0], NULL));
    assert_true(nb_test_get(&clients[1], "/health"));
    nb_test_world_expect(w, &clients[1], 200, "ok\n");
    get(w, "/hello", 200);
    for (unsigned i = 0; i <= NB_ADMIN_CONNECTIONS_MAX; i++)
        nb_test_client_close(&clients[i]);
    nb_test_world_close(w);
}

/* Each page waits until the one before it has left, so that a client that asks and does not read
   holds one. */
static void pages_asked_for_ahead_are_made_one_at_a_time(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    nb_test_client *client = nb_test_world_adopt(w, nb_test_connect_narrow(w->admin_port, 4096));
    enum { PAGES = 300 };
    for (int i = 0; i < PAGES; i++)
        assert_true(nb_test_send_text(client, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_true(nb_test_readable(client, NB_TEST_PATIENCE_MS));
    assert_true(now(w, "memory", "response_bytes") < 1000000);
    for (int i = 0; i < PAGES; i++)
        nb_test_world_expect(w, client, 200, NULL);
    nb_test_world_close(w);
}

/* --- hosts --- */

/* Sends a request of one's own to the admin address. */
static void ask_as(nb_test_world *w, const char *request, int status, const char *words) {
    nb_test_client *client = nb_test_world_admin(w);
    assert_true(nb_test_send_text(client, request));
    nb_test_world_expect(w, client, status, NULL);
    if (!memmem(w->response.body, w->response.body_bytes, words, strlen(words)))
        fail_msg("%.*s instead of %s", (int)w->response.body_bytes, w->response.body, words);
    nb_test_client_close(client);
    w->client_count--;
}

static void ask_host(nb_test_world *w, const char *host, int status, const char *words) {
    char request[256];
    snprintf(request, sizeof request, "GET /health HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    ask_as(w, request, status, words);
}

static void a_loopback_address_answers_for_no_name_of_others(void **state) {
    static const char *const answered[] = {"localhost",       "LocalHost:9293",    "localhost.",
                                           "app.localhost:1", "127.0.0.1",         "192.0.2.1:80",
                                           "[::1]:9293",      "here.example:9293", "Here.Example."};
    static const char *const refused[] = {
        "rebound.example", "rebound.example:9293", "localhost.example", "notlocalhost",
        "1.2.3.4.example", "sub.here.example",     "here.example.com",  "a"};
    static const char words[] =
        "421 Misdirected Request: the admin pages are for Host localhost, here.example, or an IP "
        "address\n";
    nb_test_world *w = *state;
    w->admin_host = "here.example";
    nb_test_world_open(w, 1);
    for (size_t i = 0; i < sizeof(answered) / sizeof(*answered); i++)
        ask_host(w, answered[i], 200, "ok");
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        ask_host(w, refused[i], 421, words);
    ask_as(w, "GET /health HTTP/1.0\r\n\r\n", 200, "ok");
    ask_as(w, "GET http://rebound.example/health HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 421, words);
    ask_as(w, "GET /events HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 421, words);
    ask_as(w, "POST /reload HTTP/1.1\r\nHost: rebound.example\r\nContent-Length: 0\r\n\r\n", 421, words);
    nb_test_world_close(w);
}

static void an_address_for_other_machines_answers_for_every_name(void **state) {
    nb_test_world *w = *state;
    w->admin_address = "0.0.0.0";
    nb_test_world_open(w, 1);
    ask_host(w, "metrics.example", 200, "ok");
    nb_test_world_close(w);
}

static void methods_that_are_refused_name_those_of_the_admin_pages(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    ask_as(w, "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n", 405, "CONNECT");
    assert_non_null(strstr(w->response.head, "\r\nAllow: GET, HEAD, POST\r\n"));
    nb_test_world_close(w);
}

static void a_stop_cuts_admin_connections_with_the_rest(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *admin = nb_test_world_admin(w);
    assert_true(nb_test_get(admin, "/health"));
    nb_test_world_expect(w, admin, 200, "ok\n");
    nb_server_stop_now(w->server);
    nb_test_world_close(w);
}

/* --- event streams --- */

typedef struct event_stream {
    int fd;
    size_t size;
    char text[262144]; /* all that came */
} event_stream;

static event_stream *follow(nb_test_world *w) {
    event_stream *stream = calloc(1, sizeof *stream);
    assert_non_null(stream);
    nb_test_client client = nb_test_connect(w->admin_port);
    assert_true(client.fd >= 0);
    assert_true(nb_test_get(&client, "/events"));
    stream->fd = client.fd;
    return stream;
}

static void leave(event_stream *stream) {
    (void)close(stream->fd);
    free(stream);
}

/* Reads until the text has come so often. */
static void await(event_stream *stream, const char *text, unsigned times) {
    for (;;) {
        unsigned found = 0;
        for (const char *at = stream->text; (at = strstr(at, text)) != NULL; at++)
            found++;
        if (found >= times) return;
        assert_true(stream->size < sizeof stream->text - 1);
        ssize_t got = read(stream->fd, stream->text + stream->size, sizeof stream->text - 1 - stream->size);
        if (got <= 0) fail_msg("the stream ended after %s", stream->text);
        stream->size += (size_t)got;
    }
}

static void events_come_until_the_client_leaves(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    event_stream *stream = follow(w);
    await(stream, "event: fibers\n", 1);
    assert_non_null(strstr(stream->text, "Content-Type: text/event-stream\r\n"));
    assert_null(strstr(stream->text, "event: latency"));
    get(w, "/hello", 200);
    await(stream, "event: fibers\n", 3);
    assert_non_null(strstr(stream->text, "event: latency\ndata: {\"head\":{\"count\":1,"));
    assert_non_null(strstr(stream->text, "event: status\ndata: {\"neverblock\":"));
    leave(stream);
    get(w, "/hello", 200);
    nb_test_world_close(w);
}

static void events_come_while_the_executors_thread_is_kept(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    event_stream *stream = follow(w);
    nb_test_client *client = nb_test_world_client(w);
    assert_true(nb_test_get(client, "/block"));
    nb_test_executor_await(w->executors[0], NB_TEST_BLOCKED, 1);
    await(stream, "event: fibers\n", 3);
    nb_test_executor_unblock(w->executors[0]);
    nb_test_world_expect(w, client, 200, NULL);
    leave(stream);
    nb_test_world_close(w);
}

/* A stream that ended is no longer among the open ones. */
static void event_streams_have_a_bound(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    static event_stream *streams[NB_ADMIN_STREAMS_MAX];
    for (unsigned i = 0; i < NB_ADMIN_STREAMS_MAX; i++) {
        streams[i] = follow(w);
        await(streams[i], "event: fibers\n", 1);
    }
    assert_non_null(strstr(page(w, "/events", 503), "event streams are open"));
    (void)page(w, "/health", 200);
    for (unsigned i = 1; i < NB_ADMIN_STREAMS_MAX; i++)
        leave(streams[i]);
    await(streams[0], "event: fibers\n", 3);
    event_stream *again = follow(w);
    await(again, "event: fibers\n", 1);
    leave(again);
    leave(streams[0]);
    nb_test_world_close(w);
}

static void a_stop_does_not_wait_for_event_streams(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *admin = nb_test_world_admin(w);
    assert_true(nb_test_get(admin, "/events"));
    assert_true(nb_test_readable(admin, NB_TEST_PATIENCE_MS));
    nb_server_stop_now(w->server);
    nb_test_world_close(w);
}

/* --- what changes the server --- */

#define TOKEN "0123456789abcdef"

static void act(nb_test_world *w, const char *method, const char *target, const char *token, int status,
                const char *words) {
    char text[512];
    snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n%s%s%s\r\n", method, target,
             token ? "Authorization: " : "", token ? token : "", token ? "\r\n" : "");
    ask_as(w, text, status, words);
}

static void without_a_token_nobody_changes_anything(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    act(w, "POST", "/cancel?exchange=1", "Bearer ", 403, "no admin_token");
    act(w, "POST", "/reload", "Bearer " TOKEN, 403, "no admin_token");
    (void)page(w, "/status.json", 200);
    assert_true(shows(w, "\"actions\":[]"));
    nb_test_world_close(w);
}

static void the_token_is_asked_for_whole(void **state) {
    static const char *const wrong[] = {NULL,
                                        "Bearer 0123456789abcde",
                                        "Bearer 0123456789abcdefg",
                                        "Bearer 1123456789abcdef",
                                        "Bearer" TOKEN,
                                        "Bearers " TOKEN,
                                        "Bearer \t" TOKEN,
                                        "Bearer  ",
                                        "Basic " TOKEN,
                                        TOKEN};
    nb_test_world *w = *state;
    w->admin_token = TOKEN;
    nb_test_world_open(w, 1);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        act(w, "POST", "/cancel?exchange=1", wrong[i], 401, "not the server's admin_token");
    act(w, "POST", "/cancel?exchange=1", "bEARER   " TOKEN, 202, "ends");
    act(w, "GET", "/cancel?exchange=1", "Bearer " TOKEN, 405, "POST is");
    act(w, "POST", "/cancel?exchange=1", "Bearer " TOKEN, 202, "ends");
    nb_test_world_close(w);
}

static void what_is_asked_for_has_to_be_clear(void **state) {
    static const char *const unclear[] = {"/cancel",
                                          "/cancel?exchange",
                                          "/cancel?exchange=",
                                          "/cancel?exchange=g",
                                          "/cancel?exchange=A",
                                          "/cancel?exchange=12345678901234567"};
    nb_test_world *w = *state;
    w->admin_token = TOKEN;
    nb_test_world_open(w, 1);
    for (size_t i = 0; i < sizeof(unclear) / sizeof(*unclear); i++)
        act(w, "POST", unclear[i], "Bearer " TOKEN, 400, "/cancel?exchange=1a");
    act(w, "POST", "/cancel?exchange=ffffffffffffffff", "Bearer " TOKEN, 202, "if it still runs");
    act(w, "POST", "/workers?change=some", "Bearer " TOKEN, 400, "add or remove");
    act(w, "POST", "/reload", "Bearer " TOKEN, 501, "-w 2");
    nb_test_world_close(w);
}

static void a_request_is_cancelled_by_its_executor(void **state) {
    nb_test_world *w = *state;
    char target[64];
    w->admin_token = TOKEN;
    w->config.io_threads = 2;
    nb_test_world_open(w, 1);
    for (unsigned i = 1; i <= 2; i++) {
        nb_test_client *client = nb_test_world_client(w);
        assert_true(nb_test_get(client, "/hold"));
        nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, i);
        snprintf(target, sizeof target, "/cancel?exchange=%" PRIx64, nb_test_executor_last(w->executors[0]));
        act(w, "POST", target, "Bearer " TOKEN, 202, "ends");
        nb_test_executor_await(w->executors[0], NB_TEST_CANCELLED, i);
        nb_test_executor_release(w->executors[0]);
        nb_test_world_expect(w, client, 200, "held");
        act(w, "POST", target, "Bearer " TOKEN, 202, "ends");
    }
    assert_int_equal(2, nb_test_world_counted(w, 0, NB_TEST_CANCELLED));
    nb_test_world_close(w);
}

static void commands_go_into_the_pipe_and_their_ends_into_the_status(void **state) {
    nb_test_world *w = *state;
    int ends[2];
    char bytes[4] = "";
    assert_int_equal(0, pipe(ends));
    w->admin_token = TOKEN;
    w->admin_commands_fd = ends[1];
    w->before = nb_test_leaks_begin();
    nb_test_world_open(w, 1);
    act(w, "POST", "/reload", "Bearer " TOKEN, 202, "begun");
    act(w, "POST", "/workers?change=add", "Bearer " TOKEN, 202, "begun");
    act(w, "POST", "/workers?x=1&change=remove", "Bearer " TOKEN, 202, "begun");
    assert_int_equal(3, read(ends[0], bytes, sizeof bytes));
    assert_string_equal("r+-", bytes);
    (void)page(w, "/status.json", 200);
    assert_true(shows(w, "\"actions\":[\"cancel\",\"reload\",\"workers\"]"));
    assert_false(shows(w, "last_action"));
    nb_server_admin_result(w->server, false, "reload: \"no\"");
    (void)page(w, "/status.json", 200);
    assert_true(shows(w, "\"last_action\":{\"number\":1,\"ok\":false,\"words\":\"reload: \\\"no\\\"\"}"));
    nb_test_world_close(w);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void advice_is_asked_for_once_in_a_while_and_shown(void **state) {
    nb_test_world *w = *state;
    int ends[2];
    char bytes[4] = "";
    assert_int_equal(0, pipe(ends));
    w->admin_commands_fd = ends[1];
    w->before = nb_test_leaks_begin();
    nb_test_world_open(w, 1);
    (void)page(w, "/advice.json", 200);
    assert_true(shows(w, "\"state\":\"asked\""));
    (void)page(w, "/advice.json", 200);
    assert_int_equal(1, read(ends[0], bytes, sizeof bytes));
    assert_string_equal("a", bytes);
    assert_status(NB_OK, nb_server_admin_advice(w->server, NB_SLICE("{\"advice\":[1]}")));
    assert_status(NB_OK, nb_server_admin_advice(w->server, NB_SLICE("{\"advice\":[2]}")));
    (void)page(w, "/advice.json", 200);
    assert_true(shows(w, "{\"advice\":[2]}"));
    assert_status(NB_OVER_LIMIT, nb_server_admin_advice(w->server, nb_slice_of(bytes, NB_ADMIN_BODY_BYTES_MAX + 1)));
    nb_test_world_close(w);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void advice_that_nobody_makes_is_an_error(void **state) {
    nb_test_world *w = *state;
    w->before = nb_test_leaks_begin();
    nb_test_world_open(w, 1);
    (void)page(w, "/advice.json", 200);
    assert_true(shows(w, "\"error\":"));
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(each_thread_of_a_lane_is_in_the_figures),
        CASE(a_label_with_control_characters_is_one_that_prometheus_reads),
        CASE(pages_answer_while_the_executors_thread_is_kept),
        GUEST_CASE(pages_answer_while_the_executors_thread_is_kept),
        CASE(the_list_says_how_a_page_that_is_not_built_is_made),
        CASE(a_server_whose_executors_have_not_asked_for_anything_is_not_ready),
        CASE(fibers_are_shown_by_their_records),
        GUEST_CASE(fibers_are_shown_by_their_records),
        CASE(an_answer_of_fibers_has_a_bound),
        CASE(readiness_ends_with_drain_and_the_pages_stay),
        CASE(every_stage_of_a_request_is_taken_down_once),
        GUEST_CASE(every_stage_of_a_request_is_taken_down_once),
        CASE(a_response_nobody_reads_is_being_written_until_its_client_leaves),
        CASE(what_is_aborted_counts_as_an_error_and_leaves_nothing_behind),
        CASE(a_connection_is_counted_under_what_it_does),
        CASE(admin_connections_have_a_bound_of_their_own),
        CASE(pages_asked_for_ahead_are_made_one_at_a_time),
        CASE(a_loopback_address_answers_for_no_name_of_others),
        CASE(an_address_for_other_machines_answers_for_every_name),
        CASE(methods_that_are_refused_name_those_of_the_admin_pages),
        CASE(a_stop_cuts_admin_connections_with_the_rest),
        CASE(advice_that_nobody_makes_is_an_error),
        CASE(events_come_until_the_client_leaves),
        GUEST_CASE(events_come_until_the_client_leaves),
        CASE(events_come_while_the_executors_thread_is_kept),
        GUEST_CASE(events_come_while_the_executors_thread_is_kept),
        CASE(event_streams_have_a_bound),
        CASE(a_stop_does_not_wait_for_event_streams),
        CASE(without_a_token_nobody_changes_anything),
        CASE(the_token_is_asked_for_whole),
        CASE(what_is_asked_for_has_to_be_clear),
        CASE(a_request_is_cancelled_by_its_executor),
        CASE(advice_is_asked_for_once_in_a_while_and_shown),
        CASE(commands_go_into_the_pipe_and_their_ends_into_the_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
