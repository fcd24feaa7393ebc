/*
 * tcp.c - the plain transport: a TCP or UNIX stream socket.
 */
#include "os/net.h"
#include "sendfile/sendfile.h"
#include "transport/transport.h"

static nb_status tcp_read(nb_transport *transport, void *buffer, size_t bytes, size_t *moved) {
    return nb_net_read(transport->fd, buffer, bytes, moved);
}

static nb_status tcp_writev(nb_transport *transport, const struct iovec *parts, int count, int more, size_t *moved) {
    return more ? nb_net_writev_more(transport->fd, parts, count, moved)
                : nb_net_writev(transport->fd, parts, count, moved);
}

static nb_status tcp_sendfile(nb_transport *transport, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    return nb_os_sendfile(transport->fd, file_fd, offset, bytes, moved);
}

static nb_status tcp_wait(nb_transport *transport, int timeout_ms) {
    return nb_net_wait_writable(transport->fd, timeout_ms);
}

static bool tcp_peer_finished(nb_transport *transport) { return nb_net_peer_finished(transport->fd); }

static void tcp_abort(nb_transport *transport, int reset) { nb_net_abort(transport->fd, reset != 0); }

static nb_status tcp_finish(nb_transport *transport) {
    nb_net_finish(transport->fd);
    return NB_OK;
}

static void tcp_close(nb_transport *transport, int reset) {
    nb_net_close(transport->fd, reset != 0);
    transport->fd = -1;
}

static const nb_transport_kind tcp_kind = {
    .name = "tcp",
    .read = tcp_read,
    .writev = tcp_writev,
    .sendfile = tcp_sendfile,
    .wait = tcp_wait,
    .peer_finished = tcp_peer_finished,
    .finish = tcp_finish,
    .abort = tcp_abort,
    .close = tcp_close,
};

void nb_transport_tcp_init(nb_transport *transport, int fd) {
    *transport = (nb_transport){.kind = &tcp_kind, .fd = fd};
}
