/*
 * test_net.c - listening, accepting, reading and writing on real sockets of this machine. Includes
 * its .c so that accept4 can be made to fail with each errno of accept(2).
 */
#define _GNU_SOURCE 1

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Errors accept is to fail with before it works again: the table's, then what follows it for
   ever. */
static int accept_errors[256], accept_failures, accept_then;

static int faulty_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
    if (accept_failures > 0) {
        errno = accept_errors[--accept_failures];
        return -1;
    }
    if (accept_then != 0) {
        errno = accept_then;
        return -1;
    }
    return accept4(fd, address, size, flags);
}

#define accept4 faulty_accept4
#include "os/net.c"
#undef accept4

enum { PATIENCE_MS = 60000 };

static void wait_readable(int fd) {
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    assert_int_equal(1, poll(&waited, 1, PATIENCE_MS));
}

static void wait_writable(int fd) {
    struct pollfd waited = {.fd = fd, .events = POLLOUT};
    assert_int_equal(1, poll(&waited, 1, PATIENCE_MS));
}

static bool ipv6_works(void) {
    int fd;
    uint16_t port;
    if (nb_net_listen_tcp("::1", 0, 1, &fd, &port) != NB_OK) return false;
    close(fd);
    return true;
}

static int connect_ipv4(uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&to, sizeof to));
    return fd;
}

static int connect_ipv6(uint16_t port) {
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&to, sizeof to));
    return fd;
}

static int connect_unix(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&to, sizeof to));
    return fd;
}

static uint16_t local_port(int fd) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    assert_int_equal(0, getsockname(fd, (struct sockaddr *)&address, &size));
    return port_of(&address);
}

static void assert_private_and_nonblocking(int fd) {
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static int option(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    assert_int_equal(0, getsockopt(fd, level, name, &value, &size));
    return value;
}

typedef struct world {
    int listener, client, served;
    uint16_t port;
    nb_peer peer;
} world;

/* A listener, a client and the accepted socket, over TCP on 127.0.0.1. */
static int setup(void **state) {
    static world w;
    w = (world){.served = -1};
    accept_failures = accept_then = 0;
    assert_status(NB_OK, nb_net_listen_tcp("127.0.0.1", 0, 16, &w.listener, &w.port));
    w.client = connect_ipv4(w.port);
    wait_readable(w.listener);
    assert_status(NB_OK, nb_net_accept(w.listener, &w.served, &w.peer));
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    world *w = *state;
    close(w->listener);
    if (w->client >= 0) close(w->client);
    if (w->served >= 0) close(w->served);
    return 0;
}

/* --- listening on TCP --- */

static void port_0_gives_the_port_the_kernel_chose(void **state) {
    (void)state;
    int fd;
    uint16_t port = 0;
    assert_status(NB_OK, nb_net_listen_tcp("127.0.0.1", 0, 16, &fd, &port));
    assert_int_not_equal(0, port);
    assert_int_equal(local_port(fd), port);
    assert_private_and_nonblocking(fd);
    close(fd);
}

static void a_port_in_use_is_an_error_of_the_system(void **state) {
    world *w = *state;
    int fd = -5;
    uint16_t port = 7;
    assert_status(NB_SYSTEM, nb_net_listen_tcp("127.0.0.1", w->port, 16, &fd, &port));
    assert_int_equal(EADDRINUSE, errno);
    assert_int_equal(-5, fd);
    assert_int_equal(7, port);
}

static void only_numeric_addresses_are_taken(void **state) {
    (void)state;
    static const char *const wrong[] = {"localhost", "1.2.3.4.5", "[::1]", "127.0.0.1:80", "::g", "", "256.1.1.1"};
    int fd;
    uint16_t port;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_status(NB_INVALID, nb_net_listen_tcp(wrong[i], 0, 16, &fd, &port));
    }
}

static void an_address_of_another_machine_cannot_be_bound(void **state) {
    (void)state;
    int fd;
    uint16_t port;
    assert_status(NB_SYSTEM, nb_net_listen_tcp("192.0.2.1", 0, 16, &fd, &port)); /* RFC 5737 */
    assert_int_equal(EADDRNOTAVAIL, errno);
}

static void all_of_ipv6_leaves_the_port_of_ipv4_free(void **state) {
    (void)state;
    int v6, v4;
    uint16_t port, same;
    if (!ipv6_works()) skip();
    assert_status(NB_OK, nb_net_listen_tcp("::", 0, 16, &v6, &port));
    assert_status(NB_OK, nb_net_listen_tcp("0.0.0.0", port, 16, &v4, &same));
    assert_int_equal(port, same);
    close(v6);
    close(v4);
}

/* SO_REUSEADDR: a connection in TIME_WAIT does not keep the next server from its port. */
static void a_port_just_left_can_be_listened_on_again(void **state) {
    world *w = *state;
    char byte;
    size_t moved;
    uint16_t port;
    close(w->served);
    w->served = -1;
    wait_readable(w->client);
    assert_status(NB_EOF, nb_net_read(w->client, &byte, 1, &moved));
    close(w->client);
    close(w->listener);
    w->client = -1;
    assert_status(NB_OK, nb_net_listen_tcp("127.0.0.1", w->port, 16, &w->listener, &port));
    assert_int_equal(w->port, port);
}

/* --- listening on UNIX sockets --- */

static char folder[64], path[100];

static void make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/nb-test-net-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
}

static void remove_folder(void) {
    unlink(path);
    assert_int_equal(0, rmdir(folder));
}

static mode_t mode_of_path(void) {
    struct stat found;
    assert_int_equal(0, stat(path, &found));
    assert_true(S_ISSOCK(found.st_mode));
    return found.st_mode & 0777;
}

static void a_unix_socket_has_the_mode_asked_for_or_the_umasks(void **state) {
    (void)state;
    int fd;
    make_folder();
    assert_status(NB_OK, nb_net_listen_unix(path, 0600, 16, &fd));
    assert_int_equal(0600, mode_of_path());
    assert_private_and_nonblocking(fd);
    close(fd);
    unlink(path);
    mode_t before = umask(0027);
    nb_status status = nb_net_listen_unix(path, 0, 16, &fd);
    umask(before);
    assert_status(NB_OK, status);
    assert_int_equal(0750, mode_of_path());
    close(fd);
    remove_folder();
}

static void a_unix_client_has_no_address_and_no_port(void **state) {
    (void)state;
    int listener, fd;
    nb_peer peer = {"junk", 9};
    make_folder();
    assert_status(NB_OK, nb_net_listen_unix(path, 0, 16, &listener));
    assert_status(NB_AGAIN, nb_net_accept(listener, &fd, NULL));
    int client = connect_unix(path);
    assert_status(NB_OK, nb_net_accept(listener, &fd, &peer));
    assert_string_equal("", peer.address);
    assert_int_equal(0, peer.port);
    assert_private_and_nonblocking(fd);
    close(client);
    close(fd);
    close(listener);
    remove_folder();
}

static void a_socket_file_nobody_listens_on_is_replaced(void **state) {
    (void)state;
    int fd;
    make_folder();
    assert_status(NB_OK, nb_net_listen_unix(path, 0, 16, &fd));
    close(fd);
    assert_status(NB_OK, nb_net_listen_unix(path, 0, 16, &fd));
    close(connect_unix(path));
    close(fd);
    remove_folder();
}

static void a_live_socket_is_left_alone_even_when_its_queue_is_full(void **state) {
    (void)state;
    int first, second = -5, waiting;
    make_folder();
    assert_status(NB_OK, nb_net_listen_unix(path, 0, 0, &first));
    for (int i = 0; i < 3; i++) {
        assert_status(NB_EXISTS, nb_net_listen_unix(path, 0, 0, &second));
        assert_int_equal(-5, second);
    }
    while (nb_net_accept(first, &waiting, NULL) == NB_OK)
        close(waiting);
    close(connect_unix(path)); /* fails when the probes took the file away */
    close(first);
    remove_folder();
}

static void a_path_of_something_else_is_left_alone(void **state) {
    (void)state;
    int fd;
    struct stat found;
    make_folder();
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    close(file);
    assert_status(NB_SYSTEM, nb_net_listen_unix(path, 0, 16, &fd));
    assert_int_equal(EEXIST, errno);
    assert_int_equal(0, stat(path, &found));
    assert_true(S_ISREG(found.st_mode));
    unlink(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int datagrams = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(0, bind(datagrams, (struct sockaddr *)&address, sizeof address));
    assert_status(NB_SYSTEM, nb_net_listen_unix(path, 0, 16, &fd));
    assert_int_equal(EEXIST, errno);
    close(datagrams);
    remove_folder();
}

static void impossible_paths_are_refused(void **state) {
    (void)state;
    int fd;
    char longest[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_status(NB_OVER_LIMIT, nb_net_listen_unix(longest, 0, 16, &fd));
    assert_status(NB_INVALID, nb_net_listen_unix("", 0, 16, &fd));
    assert_status(NB_SYSTEM, nb_net_listen_unix("/nonexistent/folder/socket", 0, 16, &fd));
    assert_int_equal(ENOENT, errno);
}

/* --- accepting --- */

static void an_accepted_connection_is_described_and_ready_for_use(void **state) {
    world *w = *state;
    assert_string_equal("127.0.0.1", w->peer.address);
    assert_int_equal(local_port(w->client), w->peer.port);
    assert_private_and_nonblocking(w->served);
    assert_int_not_equal(0, option(w->served, IPPROTO_TCP, TCP_NODELAY));
}

static void nobody_waiting_is_again(void **state) {
    world *w = *state;
    int fd = -5;
    assert_status(NB_AGAIN, nb_net_accept(w->listener, &fd, NULL));
    assert_int_equal(-5, fd);
}

static void an_ipv6_client_is_described(void **state) {
    (void)state;
    int listener, fd;
    uint16_t port;
    nb_peer peer;
    if (!ipv6_works()) skip();
    assert_status(NB_OK, nb_net_listen_tcp("::1", 0, 16, &listener, &port));
    int client = connect_ipv6(port);
    wait_readable(listener);
    assert_status(NB_OK, nb_net_accept(listener, &fd, &peer));
    assert_string_equal("::1", peer.address);
    assert_int_equal(local_port(client), peer.port);
    assert_int_not_equal(0, option(fd, IPPROTO_TCP, TCP_NODELAY));
    close(client);
    close(fd);
    close(listener);
}

static void an_ipv4_client_of_an_ipv6_listener_is_described_as_ipv4(void **state) {
    (void)state;
    if (!ipv6_works()) skip();
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    int listener = socket(AF_INET6, SOCK_STREAM, 0), fd;
    nb_peer peer;
    assert_int_equal(0, setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)));
    assert_int_equal(0, bind(listener, (struct sockaddr *)&any, sizeof any));
    assert_int_equal(0, listen(listener, 4));
    int client = connect_ipv4(local_port(listener));
    wait_readable(listener);
    assert_status(NB_OK, nb_net_accept(listener, &fd, &peer));
    assert_string_equal("127.0.0.1", peer.address);
    close(client);
    close(fd);
    close(listener);
}

static void the_longest_addresses_fit(void **state) {
    (void)state;
    struct sockaddr_storage storage = {0};
    struct sockaddr_in6 *address = (struct sockaddr_in6 *)&storage;
    nb_peer peer;
    address->sin6_family = AF_INET6;
    address->sin6_port = htons(65535);
    memset(&address->sin6_addr, 0xfe, sizeof address->sin6_addr);
    address->sin6_scope_id = UINT32_MAX;
    nb_net_describe(&storage, &peer);
    assert_string_equal("fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe%4294967295", peer.address);
    assert_int_equal(65535, peer.port);
    storage = (struct sockaddr_storage){.ss_family = AF_INET};
    ((struct sockaddr_in *)&storage)->sin_addr.s_addr = 0xffffffff;
    nb_net_describe(&storage, &peer);
    assert_string_equal("255.255.255.255", peer.address);
}

static void connections_that_died_waiting_are_skipped(void **state) {
    world *w = *state;
    static const int dead[] = {EINTR,       ECONNABORTED, EPROTO,       EPERM,  ENETDOWN,
                               ENETUNREACH, EHOSTDOWN,    EHOSTUNREACH, ENONET, ENOPROTOOPT};
    int fd;
    accept_failures = sizeof dead / sizeof dead[0];
    memcpy(accept_errors, dead, sizeof dead);
    int client = connect_ipv4(w->port);
    wait_readable(w->listener);
    assert_status(NB_OK, nb_net_accept(w->listener, &fd, NULL));
    assert_int_equal(0, accept_failures);
    close(fd);
    close(client);
}

static void a_flood_of_dead_connections_gives_the_caller_a_turn(void **state) {
    world *w = *state;
    int fd = -5;
    accept_then = ECONNABORTED;
    assert_status(NB_AGAIN, nb_net_accept(w->listener, &fd, NULL));
    assert_int_equal(-5, fd);
}

static void errors_of_the_listener_are_told(void **state) {
    world *w = *state;
    static const int own[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM, EBADF, EINVAL, EOPNOTSUPP};
    int fd = -5;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        accept_then = own[i];
        assert_status(NB_SYSTEM, nb_net_accept(w->listener, &fd, NULL));
        assert_int_equal(own[i], errno);
    }
    assert_int_equal(-5, fd);
}

/* --- reading and writing --- */

static void a_read_gives_what_is_there_then_again_then_the_end(void **state) {
    world *w = *state;
    char bytes[16];
    size_t moved = 77;
    assert_status(NB_AGAIN, nb_net_read(w->served, bytes, sizeof bytes, &moved));
    assert_int_equal(77, moved);
    assert_int_equal(5, write(w->client, "hello", 5));
    wait_readable(w->served);
    assert_status(NB_OK, nb_net_read(w->served, bytes, sizeof bytes, &moved));
    assert_int_equal(5, moved);
    assert_memory_equal("hello", bytes, 5);
    nb_net_finish(w->client);
    wait_readable(w->served);
    assert_status(NB_EOF, nb_net_read(w->served, bytes, sizeof bytes, &moved));
    assert_int_equal(1, write(w->served, "x", 1)); /* the other direction is still open */
    wait_readable(w->client);
    assert_status(NB_OK, nb_net_read(w->client, bytes, sizeof bytes, &moved));
}

static void parts_are_written_in_order_and_a_full_socket_is_again(void **state) {
    world *w = *state;
    static char big[65536];
    char bytes[16];
    size_t moved = 0, total = 0;
    nb_status status;
    const struct iovec parts[] = {{"one ", 4}, {"", 0}, {"two", 3}};
    assert_status(NB_OK, nb_net_writev(w->served, parts, 3, &moved));
    assert_int_equal(7, moved);
    wait_readable(w->client);
    assert_int_equal(7, read(w->client, bytes, sizeof bytes));
    assert_memory_equal("one two", bytes, 7);
    const struct iovec filling = {big, sizeof big};
    while ((status = nb_net_writev(w->served, &filling, 1, &moved)) == NB_OK)
        total += moved;
    assert_status(NB_AGAIN, status);
    for (size_t got = 0; got < total;) {
        ssize_t size = read(w->client, big, sizeof big);
        assert_true(size > 0);
        got += (size_t)size;
    }
    wait_writable(w->served);
    assert_status(NB_OK, nb_net_writev(w->served, &filling, 1, &moved));
}

static void more_parts_than_the_kernel_takes_are_a_short_write(void **state) {
    world *w = *state;
    static struct iovec parts[IOV_MAX + 50];
    size_t moved = 0;
    for (int i = 0; i < IOV_MAX + 50; i++)
        parts[i] = (struct iovec){"x", 1};
    assert_status(NB_OK, nb_net_writev(w->served, parts, IOV_MAX + 50, &moved));
    assert_int_equal(IOV_MAX, moved);
}

static void a_reset_is_econnreset_for_the_peer(void **state) {
    world *w = *state;
    char byte;
    size_t moved;
    nb_net_close(w->served, true);
    w->served = -1;
    wait_readable(w->client);
    assert_status(NB_SYSTEM, nb_net_read(w->client, &byte, 1, &moved));
    assert_int_equal(ECONNRESET, errno);
}

static void a_plain_close_is_the_end_for_the_peer(void **state) {
    world *w = *state;
    char byte;
    size_t moved;
    nb_net_close(w->served, false);
    w->served = -1;
    wait_readable(w->client);
    assert_status(NB_EOF, nb_net_read(w->client, &byte, 1, &moved));
}

static volatile sig_atomic_t sigpipes;
static void count_sigpipe(int number) {
    (void)number;
    sigpipes = sigpipes + 1;
}

static void writing_to_a_closed_peer_is_epipe_and_no_signal(void **state) {
    world *w = *state;
    const struct iovec parts[] = {{"x", 1}, {"y", 1}};
    size_t moved;
    sigset_t pipes;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &pipes, NULL);
    signal(SIGPIPE, count_sigpipe);
    nb_net_finish(w->served);
    for (int count = 1; count <= 2; count++) {
        assert_status(NB_SYSTEM, nb_net_writev(w->served, parts, count, &moved));
        assert_int_equal(EPIPE, errno);
    }
    assert_int_equal(0, sigpipes);
    assert_int_equal(-1, send(w->served, "x", 1, 0)); /* the counter does count */
    assert_int_equal(1, sigpipes);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_0_gives_the_port_the_kernel_chose),
        CASE(a_port_in_use_is_an_error_of_the_system),
        cmocka_unit_test(only_numeric_addresses_are_taken),
        cmocka_unit_test(an_address_of_another_machine_cannot_be_bound),
        cmocka_unit_test(all_of_ipv6_leaves_the_port_of_ipv4_free),
        CASE(a_port_just_left_can_be_listened_on_again),
        cmocka_unit_test(a_unix_socket_has_the_mode_asked_for_or_the_umasks),
        cmocka_unit_test(a_unix_client_has_no_address_and_no_port),
        cmocka_unit_test(a_socket_file_nobody_listens_on_is_replaced),
        cmocka_unit_test(a_live_socket_is_left_alone_even_when_its_queue_is_full),
        cmocka_unit_test(a_path_of_something_else_is_left_alone),
        cmocka_unit_test(impossible_paths_are_refused),
        CASE(an_accepted_connection_is_described_and_ready_for_use),
        CASE(nobody_waiting_is_again),
        cmocka_unit_test(an_ipv6_client_is_described),
        cmocka_unit_test(an_ipv4_client_of_an_ipv6_listener_is_described_as_ipv4),
        cmocka_unit_test(the_longest_addresses_fit),
        CASE(connections_that_died_waiting_are_skipped),
        CASE(a_flood_of_dead_connections_gives_the_caller_a_turn),
        CASE(errors_of_the_listener_are_told),
        CASE(a_read_gives_what_is_there_then_again_then_the_end),
        CASE(parts_are_written_in_order_and_a_full_socket_is_again),
        CASE(more_parts_than_the_kernel_takes_are_a_short_write),
        CASE(a_reset_is_econnreset_for_the_peer),
        CASE(a_plain_close_is_the_end_for_the_peer),
        CASE(writing_to_a_closed_peer_is_epipe_and_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
