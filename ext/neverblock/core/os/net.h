/*
 * net.h - sockets: listening, accepting, reading, writing. All descriptors CLOEXEC and
 * non-blocking. Any thread.
 *
 * Addresses are numeric (the command line resolves names): an IPv4 or IPv6 address without
 * brackets, or a UNIX path.
 */
#ifndef NB_OS_NET_H
#define NB_OS_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/status.h"

/* "255.255.255.255", an IPv6 address with a scope, or "" for UNIX sockets. */
#define NB_ADDRESS_TEXT_BYTES 64

typedef struct nb_peer {
    char address[NB_ADDRESS_TEXT_BYTES]; /* numeric, NUL-terminated; IPv4-mapped IPv6 as IPv4 */
    uint16_t port;
} nb_peer;

/* Listens. *bound_port: the port, which the kernel chooses for port 0. SO_REUSEADDR; IPV6_V6ONLY
   for "::". */
nb_status nb_net_listen_tcp(const char *address, uint16_t port, int backlog, int *fd, uint16_t *bound_port);
/* mode: permission bits of the socket file; 0: by the umask. An existing path: a socket without a
   listener is replaced, a live one gives NB_EXISTS, anything else NB_SYSTEM with EEXIST.
   NB_OVER_LIMIT: too long for sockaddr_un. */
nb_status nb_net_listen_unix(const char *path, unsigned mode, int backlog, int *fd);

/* Listens again with a socket that was inherited (sd_listen_fds(3), an upgrade): CLOEXEC,
   non-blocking, with the options and the backlog of a new one. *bound_port: 0 for a UNIX socket.
   NB_SYSTEM: errno; the descriptor stays the caller's. */
nb_status nb_net_listen_inherited(int fd, int backlog, uint16_t *bound_port);

/* Two connected UNIX stream sockets. NB_SYSTEM: errno, such as EMFILE. */
nb_status nb_net_pair(int fds[2]);

/* Accepts with TCP_NODELAY set. peer may be NULL. NB_AGAIN: no client waits. NB_SYSTEM: errno, such
   as EMFILE and ENFILE. ECONNABORTED and similar errors of a single connection are skipped. */
nb_status nb_net_accept(int listener_fd, int *fd, nb_peer *peer);

struct sockaddr_storage;
/* A socket's address as text. Other families than IPv4 and IPv6 have none. */
void nb_net_describe(const struct sockaddr_storage *address, nb_peer *peer);

/* One system call each, repeated after EINTR. NB_OK with *moved > 0. NB_AGAIN. NB_EOF (read): the
   peer finished sending. NB_SYSTEM: errno (ECONNRESET, EPIPE...). SIGPIPE is never raised. */
nb_status nb_net_read(int fd, void *buffer, size_t bytes, size_t *moved);
/* The same, and the bytes stay to be read again. */
nb_status nb_net_peek(int fd, void *buffer, size_t bytes, size_t *moved);
nb_status nb_net_writev(int fd, const struct iovec *parts, int count, size_t *moved);
/* The same while more bytes follow at once: an incomplete segment may wait for them (MSG_MORE,
   where it exists). */
nb_status nb_net_writev_more(int fd, const struct iovec *parts, int count, size_t *moved);
/* Blocks until a write would move bytes or report the end of the connection (NB_OK), or timeout_ms
   have passed (NB_TIMEOUT; negative: no limit). NB_SYSTEM: errno. */
nb_status nb_net_wait_writable(int fd, int timeout_ms);

/* Bytes written that the peer has not taken (acknowledged, or read from a UNIX socket); 0 where the
   system does not tell. */
size_t nb_net_unacknowledged(int fd);
/* True: the peer has finished sending, and all it sent was read. */
bool nb_net_peer_finished(int fd);
/* The socket takes no more while so many bytes wait to be sent for the first time; those under way
   do not count (tcp(7), TCP_NOTSENT_LOWAT). Nothing happens where the system cannot, or the socket
   is none of TCP. */
void nb_net_limit_unsent(int fd, int bytes);
/* Tells the peer that we have finished sending. */
void nb_net_finish(int fd);
/* Ends the connection in both directions at once and keeps the descriptor, so that threads waiting
   in it wake. reset: the peer gets an RST where the system can send one, else an orderly end. */
void nb_net_abort(int fd, bool reset);
/* Writes a last answer to a client that is not read any further, as much as it takes. Tells it that
   we have finished sending. Reads what it has sent, a bounded amount: left unread it would turn the
   close into a reset, and the answer would be lost. The descriptor stays open. */
void nb_net_turn_away(int fd, const char *answer, size_t size);
/* Closes. reset: the peer gets an RST, and unsent bytes are dropped (SO_LINGER 0). */
void nb_net_close(int fd, bool reset);

#endif
