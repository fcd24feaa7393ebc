/*
 * transport.h - how the bytes of a connection move, as a table of functions, so that TLS can take
 * the place of TCP.
 *
 * Ownership: the owner of the connection owns the transport, and the transport owns its descriptor.
 * Threads: one thread at a time sends (writev, sendfile, wait). It may be another thread than the
 * one that reads.
 */
#ifndef NB_TRANSPORT_TRANSPORT_H
#define NB_TRANSPORT_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/status.h"

typedef struct nb_transport nb_transport;

typedef struct nb_transport_kind {
    const char *name;
    /* Statuses as nb_net_read, nb_net_writev and nb_os_sendfile; NB_AGAIN may come with *moved
     * bytes sent. more: other bytes follow at once, and these may wait for them. */
    nb_status (*read)(nb_transport *transport, void *buffer, size_t bytes, size_t *moved);
    nb_status (*writev)(nb_transport *transport, const struct iovec *parts, int count, int more, size_t *moved);
    nb_status (*sendfile)(nb_transport *transport, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
    /* Blocks until more can be sent, as nb_net_wait_writable. */
    nb_status (*wait)(nb_transport *transport, int timeout_ms);
    /* Shuts down our side: nothing more will be sent. */
    void (*finish)(nb_transport *transport);
    /* Ends the connection while another thread is in writev, sendfile or wait. That thread is woken
     * and gets an error. reset: with an RST. */
    void (*abort)(nb_transport *transport, int reset);
    void (*close)(nb_transport *transport, int reset);
} nb_transport_kind;

struct nb_transport {
    const nb_transport_kind *kind;
    int fd;
};

/* Takes the descriptor, which is connected and does not block. */
void nb_transport_tcp_init(nb_transport *transport, int fd);

#endif
