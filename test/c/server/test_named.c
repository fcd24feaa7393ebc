/*
 * test_named.c - files that an application names, through a whole server over real sockets: by an
 * open descriptor, by X-Sendfile, by X-Accel-Redirect; what is sent, what is refused and how the
 * log says so, what has to wait for the disk, and want of descriptors.
 */
#include "responses/named.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/downloads.h"
#include "support/folder.h"
#include "support/world.h"

/* Included to read its counters. */
#include "server/server.c"

enum { NOBODY = 65534 };

/* A file system whose missing names only a worker can tell (files/open_files.h). */
#define ELSEWHERE "/dev/shm"

static char folder[NB_TEST_FOLDER_BYTES];
static int log_read = -1, log_write = -1;

static void fill(nb_test_world *world) {
    int ends[2];
    nb_test_write(folder, "a.txt", "0123456789");
    nb_test_make_folder(folder, "docs");
    nb_test_link(folder, "out.txt", "/etc/hostname");
    assert_int_equal(0, mkfifo(nb_test_in(folder, "pipe"), 0644));
    assert_int_equal(0, pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    log_read = ends[0];
    log_write = ends[1];
    world->config.log_fd = log_write;
    world->served = folder;
}

static int setup(void **state) {
    static nb_test_world world;
    nb_test_folder_create(folder);
    nb_test_world_init(&world);
    fill(&world);
    world.before.descriptors = nb_test_descriptors();
    *state = &world;
    return 0;
}

static int setup_elsewhere(void **state) {
    static nb_test_world world;
    if (access(ELSEWHERE, W_OK) != 0) return setup(state);
    memcpy(folder, ELSEWHERE "/nb-named-XXXXXX", sizeof(ELSEWHERE "/nb-named-XXXXXX"));
    assert_non_null(mkdtemp(folder));
    nb_test_world_init(&world);
    fill(&world);
    world.before.descriptors = nb_test_descriptors();
    *state = &world;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    nb_test_folder_remove(folder);
    close(log_read);
    close(log_write);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CASE_ELSEWHERE(name) cmocka_unit_test_setup_teardown(name, setup_elsewhere, teardown)

static void ask(nb_test_client *c, const char *path, const char *fields) {
    char request[1024];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n", path, fields);
    assert_true(nb_test_send_text(c, request));
}

static void expect_logged(const char *text) {
    char line[4096];
    size_t bytes = 0;
    while (bytes < sizeof line - 1 && !(line[bytes] = '\0', strstr(line, text))) {
        ssize_t got = read(log_read, line + bytes, sizeof line - 1 - bytes);
        if (got > 0) {
            bytes += (size_t)got;
        } else {
            usleep(1000); /* the log has a thread of its own; the alarm bounds it */
        }
    }
    assert_true(bytes < sizeof line - 1);
}

static const char *sendfile_path(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "/sendfile%s/%s", folder, name);
    return path;
}

static uint64_t results(const nb_test_world *w, nb_download_result result) {
    return nb_figures_downloads(&w->server->loops.each[0], 0, result);
}

static void a_file_named_in_each_way_is_sent_with_the_applications_fields(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    const char *const paths[] = {sendfile_path("a.txt"), "/accel/in/a.txt", "/accel/in/%61.txt", "/file/300000"};
    for (int i = 0; i < 4; i++) {
        ask(c, paths[i], "");
        nb_test_world_expect(w, c, 200, i < 3 ? "0123456789" : NULL);
        assert_non_null(strstr(w->response.head, "X-Executor: c\r\n"));
        assert_non_null(strstr(w->response.head, "ETag: \""));
        assert_non_null(strstr(w->response.head, "Accept-Ranges: bytes\r\n"));
        assert_null(strstr(w->response.head, "Last-Modified"));
        assert_true(w->response.keep_alive);
    }
    assert_true(nb_test_is_pattern(&w->response, 300000));
    nb_test_world_close(w);
}

static void what_the_request_says_of_the_file_holds(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    const char *const paths[] = {sendfile_path("a.txt"), "/accel/in/a.txt", "/file/10"};
    for (int i = 0; i < 3; i++) {
        ask(c, paths[i], "Range: bytes=2-4\r\n");
        nb_test_world_expect(w, c, 206, i < 2 ? "234" : NULL);
        ask(c, paths[i], "Range: bytes=10-\r\n");
        nb_test_world_expect(w, c, 416, "416 Range Not Satisfiable\n");
        ask(c, paths[i], "If-None-Match: *\r\n");
        nb_test_world_expect(w, c, 304, "");
        ask(c, paths[i], "If-Match: \"other\"\r\n");
        nb_test_world_expect(w, c, 412, "412 Precondition Failed\n");
        assert_true(nb_test_send_text(c, "HEAD ") && nb_test_send_text(c, paths[i]) &&
                    nb_test_send_text(c, " HTTP/1.1\r\nHost: test\r\n\r\n"));
        assert_true(nb_test_read(c, "HEAD", &w->response));
        assert_int_equal(200, w->response.status);
        assert_non_null(strstr(w->response.head, "Content-Length: 10\r\n"));
    }
    assert_int_equal(3, results(w, NB_DOWNLOAD_not_modified));
    nb_test_world_close(w);
}

/* What the named path has behind its "?" is no part of a name; but a file of that name comes first.
 * On a file system that only a worker may ask each look waits. */
static void the_query_of_a_redirect_names_no_file(void **state) {
    nb_test_world *w = *state;
    char path[700], name[301] = "";
    nb_test_write(folder, "a.txt?b", "raw");
    memset(name, 'n', sizeof name - 1);
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    const char *const queries[] = {"sig=1", "", "a?b", "to=/x/../y//", "sig=a%2Fb%zz", "b/c", name};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        snprintf(path, sizeof path, "/accel/in/a.txt?%s", queries[i]);
        ask(c, path, "");
        nb_test_world_expect(w, c, 200, "0123456789");
    }
    ask(c, "/accel/in/a.txt?b", "");
    nb_test_world_expect(w, c, 200, "raw");
    ask(c, "/accel/in/a.txt%3Fb", "");
    nb_test_world_expect(w, c, 200, "raw");
    snprintf(path, sizeof path, "%s?x", sendfile_path("a.txt"));
    const char *const refused[] = {"/accel/in/none?x", "/accel/in/docs?x", "/accel/in?x", "/accel/in/../a.txt?x", path};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ask(c, refused[i], "");
        nb_test_world_expect(w, c, 404, "404 Not Found\n");
    }
    nb_test_world_close(w);
}

typedef struct row {
    const char *path, *reason;
} row;

static void expect_refused(nb_test_world *w, nb_test_client *c, row refused) {
    ask(c, refused.path, "");
    nb_test_world_expect(w, c, 404, "404 Not Found\n");
    assert_null(strstr(w->response.head, "X-Executor"));
    expect_logged(refused.reason);
}

static void what_may_not_be_named_or_is_not_there_is_404_and_the_log_says_why(void **state) {
    nb_test_world *w = *state;
    static const char none[] = "there is no such file",
                      folder_of[] = "it lies in none of the folders of `sendfile { roots }`",
                      no_path[] = "that is no path of a file", unmapped[] = "no `accel` maps the beginning of its path";
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    const row by_accel[] = {{"/accel/in/none", none},
                            {"/accel/out/a.txt", unmapped},
                            {"/accel/in", unmapped},
                            {"/accel/in/%2e%2e/x", no_path},
                            {"/accel/in/docs", "it is a folder"},
                            {"/accel/in/pipe", "it is no file but a device, a socket or a pipe"},
                            {"/accel/in/out.txt", "`symlinks`"},
                            {"/accel/in/a.txt/x", none}};
    for (size_t i = 0; i < sizeof by_accel / sizeof *by_accel; i++)
        expect_refused(w, c, by_accel[i]);
    expect_refused(w, c, (row){"/sendfile/etc/hostname", folder_of});
    expect_refused(w, c, (row){sendfile_path("docs/../a.txt"), no_path});
    expect_refused(w, c, (row){sendfile_path(""), folder_of});
    char beside[512];
    /* A prefix ends where a name ends. */
    snprintf(beside, sizeof beside, "/sendfile%s-private/a.txt", folder);
    expect_refused(w, c, (row){beside, folder_of});
    assert_int_equal(4, results(w, NB_DOWNLOAD_missing));
    assert_int_equal(8, results(w, NB_DOWNLOAD_refused));
    nb_test_world_close(w);
}

/* seteuid is every thread's (nptl(7)). */
static void a_file_that_this_process_may_not_read_is_404_and_the_log_says_who_opens(void **state) {
    nb_test_world *w = *state;
    uid_t user = geteuid();
    assert_int_equal(0, chmod(nb_test_in(folder, "a.txt"), 0));
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    if (user == 0) assert_int_equal(0, seteuid(NOBODY));
    ask(c, sendfile_path("a.txt"), "");
    bool answered = nb_test_read(c, "GET", &w->response);
    if (user == 0) assert_int_equal(0, seteuid(user));
    assert_true(answered);
    assert_int_equal(404, w->response.status);
    expect_logged("the process that listens, which opens it, may not read it");
    assert_int_equal(1, results(w, NB_DOWNLOAD_refused));
    nb_test_world_close(w);
}

static void without_a_descriptor_it_is_503_and_sent_when_there_is_one_again(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    ask(c, "/hello", "");
    nb_test_world_expect(w, c, 200, "hello");
    nb_test_descriptors_exhaust();
    ask(c, "/accel/in/a.txt", "");
    bool answered = nb_test_read(c, "GET", &w->response);
    nb_test_descriptors_free();
    assert_true(answered);
    assert_int_equal(503, w->response.status);
    assert_non_null(strstr(w->response.head, "Retry-After: "));
    ask(c, "/accel/in/a.txt", "");
    nb_test_world_expect(w, c, 200, "0123456789");
    nb_test_world_close(w);
}

static void a_name_that_needs_the_disk_waits_in_its_place_and_a_client_need_not_wait_for_it(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    char missing[512];
    for (int i = 0; i < 20; i++) {
        nb_test_client *c = nb_test_world_client(w);
        snprintf(missing, sizeof missing, "/accel/in/docs/none-%d%s", i, i % 4 > 1 ? "?looked=twice" : "");
        ask(c, missing, "");
        ask(c, "/accel/in/a.txt", "");
        if (i % 2) {
            nb_test_client_reset(c);
            continue;
        }
        nb_test_world_expect(w, c, 404, NULL);
        nb_test_world_expect(w, c, 200, "0123456789");
    }
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_file_named_in_each_way_is_sent_with_the_applications_fields),
        CASE(what_the_request_says_of_the_file_holds),
        CASE(the_query_of_a_redirect_names_no_file),
        CASE_ELSEWHERE(the_query_of_a_redirect_names_no_file),
        CASE(what_may_not_be_named_or_is_not_there_is_404_and_the_log_says_why),
        CASE(a_file_that_this_process_may_not_read_is_404_and_the_log_says_who_opens),
        CASE(without_a_descriptor_it_is_503_and_sent_when_there_is_one_again),
        CASE_ELSEWHERE(a_name_that_needs_the_disk_waits_in_its_place_and_a_client_need_not_wait_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
