/*
 * net.h - sockets: listening, accepting, reading, writing. All descriptors CLOEXEC and non-blocking. Any thread.
 *
 * Addresses are numeric (the command line resolves names): an IPv4 or IPv6 address without brackets, or a UNIX path.
 */
#ifndef NB_OS_NET_H
#define NB_OS_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/status.h"

#define NB_ADDRESS_TEXT_BYTES 64 /* "255.255.255.255", an IPv6 address with a scope, or "" for UNIX sockets */

typedef struct nb_peer {
    char address[NB_ADDRESS_TEXT_BYTES]; /* numeric, NUL-terminated; IPv4-mapped IPv6 as IPv4 */
    uint16_t port;
} nb_peer;

/* Listens; the real port (port 0 asks the kernel for one) comes back in *bound_port. SO_REUSEADDR; IPV6_V6ONLY for
 * "::". */
nb_status nb_net_listen_tcp(const char *address, uint16_t port, int backlog, int *fd, uint16_t *bound_port);
/* mode: permission bits of the socket file, 0 to leave the umask's. A path that exists: a socket nobody listens on is
   replaced, a live one gives NB_EXISTS, anything else NB_SYSTEM with EEXIST. Too long for sockaddr_un: NB_TOO_LARGE. */
nb_status nb_net_listen_unix(const char *path, unsigned mode, int backlog, int *fd);

/* NB_AGAIN: nobody waits. NB_SYSTEM: errno, EMFILE and ENFILE among them; ECONNABORTED and the like are skipped inside.
   TCP_NODELAY is set. peer may be NULL. */
nb_status nb_net_accept(int listener_fd, int *fd, nb_peer *peer);

/* One call each, EINTR repeated. NB_OK with *moved > 0; NB_AGAIN; NB_EOF (read: the peer finished sending);
   NB_SYSTEM: errno (ECONNRESET, EPIPE...). Never raises SIGPIPE. */
nb_status nb_net_read(int fd, void *buffer, size_t bytes, size_t *moved);
nb_status nb_net_writev(int fd, const struct iovec *parts, int count, size_t *moved);
/* The same where other bytes follow at once: a segment that is not full may wait for them (MSG_MORE, where there is such a thing). */
nb_status nb_net_writev_more(int fd, const struct iovec *parts, int count, size_t *moved);
/* Blocks until a write would move bytes, or find that the connection has ended (NB_OK), or timeout_ms have passed (NB_TIMEOUT;
   negative: no limit). NB_SYSTEM: errno. */
nb_status nb_net_wait_writable(int fd, int timeout_ms);

/* Bytes written and not yet taken by the peer (acknowledged, or read from a UNIX socket); 0 where the system does not
 * tell. */
size_t nb_net_unacknowledged(int fd);
/* The peer has finished sending, and all it sent was read. */
bool nb_net_peer_finished(int fd);
/* Says that we have finished sending. */
void nb_net_finish(int fd);
/* Ends the connection, now and in both directions, and keeps the descriptor: threads that wait in it wake. With `reset` the
   peer gets an RST where the system can do that (else it sees an orderly end). */
void nb_net_abort(int fd, bool reset);
/* Closes; with `reset` the peer gets an RST and unsent bytes are dropped (SO_LINGER 0). */
void nb_net_close(int fd, bool reset);

#endif
