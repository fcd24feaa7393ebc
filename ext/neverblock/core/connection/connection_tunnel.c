/*
 * connection_tunnel.c - a connection whose bytes only the loop can read and write (TLS), and which
 * the application has hijacked. The application gets one end of a pair of sockets. The loop moves
 * bytes between the other end, `near`, and the client.
 *
 * Backpressure goes both ways: what one side does not take stops the reading from the other. The
 * application may shut down its sending side, and so may the client; each is passed on.
 *
 * The connection counts as none of the server's any more: no timeout, no limit and no drain waits
 * for it. It ends with the application's socket, its client, or the server.
 *
 * Threads: the loop's.
 */
#include <string.h>

#include "base/assert.h"
#include "connection/connection_internal.h"
#include "os/net.h"

/* Bytes on their way to the client at which the application is not read any further. */
#define OWED_MAX 65536u
/* Bytes on their way to the application at which the client is not. */
#define INPUT_MAX 16384u

typedef struct tunnel {
    nb_connections *connections;
    int near;         /* -1: closed */
    uint8_t interest; /* NB_POLL_ events of `near` */
    bool polled;      /* it is in the poller */
    bool full;        /* the application takes no more now */
    bool app_ended;   /* it has shut down its sending side */
    bool app_told;    /* that the client has */
    bool client_told; /* that the application has */
} tunnel;

_Static_assert(sizeof(tunnel) <= sizeof(((nb_connection *)0)->session), "it must fit into the session");

static tunnel *of(const nb_connection *connection) { return (tunnel *)(uintptr_t)connection->session; }

int nb_tunnel_near(const nb_connection *connection) { return of(connection)->near; }

static uint64_t cookie_of(const nb_connection *connection) { return (uint64_t)(uintptr_t)connection | 1; }

/* A closed socket is reported whatever is asked for. So it leaves the poller where that would be
 * reported again and again; keep: where it is to be reported. */
static nb_status watch(nb_connections *connections, nb_connection *connection, uint8_t interest, bool keep) {
    tunnel *self = of(connection);
    bool polled = interest || keep, was_polled = self->polled;
    if (polled == was_polled && interest == self->interest) return NB_OK;
    self->interest = interest;
    self->polled = polled;
    if (!polled) return nb_poll_remove(connections->poll, self->near);
    if (!was_polled) return nb_poll_add(connections->poll, self->near, interest, cookie_of(connection));
    return nb_poll_change(connections->poll, self->near, interest, cookie_of(connection));
}

static void follow(nb_connections *connections, nb_connection *connection) {
    tunnel *self = of(connection);
    if (connection->state == NB_CONNECTION_ENDED) return;
    if (connection->hung_up && self->app_told) {
        nb_connection_end(connections, connection, false);
        return;
    }
    uint8_t interest = 0;
    if (!self->app_ended && nb_connection_owed(connection) < OWED_MAX) interest |= NB_POLL_READ;
    if (self->full) interest |= NB_POLL_WRITE;
    if (watch(connections, connection, interest, self->app_ended) != NB_OK) {
        nb_connection_end(connections, connection, true);
        return;
    }
    nb_connection_follow(connections, connection);
}

/* --- from the client to the application --- */

static void tell_application(nb_connection *connection) {
    tunnel *self = of(connection);
    bool all_given = !connection->input.data || nb_buffer_size(&connection->input) == 0;
    if (!connection->read_ended || !all_given || self->app_told) return;
    self->app_told = true;
    nb_net_finish(self->near);
}

static void to_application(nb_connections *connections, nb_connection *connection) {
    tunnel *self = of(connection);
    nb_buffer *input = &connection->input;
    while (input->data && nb_buffer_size(input) > 0 && !self->full) {
        struct iovec part = {nb_buffer_bytes(input), nb_buffer_size(input)};
        size_t moved = 0;
        nb_status status = nb_net_writev(self->near, &part, 1, &moved);
        if (status == NB_OK) {
            nb_buffer_consume(input, connections->pool, moved);
        } else if (status == NB_AGAIN) {
            self->full = true;
        } else {
            nb_connection_end(connections, connection, false); /* the application has closed */
            return;
        }
    }
    tell_application(connection);
    follow(connections, connection);
}

static bool wants_input(const nb_connection *connection) {
    return !connection->input.data || nb_buffer_size(&connection->input) < INPUT_MAX;
}

static void client_ended(nb_connections *connections, nb_connection *connection) {
    tell_application(connection);
    follow(connections, connection);
}

/* --- from the application to the client --- */

/* The application has closed: the connection ends when the rest is sent. */
static void application_closed(nb_connections *connections, nb_connection *connection) {
    connection->state = NB_CONNECTION_LAST;
    (void)watch(connections, connection, 0, false);
    nb_connection_mark_dirty(connections, connection);
}

static nb_status from_application(nb_connections *connections, nb_connection *connection) {
    tunnel *self = of(connection);
    nb_status status = NB_OK;
    while (status == NB_OK && nb_connection_owed(connection) < OWED_MAX) {
        size_t moved = 0;
        char *room = nb_send_queue_reserve(&connection->send_queue, connections->pool, NB_SEND_QUEUE_RESERVE_MAX);
        if (!room) return NB_NO_MEMORY;
        status = nb_net_read(self->near, room, NB_SEND_QUEUE_RESERVE_MAX, &moved);
        nb_send_queue_commit(&connection->send_queue, moved);
    }
    return status;
}

void nb_tunnel_ready(nb_connections *connections, nb_connection *connection, uint32_t events) {
    tunnel *self = of(connection);
    if (connection->state != NB_CONNECTION_OPEN) return;
    if (events & NB_POLL_WRITE) {
        self->full = false;
        to_application(connections, connection);
    }
    if (connection->state != NB_CONNECTION_OPEN) return;
    nb_status status = self->app_ended ? NB_AGAIN : from_application(connections, connection);
    if (status == NB_EOF) self->app_ended = true;
    if (status == NB_NO_MEMORY) {
        nb_connection_end(connections, connection, true);
        return;
    }
    bool closed = (status == NB_EOF && (events & NB_POLL_HANGUP)) || status == NB_SYSTEM;
    if (closed || (self->app_ended && (events & (NB_POLL_HANGUP | NB_POLL_ERROR)))) {
        application_closed(connections, connection);
        return;
    }
    nb_connection_mark_dirty(connections, connection);
    follow(connections, connection);
}

/* Its queue has room again. */
static void sent(nb_connections *connections, nb_connection *connection) {
    tunnel *self = of(connection);
    if (connection->state != NB_CONNECTION_OPEN) return;
    if (self->app_ended && !self->client_told && connection->waits == NB_WAITS_NOT)
        self->client_told = nb_connection_finish(connection);
    if (self->client_told && self->app_told) {
        nb_connection_end(connections, connection, false);
    } else {
        follow(connections, connection);
    }
}

/* The connection ends. */
static void close_session(nb_connection *connection) {
    tunnel *self = of(connection);
    (void)watch(self->connections, connection, 0, false);
    nb_net_close(self->near, false);
    self->near = -1;
}

static nb_phase phase(const nb_connection *connection) {
    (void)connection;
    return NB_PHASE_NONE;
}

static nb_timeout_class timeout_class(const nb_connection *connection) {
    (void)connection;
    return NB_TIMEOUT_NONE;
}

static const nb_protocol protocol = {
    .name = "tunnel",
    .close = close_session,
    .wants_input = wants_input,
    .received = to_application,
    .input_ended = client_ended,
    .sent = sent,
    .phase = phase,
    .timeout_class = timeout_class,
};

void nb_tunnel_open(nb_connections *connections, nb_connection *connection, int near) {
    NB_ASSERT(!connection->first && !nb_connection_owes(connection));
    connection->protocol->close(connection);
    connection->protocol = &protocol;
    connection->state = NB_CONNECTION_OPEN;
    memset(connection->session, 0, sizeof(connection->session));
    *of(connection) = (tunnel){.connections = connections, .near = near};
    nb_connection_leave_lists(connections, connection);
    to_application(connections, connection);
}
