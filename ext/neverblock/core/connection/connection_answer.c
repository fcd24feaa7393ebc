/*
 * connection_answer.c - connection.h's answers in the place of an application: what is refused, what there is no room for, and what
 * was lost with the process that ran it.
 */
#include <stdio.h>
#include <string.h>

#include "connection/connection_internal.h"
#include "answers/reply.h"

static const char allow_line[] = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n";

/* "Retry-After: " with seconds. */
#define RETRY_LINE_BYTES 32

void nb_connection_release_spool(nb_connections *connections, nb_exchange *exchange) {
    if (exchange->spooled) nb_spool_give(&connections->spool, exchange->spooled);
    exchange->spooled = 0;
}

void nb_connection_log(nb_connections *connections, const nb_connection *connection, uint16_t http_status,
                       const char *reason) {
    const nb_buffer *input = &connection->input;
    nb_slice received = {NULL, 0};
    if (input->data) received = (nb_slice){nb_buffer_bytes(input), nb_buffer_size(input)};
    nb_request_log_answered(&connections->request_log, connection->peer.address, received, http_status, reason);
}

void nb_connection_answer(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                          nb_refusal refusal, const char *extra, bool close) {
    if (!exchange) exchange = nb_connection_add_exchange(connections, connection);
    if (close) connection->state = NB_CONNECTION_LAST;
    if (exchange && close) exchange->facts.keep_alive = false;
    bool is_executors = exchange && exchange->channel != NB_CHANNEL_NONE; /* which logs it */
    if (!is_executors && !connection->admin)
        nb_connection_log(connections, connection, refusal.http_status, refusal.reason);
    if (!exchange ||
        nb_reply_own(connections->answers, exchange, refusal.http_status, refusal.reason, extra) != NB_OK) {
        nb_connection_end(connections, connection, true);
        return;
    }
    connection->served = true;
    connection->receiving = NULL;
    nb_connection_mark_dirty(connections, connection);
}

/* A refused head may be a HEAD request's, whose answer has no body (RFC 9110 section 9.3.2). */
static bool begins_with_head(const nb_connection *connection) {
    const char *bytes = nb_buffer_bytes(&connection->input);
    size_t size = connection->input.data ? nb_buffer_size(&connection->input) : 0;
    while (size > 0 && (*bytes == '\r' || *bytes == '\n')) {
        bytes++;
        size--;
    }
    return size >= 5 && memcmp(bytes, "HEAD ", 5) == 0;
}

static void drop_body(nb_connections *connections, nb_connection *connection) {
    if (connection->body) nb_request_log_note_message(&connections->request_log, connection->body->message);
    nb_body_destroy(connection->body);
    connection->body = NULL;
}

void nb_connection_refuse(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                          nb_refusal refusal) {
    if (!connection->admin) NB_COUNT(connections->counters, refused, 1);
    drop_body(connections, connection);
    connection->refused = true;
    if (!exchange && (exchange = nb_connection_add_exchange(connections, connection)))
        exchange->facts.head_request = begins_with_head(connection);
    nb_connection_answer(connections, connection, exchange, refusal, refusal.http_status == 405 ? allow_line : "",
                         true);
    if (connection->state != NB_CONNECTION_ENDED) nb_connection_settle(connections, connection);
}

static const char *retry_line(const nb_connections *connections, char line[RETRY_LINE_BYTES]) {
    uint32_t seconds = nb_dispatch_serves(connections->dispatch) ? 0 : connections->dispatch->unavailable_s;
    (void)snprintf(line, RETRY_LINE_BYTES, "Retry-After: %u\r\n", seconds ? seconds : 1);
    return line;
}

void nb_connection_shed(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                        const char *reason, bool close) {
    NB_COUNT(connections->counters, shed, 1);
    drop_body(connections, connection);
    if (close) connection->refused = true;
    char line[RETRY_LINE_BYTES];
    nb_connection_answer(connections, connection, exchange, (nb_refusal){503, reason}, retry_line(connections, line),
                         close);
    if (connection->state != NB_CONNECTION_ENDED) nb_connection_settle(connections, connection);
}

/* In place of an executor that never got the request. */
static void answer_queued(nb_connections *connections, nb_exchange *exchange) {
    char line[RETRY_LINE_BYTES];
    nb_connection *connection = exchange->connection;
    bool receiving = connection->receiving == exchange; /* a streamed body */
    nb_connection_release_spool(connections, exchange);
    if (receiving) connection->refused = true;
    nb_connection_answer(connections, connection, exchange, (nb_refusal){503, "the server is busy, try again"},
                         retry_line(connections, line), receiving);
    if (connection->state != NB_CONNECTION_ENDED) nb_connection_settle(connections, connection);
}

void nb_connection_overdue(nb_connections *connections, nb_exchange *exchange) {
    NB_COUNT(connections->counters, overdue, 1);
    answer_queued(connections, exchange);
}

void nb_connection_unavailable(nb_connections *connections, nb_exchange *exchange) {
    NB_COUNT(connections->counters, shed, 1);
    answer_queued(connections, exchange);
}

bool nb_connection_lost(nb_connections *connections, nb_exchange *exchange) {
    nb_connection *connection = exchange->connection;
    bool begun = exchange->head_sent || exchange->hijack;
    nb_connection_release_spool(connections, exchange);
    if (begun) {
        exchange->hijack = false;
        nb_message broken = {.type = NB_MESSAGE_BODY,
                             .flags = NB_PART_LAST | NB_PART_ABORTED,
                             .bytes = sizeof(broken),
                             .exchange = nb_exchange_id_of(exchange)};
        nb_connection_part(connections, exchange, &broken, "");
        return true;
    }
    if (connection->upload && !nb_upload_can_be_dropped(connection->upload)) exchange->facts.keep_alive = false;
    NB_COUNT(connections->counters, lost, 1);
    nb_request_log_take(&connections->request_log, exchange->line);
    nb_connection_answer(connections, connection, exchange,
                         (nb_refusal){502, "the process that ran the request has ended"}, "", false);
    if (connection->state != NB_CONNECTION_ENDED) nb_connection_settle(connections, connection);
    return false;
}

/* RFC 9110 section 9.3.7: about the server as a whole, so the server answers. */
void nb_connection_answer_asterisk(nb_connections *connections, nb_connection *connection, nb_exchange *exchange) {
    nb_connection_answer(connections, connection, exchange, (nb_refusal){200, ""}, allow_line, false);
    if (connection->state != NB_CONNECTION_ENDED) nb_connection_settle(connections, connection);
}

/* --- answers that waited for the disk --- */

static void answered(void *owner, nb_exchange *exchange, nb_status status) {
    if (status == NB_OK) {
        nb_connection_settle(owner, exchange->connection);
    } else {
        nb_connection_end(owner, exchange->connection, true);
    }
}

static void searched(void *owner, nb_exchange *exchange, nb_static found, nb_request_message *message) {
    nb_connections *connections = owner;
    nb_connection *connection = exchange->connection;
    bool applications = found == NB_STATIC_NONE;
    if (applications &&
        nb_dispatch_message(nb_dispatch_of(connections->dispatch, exchange), exchange, message) == NB_OK)
        return;
    if (found != NB_STATIC_FAILED) nb_request_log_note_message(&connections->request_log, message);
    nb_request_message_free(message);
    if (applications) {
        nb_connection_shed(connections, connection, exchange, "the server is busy, try again", false);
    } else {
        nb_connection_searched(connections, connection, exchange, found);
    }
}

const nb_answers_events nb_connection_answers_events = {.answered = answered, .searched = searched};
