/*
 * test_server_descriptors.c - a server in C for which descriptors run out: idle connections make
 * room, the loop does not spin, and some descriptors are left to others. The server runs in a child
 * process that may have few. The clients are here.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

/* --- the server in its process --- */

/* A process with a server. It answers each command, which is a byte. */
typedef struct starved {
    pid_t pid;
    int commands, responses; /* pipes: written, read */
    uint16_t port;
} starved;

typedef struct report {
    uint64_t cpu_us; /* that the process has used so far */
    uint64_t accept_errors, connections_refused, connections;
} report;

static void answer_report(nb_test_world *w, int fd) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    nb_server_counters stats = nb_test_world_counters(w);
    report r = {(uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000, stats.accept_errors,
                stats.connections_refused, stats.connections};
    if (write(fd, &r, sizeof r) != sizeof r) _exit(3);
}

/* What the application could still open. */
static void answer_free(int fd) {
    int opened[64];
    uint64_t count = 0;
    while (count < 64 && (opened[count] = dup(fd)) >= 0)
        count++;
    for (uint64_t i = 0; i < count; i++)
        close(opened[i]);
    if (write(fd, &count, sizeof count) != sizeof count) _exit(3);
}

/* Whether a worker could be started. */
static void answer_channel(nb_test_world *w, int fd) {
    nb_channel *channel;
    uint64_t made = nb_server_channel_create(w->server, 0, &channel) == NB_OK;
    if (made) nb_link_destroy_all(channel->link);
    if (write(fd, &made, sizeof made) != sizeof made) _exit(3);
}

/* A limit is of numbers: those below it that are not taken count, whatever stands open above. */
static void leave_descriptors(unsigned spare) {
    int limit = 0;
    for (unsigned vacant = 0; vacant < spare; limit++)
        vacant += fcntl(limit, F_GETFD) < 0;
    const struct rlimit few = {(rlim_t)limit, (rlim_t)limit};
    if (setrlimit(RLIMIT_NOFILE, &few) < 0) _exit(3);
}

/* known: the server knows from its start how few there are, and keeps some back. */
static void serve_starved(unsigned spare, bool known, int commands, int responses) {
    static nb_test_world w;
    char command;
    nb_test_world_init(&w);
    w.config.shutdown_timeout_ms = 20000;
    w.config.accept_timeout_ms = 20;
    if (known) leave_descriptors(spare);
    nb_test_world_open(&w, 1);
    nb_test_world_settle(&w); /* what threads open at their start and close again must not count */
    if (!known) leave_descriptors(spare);
    if (write(responses, &w.port, sizeof w.port) != sizeof w.port) _exit(3);
    while (read(commands, &command, 1) == 1) {
        if (command == 'r') answer_report(&w, responses);
        if (command == 'g') nb_test_executor_release(w.executors[0]);
        if (command == 'd') nb_server_drain(w.server);
        if (command == 'f') answer_free(responses);
        if (command == 'c') answer_channel(&w, responses);
    }
    w.ended = true;
    nb_server_drain(w.server);
    nb_test_executor_join(w.executors[0]);
    nb_server_join(w.server);
    nb_server_destroy(w.server);
    _exit(0);
}

static starved start_starved(unsigned spare, bool known) {
    int commands[2], responses[2];
    starved s = {0};
    assert_int_equal(0, pipe(commands));
    assert_int_equal(0, pipe(responses));
    s.pid = fork();
    assert_true(s.pid >= 0);
    if (s.pid == 0) {
        close(commands[1]);
        close(responses[0]);
        serve_starved(spare, known, commands[0], responses[1]);
    }
    close(commands[0]);
    close(responses[1]);
    s.commands = commands[1];
    s.responses = responses[0];
    assert_int_equal(sizeof s.port, read(s.responses, &s.port, sizeof s.port));
    return s;
}

static report ask_report(const starved *s) {
    report r;
    assert_int_equal(1, write(s->commands, "r", 1));
    assert_int_equal(sizeof r, read(s->responses, &r, sizeof r));
    return r;
}

static uint64_t ask_number(const starved *s, char command) {
    uint64_t number;
    assert_int_equal(1, write(s->commands, &command, 1));
    assert_int_equal(sizeof number, read(s->responses, &number, sizeof number));
    return number;
}

static uint64_t ask_free(const starved *s) { return ask_number(s, 'f'); }
static bool ask_channel(const starved *s) { return ask_number(s, 'c') == 1; }

static void end_starved(const starved *s) {
    int status;
    close(s->commands);
    assert_int_equal(s->pid, waitpid(s->pid, &status, 0));
    close(s->responses);
    assert_true(WIFEXITED(status));
    assert_int_equal(0, WEXITSTATUS(status));
}

/* --- what it does without descriptors --- */

static void without_a_descriptor_idle_connections_make_room(void **state) {
    nb_test_world *w = *state;
    nb_test_alarm(40);
    starved s = start_starved(5, false);
    nb_test_client clients[20];
    for (int i = 0; i < 20; i++) {
        clients[i] = nb_test_connect(s.port);
        nb_test_world_expect_hello(w, &clients[i]);
    }
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(&clients[0], NULL));
    assert_true(ask_report(&s).accept_errors > 0);
    for (int i = 0; i < 20; i++)
        nb_test_client_close(&clients[i]);
    end_starved(&s);
    free(w->response.body);
}

static void without_a_descriptor_and_all_busy_the_loop_pauses_refuses_and_goes_on(void **state) {
    nb_test_world *w = *state;
    nb_test_alarm(40);
    starved s = start_starved(5, false);
    nb_test_client clients[8];
    for (int i = 0; i < 8; i++) {
        clients[i] = nb_test_connect(s.port);
        assert_true(nb_test_get(&clients[i], "/hold"));
    }
    int64_t start = nb_clock_monotonic_ns();
    report before = ask_report(&s);
    nb_test_world_expect(w, &clients[7], 503, NULL);
    report after = ask_report(&s);
    assert_true(nb_test_since_ms(start) < NB_TEST_PATIENCE_MS / 2);
    assert_true(after.connections_refused >= 1);
    if (after.cpu_us - before.cpu_us > 400000) fail_msg("it spun: %u us", (unsigned)(after.cpu_us - before.cpu_us));
    assert_int_equal(1, write(s.commands, "g", 1));
    nb_test_world_expect(w, &clients[0], 200, "held");
    for (int i = 0; i < 8; i++)
        nb_test_client_close(&clients[i]);
    nb_test_client later = nb_test_connect(s.port);
    nb_test_world_expect_hello(w, &later);
    nb_test_client_close(&later);
    end_starved(&s);
    free(w->response.body);
}

#define CROWD 60

static void connections_leave_some_descriptors_to_others_and_there_are_more_of_them_when_those_are_free(void **state) {
    nb_test_world *w = *state;
    nb_test_alarm(40);
    starved s = start_starved(60, true); /* of some 75 in all an eighth is kept back */
    nb_test_client clients[CROWD];
    unsigned refused = 0, held = 0;
    for (int i = 0; i < CROWD; i++) {
        clients[i] = nb_test_connect(s.port);
        assert_true(nb_test_get(&clients[i], "/hold"));
    }
    while (refused == 0 || ask_report(&s).connections + ask_report(&s).connections_refused < CROWD)
        refused = (unsigned)ask_report(&s).connections_refused;
    assert_in_range(ask_free(&s), 5, 10);
    assert_int_equal(1, write(s.commands, "g", 1));
    for (int i = 0; i < CROWD; i++) {
        assert_true(nb_test_read(&clients[i], "GET", &w->response));
        held += w->response.status == 200;
        if (w->response.status != 200) assert_int_equal(503, w->response.status);
        nb_test_client_close(&clients[i]);
    }
    assert_int_equal(CROWD, held + ask_report(&s).connections_refused);
    while (ask_report(&s).connections > 0) {
    }
    for (int i = 0; i < 3; i++) {
        nb_test_client later = nb_test_connect(s.port);
        nb_test_world_expect_hello(w, &later);
        nb_test_client_close(&later);
    }
    end_starved(&s);
    free(w->response.body);
}

/* A channel in the making has four, and who starts the worker two. */
static void expect_channel_beside_idle(nb_test_world *w, unsigned idle, bool made, unsigned left) {
    nb_test_alarm(40);
    starved s = start_starved(idle, false);
    nb_test_client clients[12], later;
    for (unsigned i = 0; i < idle; i++) {
        clients[i] = nb_test_connect(s.port);
        nb_test_world_expect_hello(w, &clients[i]);
    }
    /* The last descriptor's taker ends nobody. */
    assert_int_equal(idle, ask_report(&s).connections);
    assert_int_equal(made, ask_channel(&s));
    assert_int_equal(left, ask_report(&s).connections);
    later = nb_test_connect(s.port); /* nobody is accepted for a moment only */
    nb_test_world_expect_hello(w, &later);
    nb_test_client_close(&later);
    for (unsigned i = 0; i < idle; i++)
        nb_test_client_close(&clients[i]);
    end_starved(&s);
    free(w->response.body);
    w->response.body = NULL;
}

static void for_a_worker_idle_connections_make_room_where_they_are_enough(void **state) {
    expect_channel_beside_idle(*state, 12, true, 6);
    expect_channel_beside_idle(*state, 5, false, 5);
}

static void draining_while_there_is_no_descriptor_does_not_spin(void **state) {
    nb_test_world *w = *state;
    nb_test_alarm(40);
    starved s = start_starved(3, false);
    nb_test_client clients[6];
    for (int i = 0; i < 6; i++) {
        clients[i] = nb_test_connect(s.port);
        assert_true(nb_test_get(&clients[i], "/hold"));
    }
    while (ask_report(&s).accept_errors == 0) {
    }
    assert_int_equal(1, write(s.commands, "d", 1));
    /* Never accepted: the listener's end. */
    assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(&clients[5], NULL));
    report before = ask_report(&s);
    assert_false(nb_test_readable(&clients[0], 400));
    report after = ask_report(&s);
    if (after.cpu_us - before.cpu_us > 150000)
        fail_msg("it spun: %u us of 400000", (unsigned)(after.cpu_us - before.cpu_us));
    assert_int_equal(1, write(s.commands, "g", 1));
    nb_test_world_expect(w, &clients[0], 200, "held");
    for (int i = 0; i < 6; i++)
        nb_test_client_close(&clients[i]);
    end_starved(&s);
    free(w->response.body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(without_a_descriptor_idle_connections_make_room),
        CASE(without_a_descriptor_and_all_busy_the_loop_pauses_refuses_and_goes_on),
        CASE(connections_leave_some_descriptors_to_others_and_there_are_more_of_them_when_those_are_free),
        CASE(for_a_worker_idle_connections_make_room_where_they_are_enough),
        CASE(draining_while_there_is_no_descriptor_does_not_spin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
