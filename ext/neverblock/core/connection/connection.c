/*
 * connection.c - see connection.h and protocol.h: reading, the list of exchanges, timeouts, the
 * end. After each change of the state nb_connection_follow sets the poller's interest and the
 * timeout.
 */
#include "connection/connection.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "connection/connection_internal.h"
#include "intake/body.h"
#include "os/net.h"
#include "responses/compression.h"

/* Reads of one connection in one turn: enough for a fast upload, few enough for the turn to stay
 * short. */
#define READS_IN_A_TURN 4

/* Unsent bytes of responses at which no more requests are read from the client. */
#define UNREAD_ANSWERS_BYTES 262144u

/* --- what the state asks of the poller and the clock --- */

bool nb_connection_answers_pile_up(const nb_connection *connection) {
    return nb_connection_owed(connection) >= UNREAD_ANSWERS_BYTES;
}

bool nb_connection_wants_read(const nb_connection *connection) {
    if (connection->read_ended) return false;
    if (connection->state == NB_CONNECTION_PROXIED) return true;
    if (connection->state == NB_CONNECTION_HANDSHAKE) return !connection->handshake->with_worker;
    if (connection->state == NB_CONNECTION_OPEN) return connection->protocol->wants_input(connection);
    return connection->state == NB_CONNECTION_LINGER;
}

bool nb_connection_reads_unasked(const nb_connection *connection) {
    return (connection->transport.unread || connection->hung_up) && nb_connection_wants_read(connection);
}

static void set_interest(nb_connections *connections, nb_connection *connection, uint8_t interest) {
    if (connection->interest == interest || connection->hung_up || connection->state == NB_CONNECTION_ENDED) return;
    if (nb_poll_change(connections->poll, connection->transport.fd, interest, (uint64_t)(uintptr_t)connection) !=
        NB_OK) {
        nb_connection_end(connections, connection, true);
        return;
    }
    connection->interest = interest;
}

/* Interest in reading is switched off only when an unwanted event comes (nb_connection_ready).
 * Mostly none comes before reading is wanted again, and a system call is saved. */
static void watch(nb_connections *connections, nb_connection *connection) {
    uint8_t interest = connection->interest & NB_POLL_READ;
    if (nb_connection_wants_read(connection)) interest |= NB_POLL_READ;
    if (connection->waits == NB_WAITS_CLIENT) interest |= NB_POLL_WRITE;
    /* Kept, as writing is often wanted again soon. */
    if (connection->waits == NB_WAITS_TURN) interest |= connection->interest & NB_POLL_WRITE;
    set_interest(connections, connection, interest);
    if (nb_connection_reads_unasked(connection)) nb_connection_mark_dirty(connections, connection);
}

nb_phase nb_connection_phase(const nb_connection *connection) {
    switch (connection->state) {
    case NB_CONNECTION_PROXIED:
    case NB_CONNECTION_HANDSHAKE:
        return NB_PHASE_HANDSHAKE;
    case NB_CONNECTION_OPEN:
        return connection->protocol->phase(connection);
    case NB_CONNECTION_LAST:
        return NB_PHASE_ANSWERING;
    case NB_CONNECTION_LINGER:
        return NB_PHASE_CLOSING;
    case NB_CONNECTION_ENDED:
        break;
    }
    return NB_PHASE_NONE;
}

bool nb_connection_is_idle(const nb_connection *connection) { return nb_connection_phase(connection) == NB_PHASE_IDLE; }

/* Its protocol has not begun. */
static bool beginning(const nb_connection *connection) {
    return connection->state == NB_CONNECTION_PROXIED || connection->state == NB_CONNECTION_HANDSHAKE;
}

static nb_timeout_class timeout_class(const nb_connection *connection) {
    if (connection->state == NB_CONNECTION_ENDED) return NB_TIMEOUT_NONE;
    if (beginning(connection)) return NB_TIMEOUT_HANDSHAKE;
    if (connection->tunnel && connection->state == NB_CONNECTION_OPEN) return NB_TIMEOUT_NONE;
    if (connection->waits == NB_WAITS_RATE) return NB_TIMEOUT_RATE;
    if (connection->waits != NB_WAITS_NOT) return NB_TIMEOUT_TRANSFER;
    if (connection->state == NB_CONNECTION_LINGER) return NB_TIMEOUT_LINGER;
    return connection->state == NB_CONNECTION_OPEN ? connection->protocol->timeout_class(connection) : NB_TIMEOUT_NONE;
}

static void count_phase(nb_connections *connections, nb_connection *connection) {
    if (connection->admin || connection->tunnel) return;
    nb_phase phase = nb_connection_phase(connection);
    if (phase == connection->phase) return;
    nb_counters_phase(connections->counters, (nb_phase)connection->phase, phase);
    connection->phase = (uint8_t)phase;
}

static void retime(nb_connections *connections, nb_connection *connection) {
    nb_timeout_class kind = timeout_class(connection);
    count_phase(connections, connection);
    if (kind == connection->timeout.kind) return;
    connection->window_bytes = 0;
    connection->window_queued = connection->waits ? nb_net_unacknowledged(connection->transport.fd) : 0;
    nb_timeouts_set(&connections->timeouts, &connection->timeout, kind, connections->time->now_ns);
}

void nb_connection_follow(nb_connections *connections, nb_connection *connection) {
    if (connection->state == NB_CONNECTION_ENDED) return;
    watch(connections, connection);
    retime(connections, connection);
}

void nb_connection_renew_timeout(nb_connections *connections, nb_connection *connection) {
    nb_timeout_class kind = connection->timeout.kind;
    if (kind == NB_TIMEOUT_HEADER || kind == NB_TIMEOUT_IDLE || kind == NB_TIMEOUT_ADMIN)
        nb_timeouts_set(&connections->timeouts, &connection->timeout, NB_TIMEOUT_NONE, 0);
}

void nb_connection_mark_dirty(nb_connections *connections, nb_connection *connection) {
    if (connection->dirty || connection->state == NB_CONNECTION_ENDED) return;
    connection->dirty = true;
    connection->dirty_next = connections->dirty;
    connections->dirty = connection;
}

/* A client that left and one that shut down only its sending side look the same. HTTP allows the
 * latter. */
bool nb_connection_client_left(const nb_connection *connection) {
    if (!connection->read_ended || !connection->first) return false;
    for (const nb_exchange *exchange = connection->first; exchange; exchange = exchange->next) {
        if (!exchange->cancellable) return false;
    }
    return true;
}

/* --- beginning --- */

static nb_connection **list_of(nb_connections *connections, const nb_connection *connection) {
    if (connection->tunnel) return &connections->tunnels;
    return connection->admin ? &connections->admin : &connections->open;
}

static void link_connection(nb_connections *connections, nb_connection *connection) {
    nb_connection **first = list_of(connections, connection);
    connection->previous = NULL;
    connection->next = *first;
    if (*first) (*first)->previous = connection;
    *first = connection;
}

static void unlink_connection(nb_connections *connections, nb_connection *connection) {
    if (connection->previous) {
        connection->previous->next = connection->next;
    } else {
        *list_of(connections, connection) = connection->next;
    }
    if (connection->next) connection->next->previous = connection->previous;
}

static void count_end(nb_connections *connections, bool admin) {
    if (admin) {
        connections->admin_count--;
    } else {
        nb_count(&connections->closed, 1);
    }
}

static nb_status open_transport(nb_transport *transport, const nb_accepted *accepted) {
    if (accepted->tls) return nb_transport_tls_init(transport, accepted->fd, accepted->tls);
    nb_transport_tcp_init(transport, accepted->fd);
    return NB_OK;
}

/* Makes a connection of what was accepted and adds it to the poller. NULL: it was closed. */
static nb_connection *new_connection(nb_connections *connections, const nb_accepted *accepted) {
    nb_connection *connection = nb_alloc_zero(1, sizeof(*connection));
    if (!connection || open_transport(&connection->transport, accepted) != NB_OK) {
        nb_net_close(accepted->fd, true);
        nb_free(connection);
        return NULL;
    }
    connection->state = NB_CONNECTION_OPEN;
    connection->interest = NB_POLL_READ;
    uint64_t cookie = (uint64_t)(uintptr_t)connection;
    if ((!accepted->tls || nb_handshake_begin(connections, connection) == NB_OK) &&
        nb_poll_add(connections->poll, accepted->fd, connection->interest, cookie) == NB_OK)
        return connection;
    nb_handshake_drop(connection->handshake);
    connection->transport.kind->close(&connection->transport, 1);
    nb_free(connection);
    return NULL;
}

void nb_connection_open(nb_connections *connections, const nb_accepted *accepted) {
    nb_connection *connection = new_connection(connections, accepted);
    if (!connection) {
        count_end(connections, accepted->admin);
        return;
    }
    connection->peer = accepted->peer;
    connection->listener = accepted->listener;
    connection->admin = accepted->admin;
    connection->redirects = accepted->redirects;
    connection->began_ns = connections->time->now_ns;
    connection->protocol = connections->protocol;
    nb_timeout_init(&connection->timeout);
    nb_send_queue_init(&connection->send_queue);
    if (accepted->proxied) connection->state = NB_CONNECTION_PROXIED;
    if (!beginning(connection)) connection->protocol->open(connection);
    link_connection(connections, connection);
    retime(connections, connection);
}

void nb_connection_start(nb_connections *connections, nb_connection *connection) {
    connection->state = NB_CONNECTION_OPEN;
    connection->began_ns = connections->time->now_ns;
    connection->protocol->open(connection);
    if (connections->draining) {
        nb_connection_drain(connections, connection);
    } else {
        nb_connection_follow(connections, connection);
    }
}

void nb_connection_change_protocol(nb_connections *connections, nb_connection *connection,
                                   const nb_protocol *protocol) {
    NB_ASSERT(connection->state == NB_CONNECTION_OPEN && !connection->first);
    connection->protocol->close(connection);
    memset(connection->session, 0, sizeof(connection->session));
    connection->protocol = protocol;
    protocol->open(connection);
    protocol->received(connections, connection);
    if (connections->draining) nb_connection_drain(connections, connection);
}

/* --- exchanges --- */

void nb_connection_release_spool(nb_connections *connections, nb_exchange *exchange) {
    if (exchange->spooled) nb_spool_give(&connections->spool, exchange->spooled);
    exchange->spooled = 0;
}

nb_exchange *nb_connection_add_exchange(nb_connections *connections, nb_connection *connection) {
    nb_exchange *exchange = nb_exchange_create(&connections->exchanges);
    if (!exchange) return NULL;
    exchange->connection = connection;
    exchange->counted = !connection->admin;
    exchange->began_ns = connection->began_ns;
    exchange->sent_before = connection->sent + nb_connection_owed(connection);
    exchange->writer = connection->protocol->writer;
    exchange->out = &exchange->send_queue;
    exchange->previous = connection->last;
    *(connection->last ? &connection->last->next : &connection->first) = exchange;
    connection->last = exchange;
    connection->in_flight++;
    return exchange;
}

static void unlink_exchange(nb_connection *connection, nb_exchange *exchange) {
    *(exchange->previous ? &exchange->previous->next : &connection->first) = exchange->next;
    *(exchange->next ? &exchange->next->previous : &connection->last) = exchange->previous;
    exchange->previous = exchange->next = NULL;
    connection->in_flight--;
}

void nb_connection_end_body(nb_connections *connections, nb_exchange *exchange) {
    nb_body_destroy(exchange->body);
    nb_upload_destroy(&connections->uploads, exchange->upload);
    exchange->body = NULL;
    exchange->upload = NULL;
}

/* Removes the exchange from its connection. While an executor has it, it stays in the table until
 * the last part of its response has come. */
static void part_with(nb_connections *connections, nb_exchange *exchange) {
    unlink_exchange(exchange->connection, exchange);
    exchange->connection = NULL;
    exchange->out = NULL;
    nb_send_queue_clear(&exchange->send_queue, connections->pool);
    nb_connection_end_body(connections, exchange);
    nb_compression_drop(exchange);
    nb_dispatch_forget(nb_dispatch_of(connections->dispatch, exchange), exchange);
    if (exchange->in_notices) return;
    if (nb_exchange_is_left_alone(exchange)) {
        nb_exchange_destroy(&connections->exchanges, exchange);
    } else {
        nb_dispatch_tell_gone(nb_dispatch_of(connections->dispatch, exchange), exchange);
    }
}

void nb_connection_drop_exchange(nb_connections *connections, nb_exchange *exchange) {
    nb_connection *connection = exchange->connection;
    if (exchange->truncated) nb_count(&connections->counters->broken, 1);
    uint64_t end = connection->sent + nb_connection_owed(connection);
    nb_stages_leaving(connections->responses->stages, &connection->leaving, exchange, end);
    nb_downloads_leaving(connections->downloads, &connection->downloads, exchange, end);
    part_with(connections, exchange);
}

/* What it has of a response is not sent. */
static void part_unanswered(nb_connections *connections, nb_exchange *exchange) {
    nb_stages_dropped(connections->responses->stages, exchange);
    uint64_t owed = exchange->send_queue.bytes + nb_connection_owed(exchange->connection);
    nb_downloads_dropped(connections->downloads, &exchange->connection->downloads, exchange, owed);
    if (exchange->in_notices) exchange->gone_due = true;
    part_with(connections, exchange);
}

void nb_connection_abort_exchange(nb_connections *connections, nb_exchange *exchange) {
    if (exchange->channel == NB_CHANNEL_NONE) nb_connection_release_spool(connections, exchange);
    if (!exchange->ended && exchange->counted) NB_COUNT(connections->counters, aborted, 1);
    part_unanswered(connections, exchange);
}

void nb_connection_abort_exchanges(nb_connections *connections, nb_connection *connection) {
    while (connection->first) {
        nb_connection_abort_exchange(connections, connection->first);
    }
}

nb_exchange *nb_connection_replace_exchange(nb_connections *connections, nb_exchange *exchange, nb_gone_reason reason) {
    nb_connection *connection = exchange->connection;
    nb_response response = exchange->response;
    uint64_t state[sizeof(exchange->protocol_state) / sizeof(uint64_t)];
    memcpy(state, exchange->protocol_state, sizeof(state));
    exchange->gone_reason = (uint16_t)reason;
    part_unanswered(connections, exchange);
    nb_exchange *instead = nb_connection_add_exchange(connections, connection);
    if (!instead) return NULL;
    instead->response = response;
    memcpy(instead->protocol_state, state, sizeof(state));
    return instead;
}

void nb_connection_tell_drained(nb_connections *connections, nb_exchange *exchange, uint64_t owed) {
    owed += nb_compression_waiting(exchange);
    if (!exchange->tell_drained || owed > connections->dispatch->response_window_bytes / 4) return;
    exchange->tell_drained = false;
    nb_dispatch_tell_drained(nb_dispatch_of(connections->dispatch, exchange), exchange);
}

/* --- the end --- */

void nb_connection_leave(nb_connections *connections, nb_connection *connection) {
    bool opened = !beginning(connection);
    if (!opened) nb_handshake_end(connections, connection, NB_HANDSHAKE_left);
    connection->state = NB_CONNECTION_ENDED;
    count_phase(connections, connection);
    nb_timeouts_set(&connections->timeouts, &connection->timeout, NB_TIMEOUT_NONE, connections->time->now_ns);
    (void)nb_poll_remove(connections->poll, connection->transport.fd);
    nb_connection_count_worker(connections, connection);
    nb_connection_abort_exchanges(connections, connection);
    if (opened) connection->protocol->close(connection);
    nb_stages_connection_end(connections->responses->stages, &connection->leaving);
    nb_downloads_connection_end(connections->downloads, &connection->downloads, connection->sent);
    nb_buffer_release(&connection->input, connections->pool);
    nb_send_queue_clear(&connection->send_queue, connections->pool);
    unlink_connection(connections, connection);
}

void nb_connection_leave_lists(nb_connections *connections, nb_connection *connection) {
    if (!connection->admin) nb_counters_phase(connections->counters, (nb_phase)connection->phase, NB_PHASE_NONE);
    connection->phase = NB_PHASE_NONE;
    count_end(connections, connection->admin);
    unlink_connection(connections, connection);
    connection->tunnel = true;
    link_connection(connections, connection);
}

void nb_connection_bury(nb_connections *connections, nb_connection *connection) {
    connection->next = connections->graveyard;
    connections->graveyard = connection;
    if (!connection->tunnel) count_end(connections, connection->admin);
}

void nb_connection_end(nb_connections *connections, nb_connection *connection, bool reset) {
    if (connection->state == NB_CONNECTION_ENDED) return;
    nb_connection_leave(connections, connection);
    if (connection->sending) {
        nb_connection_end_sending(connections, connection, reset);
    } else if (connection->handshake) {
        nb_connection_await_worker(connections, connection, reset);
        connection->transport.kind->abort(&connection->transport, reset);
    } else {
        nb_connection_close(connections, connection, reset);
    }
}

void nb_connection_close(nb_connections *connections, nb_connection *connection, bool reset) {
    connection->transport.kind->close(&connection->transport, reset);
    nb_connection_bury(connections, connection);
}

void nb_connection_await_worker(nb_connections *connections, nb_connection *connection, bool reset) {
    connection->reset = reset;
    connection->previous = NULL;
    connection->next = connections->with_workers;
    if (connections->with_workers) connections->with_workers->previous = connection;
    connections->with_workers = connection;
}

void nb_connection_take_from_workers(nb_connections *connections, nb_connection *connection) {
    *(connection->previous ? &connection->previous->next : &connections->with_workers) = connection->next;
    if (connection->next) connection->next->previous = connection->previous;
}

void nb_connection_returned_after_end(nb_connections *connections, nb_connection *connection) {
    nb_handshake_drop(connection->handshake);
    connection->handshake = NULL;
    nb_connection_take_from_workers(connections, connection);
    nb_connection_close(connections, connection, connection->reset);
}

void nb_connection_free(nb_connections *connections, nb_connection *connection) {
    (void)connections;
    nb_free(connection);
}

/* --- handed over --- */

/* NULL: out of memory. bytes: what was read of the client and is the application's. */
static nb_handover *new_handover(int fd, nb_slice bytes) {
    nb_handover *handover = nb_alloc(sizeof(*handover) + bytes.size);
    if (!handover) return NULL;
    handover->fd = fd;
    handover->size = bytes.size;
    if (bytes.size) memcpy(handover->bytes, bytes.data, bytes.size);
    return handover;
}

static void give_to_executor(nb_connections *connections, nb_exchange *exchange, nb_handover *handover) {
    exchange->handover = handover;
    nb_dispatch_hand_over(nb_dispatch_of(connections->dispatch, exchange), exchange);
    NB_COUNT(connections->counters, hijacked, 1);
}

static void detach(nb_connections *connections, nb_exchange *exchange) {
    unlink_exchange(exchange->connection, exchange);
    nb_connection_end_body(connections, exchange);
    nb_compression_drop(exchange);
    nb_stages_dropped(connections->responses->stages, exchange);
    exchange->connection = NULL;
    exchange->out = NULL;
}

/* The executor gets the other end of a tunnel. */
static void hand_over_tunnel(nb_connections *connections, nb_exchange *exchange) {
    nb_connection *connection = exchange->connection;
    int ends[2];
    nb_handover *handover = new_handover(-1, nb_slice_of(NULL, 0));
    if (!handover || nb_net_pair(ends) != NB_OK) {
        nb_free(handover);
        nb_connection_end(connections, connection, true);
        return;
    }
    handover->fd = ends[1];
    while (exchange->next) {
        nb_connection_abort_exchange(connections, exchange->next);
    }
    detach(connections, exchange);
    give_to_executor(connections, exchange, handover);
    nb_tunnel_open(connections, connection, ends[0]);
}

void nb_connection_hand_over(nb_connections *connections, nb_exchange *exchange) {
    nb_connection *connection = exchange->connection;
    if (connection->transport.tls) {
        hand_over_tunnel(connections, exchange);
        return;
    }
    size_t size = connection->input.data ? nb_buffer_size(&connection->input) : 0;
    nb_slice bytes = nb_slice_of(size ? nb_buffer_bytes(&connection->input) : NULL, size);
    nb_handover *handover = new_handover(connection->transport.fd, bytes);
    if (!handover) {
        nb_connection_end(connections, connection, true);
        return;
    }
    detach(connections, exchange);
    /* Removed from the poller while the descriptor is still ours. A worker process's duplicate
     * keeps the socket in epoll, and events would come for a freed connection. */
    nb_connection_leave(connections, connection);
    nb_connection_bury(connections, connection);
    give_to_executor(connections, exchange, handover);
}

/* --- reading --- */

void nb_connection_receive(nb_connections *connections, nb_connection *connection) {
    if (connection->state == NB_CONNECTION_OPEN) connection->protocol->received(connections, connection);
    if (connection->state == NB_CONNECTION_LINGER) nb_buffer_release(&connection->input, connections->pool);
    /* Flushes call its protocol's hung_up. */
    if (connection->hung_up) nb_connection_mark_dirty(connections, connection);
}

/* Tells the executor of each request: most clients that finish sending have closed. */
static void tell_left(nb_connections *connections, nb_connection *connection) {
    for (nb_exchange *exchange = connection->first; exchange; exchange = exchange->next) {
        if (!exchange->ended && !exchange->body && !exchange->upload)
            nb_dispatch_tell_left(nb_dispatch_of(connections->dispatch, exchange), exchange);
    }
}

/* Complete requests are still answered, as the client may have shut down only its sending side.
 * cancel_on_disconnect says that it has left. */
static void input_ended(nb_connections *connections, nb_connection *connection) {
    connection->read_ended = true;
    tell_left(connections, connection);
    if (connection->state == NB_CONNECTION_OPEN) {
        connection->protocol->input_ended(connections, connection);
    } else if (connection->state == NB_CONNECTION_LINGER ||
               (nb_connection_client_left(connection) && !nb_connection_owes(connection))) {
        nb_connection_end(connections, connection, false);
    }
}

void nb_connection_read(nb_connections *connections, nb_connection *connection) {
    for (int i = 0; i < READS_IN_A_TURN && nb_connection_wants_read(connection); i++) {
        size_t room = 0, moved = 0;
        size_t capacity_max = connections->settings.header_bytes_max + NB_READ_BUFFER_BYTES;
        nb_status status = nb_buffer_room(&connection->input, connections->pool, capacity_max, &room);
        if (status != NB_OK) {
            nb_connection_end(connections, connection, true);
            return;
        }
        status = connection->transport.kind->read(&connection->transport,
                                                  connection->input.data + connection->input.end, room, &moved);
        if (status == NB_OK) {
            if (nb_buffer_size(&connection->input) == 0) connection->began_ns = connections->time->now_ns;
            if (!connection->admin) NB_COUNT(connections->counters, bytes_received, moved);
            connection->input.end += (uint32_t)moved;
            if (connection->waits == NB_WAITS_NOT) connection->window_bytes += moved;
            nb_connection_receive(connections, connection);
            if (moved < room) return;
            continue;
        }
        if (nb_buffer_size(&connection->input) == 0) nb_buffer_release(&connection->input, connections->pool);
        if (status == NB_EOF || connection->hung_up) {
            input_ended(connections, connection);
        } else if (status == NB_SYSTEM) {
            nb_connection_end(connections, connection, false);
        }
        return;
    }
}

/* The client is gone, with all that it has to say in the socket. The poller would tell of that in
 * each turn, so the socket leaves it: flushes read on to the end. */
static void hang_up(nb_connections *connections, nb_connection *connection) {
    connection->hung_up = true;
    connection->interest = 0;
    (void)nb_poll_remove(connections->poll, connection->transport.fd);
    nb_connection_mark_dirty(connections, connection);
    nb_connection_follow(connections, connection);
}

void nb_connection_go_on_unheard(nb_connections *connections, nb_connection *connection) {
    if (connection->state == NB_CONNECTION_LAST && !connection->read_ended) input_ended(connections, connection);
    if (connection->state != NB_CONNECTION_OPEN && connection->state != NB_CONNECTION_LAST) return;
    if (connection->protocol->hung_up) {
        connection->protocol->hung_up(connections, connection);
    } else {
        nb_connection_end(connections, connection, false);
    }
}

static void handshake_ready(nb_connections *connections, nb_connection *connection, uint32_t events) {
    if (events & (NB_POLL_HANGUP | NB_POLL_ERROR)) {
        nb_connection_end(connections, connection, false);
    } else if (connection->handshake->with_worker) {
        set_interest(connections, connection, 0);
    } else {
        nb_handshake_ready(connections, connection);
    }
}

void nb_connection_ready(nb_connections *connections, nb_connection *connection, uint32_t events) {
    if (connection->state == NB_CONNECTION_ENDED) return;
    if (connection->state == NB_CONNECTION_PROXIED) {
        nb_proxied_ready(connections, connection);
        return;
    }
    if (connection->state == NB_CONNECTION_HANDSHAKE) {
        handshake_ready(connections, connection, events);
        return;
    }
    if (events & NB_POLL_READ) {
        if (nb_connection_wants_read(connection)) {
            nb_connection_read(connections, connection);
        } else {
            bool last = connection->state == NB_CONNECTION_LAST && !connection->read_ended;
            if (last && connection->transport.kind->peer_finished(&connection->transport))
                input_ended(connections, connection);
            set_interest(connections, connection, connection->interest & (uint8_t)~NB_POLL_READ);
        }
    }
    if (connection->state == NB_CONNECTION_ENDED) return;
    bool open_tunnel = connection->tunnel && connection->state == NB_CONNECTION_OPEN;
    if ((events & NB_POLL_ERROR) && !open_tunnel) {
        nb_connection_end(connections, connection, false);
        return;
    }
    if (events & (NB_POLL_HANGUP | NB_POLL_ERROR)) {
        hang_up(connections, connection);
        return;
    }
    if (events & NB_POLL_WRITE) {
        connection->writable = true;
        nb_connection_mark_dirty(connections, connection);
    }
    nb_connection_follow(connections, connection);
}

/* --- time and drain --- */

/* An idle connection is no longer wanted. */
static void part(nb_connections *connections, nb_connection *connection) {
    if (connection->protocol->drain) {
        connection->protocol->drain(connections, connection);
    } else {
        nb_connection_end(connections, connection, false);
    }
}

static void count_timed_out(nb_connections *connections, const nb_connection *connection) {
    if (!connection->admin) NB_COUNT(connections->counters, timed_out, 1);
}

static void transfer_timed_out(nb_connections *connections, nb_connection *connection) {
    if (!nb_connection_is_too_slow(connections, connection)) {
        retime(connections, connection);
        return;
    }
    count_timed_out(connections, connection);
    if (connection->waits != NB_WAITS_NOT) {
        connection->downloads.end = NB_DOWNLOAD_timed_out;
        nb_connection_end(connections, connection, true);
        return;
    }
    connection->protocol->timed_out(connections, connection, NB_TIMEOUT_TRANSFER);
}

void nb_connection_timed_out(nb_connections *connections, nb_connection *connection, nb_timeout_class kind) {
    if (timeout_class(connection) != kind) { /* the state has changed in this turn */
        retime(connections, connection);
        return;
    }
    switch (kind) {
    case NB_TIMEOUT_TRANSFER:
        transfer_timed_out(connections, connection);
        break;
    case NB_TIMEOUT_HEADER:
        count_timed_out(connections, connection);
        connection->protocol->timed_out(connections, connection, kind);
        break;
    case NB_TIMEOUT_HANDSHAKE:
        count_timed_out(connections, connection);
        nb_handshake_timed_out(connections, connection);
        return;
    case NB_TIMEOUT_RATE:
        connection->waits = NB_WAITS_TURN;
        nb_connection_mark_dirty(connections, connection);
        return;
    case NB_TIMEOUT_IDLE:
        /* Where the loop was kept from its turn, a request has come in time and is not read. */
        nb_connection_read(connections, connection);
        if (nb_connection_is_idle(connection)) part(connections, connection);
        break;
    case NB_TIMEOUT_ADMIN:
    case NB_TIMEOUT_LINGER:
    case NB_TIMEOUT_NONE:
    case NB_TIMEOUT_STREAM:
    case NB_TIMEOUT_STREAM_RATE:
    case NB_TIMEOUT_CLASSES:
        nb_connection_end(connections, connection, false);
        break;
    }
    nb_connection_follow(connections, connection);
}

void nb_connection_stream_timed_out(nb_connections *connections, nb_stream_timeout *timeout) {
    nb_connection *connection = timeout->connection;
    connection->protocol->stream_timed_out(connections, timeout);
    nb_connection_follow(connections, connection);
}

bool nb_connection_is_new(const nb_connections *connections, const nb_connection *connection) {
    return !connection->had_request && connections->time->now_ns - connection->began_ns < NB_FIRST_REQUEST_NS;
}

void nb_connection_drain(nb_connections *connections, nb_connection *connection) {
    if (connection->state == NB_CONNECTION_PROXIED) nb_proxied_drain(connections, connection);
    if (connection->state == NB_CONNECTION_HANDSHAKE) nb_handshake_drain(connections, connection);
    bool told = connection->state == NB_CONNECTION_OPEN && connection->protocol->drain;
    if (!nb_connection_is_idle(connection) && !told) return;
    nb_connection_read(connections, connection); /* a request that has already arrived is served */
    bool idle = nb_connection_is_idle(connection) && !nb_connection_is_new(connections, connection);
    if (idle || (told && connection->state == NB_CONNECTION_OPEN)) part(connections, connection);
    nb_connection_follow(connections, connection);
}
