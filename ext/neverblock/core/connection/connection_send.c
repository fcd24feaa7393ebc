/*
 * connection_send.c - sends what a connection owes its client, in the order of the responses:
 * memory from the loop, files by a sending (send/sending.h). When all is sent, decides what
 * follows. See connection.h.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "connection/connection_internal.h"
#include "metrics/downloads.h"

/* Bytes sent to one connection in one turn, before other connections have theirs. */
#define SEND_BUDGET_BYTES (UINT64_C(1) << 20)

uint64_t nb_connection_owed(const nb_connection *connection) {
    return connection->send_queue.bytes + (connection->sending ? connection->sending->left : 0);
}

static void count_sent(nb_connections *connections, nb_connection *connection, uint64_t bytes) {
    connection->window_bytes += bytes;
    connection->sent += bytes;
    if (!connection->admin) NB_COUNT(connections->counters, bytes_sent, bytes);
    nb_stages_sent(connections->responses->stages, &connection->leaving, connection->sent);
    if (connection->downloads.first)
        nb_downloads_sent(connections->downloads, &connection->downloads, connection->sent);
}

static nb_status send_memory(nb_connections *connections, nb_connection *connection) {
    uint64_t sent = 0;
    nb_status status = nb_send_queue_send(&connection->send_queue, connections->pool, &connection->transport,
                                          SEND_BUDGET_BYTES, &sent);
    count_sent(connections, connection, sent);
    connection->waits = status == NB_OK ? NB_WAITS_NOT : NB_WAITS_CLIENT;
    return status;
}

static void end_sending(nb_connection *connection) {
    nb_sending_end(connection->sending);
    connection->sending = NULL;
    connection->returned = false;
}

/* Does what the step wants next. NB_OK: take another step now. NB_AGAIN: later. Else the status of
 * the sending. */
static nb_status follow_step(nb_connections *connections, nb_connection *connection, nb_step step) {
    nb_sending *sending = connection->sending;
    switch (step) {
    case NB_STEP_DONE:
        if (sending->left > 0) break; /* the algorithm says that it is done, and is not */
        end_sending(connection);
        return NB_OK;
    case NB_STEP_WRITABLE:
        connection->waits = NB_WAITS_CLIENT;
        return NB_AGAIN;
    case NB_STEP_WORKER:
        connection->waits = NB_WAITS_WORKER;
        return NB_AGAIN;
    case NB_STEP_OTHERS:
    case NB_STEP_LOOP:
        connection->waits = NB_WAITS_TURN;
        nb_connection_mark_dirty(connections, connection);
        return NB_AGAIN;
    case NB_STEP_FAILED:
        break;
    }
    errno = sending->error;
    return sending->status == NB_EOF ? NB_EOF : NB_SYSTEM;
}

static uint64_t rate_of(const nb_connections *connections, const nb_connection *connection) {
    return connection->sending->rate ? connection->sending->rate : connections->settings.send_rate;
}

uint64_t nb_connection_reserve(nb_connections *connections, nb_connection *connection, int64_t *paid_until_ns,
                               uint64_t rate, uint64_t most) {
    int64_t now_ns = connections->time->now_ns;
    uint64_t bytes = nb_pace_allows(*paid_until_ns, rate, most, now_ns);
    if (bytes > 0 && connections->address_paces) {
        if (!connection->address_key) connection->address_key = nb_address_pace_key(connection->peer.address);
        uint64_t key = connection->address_key;
        if (key) bytes = nb_address_pace_reserve(connections->address_paces, key, bytes < most ? bytes : most, now_ns);
    }
    if (bytes < UINT64_MAX) *paid_until_ns = nb_pace_take(*paid_until_ns, rate, bytes, now_ns);
    return bytes;
}

/* Bytes that the rates allow now; UINT64_MAX: no rate holds. */
static uint64_t reserve(nb_connections *connections, nb_connection *connection) {
    if (connection->protocol->paces) return UINT64_MAX;
    /* Where all is sent, a last step ends the sending. */
    uint64_t left = connection->sending->left ? connection->sending->left : 1;
    uint64_t bytes = nb_connection_reserve(connections, connection, &connection->paid_until_ns,
                                           rate_of(connections, connection), left);
    connection->sending->paced = bytes < UINT64_MAX;
    if (connection->sending->paced) connection->sending->paid = bytes;
    return bytes;
}

static void count_of_files(nb_connections *connections, nb_connection *connection, uint64_t bytes) {
    uint64_t paid = bytes < connection->sending->paid ? bytes : connection->sending->paid, more = bytes - paid;
    connection->sending->paid -= paid;
    count_sent(connections, connection, bytes);
    if (more == 0 || !connection->sending->paced) return; /* the algorithm kept to its budget */
    connection->paid_until_ns = nb_pace_take(connection->paid_until_ns, rate_of(connections, connection), more,
                                             connections->time->now_ns);
    nb_address_pace_take(connections->address_paces, connection->address_key, more, connections->time->now_ns);
}

/* Gives back what was paid for and not sent, except for what a worker may still send. */
static void give_unsent(nb_connections *connections, nb_connection *connection) {
    uint64_t with_worker = connection->sending->with_worker ? connection->sending->budget : 0;
    if (connection->sending->paid <= with_worker) return;
    uint64_t bytes = connection->sending->paid - with_worker;
    connection->sending->paid = with_worker;
    connection->paid_until_ns = nb_pace_give(connection->paid_until_ns, rate_of(connections, connection), bytes);
    nb_address_pace_give(connections->address_paces, connection->address_key, bytes, connections->time->now_ns);
}

static nb_status step_sending(nb_connections *connections, nb_connection *connection) {
    nb_sending *sending = connection->sending;
    if (connection->returned) {
        connection->returned = false;
        bool more = sending->step == NB_STEP_WORKER || sending->step == NB_STEP_OTHERS || sending->step == NB_STEP_LOOP;
        if (!more) return follow_step(connections, connection, sending->step);
    } else if (connection->waits == NB_WAITS_CLIENT && !connection->writable) {
        return NB_AGAIN;
    }
    uint64_t sent = 0, most = reserve(connections, connection);
    if (most == 0) {
        connection->waits = NB_WAITS_RATE;
        return NB_AGAIN;
    }
    connection->writable = false;
    nb_step step = nb_sending_step(sending, most, &sent);
    count_of_files(connections, connection, sent);
    give_unsent(connections, connection);
    return follow_step(connections, connection, step);
}

static nb_status begin_sending(nb_connections *connections, nb_connection *connection) {
    connection->sending = nb_sending_begin(&connections->senders, &connection->send_queue, &connection->transport,
                                           connection);
    connection->writable = true; /* assumed until a send says otherwise */
    return connection->sending ? NB_OK : NB_NO_MEMORY;
}

static nb_status leave_files(nb_connections *connections, nb_connection *connection) {
    atomic_store_explicit(&connections->files_due, true, memory_order_relaxed);
    connection->waits = NB_WAITS_TURN;
    nb_connection_mark_dirty(connections, connection);
    return NB_AGAIN;
}

/* As nb_send_queue_send, but NB_AGAIN whenever something is left. */
static nb_status send_owed(nb_connections *connections, nb_connection *connection) {
    nb_status status = NB_OK;
    uint64_t before = connection->sent;
    while (status == NB_OK) {
        if (!connection->sending && !connection->send_queue.files) return send_memory(connections, connection);
        if (connection->sending && connection->sending->with_worker) return NB_AGAIN;
        if (connections->without_files) return leave_files(connections, connection);
        if (connection->sent - before >= SEND_BUDGET_BYTES) return follow_step(connections, connection, NB_STEP_OTHERS);
        status = connection->sending ? step_sending(connections, connection) : begin_sending(connections, connection);
    }
    return status;
}

/* In the place of send_owed when the client has hung up. A worker that has the sending finds that
 * out by itself. */
static nb_status drop_owed(nb_connections *connections, nb_connection *connection) {
    if (connection->sending && connection->sending->with_worker) return NB_AGAIN;
    if (connection->sending) end_sending(connection);
    nb_send_queue_clear(&connection->send_queue, connections->pool);
    connection->waits = NB_WAITS_NOT;
    return NB_OK;
}

void nb_connection_end_sending(nb_connections *connections, nb_connection *connection, bool reset) {
    if (connection->sending->with_worker) {
        nb_connection_await_worker(connections, connection, reset);
        nb_sending_cancel(connection->sending, reset);
        return;
    }
    end_sending(connection);
    nb_connection_close(connections, connection, reset);
}

void nb_connection_count_worker(nb_connections *connections, nb_connection *connection) {
    if (connection->sending) count_of_files(connections, connection, nb_sending_progress(connection->sending));
}

void nb_connection_returned(nb_connections *connections, nb_connection *connection) {
    (void)nb_sending_take_back(connection->sending);
    nb_connection_count_worker(connections, connection);
    give_unsent(connections, connection);
    if (connection->state != NB_CONNECTION_ENDED) {
        connection->returned = true;
        nb_connection_mark_dirty(connections, connection);
        return;
    }
    nb_connection_take_from_workers(connections, connection);
    nb_connection_end_sending(connections, connection, connection->reset);
}

/* --- when all has left --- */

bool nb_connection_finish(nb_connection *connection) {
    bool finished = connection->transport.kind->finish(&connection->transport) == NB_OK;
    if (!finished) connection->waits = NB_WAITS_CLIENT;
    return finished;
}

/* All is sent. While the client may still be sending, the socket is shut down but not closed: a
 * reset could destroy our answer before the client reads it (RFC 9112 section 9.6). */
static void part_politely(nb_connections *connections, nb_connection *connection, bool refused) {
    if (connection->reset) {
        nb_connection_end(connections, connection, true);
        return;
    }
    if (!nb_connection_finish(connection)) return;
    if (connection->read_ended) {
        nb_connection_end(connections, connection, false);
        return;
    }
    bool unread = connection->input.data != NULL;
    nb_buffer_release(&connection->input, connections->pool);
    char scrap[512];
    size_t moved;
    nb_status status = connection->transport.kind->read(&connection->transport, scrap, sizeof(scrap), &moved);
    if (status == NB_OK && !connection->admin) NB_COUNT(connections->counters, bytes_received, moved);
    if (status == NB_EOF || status == NB_SYSTEM || (status == NB_AGAIN && !refused && !unread)) {
        nb_connection_end(connections, connection, false);
        return;
    }
    connection->state = NB_CONNECTION_LINGER;
}

static void all_has_left(nb_connections *connections, nb_connection *connection) {
    if (connection->hung_up && !connection->tunnel && connection->read_ended && !connection->first) {
        nb_connection_end(connections, connection, false);
        return;
    }
    if (!connection->first) {
        if (connection->state == NB_CONNECTION_LAST) part_politely(connections, connection, connection->body_unread);
        if (connections->draining && !connection->admin && nb_connection_is_idle(connection))
            nb_connection_end(connections, connection, false);
    }
    if (nb_connection_client_left(connection)) nb_connection_end(connections, connection, false);
}

void nb_connection_tell_shrunk(nb_connections *connections, const nb_file *file) {
    if (!file || !nb_log_due(&connections->shrunk_told_ns, connections->time->now_ns)) return;
    char path[NB_LOG_NAME_BYTES], name[NB_LOG_NAME_BYTES];
    size_t size = nb_os_descriptor_path(file->fd, path, sizeof(path));
    nb_log_name(name, nb_slice_of(path, size));
    nb_log_line(
        connections->log,
        "%s became shorter while it was sent, and its download was cut: files are replaced by renaming new ones",
        size ? name : "a file");
}

void nb_connection_flush(nb_connections *connections, nb_connection *connection) {
    connection->dirty = false;
    if (connection->state == NB_CONNECTION_ENDED || connection->state == NB_CONNECTION_HANDSHAKE) return;
    if (nb_connection_reads_unasked(connection)) nb_connection_read(connections, connection);
    if (connection->state == NB_CONNECTION_ENDED) return;
    bool unheard = connection->hung_up && !connection->tunnel;
    if (unheard) nb_connection_go_on_unheard(connections, connection);
    if (connection->state == NB_CONNECTION_ENDED) return;
    if (connection->protocol->fill) connection->protocol->fill(connections, connection);
    if (connection->state == NB_CONNECTION_ENDED) return;
    nb_status status = unheard ? drop_owed(connections, connection) : send_owed(connections, connection);
    if (status == NB_EOF) {
        connection->downloads.end = NB_DOWNLOAD_shrunk;
        nb_connection_tell_shrunk(connections, nb_send_queue_file(connection->sending ? &connection->sending->send_queue
                                                                                      : &connection->send_queue));
    }
    if (status == NB_EOF || status == NB_SYSTEM || status == NB_NO_MEMORY) {
        nb_connection_end(connections, connection, true);
        return;
    }
    connection->protocol->sent(connections, connection);
    /* Marked again: the protocol owes more, which the next turn makes and sends. */
    if (connection->waits == NB_WAITS_NOT && !connection->dirty) all_has_left(connections, connection);
    nb_connection_follow(connections, connection);
}

/* Bytes count when the client has acknowledged them. A large socket buffer takes nothing for long
 * stretches while a slow reader empties it. A client that moves nothing, or a few bytes now and
 * then, must not keep its memory forever. It is not slow while the server, not the client, is
 * waited for. */
bool nb_connection_is_too_slow(nb_connections *connections, nb_connection *connection) {
    int64_t window_ns = connections->settings.body_timeout_ms * NB_NS_PER_MS;
    if (connection->waits == NB_WAITS_TURN) return false;
    if (connection->waits == NB_WAITS_WORKER) {
        nb_connection_count_worker(connections, connection);
        if (!nb_sending_waits_since(connection->sending, connections->time->now_ns - window_ns)) return false;
    }
    uint64_t least = (uint64_t)connections->settings.rate_min * connections->settings.body_timeout_ms / 1000;
    uint64_t moved = connection->window_bytes + connection->window_queued;
    size_t queued = connection->waits ? nb_net_unacknowledged(connection->transport.fd) : 0;
    moved = moved > queued ? moved - queued : 0; /* a UNIX socket counts its overhead as well */
    return moved < (least ? least : 1);
}
