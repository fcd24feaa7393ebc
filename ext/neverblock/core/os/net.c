/*
 * net.c - sockets of the server: listening, accepting, reading, writing.
 */
#define _GNU_SOURCE 1 /* accept4 */

#include "os/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/sockios.h>
#include <sys/syscall.h>
#endif

#include "base/assert.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS: SO_NOSIGPIPE instead */
#endif

#ifndef MSG_MORE
#define MSG_MORE 0
#endif

#ifndef IOV_MAX
#define IOV_MAX 1024
#endif

/* Connections that died in the queue are skipped, this many per call. The poller reports the rest
   again. */
enum { ACCEPT_SKIPS_MAX = 64 };

/* What is read of a client that is turned away. */
enum { TURNED_AWAY_READS = 16, TURNED_AWAY_READ_BYTES = 4096 };

/* A vanished client is noticed after two minutes of silence. */
enum { KEEP_ALIVE_IDLE_S = 60, KEEP_ALIVE_INTERVAL_S = 15, KEEP_ALIVE_PROBES = 4 };

static nb_status fail_closing(int fd) {
    int error = errno;
    close(fd);
    errno = error;
    return NB_SYSTEM;
}

#if defined(SOCK_NONBLOCK) && defined(SOCK_CLOEXEC)
static int new_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

static int accept_socket(int listener_fd, struct sockaddr *address, socklen_t *size) {
    return accept4(listener_fd, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static int new_pair(int fds[2]) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds); }
#else
static int prepare(int fd) {
    if (fd < 0) return fd;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return fd;
    (void)fail_closing(fd);
    return -1;
}

static int new_socket(int family) { return prepare(socket(family, SOCK_STREAM, 0)); }

static int accept_socket(int listener_fd, struct sockaddr *address, socklen_t *size) {
    return prepare(accept(listener_fd, address, size));
}

static int new_pair(int fds[2]) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) return -1;
    if (prepare(fds[0]) >= 0) {
        if (prepare(fds[1]) >= 0) return 0;
        (void)fail_closing(fds[0]);
        return -1;
    }
    (void)fail_closing(fds[1]);
    return -1;
}
#endif

#ifdef SO_NOSIGPIPE
static void silence_sigpipe(int fd) { (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int)); }
#else
static void silence_sigpipe(int fd) { (void)fd; }
#endif

static uint16_t port_of(const struct sockaddr_storage *address) {
    if (address->ss_family == AF_INET) return ntohs(((const struct sockaddr_in *)address)->sin_port);
    if (address->ss_family == AF_INET6) return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return 0;
}

/* Accepted sockets inherit these options (socket(7), tcp(7)), so a client costs no call. An idle
   connection is probed, so that one whose client has vanished ends even when we never write to it,
   such as an idle event stream. */
static void set_keep_alive(int fd) {
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
#if defined(TCP_KEEPIDLE) && defined(TCP_KEEPINTVL) && defined(TCP_KEEPCNT)
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){KEEP_ALIVE_IDLE_S}, sizeof(int));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){KEEP_ALIVE_INTERVAL_S}, sizeof(int));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){KEEP_ALIVE_PROBES}, sizeof(int));
#endif
}

static int set_listen_options(int fd, int family) {
    const int on = 1;
    set_keep_alive(fd);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) return -1;
    if (family != AF_INET6) return 0;
    return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
}

static nb_status listen_at(const struct addrinfo *where, int backlog, int *fd, uint16_t *bound_port) {
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    int listener = new_socket(where->ai_family);
    if (listener < 0) return NB_SYSTEM;
    if (set_listen_options(listener, where->ai_family) < 0) return fail_closing(listener);
    if (bind(listener, where->ai_addr, where->ai_addrlen) < 0) return fail_closing(listener);
    if (listen(listener, backlog) < 0) return fail_closing(listener);
    if (getsockname(listener, (struct sockaddr *)&bound, &size) < 0) return fail_closing(listener);
    *fd = listener;
    *bound_port = port_of(&bound);
    return NB_OK;
}

nb_status nb_net_listen_tcp(const char *address, uint16_t port, int backlog, int *fd, uint16_t *bound_port) {
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found;
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    int error = getaddrinfo(address, service, &hints, &found);
    if (error == EAI_MEMORY) return NB_NO_MEMORY;
    if (error != 0) return error == EAI_SYSTEM ? NB_SYSTEM : NB_INVALID;
    nb_status status = listen_at(found, backlog, fd, bound_port);
    int saved = errno;
    freeaddrinfo(found);
    errno = saved;
    return status;
}

/* NB_OK: an existing path may be replaced, as it is a socket without a listener, or gone by now. */
static nb_status probe_taken_path(const struct sockaddr_un *address) {
    struct stat found;
    if (lstat(address->sun_path, &found) < 0) return errno == ENOENT ? NB_OK : NB_SYSTEM;
    if (!S_ISSOCK(found.st_mode)) {
        errno = EEXIST;
        return NB_SYSTEM;
    }
    int probe = new_socket(AF_UNIX);
    if (probe < 0) return NB_SYSTEM;
    int result = connect(probe, (const struct sockaddr *)address, sizeof *address);
    int error = result == 0 ? 0 : errno;
    close(probe);
    if (error == ECONNREFUSED || error == ENOENT) return NB_OK;
    if (error == 0 || error == EAGAIN || error == EINPROGRESS) return NB_EXISTS;
    errno = error == EPROTOTYPE ? EEXIST : error;
    return NB_SYSTEM;
}

static nb_status bind_path(int fd, const struct sockaddr_un *address) {
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0) return NB_OK;
    if (errno != EADDRINUSE) return NB_SYSTEM;
    nb_status status = probe_taken_path(address);
    if (status != NB_OK) return status;
    if (unlink(address->sun_path) < 0 && errno != ENOENT) return NB_SYSTEM;
    return bind(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? NB_OK : NB_SYSTEM;
}

/* Every connect is refused between bind and listen, so no client gets in before the mode is set. */
static nb_status open_path(int fd, const char *path, unsigned mode, int backlog) {
    if ((mode == 0 || chmod(path, (mode_t)mode) == 0) && listen(fd, backlog) == 0) return NB_OK;
    int error = errno;
    unlink(path);
    errno = error;
    return NB_SYSTEM;
}

nb_status nb_net_listen_unix(const char *path, unsigned mode, int backlog, int *fd) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    if (size == 0) return NB_INVALID;
    if (size >= sizeof address.sun_path) return NB_OVER_LIMIT;
    memcpy(address.sun_path, path, size);
    int listener = new_socket(AF_UNIX);
    if (listener < 0) return NB_SYSTEM;
    nb_status status = bind_path(listener, &address);
    if (status == NB_OK) status = open_path(listener, path, mode, backlog);
    if (status != NB_OK) {
        (void)fail_closing(listener);
        return status;
    }
    *fd = listener;
    return NB_OK;
}

nb_status nb_net_listen_inherited(int fd, int backlog, uint16_t *bound_port) {
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return NB_SYSTEM;
    if (getsockname(fd, (struct sockaddr *)&bound, &size) < 0) return NB_SYSTEM;
    if (bound.ss_family != AF_UNIX) set_keep_alive(fd);
    if (listen(fd, backlog) < 0) return NB_SYSTEM;
    *bound_port = port_of(&bound);
    return NB_OK;
}

static void describe_ipv4(const struct in_addr *address, nb_peer *peer) {
    (void)inet_ntop(AF_INET, address, peer->address, sizeof peer->address);
}

static void describe_ipv6(const struct sockaddr_in6 *address, nb_peer *peer) {
    const struct in6_addr *ip = &address->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        struct in_addr inner;
        memcpy(&inner, &ip->s6_addr[12], sizeof inner);
        describe_ipv4(&inner, peer);
        return;
    }
    (void)inet_ntop(AF_INET6, ip, peer->address, sizeof peer->address);
    if (address->sin6_scope_id == 0) return;
    size_t size = strlen(peer->address);
    snprintf(peer->address + size, sizeof peer->address - size, "%%%u", (unsigned)address->sin6_scope_id);
}

void nb_net_describe(const struct sockaddr_storage *address, nb_peer *peer) {
    peer->address[0] = '\0';
    peer->port = port_of(address);
    if (address->ss_family == AF_INET) describe_ipv4(&((const struct sockaddr_in *)address)->sin_addr, peer);
    if (address->ss_family == AF_INET6) describe_ipv6((const struct sockaddr_in6 *)address, peer);
}

/* Errors of a connection that died in the queue, which accept reports; they are not the listener's
   (accept(2), "Error handling"). */
static bool concerns_one_connection(int error) {
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM: /* a firewall rule */
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENOPROTOOPT:
#ifdef ENONET
    case ENONET:
#endif
        return true;
    default:
        return false;
    }
}

nb_status nb_net_pair(int fds[2]) {
    if (new_pair(fds) != 0) return NB_SYSTEM;
    silence_sigpipe(fds[0]);
    silence_sigpipe(fds[1]);
    return NB_OK;
}

nb_status nb_net_accept(int listener_fd, int *fd, nb_peer *peer) {
    struct sockaddr_storage address;
    int accepted = -1;
    for (int tries = 0; accepted < 0 && tries < ACCEPT_SKIPS_MAX; tries++) {
        socklen_t size = sizeof address;
        address.ss_family = AF_UNSPEC;
        accepted = accept_socket(listener_fd, (struct sockaddr *)&address, &size);
        if (accepted >= 0 || concerns_one_connection(errno)) continue;
        return errno == EAGAIN || errno == EWOULDBLOCK ? NB_AGAIN : NB_SYSTEM;
    }
    if (accepted < 0) return NB_AGAIN;
    silence_sigpipe(accepted);
    if (address.ss_family != AF_UNIX) {
        (void)setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    }
    if (peer != NULL) nb_net_describe(&address, peer);
    *fd = accepted;
    return NB_OK;
}

static nb_status status_of_errno(void) { return errno == EAGAIN || errno == EWOULDBLOCK ? NB_AGAIN : NB_SYSTEM; }

/* Recv reaches the socket with less work than read(2), which goes through the file layer. */
static nb_status receive(int fd, void *buffer, size_t bytes, int flags, size_t *moved) {
    NB_ASSERT(bytes > 0);
    ssize_t got;
    do {
        got = recv(fd, buffer, bytes, flags);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return status_of_errno();
    if (got == 0) return NB_EOF;
    *moved = (size_t)got;
    return NB_OK;
}

nb_status nb_net_read(int fd, void *buffer, size_t bytes, size_t *moved) {
    return receive(fd, buffer, bytes, 0, moved);
}

nb_status nb_net_peek(int fd, void *buffer, size_t bytes, size_t *moved) {
    return receive(fd, buffer, bytes, MSG_PEEK, moved);
}

static nb_status write_parts(int fd, const struct iovec *parts, int count, int flags, size_t *moved) {
    struct msghdr message = {0};
    message.msg_iov = (struct iovec *)(uintptr_t)parts; /* sendmsg only reads them */
    message.msg_iovlen = (size_t)(count < IOV_MAX ? count : IOV_MAX);
    ssize_t sent;
    do {
        /* One part is sent by send(2), which saves the kernel from copying two structs. */
        sent = count == 1 ? send(fd, parts->iov_base, parts->iov_len, flags) : sendmsg(fd, &message, flags);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) return status_of_errno();
    *moved = (size_t)sent;
    return NB_OK;
}

nb_status nb_net_writev(int fd, const struct iovec *parts, int count, size_t *moved) {
    return write_parts(fd, parts, count, MSG_NOSIGNAL, moved);
}

nb_status nb_net_writev_more(int fd, const struct iovec *parts, int count, size_t *moved) {
    return write_parts(fd, parts, count, MSG_NOSIGNAL | MSG_MORE, moved);
}

nb_status nb_net_wait_writable(int fd, int timeout_ms) {
    struct pollfd waited = {.fd = fd, .events = POLLOUT};
    int ready;
    do {
        ready = poll(&waited, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0 ? NB_OK : ready == 0 ? NB_TIMEOUT : NB_SYSTEM;
}

bool nb_net_peer_finished(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void nb_net_finish(int fd) { (void)shutdown(fd, SHUT_WR); }

#if defined(__linux__) && defined(__SANITIZE_THREAD__)
/* ThreadSanitizer takes each connect for the creation of a descriptor, which no other thread may be
   using yet. */
static int connect_again(int fd, const struct sockaddr *address, socklen_t size) {
    return (int)syscall(SYS_connect, fd, address, size);
}
#elif defined(__linux__)
static int connect_again(int fd, const struct sockaddr *address, socklen_t size) { return connect(fd, address, size); }
#endif

/* connect(2): an address of AF_UNSPEC dissolves the association, and Linux then sends an RST
   (tcp_disconnect). Other systems and UNIX sockets have no such call. */
void nb_net_abort(int fd, bool reset) {
#if defined(__linux__)
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    int family = AF_UNSPEC;
    socklen_t size = sizeof family;
    bool tcp = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family != AF_UNIX;
    if (reset && tcp && connect_again(fd, &nobody, sizeof nobody) == 0) return;
#else
    (void)reset;
#endif
    (void)shutdown(fd, SHUT_RDWR);
}

void nb_net_turn_away(int fd, const char *answer, size_t size) {
    char sent[TURNED_AWAY_READ_BYTES];
    struct iovec part = {(void *)(uintptr_t)answer, size};
    size_t moved;
    if (size > 0) (void)nb_net_writev(fd, &part, 1, &moved);
    nb_net_finish(fd);
    for (int i = 0; i < TURNED_AWAY_READS && nb_net_read(fd, sent, sizeof(sent), &moved) == NB_OK; i++) {
    }
}

void nb_net_close(int fd, bool reset) {
    if (reset) {
        const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    (void)close(fd);
}

void nb_net_limit_unsent(int fd, int bytes) {
#ifdef TCP_NOTSENT_LOWAT
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
#else
    (void)fd, (void)bytes;
#endif
}

size_t nb_net_unacknowledged(int fd) {
    int bytes = 0;
#if defined(SIOCOUTQ)
    if (ioctl(fd, SIOCOUTQ, &bytes) < 0) return 0; /* tcp(7), unix(7) */
#elif defined(FIONWRITE)
    if (ioctl(fd, FIONWRITE, &bytes) < 0) return 0; /* FreeBSD: socket(2) */
#elif defined(SO_NWRITE)
    socklen_t size = sizeof bytes;
    /* macOS: getsockopt(2). */
    if (getsockopt(fd, SOL_SOCKET, SO_NWRITE, &bytes, &size) < 0) return 0;
#else
    (void)fd;
#endif
    return bytes > 0 ? (size_t)bytes : 0;
}
