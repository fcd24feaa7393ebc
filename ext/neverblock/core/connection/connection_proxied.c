/*
 * connection_proxied.c - a connection that begins with a header of the PROXY protocol: the client
 * that it names takes the place of the socket's peer. Bytes behind the header stay in the socket,
 * where TLS looks for them.
 *
 * Bounds: NB_PROXY_HEADER_BYTES_MAX, and the timeout NB_TIMEOUT_HANDSHAKE. A handshake shares it.
 *
 * Threads: the loop's.
 */
#include <string.h>

#include "base/assert.h"
#include "connection/connection_internal.h"
#include "transport/proxy_header.h"

/* Bytes shown of what is no header. */
#define SHOWN_BYTES 24u

/* For the log: all but printable ASCII is a dot. */
static void show(nb_slice bytes, char shown[SHOWN_BYTES + 1]) {
    size_t size = bytes.size < SHOWN_BYTES ? bytes.size : SHOWN_BYTES;
    for (size_t i = 0; i < size; i++)
        shown[i] = bytes.data[i] >= ' ' && bytes.data[i] <= '~' ? bytes.data[i] : '.';
    shown[size] = 0;
}

static void refuse(nb_connections *connections, nb_connection *connection, nb_slice bytes, nb_status status) {
    NB_COUNT(connections->counters, unproxied, 1);
    if (nb_log_due(&connections->unproxied_told_ns, connections->time->now_ns)) {
        char shown[SHOWN_BYTES + 1];
        const char *peer = *connection->peer.address ? connection->peer.address : "a UNIX socket";
        show(bytes, shown);
        nb_log_line(connections->log,
                    "a connection from %s was closed: it begins with \"%s\", and not with a header of the PROXY "
                    "protocol%s, which proxy_protocol=on of its address asks for",
                    peer, shown, status == NB_OVER_LIMIT ? " of at most 4096 bytes" : "");
    }
    nb_connection_end(connections, connection, false);
}

/* Keeps what has come of a header until the rest comes. */
static nb_status keep(nb_connections *connections, nb_connection *connection, const char *bytes, size_t size) {
    size_t room = 0;
    nb_status status = nb_buffer_room(&connection->input, connections->pool,
                                      NB_PROXY_HEADER_BYTES_MAX + NB_READ_BUFFER_BYTES, &room);
    if (status != NB_OK) return status;
    NB_ASSERT(room >= size);
    memcpy(connection->input.data + connection->input.end, bytes, size);
    connection->input.end += (uint32_t)size;
    return NB_OK;
}

static void begin(nb_connections *connections, nb_connection *connection, const nb_proxy_header *header) {
    nb_buffer_release(&connection->input, connections->pool);
    if (header->has_client) connection->peer = header->client;
    if (connection->handshake) {
        connection->state = NB_CONNECTION_HANDSHAKE;
    } else {
        nb_connection_start(connections, connection);
    }
    nb_connection_ready(connections, connection, NB_POLL_READ);
}

void nb_proxied_ready(nb_connections *connections, nb_connection *connection) {
    char bytes[NB_PROXY_HEADER_BYTES_MAX];
    nb_proxy_header header;
    size_t kept = nb_buffer_size(&connection->input), came = 0;
    if (kept) memcpy(bytes, nb_buffer_bytes(&connection->input), kept);
    nb_status status = nb_net_peek(connection->transport.fd, bytes + kept, sizeof(bytes) - kept, &came);
    if (status == NB_AGAIN) return;
    if (status != NB_OK) {
        nb_connection_end(connections, connection, false);
        return;
    }
    nb_slice all = nb_slice_of(bytes, kept + came);
    status = nb_proxy_header_parse(all, &header);
    if (status == NB_OK) came = header.size - kept;
    if (status != NB_OK && status != NB_INCOMPLETE) {
        refuse(connections, connection, all, status);
    } else if (nb_net_read(connection->transport.fd, bytes + kept, came, &came) != NB_OK) {
        nb_connection_end(connections, connection, false);
    } else if (status == NB_OK) {
        begin(connections, connection, &header);
    } else if (keep(connections, connection, bytes + kept, came) != NB_OK) {
        nb_connection_end(connections, connection, true);
    }
}

void nb_proxied_drain(nb_connections *connections, nb_connection *connection) {
    nb_proxied_ready(connections, connection);
    if (connection->state != NB_CONNECTION_PROXIED || nb_connection_is_new(connections, connection)) return;
    nb_connection_end(connections, connection, false);
}
