/*
 * delivery.c - see delivery.h.
 */
#include "connection/delivery.h"

#include <errno.h>
#include <string.h>

#include "responses/challenges.h"
#include "responses/compression.h"
#include "responses/static.h"
#include "base/alloc.h"
#include "connection/responding.h"
#include "intake/body.h"
#include "os/clock.h"

static bool is_cancellable(const nb_connections *connections, const nb_route *route) {
    if (!route || route->cancel_on_disconnect == NB_ROUTE_UNSAID)
        return connections->settings.cancel_on_disconnect != 0;
    return route->cancel_on_disconnect == NB_ROUTE_YES;
}

static int64_t deadline_ns(const nb_connections *connections) {
    uint32_t timeout_ms = connections->settings.request_timeout_ms;
    return timeout_ms ? connections->time->now_ns + timeout_ms * NB_NS_PER_MS : 0;
}

static nb_dispatch *dispatch_of(const nb_connections *connections, const nb_exchange *exchange) {
    return nb_dispatch_of(connections->dispatch, exchange);
}

/* --- the beginning --- */

static bool begin_body(nb_connections *connections, nb_exchange *exchange, const nb_request_facts *facts) {
    nb_request_message *message = nb_alloc(nb_request_message_bytes(facts));
    if (message) nb_request_message_write(message, facts);
    if (message && nb_body_create(&connections->spool, message, exchange, &exchange->body) == NB_OK) return true;
    nb_free(message);
    nb_respond_busy(connections, exchange, "out of memory", true);
    return false;
}

/* Gives the request to an executor now; its body follows. */
static bool begin_upload(nb_connections *connections, nb_exchange *exchange, const nb_request_facts *facts) {
    nb_status status = nb_upload_create(exchange, &exchange->upload);
    if (status == NB_OK) status = nb_dispatch_head(dispatch_of(connections, exchange), exchange, facts);
    if (status == NB_OK) {
        nb_request_log_keep(&connections->request_log, exchange->upload->request_line, facts->raw);
        return true;
    }
    nb_connection_end_body(connections, exchange);
    nb_respond_busy(connections, exchange, NULL, true);
    return false;
}

static nb_compress compress_of(const nb_connections *connections, const nb_route *route) {
    return (nb_compress)(route && route->compress ? route->compress : connections->settings.compress);
}

static void fill_in(nb_connections *connections, nb_exchange *exchange, nb_request_facts *facts) {
    const nb_connection *connection = exchange->connection;
    facts->route = nb_routes_match(connections->routes, facts->head->path);
    const nb_route *route = nb_routes_get(connections->routes, facts->route);
    exchange->asterisk = connections->settings.answer_asterisk && facts->head->target_form == NB_TARGET_ASTERISK;
    exchange->cancellable = is_cancellable(connections, route);
    if (route) exchange->send_by = route->send_by;
    exchange->lane = nb_lanes_choose(connections->lanes, connections->dispatch, route, facts->head);
    facts->peer = &connection->peer;
    facts->exchange = nb_exchange_id_of(exchange);
    facts->arrived_ns = connections->time->now_ns;
    facts->head_ns = connections->time->now_ns - exchange->began_ns;
    facts->deadline_ns = deadline_ns(connections);
    facts->listener = connection->listener;
    facts->streams = route && route->stream_input && facts->has_body;
    facts->cancellable = exchange->cancellable;
    facts->revocable = connections->settings.revocable;
    facts->client = nb_transport_tls_client(&connection->transport);
    facts->tls = nb_request_log_tls(&connections->request_log, &connection->tls);
    nb_compress how = compress_of(connections, route);
    if (how > NB_COMPRESS_OFF)
        nb_compression_request(exchange, facts->head, how, connection->transport.tls != NULL, facts->client.size > 0);
}

/* A request with a body that belongs to https: the body is not read. */
static nb_request_kind refuse_body(nb_connections *connections, nb_exchange *exchange, const nb_request_facts *facts) {
    nb_connection *connection = exchange->connection;
    nb_request_log_note(&connections->request_log, facts->raw);
    connection->protocol->body_stopped(connections, exchange);
    nb_status status = nb_compose_redirect(connections, exchange, facts);
    nb_delivery_finish(connections, exchange, status == NB_OK ? NB_DELIVERY_ANSWERED : NB_DELIVERY_FAILED);
    return NB_REQUEST_REFUSED;
}

nb_request_kind nb_delivery_begin(nb_connections *connections, nb_exchange *exchange, nb_request_facts *facts) {
    fill_in(connections, exchange, facts);
    if (connections->settings.front) nb_request_line_copy(exchange->line, sizeof(exchange->line) - 1, facts->raw);
    exchange->response.head_request = facts->head->method == NB_METHOD_HEAD;
    exchange->connection->had_request = true;
    NB_COUNT(connections->counters, requests, 1);
    nb_stages_head(connections->responses->stages, exchange, connections->time->now_ns);
    nb_stages_trace(connections->responses->stages, exchange, facts->head);
    if (exchange->connection->redirects && facts->has_body) return refuse_body(connections, exchange, facts);
    if (facts->streams) return begin_upload(connections, exchange, facts) ? NB_REQUEST_STREAMED : NB_REQUEST_REFUSED;
    if (facts->has_body) return begin_body(connections, exchange, facts) ? NB_REQUEST_COLLECTED : NB_REQUEST_REFUSED;
    return NB_REQUEST_WHOLE;
}

/* --- to an executor, or to what answers in its place --- */

static nb_delivery delivery_of(nb_static_result result) {
    switch (result) {
    case NB_STATIC_ANSWERED:
        return NB_DELIVERY_ANSWERED;
    case NB_STATIC_BUSY:
        return NB_DELIVERY_NO_FILE;
    case NB_STATIC_FAILED:
        return NB_DELIVERY_FAILED;
    case NB_STATIC_NONE:
    case NB_STATIC_WAITS:
        break;
    }
    return NB_DELIVERED;
}

static nb_delivery deliver(nb_connections *connections, nb_exchange *exchange, const nb_request_facts *facts) {
    nb_static_result result = nb_challenges_respond(connections->challenges, connections->responses, exchange, facts);
    if (result != NB_STATIC_NONE) return delivery_of(result);
    if (exchange->connection->redirects) {
        nb_status status = nb_compose_redirect(connections, exchange, facts);
        return status == NB_OK ? NB_DELIVERY_ANSWERED : NB_DELIVERY_FAILED;
    }
    result = nb_static_respond(connections->responses, exchange, facts);
    if (result != NB_STATIC_NONE) return delivery_of(result);
    if (exchange->asterisk) return NB_DELIVERY_OWN;
    nb_status status = nb_dispatch_head(dispatch_of(connections, exchange), exchange, facts);
    return status == NB_OK ? NB_DELIVERED : NB_DELIVERY_NO_ROOM;
}

nb_delivery nb_delivery_head(nb_connections *connections, nb_exchange *exchange, const nb_request_facts *facts) {
    nb_delivery delivery = deliver(connections, exchange, facts);
    if (delivery != NB_DELIVERED && delivery != NB_DELIVERY_FAILED)
        nb_request_log_note(&connections->request_log, facts->raw);
    return delivery;
}

/* Takes the message. If the dispatch refuses it, it is freed with the file of its body, and its
 * request line is kept for the log. */
static nb_delivery deliver_message(nb_connections *connections, nb_exchange *exchange, nb_request_message *message) {
    if (!exchange->asterisk && nb_dispatch_message(dispatch_of(connections, exchange), exchange, message) == NB_OK)
        return NB_DELIVERED;
    nb_request_log_note_message(&connections->request_log, message);
    nb_request_message_free(message);
    return exchange->asterisk ? NB_DELIVERY_OWN : NB_DELIVERY_NO_ROOM;
}

nb_delivery nb_delivery_body(nb_connections *connections, nb_exchange *exchange) {
    nb_request_message *message;
    nb_status status = nb_body_take_message(exchange->body, &message, &exchange->spooled);
    if (status != NB_OK) return NB_DELIVERY_NO_MEMORY;
    nb_connection_end_body(connections, exchange);
    message->body_ns = connections->time->now_ns - message->arrived_ns;
    message->arrived_ns = connections->time->now_ns;
    message->deadline_ns = deadline_ns(connections);
    nb_stages_body(connections->responses->stages, exchange, connections->time->now_ns);
    nb_delivery delivery = deliver_message(connections, exchange, message);
    if (delivery != NB_DELIVERED) nb_connection_release_spool(connections, exchange);
    return delivery;
}

void nb_delivery_finish(nb_connections *connections, nb_exchange *exchange, nb_delivery delivery) {
    nb_connection *connection = exchange->connection;
    switch (delivery) {
    case NB_DELIVERED:
        break;
    case NB_DELIVERY_ANSWERED:
        nb_connection_mark_dirty(connections, connection);
        nb_respond_log(connections, connection, exchange->response.status, NB_STATIC_LOGGED);
        connection->protocol->answered(connections, exchange);
        break;
    case NB_DELIVERY_OWN:
        nb_respond_asterisk(connections, exchange);
        break;
    case NB_DELIVERY_NO_ROOM:
        nb_respond_busy(connections, exchange, NULL, false);
        break;
    case NB_DELIVERY_NO_FILE:
        nb_respond_busy(connections, exchange, NB_NO_DESCRIPTOR_REASON, false);
        break;
    case NB_DELIVERY_NO_MEMORY:
        nb_respond_busy(connections, exchange, "out of memory", true);
        break;
    case NB_DELIVERY_FAILED:
        nb_connection_end(connections, connection, true);
        break;
    }
}

/* --- bodies --- */

void nb_delivery_taken(nb_connections *connections, nb_exchange *exchange, uint64_t bytes) {
    if (!exchange->upload) return;
    nb_upload_taken(exchange->upload, bytes);
    exchange->connection->protocol->body_taken(connections, exchange);
}

static void tell_not_stored(nb_connections *connections, int error) {
    if (!nb_log_due(&connections->unstored_told_ns, connections->time->now_ns)) return;
    nb_log_line(connections->log, "a request body could not be stored in %s: %s", connections->spool.directory,
                strerror(error));
}

void nb_delivery_body_failed(nb_connections *connections, nb_exchange *exchange, nb_status status) {
    const char *reason = "no room for the request body, try again";
    if (status == NB_SYSTEM) {
        tell_not_stored(connections, errno);
        reason = "the request body could not be stored";
    }
    nb_respond_busy(connections, exchange, reason, true);
}

/* --- answers that waited for the disk --- */

static void named_answered(void *owner, nb_exchange *exchange, nb_status status) {
    nb_connection *connection = exchange->connection;
    if (status == NB_OK) {
        connection->protocol->answered(owner, exchange);
    } else {
        nb_connection_end(owner, connection, true);
    }
}

static void static_result(void *owner, nb_exchange *exchange, nb_static_result result, nb_request_message *message) {
    nb_connections *connections = owner;
    nb_delivery delivery = delivery_of(result);
    if (result == NB_STATIC_NONE) {
        delivery = deliver_message(connections, exchange, message);
    } else {
        if (result != NB_STATIC_FAILED) nb_request_log_note_message(&connections->request_log, message);
        nb_request_message_free(message);
    }
    nb_delivery_finish(connections, exchange, delivery);
}

static void encoded(void *owner, nb_exchange *exchange, nb_status status) {
    nb_connection *connection = exchange->connection;
    if (status != NB_OK) {
        nb_connection_end(owner, connection, true);
        return;
    }
    nb_connection_mark_dirty(owner, connection);
    if (exchange->ended) connection->protocol->answered(owner, exchange);
}

const nb_responses_events nb_delivery_response_events = {
    .named_answered = named_answered, .encoded = encoded, .static_result = static_result};
