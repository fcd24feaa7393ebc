/*
 * test_server_files.c - downloads through a whole server by each algorithm, over real sockets:
 * order, keep-alive, clients that leave or stop reading, time, drain, stop, hijack, several loops.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "send/algorithms.h"
#include "send/pace.h"
#include "support/world.h"

#if defined(__linux__)
#include "sendfile/sendfile.h"

/* Calls of sendfile(2), and those of a thread that is neither the loop's nor a file worker. */
static _Atomic unsigned sendfiles, by_others;

nb_status true_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
#define nb_os_sendfile true_os_sendfile
#include "sendfile/sendfile_linux.c"
#undef nb_os_sendfile

nb_status nb_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    char name[16] = "";
    (void)pthread_getname_np(pthread_self(), name, sizeof(name));
    atomic_fetch_add(&sendfiles, 1);
    if (strncmp(name, "nb-io", 5) != 0 && strncmp(name, "nb-send", 7) != 0) atomic_fetch_add(&by_others, 1);
    return true_os_sendfile(socket_fd, file_fd, offset, bytes, moved);
}
#endif

/* What is paid for at the rate that a test looks at, and whether that was ever too much: by the
   times the loops go by, since no other clock can tell on a machine that stands still. */
static struct {
    pthread_mutex_t lock;
    uint64_t rate;
    int64_t first_ns, last_ns; /* 0: nothing yet */
    _Atomic uint64_t net;
    uint64_t key;
    unsigned keys, excesses;
    unsigned payments; /* a step that sends, or a head, has one */
} paced = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Bytes of the heads of all responses here: a head is sent whole where less is allowed, and is paid
   for from what comes after. */
enum { HEADS = 4096 };

/* Payments for heads, for what is left of files, and after a socket was full for a moment. */
enum { PAYMENTS_MORE = 24 };

static void pace_anew(uint64_t rate) {
    pthread_mutex_lock(&paced.lock);
    paced.rate = rate;
    paced.first_ns = paced.last_ns = 0;
    paced.key = 0;
    paced.keys = paced.excesses = paced.payments = 0;
    atomic_store(&paced.net, 0);
    pthread_mutex_unlock(&paced.lock);
}

static void note_paid(uint64_t bytes, int64_t now_ns) {
    if (bytes == 0) return;
    paced.payments++;
    if (paced.first_ns == 0) paced.first_ns = now_ns;
    if (paced.last_ns < now_ns) paced.last_ns = now_ns;
    uint64_t allowed_ns = (uint64_t)(paced.last_ns - paced.first_ns + NB_PACE_BURST_NS);
    uint64_t allowed = paced.rate * allowed_ns / NB_NS_PER_S + HEADS;
    if (atomic_fetch_add(&paced.net, bytes) + bytes > allowed) paced.excesses++;
}

static void note_key(uint64_t key) {
    if (paced.key != key) paced.keys++;
    paced.key = key;
}

int64_t true_pace_take(int64_t paid_until_ns, uint64_t rate, uint64_t bytes, int64_t now_ns);
int64_t true_pace_give(int64_t paid_until_ns, uint64_t rate, uint64_t bytes);
uint64_t true_address_pace_reserve(nb_address_paces *paces, uint64_t key, uint64_t most, int64_t now_ns);
void true_address_pace_take(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns);
void true_address_pace_give(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns);
#define nb_pace_take true_pace_take
#define nb_pace_give true_pace_give
#define nb_address_pace_reserve true_address_pace_reserve
#define nb_address_pace_take true_address_pace_take
#define nb_address_pace_give true_address_pace_give
#include "send/pace.c"
#undef nb_pace_take
#undef nb_pace_give
#undef nb_address_pace_reserve
#undef nb_address_pace_take
#undef nb_address_pace_give

int64_t nb_pace_take(int64_t paid_until_ns, uint64_t rate, uint64_t bytes, int64_t now_ns) {
    pthread_mutex_lock(&paced.lock);
    if (rate && rate == paced.rate) note_paid(bytes, now_ns);
    pthread_mutex_unlock(&paced.lock);
    return true_pace_take(paid_until_ns, rate, bytes, now_ns);
}

int64_t nb_pace_give(int64_t paid_until_ns, uint64_t rate, uint64_t bytes) {
    pthread_mutex_lock(&paced.lock);
    if (rate && rate == paced.rate) atomic_fetch_sub(&paced.net, bytes);
    pthread_mutex_unlock(&paced.lock);
    return true_pace_give(paid_until_ns, rate, bytes);
}

uint64_t nb_address_pace_reserve(nb_address_paces *paces, uint64_t key, uint64_t most, int64_t now_ns) {
    pthread_mutex_lock(&paced.lock);
    uint64_t bytes = true_address_pace_reserve(paces, key, most, now_ns);
    note_key(key);
    note_paid(bytes, now_ns);
    pthread_mutex_unlock(&paced.lock);
    return bytes;
}

void nb_address_pace_take(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns) {
    if (!paces) return;
    pthread_mutex_lock(&paced.lock);
    true_address_pace_take(paces, key, bytes, now_ns);
    note_key(key);
    note_paid(bytes, now_ns);
    pthread_mutex_unlock(&paced.lock);
}

void nb_address_pace_give(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns) {
    if (!paces) return;
    pthread_mutex_lock(&paced.lock);
    true_address_pace_give(paces, key, bytes, now_ns);
    atomic_fetch_sub(&paced.net, bytes);
    pthread_mutex_unlock(&paced.lock);
}

static const char *algorithm;
static unsigned io_threads;

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    world.config.sendfile_algorithm = nb_algorithms_find(algorithm);
    world.config.file_send_workers = 3 * io_threads;
    world.config.io_threads = io_threads;
    *state = &world;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

/* More than socket buffers hold, so that a client that does not read is waited for. */
enum { LARGE = 6000000 };
#define LARGE_PATH "/file/6000000"

static void expect_large(nb_test_world *w, nb_test_client *c) {
    nb_test_client_widen(c);
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, LARGE));
}

static nb_test_client *stalled(nb_test_world *w, const char *path) {
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(c, path));
    assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS));
    return c;
}

static void a_download_is_whole_and_the_connection_goes_on(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    static const char *const paths[] = {"/file/1", "/file/16384", "/file/300000", LARGE_PATH};
    static const size_t sizes[] = {1, 16384, 300000, LARGE};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            assert_true(nb_test_get(c, paths[i]));
            nb_test_world_expect(w, c, 200, NULL);
            assert_true(nb_test_is_pattern(&w->response, sizes[i]));
            assert_true(w->response.keep_alive);
        }
    }
    nb_test_world_expect_hello(w, c);
    nb_test_world_close(w);
}

static void responses_behind_a_download_keep_their_order(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET " LARGE_PATH " HTTP/1.1\r\nHost: a\r\n\r\n"
                                     "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
                                     "GET /file/70000 HTTP/1.1\r\nHost: a\r\n\r\n"
                                     "HEAD /file/500 HTTP/1.1\r\nHost: a\r\n\r\n"
                                     "GET /big/200000 HTTP/1.1\r\nHost: a\r\n\r\n"));
    expect_large(w, c);
    nb_test_world_expect(w, c, 200, "hello");
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 70000));
    assert_true(nb_test_read(c, "HEAD", &w->response));
    assert_int_equal(200, w->response.status);
    assert_int_equal(0, w->response.body_bytes);
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 200000));
    nb_test_world_close(w);
}

static void many_clients_at_a_time_each_get_their_own(void **state) {
    nb_test_world *w = *state;
    enum { MANY = 20 };
    nb_test_client *clients[MANY];
    char path[40];
    nb_test_world_open(w, 2);
    for (int i = 0; i < MANY; i++) {
        clients[i] = nb_test_world_client(w);
        (void)snprintf(path, sizeof(path), "/file/%d", 900000 + i);
        assert_true(nb_test_get(clients[i], path));
    }
    for (size_t i = 0; i < MANY; i++) {
        nb_test_world_expect(w, clients[i], 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 900000 + i));
    }
    nb_test_world_close(w);
}

static void a_client_that_resets_in_the_middle_leaves_nothing(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 8; i++)
        nb_test_client_reset(stalled(w, LARGE_PATH));
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, LARGE_PATH));
    expect_large(w, c);
    nb_test_world_close(w);
}

static void a_file_that_is_too_short_cuts_the_connection(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/fileshort/300000"));
    assert_false(nb_test_read(c, "GET", &w->response));
    assert_true(w->response.truncated);
    assert_int_equal(NB_TEST_END_RESET, w->response.end);
    nb_test_world_close(w);
}

/* A client that takes nothing for a whole window is given up, by a reset, whoever waits for it. */
static void a_client_that_stops_reading_is_given_up_in_time(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 200;
    w->config.rate_min = 1000;
    nb_test_world_open(w, 1);
    nb_test_client *c = stalled(w, LARGE_PATH);
    while (nb_test_world_counters(w).timed_out < 1)
        nb_test_world_settle(w);
    size_t dropped = 0;
    assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(c, &dropped));
    assert_true(dropped < LARGE);
    nb_test_world_close(w);
}

/* All workers are with clients that do not read. Where that keeps them, the next download waits for
   one, and it is not that client which is slow. */
static void who_waits_for_a_worker_is_not_too_slow(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 300;
    w->config.file_send_workers = io_threads; /* one each */
    nb_test_world_open(w, 1);
    for (unsigned i = 0; i < io_threads; i++)
        (void)stalled(w, LARGE_PATH);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, LARGE_PATH));
    expect_large(w, c);
    nb_test_world_close(w);
}

static void a_drain_lets_a_download_end(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = stalled(w, LARGE_PATH);
    nb_server_drain(w->server);
    expect_large(w, c);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

static void a_stop_does_not_wait_for_a_client_that_does_not_read(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *clients[6];
    for (int i = 0; i < 6; i++) /* more than there are workers */
        clients[i] = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    for (int i = 0; i < 6; i++)
        assert_true(nb_test_get(clients[i], LARGE_PATH));
    int first = 0; /* with sba the last ones may keep all workers */
    for (int waited_ms = 0; waited_ms < NB_TEST_PATIENCE_MS && !nb_test_readable(clients[first], 10); waited_ms += 10)
        first = (first + 1) % 6;
    assert_true(nb_test_readable(clients[first], 0));
    nb_server_stop_now(w->server);
    for (int i = 0; i < 6; i++)
        assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(clients[i], NULL));
    nb_test_world_close(w);
}

static void a_hijack_behind_a_download_waits_for_it(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(
        nb_test_send_text(c, "GET " LARGE_PATH " HTTP/1.1\r\nHost: a\r\n\r\nGET /hijack HTTP/1.1\r\nHost: a\r\n\r\n"));
    expect_large(w, c);
    nb_test_executor_await(w->executors[0], NB_TEST_HIJACKED, 1);
    char bytes[65536];
    size_t size;
    int fd = nb_test_executor_taken(w->executors[0], bytes, &size);
    assert_int_equal(3, write(fd, "end", 3));
    close(fd);
    size_t dropped = 0;
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, &dropped));
    assert_int_equal(3, dropped);
    nb_test_world_close(w);
}

static void a_client_that_has_finished_sending_gets_its_download(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(c, LARGE_PATH));
    nb_test_client_finish(c);
    expect_large(w, c);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

static void a_fork_in_the_middle_does_no_harm(void **state) {
    nb_test_world *w = *state;
    int status;
    nb_test_world_open(w, 1);
    nb_test_client *c = stalled(w, LARGE_PATH);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        nb_server_abandon(w->server);
        _exit(0);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    expect_large(w, c);
    nb_test_world_close(w);
}

/* --- who does it --- */

static bool has_thread(const char *wanted) {
    bool found = false;
    char path[300], name[32];
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        FILE *comm = fopen(path, "r");
        if (comm && fgets(name, sizeof(name), comm) && strncmp(name, wanted, strlen(wanted)) == 0) found = true;
        if (comm) (void)fclose(comm);
    }
    if (tasks) (void)closedir(tasks);
    return found;
}

static void a_route_chooses_its_algorithm(void **state) {
    nb_test_world *w = *state;
    static const char *const patterns[] = {"/file/3*", NULL};
    /* Of the test before: proc(5) may list for a while what has been joined. */
    while (has_thread("nb-send"))
        usleep(1000);
    w->config.sendfile_algorithm = nb_algorithms_find("enba");
    w->config.file_send_workers = 2;
    w->route.send_by.algorithm = nb_algorithms_find("auto");
    nb_test_world_open_routed(w, 1, patterns);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/file/300000"));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 300000));
    assert_false(has_thread("nb-send")); /* just written, and so in memory */
    assert_true(nb_test_get(c, "/file/400000"));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 400000));
    while (!has_thread("nb-send")) /* proc(5) may miss one while others end */
        nb_test_world_settle(w);
    nb_test_world_close(w);
}

#if defined(__linux__)
/* An executor that is never idle attends to the loop with Ruby's lock: others would wait for its
   downloads. */
static void no_download_is_sent_by_a_thread_that_holds_a_lock(void **state) {
    nb_test_world *w = *state;
    w->options.guest = w->options.locked = true;
    nb_test_world_open(w, 1);
    atomic_store(&sendfiles, 0);
    atomic_store(&by_others, 0);
    nb_test_client *c = nb_test_world_client(w);
    do {
        assert_true(nb_test_get(c, "/file/400000"));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 400000));
    } while (nb_test_executor_count(w->executors[0], NB_TEST_GUEST) < 1000);
    assert_true(atomic_load(&sendfiles) > 0);
    assert_int_equal(0, atomic_load(&by_others));
    nb_test_world_close(w);
}
#endif

/* --- rates --- */

static void fetch(nb_test_world *w, nb_test_client **clients, int count, size_t bytes) {
    char path[40];
    (void)snprintf(path, sizeof(path), "/file/%zu", bytes);
    for (int i = 0; i < count; i++)
        assert_true(nb_test_get(clients[i], path));
    for (int i = 0; i < count; i++) {
        nb_test_world_expect(w, clients[i], 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, bytes));
    }
}

/* All was paid for, heads too, in steps that were worth their work. At no time was more than a
   burst beyond what the loops' own clock allowed. */
static void expect_paced(nb_test_world *w, uint64_t bytes, unsigned keys) {
    /* What a worker did not need is given back when it returns. */
    while (atomic_load(&paced.net) > bytes + HEADS)
        nb_test_world_settle(w);
    pthread_mutex_lock(&paced.lock);
    unsigned excesses = paced.excesses, seen = paced.keys, payments = paced.payments;
    uint64_t least = paced.rate * NB_PACE_LEAST_NS / NB_NS_PER_S;
    pthread_mutex_unlock(&paced.lock);
    assert_in_range(payments, 1, bytes / least + PAYMENTS_MORE);
    assert_in_range(atomic_load(&paced.net), bytes, bytes + HEADS);
    assert_int_equal(0, excesses);
    assert_int_equal(keys, seen);
}

static void a_rate_is_kept_and_who_is_paced_is_not_too_slow(void **state) {
    nb_test_world *w = *state;
    static const char *const patterns[] = {"/file/*", NULL};
    w->config.body_timeout_ms = 100;
    w->config.rate_min = 10000000; /* which no paced client reaches */
    w->route.send_by = (nb_send_by){.rate = 1000000, .algorithm = nb_algorithms_find(algorithm)};
    nb_test_world_open_routed(w, 1, patterns);
    nb_test_client *c = nb_test_world_client(w);
    pace_anew(w->route.send_by.rate);
    fetch(w, &c, 1, 300000);
    expect_paced(w, 300000, 0);
    nb_test_world_close(w);
}

static void the_rate_of_an_address_is_all_its_connections(void **state) {
    nb_test_world *w = *state;
    w->config.address_rate = 2000000;
    nb_test_world_open(w, 1);
    nb_test_client *clients[4];
    for (int i = 0; i < 4; i++)
        clients[i] = nb_test_world_client(w);
    pace_anew(w->config.address_rate);
    fetch(w, clients, 4, 100000);
    expect_paced(w, 400000, 1);
    assert_true(nb_test_get(clients[0], "/big/3000000")); /* no file */
    nb_test_world_expect(w, clients[0], 200, NULL);
    expect_paced(w, 400000, 1);
    nb_test_world_close(w);
}

static void clients_that_do_not_read_hold_up_nobody(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *slow[8];
    for (int i = 0; i < 8; i++)
        slow[i] = stalled(w, LARGE_PATH);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, LARGE_PATH));
    expect_large(w, c);
    for (int i = 0; i < 8; i++)
        expect_large(w, slow[i]);
    nb_test_world_close(w);
}

int main(void) {
    nb_test_alarm(300);
    static const char *const names[] = {"auto", "eba", "enba", "sba"};
    const struct CMUnitTest tests[] = {
        CASE(a_download_is_whole_and_the_connection_goes_on),
        CASE(responses_behind_a_download_keep_their_order),
        CASE(many_clients_at_a_time_each_get_their_own),
        CASE(a_client_that_resets_in_the_middle_leaves_nothing),
        CASE(a_file_that_is_too_short_cuts_the_connection),
        CASE(a_client_that_stops_reading_is_given_up_in_time),
        CASE(who_waits_for_a_worker_is_not_too_slow),
        CASE(a_drain_lets_a_download_end),
        CASE(a_stop_does_not_wait_for_a_client_that_does_not_read),
        CASE(a_hijack_behind_a_download_waits_for_it),
        CASE(a_client_that_has_finished_sending_gets_its_download),
        CASE(a_fork_in_the_middle_does_no_harm),
        CASE(a_rate_is_kept_and_who_is_paced_is_not_too_slow),
        CASE(the_rate_of_an_address_is_all_its_connections),
        /* The last: the workers of sba stay with them. */
        CASE(clients_that_do_not_read_hold_up_nobody),
    };
    const struct CMUnitTest once[] = {
        CASE(a_route_chooses_its_algorithm),
#if defined(__linux__)
        CASE(no_download_is_sent_by_a_thread_that_holds_a_lock),
#endif
    };
    int failed = 0;
    for (io_threads = 1; io_threads < 3; io_threads++) {
        for (unsigned i = 0; i < (io_threads == 1 ? 4 : 2);
             i++) { /* several loops: one that runs on the loop, one that gives it to workers */
            char title[40];
            algorithm = names[i];
            (void)snprintf(title, sizeof(title), "%s, %u loops", algorithm, io_threads);
            size_t count = sizeof(tests) / sizeof(*tests) - (strcmp(algorithm, "sba") == 0);
            failed += _cmocka_run_group_tests(title, tests, count, NULL, NULL);
        }
    }
    io_threads = 1;
    algorithm = "auto";
    return failed + cmocka_run_group_tests_name("once", once, NULL, NULL);
}
