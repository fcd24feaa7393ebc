/*
 * test_server_life.c - a server in C over time: timeouts, slow peers, limits of connections and
 * descriptors, drain and stop. Time is the subject here: the settings are tens of milliseconds,
 * and what must not happen yet is asked of the server, not waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/net.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

static int64_t since_ms(int64_t start_ns) { return (nb_clock_monotonic_ns() - start_ns) / NB_NS_PER_MS; }

/* --- timeouts --- */

static void a_head_that_does_not_arrive_in_time_is_408(void **state) {
    nb_test_world *w = *state;
    w->config.header_timeout_ms = 60;
    nb_test_world_open(w, 1);
    int64_t start = nb_clock_monotonic_ns();
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET / HTTP/1.1\r\nHost"));
    nb_test_world_expect(w, c, 408, NULL);
    assert_true(since_ms(start) >= 59);
    assert_false(w->response.keep_alive);
    assert_int_equal(1, nb_test_world_stats(w).timed_out);
    nb_test_world_close(w);
}

/* The time is for the whole head: a byte now and then buys none. */
static void bytes_that_trickle_do_not_extend_the_time_of_a_head(void **state) {
    nb_test_world *w = *state;
    w->config.header_timeout_ms = 80;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    unsigned sent = 0;
    assert_true(nb_test_send_text(c, "GET / HTTP/1.1\r\nX: "));
    while (!nb_test_readable(c, 5) && sent < 2000 && nb_test_send_text(c, "x"))
        sent++;
    assert_true(sent < 2000);
    nb_test_world_expect(w, c, 408, NULL);
    nb_test_world_close(w);
}

static void a_client_that_never_says_anything_is_closed_without_a_word(void **state) {
    nb_test_world *w = *state;
    w->config.header_timeout_ms = 40;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    size_t dropped;
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, &dropped));
    assert_int_equal(0, dropped);
    nb_test_world_close(w);
}

static void an_idle_connection_ends_after_its_time_and_no_sooner(void **state) {
    nb_test_world *w = *state;
    w->config.idle_timeout_ms = 300;
    nb_test_world_open(w, 1);
    nb_test_client *c;
    int64_t start;
    unsigned asked = 0;
    do { /* again, if this thread stood still for longer than it may be idle */
        c = nb_test_world_client(w);
        for (asked = 0; asked < 3; asked++) {
            start = nb_clock_monotonic_ns();
            if (!nb_test_get(c, "/hello") || !nb_test_read(c, "GET", &w->response)) break;
            assert_true(nb_test_body_is(&w->response, "hello"));
        }
    } while (asked < 3 && since_ms(start) > 100);
    assert_int_equal(3, asked);
    size_t dropped;
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, &dropped));
    assert_int_equal(0, dropped);
    assert_true(since_ms(start) >= 250);
    assert_int_equal(0, nb_test_world_stats(w).timed_out);
    nb_test_world_close(w);
}

/* A client whose request has reached the executor. Whoever stands still for longer than a head may
   take connects again. */
static nb_test_client *asked_in_time(nb_test_world *w, const char *path) {
    for (;;) {
        nb_test_client *c = nb_test_world_client(w);
        if (!nb_test_get(c, path)) continue;
        while (!nb_test_readable(c, 1)) {
            if (nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED) > 0) return c;
        }
    }
}

static void no_timeout_runs_while_the_application_works(void **state) {
    nb_test_world *w = *state;
    w->config.header_timeout_ms = w->config.body_timeout_ms = w->config.idle_timeout_ms = 30;
    nb_test_world_open(w, 1);
    nb_test_client *c = asked_in_time(w, "/hold");
    assert_false(nb_test_readable(c, 120));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_world_close(w);
}

static void a_body_that_stands_still_is_408(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 60;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc"));
    nb_test_world_expect(w, c, 408, NULL);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

/* Sends a body in parts of so many bytes, until it is answered. Returns the longest time between
   two of them, or since the last. */
static int64_t drip_body(nb_test_world *w, nb_test_client *c, size_t bytes) {
    const char part[60] = {0};
    int64_t last = nb_clock_monotonic_ns(), longest_ms = 0;
    bool answered = false;
    assert_true(nb_test_send_text(c, "POST /hello HTTP/1.1\r\nHost: test\r\nContent-Length: 1200\r\n\r\n"));
    for (unsigned i = 0; i < 20 && !answered; i++) {
        answered = nb_test_readable(c, 12) || !nb_test_send(c, part, bytes);
        if (since_ms(last) > longest_ms) longest_ms = since_ms(last);
        last = nb_clock_monotonic_ns();
    }
    assert_true(nb_test_read(c, "POST", &w->response));
    return longest_ms;
}

static void a_body_that_moves_too_slowly_is_408_and_one_at_the_rate_is_not(void **state) {
    nb_test_world *w = *state;
    int64_t longest_ms;
    w->config.body_timeout_ms = 100;
    w->config.rate_min = 1000; /* 100 bytes a window */
    nb_test_world_open(w, 1);
    do { /* again, if this thread stood still: then it was too slow */
        longest_ms = drip_body(w, nb_test_world_client(w), 60);
    } while (w->response.status == 408 && longest_ms > 30);
    assert_int_equal(200, w->response.status);
    drip_body(w, nb_test_world_client(w), 3);
    assert_int_equal(408, w->response.status);
    nb_test_world_close(w);
}

static void a_reader_that_takes_nothing_is_cut_off(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 80;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(c, "/big/50000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    assert_int_equal(1, nb_test_world_stats(w).timed_out);
    assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

/* For a second, which is three windows. Tells whether it was cut off, and the longest time between
   two reads. */
static bool read_slowly(nb_test_client *c, int64_t *longest_ms) {
    char block[32768];
    int64_t start = nb_clock_monotonic_ns(), last = start;
    *longest_ms = 0;
    while (since_ms(start) < 1000) {
        const struct timespec pause = {0, 5000000};
        bool cut = recv(c->fd, block, sizeof block, 0) <= 0;
        if (since_ms(last) > *longest_ms) *longest_ms = since_ms(last);
        last = nb_clock_monotonic_ns();
        if (cut) return true;
        nanosleep(&pause, NULL); /* the reader is slow: that is the subject */
    }
    return false;
}

/* A socket buffer of megabytes takes nothing for many windows while a steady reader empties it:
   what it took counts. */
static void a_slow_reader_that_reads_on_is_not_cut_off(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 300;
    w->config.rate_min = 2000; /* 600 bytes a window */
    nb_test_world_open(w, 1);
    int64_t longest_ms;
    bool cut;
    do { /* again, if this thread stood still: then it did not read on */
        nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 65536));
        assert_true(nb_test_get(c, "/big/12000000"));
        cut = read_slowly(c, &longest_ms);
        nb_test_client_reset(c);
    } while (cut && longest_ms > 100);
    assert_false(cut);
    nb_test_world_close(w);
}

/* --- connections --- */

static void at_the_limit_the_connection_idle_longest_makes_room(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[4];
    w->config.connections_max = 3;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 3; i++) {
        clients[i] = nb_test_world_client(w);
        nb_test_world_expect_hello(w, clients[i]);
    }
    clients[3] = nb_test_world_client(w);
    nb_test_world_expect_hello(w, clients[3]);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(clients[0], NULL));
    for (int i = 1; i < 4; i++)
        nb_test_world_expect_hello(w, clients[i]);
    nb_test_world_close(w);
}

static void at_the_limit_with_all_busy_newcomers_wait_for_one_to_end(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[4];
    w->config.connections_max = 3;
    w->config.accept_timeout_ms = 600000;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 4; i++)
        clients[i] = nb_test_world_client(w);
    for (int i = 0; i < 4; i++)
        assert_true(nb_test_get(clients[i], "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    while (nb_test_world_stats(w).connections < 3) {
    }
    assert_int_equal(3, nb_test_world_stats(w).accepted);
    nb_test_client_reset(clients[1]);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 4);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, clients[0], 200, "held");
    nb_test_world_expect(w, clients[2], 200, "held");
    nb_test_world_expect(w, clients[3], 200, "held");
    nb_test_world_close(w);
}

static void who_has_waited_for_a_place_in_vain_is_told_503_and_places_that_are_free_are_taken_at_once(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[3];
    w->config.connections_max = 3;
    w->config.accept_timeout_ms = 20;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 3; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], "/hold"));
    }
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    for (int i = 0; i < 5; i++) {
        nb_test_client *late = nb_test_world_client(w);
        assert_true(nb_test_get(late, "/hello"));
        nb_test_world_expect(w, late, 503, "503 too many connections\n");
        assert_non_null(strstr(w->response.head, "Retry-After: 1\r\n"));
        assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(late, NULL));
    }
    assert_int_equal(5, nb_test_world_stats(w).turned_away);
    nb_test_client_reset(clients[0]);
    while (nb_test_world_stats(w).connections == 3)
        usleep(1000);
    nb_test_client *next = nb_test_world_client(w);
    nb_test_world_expect_hello(w, next);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, clients[1], 200, "held");
    nb_test_world_close(w);
}

/* --- descriptors: the server in a child process of few, the clients here --- */

typedef struct starved {
    pid_t pid;
    int commands, answers;
    uint16_t port;
} starved;

typedef struct report {
    uint64_t cpu_us, accept_errors, turned_away, connections;
} report;

static void answer_report(nb_test_world *w, int fd) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    nb_server_stats stats = nb_test_world_stats(w);
    report r = {(uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000, stats.accept_errors, stats.turned_away,
                stats.connections};
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
static void serve_starved(unsigned spare, bool known, int commands, int answers) {
    static nb_test_world w;
    char command;
    nb_test_world_init(&w);
    w.config.shutdown_timeout_ms = 20000;
    w.config.accept_timeout_ms = 20;
    if (known) leave_descriptors(spare);
    nb_test_world_open(&w, 1);
    nb_test_world_settle(&w); /* what threads open at their start and close again must not count */
    if (!known) leave_descriptors(spare);
    if (write(answers, &w.port, sizeof w.port) != sizeof w.port) _exit(3);
    while (read(commands, &command, 1) == 1) {
        if (command == 'r') answer_report(&w, answers);
        if (command == 'g') nb_test_executor_release(w.executors[0]);
        if (command == 'd') nb_server_drain(w.server);
        if (command == 'f') answer_free(answers);
        if (command == 'c') answer_channel(&w, answers);
    }
    w.ended = true;
    nb_server_drain(w.server);
    nb_test_executor_join(w.executors[0]);
    nb_server_join(w.server);
    nb_server_destroy(w.server);
    _exit(0);
}

static starved start_starved(unsigned spare, bool known) {
    int commands[2], answers[2];
    starved s = {0};
    assert_int_equal(0, pipe(commands));
    assert_int_equal(0, pipe(answers));
    s.pid = fork();
    assert_true(s.pid >= 0);
    if (s.pid == 0) {
        close(commands[1]);
        close(answers[0]);
        serve_starved(spare, known, commands[0], answers[1]);
    }
    close(commands[0]);
    close(answers[1]);
    s.commands = commands[1];
    s.answers = answers[0];
    assert_int_equal(sizeof s.port, read(s.answers, &s.port, sizeof s.port));
    return s;
}

static report ask_report(const starved *s) {
    report r;
    assert_int_equal(1, write(s->commands, "r", 1));
    assert_int_equal(sizeof r, read(s->answers, &r, sizeof r));
    return r;
}

static uint64_t ask_number(const starved *s, char command) {
    uint64_t number;
    assert_int_equal(1, write(s->commands, &command, 1));
    assert_int_equal(sizeof number, read(s->answers, &number, sizeof number));
    return number;
}

static uint64_t ask_free(const starved *s) { return ask_number(s, 'f'); }
static bool ask_channel(const starved *s) { return ask_number(s, 'c') == 1; }

static void end_starved(const starved *s) {
    int status;
    close(s->commands);
    assert_int_equal(s->pid, waitpid(s->pid, &status, 0));
    close(s->answers);
    assert_true(WIFEXITED(status));
    assert_int_equal(0, WEXITSTATUS(status));
}

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
    assert_true(since_ms(start) < NB_TEST_PATIENCE_MS / 2);
    assert_true(after.turned_away >= 1);
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
    while (refused == 0 || ask_report(&s).connections + ask_report(&s).turned_away < CROWD)
        refused = (unsigned)ask_report(&s).turned_away;
    assert_in_range(ask_free(&s), 5, 10);
    assert_int_equal(1, write(s.commands, "g", 1));
    for (int i = 0; i < CROWD; i++) {
        assert_true(nb_test_read(&clients[i], "GET", &w->response));
        held += w->response.status == 200;
        if (w->response.status != 200) assert_int_equal(503, w->response.status);
        nb_test_client_close(&clients[i]);
    }
    assert_int_equal(CROWD, held + ask_report(&s).turned_away);
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

/* --- drain and stop --- */

static void draining_ends_idle_connections_serves_those_under_way_and_refuses_new_ones(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *idle = nb_test_world_client(w), *fresh = nb_test_world_client(w), *busy = nb_test_world_client(w);
    nb_test_world_expect_hello(w, idle);
    assert_true(nb_test_get(busy, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle, NULL));
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(fresh, NULL));
    nb_test_client late = nb_test_connect(w->port);
    assert_int_equal(-1, late.fd);
    assert_int_equal(ECONNREFUSED, errno);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_STOPPED));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, busy, 200, "held");
    assert_false(w->response.keep_alive);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(busy, NULL));
    nb_test_world_close(w);
}

static void a_body_under_way_is_taken_whole_while_draining(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w), *idle = nb_test_world_client(w);
    char half[50000];
    for (size_t i = 0; i < sizeof half; i++)
        half[i] = nb_test_pattern(i);
    assert_true(nb_test_send_text(c, "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n"));
    assert_true(nb_test_send(c, half, sizeof half));
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle, NULL));
    for (size_t i = 0; i < sizeof half; i++)
        half[i] = nb_test_pattern(i + sizeof half);
    assert_true(nb_test_send(c, half, sizeof half));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 100000));
    assert_false(w->response.keep_alive);
    nb_test_world_close(w);
}

static void pipelined_requests_under_way_are_all_answered_while_draining(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w), *idle = nb_test_world_client(w);
    for (int i = 0; i < 3; i++)
        assert_true(nb_test_get(c, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle, NULL));
    nb_test_executor_release(w->executors[0]);
    for (int i = 0; i < 3; i++) {
        nb_test_world_expect(w, c, 200, "held");
        assert_int_equal(i < 2, w->response.keep_alive);
    }
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

/* A server that drains from its first turn on, while a request lies in its backlog. It has no
   executor yet. */
static nb_test_client *open_draining(nb_test_world *w, const char *streamed) {
    uint16_t number;
    nb_test_alarm(40);
    w->config.header_timeout_ms = 60;
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", 0, 16, &w->port));
    if (streamed) {
        const nb_route route = {.stream_input = true};
        nb_slice pattern = {streamed, strlen(streamed)};
        assert_status(NB_OK, nb_server_route_add(w->server, pattern, route, &number));
    }
    assert_status(NB_OK, nb_server_channel_add(w->server, &w->channels[0]));
    nb_test_client *c = nb_test_world_client(w);
    assert_true(streamed ? nb_test_post(c, streamed, 10, false) : nb_test_get(c, "/hold"));
    while (nb_net_unacknowledged(c->fd) > 0) {
    }
    nb_server_drain(w->server);
    assert_status(NB_OK, nb_server_start(w->server));
    return c;
}

static void begin_to_execute(nb_test_world *w) {
    w->executors[0] = nb_test_executor_start(w->server, w->channels[0], &w->options);
    w->executor_count = 1;
}

static void no_timeout_of_a_head_runs_for_a_request_the_drain_itself_has_read(void **state) {
    nb_test_world *w = *state;
    nb_test_client *c = open_draining(w, NULL);
    begin_to_execute(w);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    assert_false(nb_test_readable(c, 120));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    assert_false(w->response.keep_alive);
    nb_test_world_close(w);
}

static void nor_for_a_streamed_one_that_is_queued_then(void **state) {
    nb_test_world *w = *state;
    nb_test_client *c = open_draining(w, "/count");
    assert_false(nb_test_readable(c, 120));
    begin_to_execute(w);
    nb_test_world_expect(w, c, 200, "10 good");
    nb_test_world_close(w);
}

static void what_is_not_done_by_the_shutdown_timeout_is_cut(void **state) {
    nb_test_world *w = *state;
    w->config.shutdown_timeout_ms = 50;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/never"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    int64_t start = nb_clock_monotonic_ns();
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(c, NULL));
    assert_true(since_ms(start) >= 49);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_executor_await(w->executors[0], NB_TEST_STOPPED, 1);
    nb_test_world_close(w);
}

static void stopping_now_cuts_everything_at_once(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    nb_test_client *clients[10];
    static const char *const paths[] = {"/never", "/hold", "/big/90000000", "/late", "/chunked/90000000"};
    for (int i = 0; i < 10; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], paths[i % 5]));
    }
    while (nb_test_world_stats(w).requests < 10)
        nb_test_world_settle(w);
    nb_server_stop_now(w->server);
    for (int i = 0; i < 10; i++)
        assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(clients[i], NULL));
    w->ended = true;
    nb_test_world_close(w);
}

/* Files and bodies that lie in rings when all is cut must not be lost: the world counts
   descriptors. */
static void stopping_now_with_files_on_their_way_loses_none(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 20; i++)
        assert_true(nb_test_get(nb_test_world_client(w), "/file/2000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 5);
    nb_server_stop_now(w->server);
    w->ended = true;
    nb_test_world_close(w);
}

static void a_server_that_never_started_is_destroyed(void **state) {
    (void)state;
    unsigned descriptors = nb_test_descriptors();
    nb_server_config config;
    nb_server *server;
    nb_channel *channel;
    uint16_t port;
    nb_server_config_default(&config);
    assert_status(NB_OK, nb_server_create(&config, &server));
    assert_status(NB_OK, nb_server_listen_tcp(server, "127.0.0.1", 0, 1, &port));
    assert_status(NB_SYSTEM, nb_server_listen_unix(server, "/dev/null", 0, 1));
    assert_status(NB_OK, nb_server_channel_add(server, &channel));
    nb_server_join(server);
    nb_server_destroy(server);
    nb_server_destroy(NULL);
    assert_int_equal(descriptors, nb_test_descriptors());
}

/* The child lives on with nothing of ours: only then does the parent's closing reach the
   clients. */
static void a_forks_child_gives_up_what_it_inherited(void **state) {
    nb_test_world *w = *state;
    int gate[2], ready[2];
    char byte;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_world_expect_hello(w, c);
    assert_int_equal(0, pipe(gate));
    assert_int_equal(0, pipe(ready));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(gate[1]);
        close(c->fd);
        nb_server_abandon(w->server);
        nb_server_destroy(w->server);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(gate[0]);
    assert_int_equal(1, read(ready[0], &byte, 1));
    nb_test_world_expect_hello(w, c);
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_server_join(w->server);
    assert_int_equal(-1, nb_test_connect(w->port).fd);
    int status;
    close(gate[1]);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    close(ready[0]);
    close(ready[1]);
    nb_test_world_close(w);
}

/* --- UNIX sockets --- */

static nb_server *listen_at(const char *path) {
    nb_server_config config;
    nb_server *server;
    nb_server_config_default(&config);
    assert_status(NB_OK, nb_server_create(&config, &server));
    assert_status(NB_OK, nb_server_listen_unix(server, path, 0600, 16));
    return server;
}

static void a_socket_file_is_removed_only_while_it_is_still_ours(void **state) {
    (void)state;
    char directory[] = "/tmp/neverblock-test-XXXXXX", path[64], other[64];
    struct stat found;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/socket", directory);
    snprintf(other, sizeof other, "%s/other", directory);
    nb_server *first = listen_at(path);
    assert_int_equal(0, stat(path, &found));
    assert_int_equal(0600, found.st_mode & 0777);
    nb_server_destroy(first);
    assert_int_equal(-1, stat(path, &found));
    first = listen_at(path);
    assert_int_equal(0, rename(path, other));
    nb_server *second = listen_at(path);
    nb_server_destroy(first);
    assert_int_equal(0, stat(path, &found));
    nb_server_destroy(second);
    assert_int_equal(-1, stat(path, &found));
    unlink(other);
    rmdir(directory);
}

/* For a host with several addresses: it listens at all or at none. */
static void a_listener_is_taken_back_before_the_start_and_the_others_stay(void **state) {
    nb_test_world *w = *state;
    char directory[] = "/tmp/neverblock-test-XXXXXX", path[64];
    struct stat found;
    uint16_t port, kept;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/socket", directory);
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    nb_server_listen_undo(w->server);
    assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", 0, 16, &kept));
    unsigned descriptors = nb_test_descriptors();
    for (int i = 0; i < 100; i++) { /* more than there is room for */
        assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", 0, 16, &port));
        nb_server_listen_undo(w->server);
    }
    assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", port, 16, &port));
    nb_server_listen_undo(w->server);
    assert_status(NB_OK, nb_server_listen_unix(w->server, path, 0, 16));
    nb_server_listen_undo(w->server);
    assert_int_equal(-1, stat(path, &found));
    assert_int_equal(descriptors, nb_test_descriptors());
    assert_status(NB_OK, nb_server_start(w->server));
    nb_server_listen_undo(w->server); /* too late */
    nb_test_client client = nb_test_connect(kept);
    nb_test_client_close(&client);
    nb_server_drain(w->server);
    nb_server_join(w->server);
    nb_server_destroy(w->server);
    w->server = NULL;
    rmdir(directory);
}

static void requests_come_by_unix_sockets_too(void **state) {
    nb_test_world *w = *state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/neverblock-test-%d", (int)getpid());
    nb_test_alarm(40);
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    assert_status(NB_OK, nb_server_listen_unix(w->server, path, 0, 16));
    assert_status(NB_OK, nb_server_channel_add(w->server, &w->channels[0]));
    assert_status(NB_OK, nb_server_start(w->server));
    w->executors[0] = nb_test_executor_start(w->server, w->channels[0], NULL);
    w->executor_count = 1;
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_unix(path)),
                   *goes = nb_test_world_adopt(w, nb_test_connect_unix(path));
    assert_true(nb_test_get(c, "/file/3000000"));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 3000000));
    assert_true(nb_test_get(goes, "/never"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_client_close(goes); /* a UNIX socket tells a close from a half-close */
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_world_close(w);
    assert_int_equal(-1, access(path, F_OK));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_head_that_does_not_arrive_in_time_is_408),
        CASE(bytes_that_trickle_do_not_extend_the_time_of_a_head),
        CASE(a_client_that_never_says_anything_is_closed_without_a_word),
        CASE(an_idle_connection_ends_after_its_time_and_no_sooner),
        CASE(no_timeout_runs_while_the_application_works),
        CASE(a_body_that_stands_still_is_408),
        CASE(a_body_that_moves_too_slowly_is_408_and_one_at_the_rate_is_not),
        CASE(a_reader_that_takes_nothing_is_cut_off),
        CASE(a_slow_reader_that_reads_on_is_not_cut_off),
        CASE(at_the_limit_the_connection_idle_longest_makes_room),
        CASE(at_the_limit_with_all_busy_newcomers_wait_for_one_to_end),
        CASE(who_has_waited_for_a_place_in_vain_is_told_503_and_places_that_are_free_are_taken_at_once),
        CASE(without_a_descriptor_idle_connections_make_room),
        CASE(without_a_descriptor_and_all_busy_the_loop_pauses_refuses_and_goes_on),
        CASE(connections_leave_some_descriptors_to_others_and_there_are_more_of_them_when_those_are_free),
        CASE(for_a_worker_idle_connections_make_room_where_they_are_enough),
        CASE(draining_while_there_is_no_descriptor_does_not_spin),
        CASE(draining_ends_idle_connections_serves_those_under_way_and_refuses_new_ones),
        CASE(a_body_under_way_is_taken_whole_while_draining),
        CASE(pipelined_requests_under_way_are_all_answered_while_draining),
        CASE(no_timeout_of_a_head_runs_for_a_request_the_drain_itself_has_read),
        CASE(nor_for_a_streamed_one_that_is_queued_then),
        CASE(what_is_not_done_by_the_shutdown_timeout_is_cut),
        CASE(stopping_now_cuts_everything_at_once),
        CASE(stopping_now_with_files_on_their_way_loses_none),
        CASE(a_server_that_never_started_is_destroyed),
        CASE(a_forks_child_gives_up_what_it_inherited),
        CASE(a_socket_file_is_removed_only_while_it_is_still_ours),
        CASE(a_listener_is_taken_back_before_the_start_and_the_others_stay),
        CASE(requests_come_by_unix_sockets_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
