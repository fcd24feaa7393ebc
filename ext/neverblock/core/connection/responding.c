/*
 * responding.c - see responding.h.
 */
#include "connection/responding.h"

#include <stdio.h>

#include "responses/named.h"
#include "responses/compose.h"
#include "responses/compression.h"
#include "base/text.h"
#include "http/host.h"
#include "intake/body.h"

static const char allow_line[] = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n";
static const char admin_allow_line[] = "Allow: GET, HEAD, POST\r\n";
static const char busy_reason[] = "the server is busy, try again";

/* "Retry-After: " and seconds. */
#define RETRY_LINE_BYTES 32

/* What the field lines of a redirect have besides host, path and query. */
#define REDIRECT_REST_BYTES 128

/* --- the server's own --- */

void nb_respond_log(nb_connections *connections, const nb_connection *connection, uint16_t http_status,
                    const char *reason) {
    const nb_buffer *input = &connection->input;
    nb_slice received = {NULL, 0};
    if (input->data) received = (nb_slice){nb_buffer_bytes(input), nb_buffer_size(input)};
    nb_request_log *log = &connections->request_log;
    nb_slice tls = nb_request_log_tls(log, &connection->tls);
    nb_request_log_answered(log, connection->peer.address, received, http_status, reason, tls);
}

void nb_respond_own(nb_connections *connections, nb_exchange *exchange, nb_refusal refusal, const char *extra) {
    nb_connection *connection = exchange->connection;
    bool is_executors = exchange->channel != NB_CHANNEL_NONE; /* the executor logs it */
    if (!is_executors && !connection->admin)
        nb_respond_log(connections, connection, refusal.http_status, refusal.reason);
    if (nb_compose_own(connections->responses, exchange, refusal.http_status, refusal.reason, extra) != NB_OK) {
        nb_connection_end(connections, connection, true);
        return;
    }
    connection->had_request = true;
    nb_connection_mark_dirty(connections, connection);
    connection->protocol->answered(connections, exchange);
}

bool nb_respond_admin(nb_connections *connections, nb_exchange *exchange, nb_slice authority) {
    nb_connection *connection = exchange->connection;
    exchange->response.head_request = connections->head.method == NB_METHOD_HEAD;
    NB_COUNT(connections->counters, admin_requests, 1);
    if (connections->events->answer_admin(connections->owner, exchange, authority) != NB_OK) {
        nb_connection_end(connections, connection, true);
        return false;
    }
    connection->had_request = true;
    if (!exchange->ended) nb_connection_mark_dirty(connections, connection);
    return true;
}

static void drop_body(nb_connections *connections, nb_exchange *exchange) {
    if (exchange->body) nb_request_log_note_message(&connections->request_log, exchange->body->message);
    nb_connection_end_body(connections, exchange);
}

void nb_respond_refused(nb_connections *connections, nb_exchange *exchange, nb_refusal refusal) {
    nb_connection *connection = exchange->connection;
    if (!connection->admin) NB_COUNT(connections->counters, requests_refused, 1);
    drop_body(connections, exchange);
    connection->protocol->body_stopped(connections, exchange);
    const char *allowed = connection->admin ? admin_allow_line : allow_line;
    nb_respond_own(connections, exchange, refusal, refusal.http_status == 405 ? allowed : "");
}

static void answer_503(nb_connections *connections, nb_exchange *exchange, const char *reason) {
    char line[RETRY_LINE_BYTES];
    uint32_t seconds = nb_dispatch_serves(connections->dispatch) ? 0 : connections->dispatch->unavailable_s;
    (void)snprintf(line, sizeof(line), "Retry-After: %u\r\n", seconds ? seconds : 1);
    nb_respond_own(connections, exchange, (nb_refusal){503, reason}, line);
}

static void count_shed(nb_connections *connections, nb_exchange *exchange) {
    exchange->shed = true;
    NB_COUNT(connections->counters, shed, 1);
}

void nb_respond_busy(nb_connections *connections, nb_exchange *exchange, const char *reason, bool stop) {
    count_shed(connections, exchange);
    drop_body(connections, exchange);
    if (stop) exchange->connection->protocol->body_stopped(connections, exchange);
    answer_503(connections, exchange, reason ? reason : busy_reason);
}

void nb_respond_asterisk(nb_connections *connections, nb_exchange *exchange) {
    nb_respond_own(connections, exchange, (nb_refusal){200, ""}, allow_line);
}

/* "Location: https://HOST:PORT/PATH?QUERY". */
static void add_location(nb_text *fields, const nb_request_facts *facts, uint32_t port) {
    const nb_head *head = facts->head;
    nb_slice path = head->target_form == NB_TARGET_ASTERISK || head->path.size == 0 ? NB_SLICE("/") : head->path;
    nb_text_add(fields, "Location: https://");
    nb_text_add_bytes(fields, facts->host.data, nb_host_size(facts->host));
    if (port != 443) nb_text_format(fields, ":%u", port & 0xffffu);
    nb_text_add_bytes(fields, path.data, path.size);
    if (head->query.size) nb_text_add(fields, "?");
    nb_text_add_bytes(fields, head->query.data, head->query.size);
    nb_text_add(fields, "\r\n");
}

nb_status nb_compose_redirect(nb_connections *connections, nb_exchange *exchange, const nb_request_facts *facts) {
    nb_method method = facts->head->method;
    uint16_t status = method == NB_METHOD_GET || method == NB_METHOD_HEAD ? 301 : 308;
    if (facts->host.size == 0)
        return nb_compose_own(connections->responses, exchange, 400, "a Host is needed to be sent to https", "");
    nb_text fields;
    nb_text_init(&fields, facts->host.size + facts->head->path.size + facts->head->query.size + REDIRECT_REST_BYTES);
    nb_text_add(&fields, "Content-Type: text/plain; charset=utf-8\r\n");
    add_location(&fields, facts, connections->settings.redirect_port);
    nb_status composed = nb_text_failed(&fields)
                             ? NB_NO_MEMORY
                             : nb_compose_whole(connections->responses, exchange, status, nb_text_slice(&fields),
                                                NB_SLICE("this is served by https\n"));
    nb_text_deinit(&fields);
    return composed;
}

/* --- in place of an executor --- */

static void answer_queued(nb_connections *connections, nb_exchange *exchange) {
    nb_connection_release_spool(connections, exchange);
    if (exchange->upload) exchange->connection->protocol->body_stopped(connections, exchange);
    answer_503(connections, exchange, busy_reason);
}

void nb_respond_expired(nb_connections *connections, nb_exchange *exchange) {
    NB_COUNT(connections->counters, overdue, 1);
    answer_queued(connections, exchange);
}

void nb_respond_unavailable(nb_connections *connections, nb_exchange *exchange) {
    count_shed(connections, exchange);
    answer_queued(connections, exchange);
}

bool nb_respond_lost(nb_connections *connections, nb_exchange *exchange) {
    bool begun = exchange->head_sent || exchange->hijack;
    nb_connection_release_spool(connections, exchange);
    if (!begun) nb_compression_drop(exchange);
    if (begun) {
        exchange->hijack = false;
        nb_message broken = {.type = NB_MESSAGE_BODY,
                             .flags = NB_PART_LAST | NB_PART_ABORTED,
                             .bytes = sizeof(broken),
                             .exchange = nb_exchange_id_of(exchange)};
        nb_respond_part(connections, exchange, &broken, "");
        return true;
    }
    NB_COUNT(connections->counters, lost, 1);
    nb_request_log_take(&connections->request_log, exchange->line);
    nb_respond_own(connections, exchange, (nb_refusal){502, "the process that ran the request has ended"}, "");
    return false;
}

/* --- an executor's --- */

/* Early hints are advice: they are dropped after the head, and for a client that does not read. */
static bool takes_hints(const nb_connections *connections, const nb_exchange *exchange) {
    uint64_t owed = nb_connection_owed(exchange->connection) + exchange->send_queue.bytes;
    return !exchange->head_sent && !exchange->compression && !exchange->hijack &&
           owed <= connections->dispatch->response_window_bytes / 4;
}

/* The exchange has no connection: drops the part. */
static void drop_part(nb_connections *connections, nb_exchange *exchange, const nb_message *part) {
    if (part->type == NB_MESSAGE_NAMED) nb_named_message_drop((const nb_named_message *)(const void *)part);
    if (!(part->flags & NB_PART_LAST)) return;
    exchange->ended = true;
    if (!exchange->in_notices) nb_exchange_destroy(&connections->exchanges, exchange);
}

static nb_status add_part(nb_connections *connections, nb_exchange *exchange, const nb_message *part,
                          const char *rest) {
    if (part->type != NB_MESSAGE_NAMED) return nb_compression_part(connections->responses, exchange, part, rest);
    return nb_named_respond(connections->responses, exchange, (const nb_named_message *)(const void *)part, rest);
}

void nb_respond_part(nb_connections *connections, nb_exchange *exchange, const nb_message *part, const char *rest) {
    nb_connection *connection = exchange->connection;
    if (part->flags & NB_PART_LAST) nb_connection_release_spool(connections, exchange);
    if (!connection || exchange->ended) {
        drop_part(connections, exchange, part);
        return;
    }
    if (part->type == NB_MESSAGE_HIJACK) {
        exchange->hijack = true;
        nb_connection_mark_dirty(connections, connection);
        return;
    }
    if (part->type == NB_MESSAGE_HINTS && !takes_hints(connections, exchange)) return;
    if (add_part(connections, exchange, part, rest) != NB_OK) {
        exchange->ended = exchange->ended || (part->flags & NB_PART_LAST);
        nb_connection_end(connections, connection, true);
        return;
    }
    nb_connection_mark_dirty(connections, connection);
    /* Content that is dropped keeps no writer waiting. */
    if (exchange->head_sent && !exchange->response.has_content) nb_connection_tell_drained(connections, exchange, 0);
    if (exchange->ended) connection->protocol->answered(connections, exchange);
}
