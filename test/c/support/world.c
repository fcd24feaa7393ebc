/*
 * world.c - see world.h.
 */
#include "support/world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "responses/document_roots.h"
#include "os/clock.h"

/* No machine stands still for so long while a client of a test has yet to send, or to read, what it
   will. */
#define NO_MACHINE_MS 600000

void nb_test_world_init(nb_test_world *world) {
    memset(world, 0, sizeof *world);
    nb_server_config_default(&world->config);
    world->config.spool_directory = "/tmp";
    world->config.header_timeout_ms = world->config.body_timeout_ms = NO_MACHINE_MS;
    world->config.idle_timeout_ms = world->config.shutdown_timeout_ms = NO_MACHINE_MS;
    world->config.answer_asterisk = 1;                     /* what a test asks of the loop alone */
    const char *io_threads = getenv("NB_TEST_IO_THREADS"); /* the whole suite with several loops */
    if (io_threads) world->config.io_threads = (uint32_t)atoi(io_threads);
    world->before = nb_test_leaks_begin();
}

int nb_test_world_setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    *state = &world;
    return 0;
}

static void add_routes(nb_test_world *world, const char *const patterns[]) {
    for (uint16_t i = 0, number = 0; patterns[i]; i++) {
        nb_slice pattern = {patterns[i], strlen(patterns[i])};
        assert_status(NB_OK, nb_server_route_add(world->server, pattern, world->route, &number));
        assert_int_equal(i + 1, number);
    }
}

void nb_test_world_open(nb_test_world *world, unsigned executors) {
    nb_test_world_open_routed(world, executors, (const char *const[]){NULL});
}

static void add_lane(nb_test_world *world, unsigned behind) {
    uint16_t lane;
    if (world->lane_threads == 0) return;
    assert_status(NB_OK, nb_server_lane_add(world->server, world->lane_threads, world->lane_queue, &lane));
    assert_int_equal(1, lane);
    if (world->lane_learns) assert_status(NB_OK, nb_server_learn_lanes(world->server, lane));
    for (unsigned i = 0; i < world->lane_threads; i++)
        assert_status(NB_OK, nb_server_lane_channel_add(world->server, lane, &world->channels[behind + i]));
}

static void start_lane(nb_test_world *world) {
    nb_test_executor_options one_at_a_time = {.credit = 1};
    for (unsigned i = 0; i < world->lane_threads; i++) {
        unsigned number = world->executor_count++;
        world->executors[number] = nb_test_executor_start(world->server, world->channels[number], &one_at_a_time);
    }
}

/* Until then a request waits, and where few may, the next is refused. */
static void await_asked(nb_test_world *world) {
    for (unsigned i = 0; i < world->executor_count; i++) {
        while (atomic_load(&world->channels[i]->board->asked) == 0)
            usleep(1000);
    }
}

void nb_test_world_open_routed(nb_test_world *world, unsigned executors, const char *const patterns[]) {
    nb_test_alarm(40);
    assert_status(NB_OK, nb_server_create(&world->config, &world->server));
    assert_status(NB_OK, nb_server_listen_tcp(world->server, "127.0.0.1", 0, 128, &world->port));
    if (world->proxied) assert_status(NB_OK, nb_server_listener_proxied(world->server, 0));
    add_routes(world, patterns);
    if (world->served) {
        nb_document_roots *roots = nb_server_document_roots(world->server);
        assert_status(NB_OK, nb_document_roots_serve(roots, world->served));
        assert_status(NB_OK, nb_document_roots_allow(roots, world->served));
        assert_status(NB_OK, nb_document_roots_add_accel(roots, NB_SLICE("/in/"), world->served));
        assert_status(NB_OK, nb_document_roots_add_index(roots, NB_SLICE("index.html")));
    }
    if (world->admin_token)
        assert_status(
            NB_OK, nb_server_admin_token(world->server, nb_slice_of(world->admin_token, strlen(world->admin_token))));
    if (world->admin_commands_fd)
        assert_status(NB_OK, nb_server_admin_commands(world->server, world->admin_commands_fd, true));
    if (world->admin)
        assert_status(NB_OK, nb_server_listen_admin_tcp(world->server,
                                                        world->admin_address ? world->admin_address : "127.0.0.1", 0,
                                                        &world->admin_port));
    if (world->admin_host)
        assert_status(NB_OK,
                      nb_server_admin_host(world->server, nb_slice_of(world->admin_host, strlen(world->admin_host))));
    for (unsigned i = 0; i < executors && !world->config.front; i++)
        assert_status(NB_OK, nb_server_channel_add(world->server, &world->channels[i]));
    add_lane(world, executors);
    assert_status(NB_OK, nb_server_start(world->server));
    for (unsigned i = 0; i < executors; i++) {
        if (world->config.front) {
            nb_test_world_serve(world, nb_test_world_worker(world));
        } else {
            world->executors[i] = nb_test_executor_start(world->server, world->channels[i], &world->options);
            world->executor_count = i + 1;
        }
    }
    if (world->lane_threads == 0) return;
    start_lane(world);
    await_asked(world);
}

unsigned nb_test_world_mute(nb_test_world *world) {
    unsigned worker = world->executor_count++;
    int theirs[NB_LINK_DESCRIPTORS_MAX], ours[NB_LINK_DESCRIPTORS_MAX];
    nb_link *far;
    assert_true(worker < NB_TEST_EXECUTORS_MAX);
    assert_status(NB_OK, nb_server_channel_create(world->server, 0, &world->channels[worker]));
    nb_link *link = world->channels[worker]->link;
    nb_link_descriptors(link, theirs);
    for (int i = 0; i < NB_LINK_DESCRIPTORS(link->count); i++)
        assert_true((ours[i] = fcntl(theirs[i], F_DUPFD_CLOEXEC, 3)) >= 0);
    nb_link_handed_over(link);
    assert_status(NB_OK, nb_link_attach(ours, (unsigned)NB_LINK_DESCRIPTORS(link->count), &far));
    world->far[worker] = &far->channels[0];
    return worker;
}

unsigned nb_test_world_worker(nb_test_world *world) {
    unsigned worker = nb_test_world_mute(world);
    world->executors[worker] = nb_test_executor_start(world->server, world->far[worker], &world->options);
    return worker;
}

void nb_test_world_serve(nb_test_world *world, unsigned worker) {
    assert_status(NB_OK, nb_server_channel_serve(world->server, world->channels[worker], (uint16_t)worker, 0));
}

static void join_executor(nb_test_world *world, unsigned i) {
    if (world->executors[i]) {
        unsigned faults = nb_test_executor_faults(world->executors[i]);
        nb_test_executor_join(world->executors[i]);
        assert_int_equal(0, faults);
    }
    world->executors[i] = NULL;
    if (world->far[i]) nb_link_destroy(world->far[i]->link);
    world->far[i] = NULL;
}

void nb_test_world_kill(nb_test_world *world, unsigned worker) {
    if (world->executors[worker]) nb_test_executor_kill(world->executors[worker]);
    join_executor(world, worker);
}

nb_channel_report nb_test_world_end(nb_test_world *world, unsigned worker) {
    nb_channel_report report;
    nb_server_channel_end(world->server, world->channels[worker], &report);
    world->channels[worker] = NULL;
    return report;
}

nb_channel_report nb_test_world_lose(nb_test_world *world, unsigned worker) {
    nb_test_world_kill(world, worker);
    return nb_test_world_end(world, worker);
}

nb_test_client *nb_test_world_adopt(nb_test_world *world, nb_test_client client) {
    assert_true(client.fd >= 0);
    assert_true(world->client_count < NB_TEST_CLIENTS_MAX);
    nb_test_client *kept = &world->clients[world->client_count++];
    *kept = client;
    return kept;
}

nb_test_client *nb_test_world_client(nb_test_world *world) {
    return nb_test_world_adopt(world, nb_test_connect(world->port));
}

nb_test_client *nb_test_world_admin(nb_test_world *world) {
    return nb_test_world_adopt(world, nb_test_connect(world->admin_port));
}

nb_server_counters nb_test_world_counters(nb_test_world *world) {
    nb_server_counters stats;
    nb_server_counters_read(world->server, &stats);
    return stats;
}

int64_t nb_test_since_ms(int64_t start_ns) { return (nb_clock_monotonic_ns() - start_ns) / NB_NS_PER_MS; }

unsigned nb_test_world_counted(nb_test_world *world, unsigned executor, nb_test_event event) {
    return nb_test_executor_count(world->executors[executor], event);
}

void nb_test_world_settle(nb_test_world *world) {
    nb_test_response response = {0};
    nb_test_client client = nb_test_connect(world->port);
    assert_true(client.fd >= 0);
    for (int i = 0; i < 2; i++) { /* the second turn has seen what the first one's end brought */
        assert_true(nb_test_send_text(&client, "OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n"));
        assert_true(nb_test_read(&client, "OPTIONS", &response));
    }
    free(response.body);
    nb_test_client_close(&client);
}

void nb_test_world_await_queue(nb_test_world *world, uint64_t count) {
    while (nb_test_world_counters(world).queue != count)
        nb_test_world_settle(world);
}

void nb_test_world_expect(nb_test_world *world, nb_test_client *client, int status, const char *body) {
    nb_test_response *response = &world->response;
    if (!nb_test_read(client, "GET", response)) {
        fail_msg("expected a response of %d, %s after \"%.60s\"", status, response->truncated ? "truncated" : "none",
                 response->head);
    }
    if (response->status != status)
        fail_msg("expected %d, got %d: %s", status, response->status, response->body ? response->body : "");
    if (body && !nb_test_body_is(response, body)) fail_msg("expected \"%s\", got \"%.100s\"", body, response->body);
}

void nb_test_expect_report(nb_channel_report report, uint32_t failed, uint32_t cut, uint32_t again) {
    if (report.failed == failed && report.cut == cut && report.again == again) return;
    fail_msg("expected %u failed, %u cut, %u again: got %u, %u, %u", failed, cut, again, report.failed, report.cut,
             report.again);
}

void nb_test_world_expect_hello(nb_test_world *world, nb_test_client *client) {
    assert_true(nb_test_get(client, "/hello"));
    nb_test_world_expect(world, client, 200, "hello");
}

static void close_clients(nb_test_world *world) {
    for (unsigned i = 0; i < world->client_count; i++)
        nb_test_client_close(&world->clients[i]);
    free(world->response.body);
}

void nb_test_world_close(nb_test_world *world) {
    close_clients(world);
    if (!world->ended) nb_server_drain(world->server);
    for (unsigned i = 0; i < world->executor_count; i++)
        join_executor(world, i);
    nb_server_join(world->server);
    assert_false(nb_server_running(world->server));
    if (!world->ended) {
        nb_server_counters stats = nb_test_world_counters(world);
        assert_int_equal(0, stats.connections);
        assert_int_equal(0, stats.queue);
        assert_int_equal(0, stats.spool_bytes);
        assert_int_equal(0, stats.response_bytes);
    }
    if (world->inspect) world->inspect(world->server);
    nb_server_destroy(world->server);
    assert_int_equal(0, nb_test_leaks_end(&world->before));
    nb_test_alarm(0);
}
