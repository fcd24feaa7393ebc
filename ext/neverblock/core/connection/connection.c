/*
 * connection.c - see connection.h. Reading moves the state forward (advance), responses settle what is owed in order
 * (settle), and after each the poller's interest and the timeout follow from the state (watch, retime).
 */
#include "connection/connection_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "http1/framing.h"
#include "os/clock.h"
#include "figures/downloads.h"
#include "answers/named.h"
#include "answers/reply.h"
#include "answers/static.h"

/* Reads of one connection in one turn: enough to keep an upload going, few enough to let the others have their turn. */
#define READS_IN_A_TURN 4

/* Bytes not yet taken by the client past which nothing more of it is read. */
#define UNREAD_ANSWERS_BYTES 262144u

/* --- what the state asks of the poller and the clock --- */

static bool answers_pile_up(const nb_connection *connection) {
    return nb_connection_owed(connection) >= UNREAD_ANSWERS_BYTES;
}

static bool wants_read(const nb_connection *connection) {
    if (connection->read_ended) return false;
    switch (connection->state) {
    case NB_CONNECTION_HEAD:
        return !answers_pile_up(connection);
    case NB_CONNECTION_STREAM:
        return nb_upload_wants_input(connection->upload);
    case NB_CONNECTION_BODY:
    case NB_CONNECTION_LINGER:
        return true;
    case NB_CONNECTION_WRITING:
    case NB_CONNECTION_HOLD:
    case NB_CONNECTION_LAST:
    case NB_CONNECTION_ENDED:
        break;
    }
    return false;
}

static void set_interest(nb_connections *connections, nb_connection *connection, uint8_t interest) {
    if (connection->interest == interest || connection->state == NB_CONNECTION_ENDED) return;
    if (nb_poll_change(connections->poll, connection->transport.fd, interest, (uint64_t)(uintptr_t)connection) !=
        NB_OK) {
        nb_connection_end(connections, connection, true);
        return;
    }
    connection->interest = interest;
}

/* Reading is switched off only when an event came that nobody wanted (ready does it): mostly none does before it is
 * wanted again. */
static void watch(nb_connections *connections, nb_connection *connection) {
    uint8_t interest = connection->interest & NB_POLL_READ;
    if (wants_read(connection)) interest |= NB_POLL_READ;
    if (connection->waits == NB_WAITS_CLIENT) interest |= NB_POLL_WRITE;
    if (connection->waits == NB_WAITS_TURN)
        interest |= connection->interest & NB_POLL_WRITE; /* it may soon be that again */
    set_interest(connections, connection, interest);
}

bool nb_connection_idle(const nb_connection *connection) {
    return connection->state == NB_CONNECTION_HEAD && !connection->first && !connection->input.data &&
           !nb_connection_owes(connection);
}

/* The time that the application takes is not the client's. */
static nb_timeout_class stream_timeout_class(const nb_upload *upload) {
    return nb_upload_wants_input(upload) && !upload->expected ? NB_TIMEOUT_TRANSFER : NB_TIMEOUT_NONE;
}

nb_phase nb_connection_phase(const nb_connection *connection) {
    switch (connection->state) {
    case NB_CONNECTION_HEAD:
        if (nb_connection_idle(connection)) return NB_PHASE_IDLE;
        return connection->first || nb_connection_owes(connection) ? NB_PHASE_ANSWERING : NB_PHASE_READING;
    case NB_CONNECTION_BODY:
    case NB_CONNECTION_WRITING:
    case NB_CONNECTION_STREAM:
        return NB_PHASE_READING;
    case NB_CONNECTION_HOLD:
    case NB_CONNECTION_LAST:
        return NB_PHASE_ANSWERING;
    case NB_CONNECTION_LINGER:
        return NB_PHASE_CLOSING;
    case NB_CONNECTION_ENDED:
        break;
    }
    return NB_PHASE_NONE;
}

static nb_timeout_class timeout_class(const nb_connection *connection) {
    if (connection->state == NB_CONNECTION_ENDED) return NB_TIMEOUT_NONE;
    if (connection->waits == NB_WAITS_RATE) return NB_TIMEOUT_RATE;
    if (connection->waits != NB_WAITS_NOT) return NB_TIMEOUT_TRANSFER;
    if (connection->state == NB_CONNECTION_LINGER) return NB_TIMEOUT_LINGER;
    if (connection->state == NB_CONNECTION_BODY) return NB_TIMEOUT_TRANSFER;
    if (connection->state == NB_CONNECTION_STREAM) return stream_timeout_class(connection->upload);
    if (connection->state != NB_CONNECTION_HEAD || connection->first) return NB_TIMEOUT_NONE;
    if (!connection->served || connection->input.data) return NB_TIMEOUT_HEADER;
    return connection->admin ? NB_TIMEOUT_ADMIN : NB_TIMEOUT_IDLE;
}

static void count_phase(nb_connections *connections, nb_connection *connection) {
    if (connection->admin) return;
    nb_phase phase = nb_connection_phase(connection);
    if (phase == connection->phase) return;
    nb_counters_phase(connections->counters, (nb_phase)connection->phase, phase);
    connection->phase = (uint8_t)phase;
}

static void retime(nb_connections *connections, nb_connection *connection) {
    nb_timeout_class queue = timeout_class(connection);
    count_phase(connections, connection);
    if (queue == connection->timeout.queue) return;
    connection->window_bytes = 0;
    connection->window_queued = connection->waits ? nb_net_unacknowledged(connection->transport.fd) : 0;
    nb_timeouts_set(&connections->timeouts, &connection->timeout, queue, connections->time->now_ns);
}

void nb_connection_follow(nb_connections *connections, nb_connection *connection) {
    if (connection->state == NB_CONNECTION_ENDED) return;
    watch(connections, connection);
    retime(connections, connection);
}

void nb_connection_mark_dirty(nb_connections *connections, nb_connection *connection) {
    if (connection->dirty || connection->state == NB_CONNECTION_ENDED) return;
    connection->dirty = true;
    connection->dirty_next = connections->dirty;
    connections->dirty = connection;
}

/* It has finished sending, and what it asked for is of the kind that is not worth going on with then. Whether it left or
 * shut down its sending side only (which HTTP allows) cannot be told apart. */
bool nb_connection_client_left(const nb_connection *connection) {
    if (!connection->read_ended || !connection->first) return false;
    for (const nb_exchange *exchange = connection->first; exchange; exchange = exchange->next) {
        if (!exchange->cancellable) return false;
    }
    return true;
}

/* --- beginning and end --- */

static nb_connection **list_of(nb_connections *connections, const nb_connection *connection) {
    return connection->admin ? &connections->admin : &connections->open;
}

static void count_end(nb_connections *connections, bool admin) {
    if (admin) {
        connections->admin_count--;
    } else {
        nb_count(&connections->closed, 1);
    }
}

void nb_connection_open(nb_connections *connections, int fd, const nb_peer *peer, uint16_t listener, bool admin) {
    nb_connection *connection = nb_alloc_zero(1, sizeof(*connection));
    if (!connection) {
        nb_net_close(fd, true);
        count_end(connections, admin);
        return;
    }
    nb_transport_tcp_init(&connection->transport, fd);
    connection->interest = NB_POLL_READ;
    if (nb_poll_add(connections->poll, fd, connection->interest, (uint64_t)(uintptr_t)connection) != NB_OK) {
        connection->transport.kind->close(&connection->transport, 1);
        nb_free(connection);
        count_end(connections, admin);
        return;
    }
    connection->peer = *peer;
    connection->listener = listener;
    connection->admin = admin;
    connection->began_ns = connections->time->now_ns;
    connection->state = NB_CONNECTION_HEAD;
    nb_timeout_init(&connection->timeout);
    nb_head_parser_init(&connection->parser);
    nb_outbox_init(&connection->outbox);
    nb_connection **first = list_of(connections, connection);
    connection->next = *first;
    if (*first) (*first)->previous = connection;
    *first = connection;
    retime(connections, connection);
}

static void end_upload(nb_connections *connections, nb_connection *connection) {
    nb_upload_destroy(&connections->uploads, connection->upload);
    connection->upload = NULL;
}

/* The executor may still hold it: then it stays in the table until the last part has come. */
static void part_with(nb_connections *connections, nb_exchange *exchange) {
    exchange->connection = NULL;
    exchange->out = NULL;
    nb_outbox_clear(&exchange->outbox, connections->pool);
    nb_dispatch_forget(nb_dispatch_of(connections->dispatch, exchange), exchange);
    if (exchange->in_news) return;
    if (exchange->ended || exchange->channel == NB_CHANNEL_NONE) {
        nb_exchange_destroy(&connections->exchanges, exchange);
    } else {
        nb_dispatch_tell_gone(nb_dispatch_of(connections->dispatch, exchange), exchange);
    }
}

static void part_with_all(nb_connections *connections, nb_connection *connection) {
    while (connection->first) {
        nb_exchange *exchange = connection->first;
        connection->first = exchange->next;
        if (exchange->channel == NB_CHANNEL_NONE) nb_connection_release_spool(connections, exchange);
        if (!exchange->ended) NB_COUNT(connections->counters, aborted, 1);
        nb_stages_dropped(connections->answers->stages, exchange);
        nb_downloads_dropped(connections->downloads, &connection->downloads, exchange);
        if (exchange->in_news) exchange->gone_due = true;
        part_with(connections, exchange);
    }
    connection->last = connection->receiving = NULL;
    connection->in_flight = 0;
}

void nb_connection_leave(nb_connections *connections, nb_connection *connection) {
    connection->state = NB_CONNECTION_ENDED;
    count_phase(connections, connection);
    nb_timeouts_set(&connections->timeouts, &connection->timeout, NB_TIMEOUT_NONE, connections->time->now_ns);
    (void)nb_poll_remove(connections->poll, connection->transport.fd);
    nb_body_destroy(connection->body);
    connection->body = NULL;
    end_upload(connections, connection);
    part_with_all(connections, connection);
    nb_stages_connection_end(connections->answers->stages, &connection->leaving);
    nb_downloads_connection_end(connections->downloads, &connection->downloads, connection->sent);
    nb_buffer_release(&connection->input, connections->pool);
    nb_outbox_clear(&connection->outbox, connections->pool);
    if (connection->previous) {
        connection->previous->next = connection->next;
    } else {
        *list_of(connections, connection) = connection->next;
    }
    if (connection->next) connection->next->previous = connection->previous;
}

void nb_connection_bury(nb_connections *connections, nb_connection *connection) {
    connection->next = connections->graveyard;
    connections->graveyard = connection;
    count_end(connections, connection->admin);
}

void nb_connection_end(nb_connections *connections, nb_connection *connection, bool reset) {
    if (connection->state == NB_CONNECTION_ENDED) return;
    nb_connection_leave(connections, connection);
    if (connection->sending) {
        nb_connection_end_sending(connections, connection, reset);
        return;
    }
    connection->transport.kind->close(&connection->transport, reset);
    nb_connection_bury(connections, connection);
}

void nb_connection_free(nb_connections *connections, nb_connection *connection) {
    (void)connections;
    nb_free(connection);
}

/* --- requests --- */

nb_exchange *nb_connection_add_exchange(nb_connections *connections, nb_connection *connection) {
    nb_exchange *exchange = nb_exchange_create(&connections->exchanges);
    if (!exchange) return NULL;
    exchange->connection = connection;
    exchange->counted = !connection->admin;
    exchange->began_ns = connection->began_ns;
    exchange->facts.minor_version = 1;
    if (connection->last) {
        connection->last->next = exchange;
    } else {
        connection->first = exchange;
    }
    connection->last = exchange;
    exchange->out = connection->first == exchange ? &connection->outbox : &exchange->outbox;
    connection->in_flight++;
    return exchange;
}

static bool method_is_safe(nb_method method) {
    return method == NB_METHOD_GET || method == NB_METHOD_HEAD || method == NB_METHOD_OPTIONS ||
           method == NB_METHOD_TRACE;
}

/* What comes after a request that asks for another protocol may be that protocol's, and is not looked at before the answer is known. */
static bool may_overlap(const nb_head *head, const nb_framing *framing) {
    return method_is_safe(head->method) && framing->body == NB_BODY_NONE && !framing->upgrade;
}

/* The state after a complete request: another may follow, unless this was the last. */
static void request_complete(nb_connections *connections, nb_connection *connection, bool keep_alive) {
    connection->state = keep_alive ? NB_CONNECTION_HEAD : NB_CONNECTION_LAST;
    connection->receiving = NULL;
    connection->began_ns = connections->time->now_ns; /* of what has been received behind it */
}

static void send_continue(nb_connections *connections, nb_connection *connection) {
    if (nb_outbox_add(&connection->outbox, connections->pool, NB_SLICE("HTTP/1.1 100 Continue\r\n\r\n")) == NB_OK) {
        nb_connection_mark_dirty(connections, connection);
    } else {
        nb_connection_end(connections, connection, true);
    }
}

static void continue_if_expected(nb_connections *connections, nb_connection *connection, const nb_framing *framing) {
    if (framing->expect_continue && !connection->input.data) send_continue(connections, connection);
}

static void begin_body(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                       const nb_request_facts *facts) {
    nb_request_message *message = nb_alloc(nb_request_message_bytes(facts));
    if (message) nb_request_message_write(message, facts);
    if (!message ||
        nb_body_create(&connections->spool, facts->framing, message, connection, &connection->body) != NB_OK) {
        nb_free(message);
        nb_connection_shed(connections, connection, exchange, "out of memory", true);
        return;
    }
    connection->receiving = exchange;
    connection->state = NB_CONNECTION_BODY;
    nb_buffer_consume(&connection->input, connections->pool, facts->raw.size);
    continue_if_expected(connections, connection, facts->framing);
}

/* The request is given on at once; its body follows it. */
static void begin_stream(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                         const nb_request_facts *facts) {
    nb_status status = nb_upload_create(connection, facts->framing, connections->settings.body_bytes_max,
                                        &connection->upload);
    if (status == NB_OK) status = nb_dispatch_head(nb_dispatch_of(connections->dispatch, exchange), exchange, facts);
    if (status != NB_OK) {
        end_upload(connections, connection);
        nb_connection_shed(connections, connection, exchange, "the server is busy, try again", true);
        return;
    }
    nb_request_log_keep(&connections->request_log, connection->upload->request_line, facts->raw);
    connection->receiving = exchange;
    connection->state = NB_CONNECTION_STREAM;
    nb_buffer_consume(&connection->input, connections->pool, facts->raw.size);
}

/* A body nobody asked for is not read: the connection ends with the answer. */
static void answer_admin(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                         const nb_framing *framing, size_t head_bytes) {
    if (framing->body != NB_BODY_NONE) connection->refused = true;
    exchange->facts.keep_alive = framing->keep_alive && framing->body == NB_BODY_NONE;
    NB_COUNT(connections->counters, admin_requests, 1);
    if (connections->events->answer_admin(connections->owner, exchange) != NB_OK) {
        nb_connection_end(connections, connection, true);
        return;
    }
    connection->served = true;
    request_complete(connections, connection, exchange->facts.keep_alive);
    nb_buffer_consume(&connection->input, connections->pool, head_bytes);
    nb_connection_settle(connections, connection);
}

static bool cancellable(const nb_connections *connections, const nb_route *route) {
    if (!route || route->cancel_on_disconnect == NB_ROUTE_UNSAID)
        return connections->settings.cancel_on_disconnect != 0;
    return route->cancel_on_disconnect == NB_ROUTE_YES;
}

static int64_t deadline_ns(const nb_connections *connections) {
    uint32_t timeout_ms = connections->settings.request_timeout_ms;
    return timeout_ms ? connections->time->now_ns + timeout_ms * NB_NS_PER_MS : 0;
}

void nb_connection_searched(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                            nb_static found) {
    if (found == NB_STATIC_ANSWERED) {
        nb_connection_log(connections, connection, exchange->facts.status, NB_STATIC_LOGGED);
        nb_connection_settle(connections, connection);
    }
    if (found == NB_STATIC_BUSY) nb_connection_shed(connections, connection, exchange, NB_NO_DESCRIPTOR_REASON, false);
    if (found == NB_STATIC_FAILED) nb_connection_end(connections, connection, true);
}

static void begin_request(nb_connections *connections, nb_connection *connection, const nb_framing *framing,
                          size_t head_bytes) {
    nb_exchange *exchange = nb_connection_add_exchange(connections, connection);
    if (!exchange) {
        nb_connection_end(connections, connection, true);
        return;
    }
    const nb_head *head = &connections->head;
    exchange->facts.minor_version = head->minor_version;
    exchange->facts.head_request = head->method == NB_METHOD_HEAD;
    if (connection->admin) {
        answer_admin(connections, connection, exchange, framing, head_bytes);
        return;
    }
    exchange->facts.keep_alive = framing->keep_alive;
    exchange->asterisk = connections->settings.answer_asterisk && head->target_form == NB_TARGET_ASTERISK;
    exchange->safe = may_overlap(head, framing);
    uint16_t route_number = nb_routes_match(connections->routes, head->path);
    const nb_route *route = nb_routes_get(connections->routes, route_number);
    exchange->cancellable = cancellable(connections, route);
    if (route) exchange->send_by = route->send_by;
    exchange->lane = nb_lanes_choose(connections->lanes, connections->dispatch, route, head);
    nb_request_facts facts = {
        .head = head,
        .framing = framing,
        .peer = &connection->peer,
        .raw = {nb_buffer_bytes(&connection->input), head_bytes},
        .exchange = nb_exchange_id_of(exchange),
        .arrived_ns = connections->time->now_ns,
        .deadline_ns = deadline_ns(connections),
        .listener = connection->listener,
        .route = route_number,
        .streams = route && route->stream_input && framing->body != NB_BODY_NONE,
        .cancellable = exchange->cancellable,
    };
    if (connections->settings.front) nb_request_line_copy(exchange->line, sizeof(exchange->line) - 1, facts.raw);
    connection->served = true;
    NB_COUNT(connections->counters, requests, 1);
    nb_stages_head(connections->answers->stages, exchange, connections->time->now_ns);
    if (facts.streams) {
        begin_stream(connections, connection, exchange, &facts);
        return;
    }
    if (framing->body != NB_BODY_NONE) {
        begin_body(connections, connection, exchange, &facts);
        return;
    }
    nb_static found = nb_static_answer(connections->answers, exchange, &facts);
    nb_status status = NB_OK;
    if (found == NB_STATIC_NONE && !exchange->asterisk)
        status = nb_dispatch_head(nb_dispatch_of(connections->dispatch, exchange), exchange, &facts);
    bool logged = found == NB_STATIC_BUSY || found == NB_STATIC_ANSWERED;
    if (exchange->asterisk || status != NB_OK || logged) nb_request_log_note(&connections->request_log, facts.raw);
    request_complete(connections, connection, framing->keep_alive);
    nb_buffer_consume(&connection->input, connections->pool, head_bytes);
    if (found != NB_STATIC_NONE) {
        nb_connection_searched(connections, connection, exchange, found);
    } else if (exchange->asterisk) {
        nb_connection_answer_asterisk(connections, connection, exchange);
    } else if (status != NB_OK) {
        nb_connection_shed(connections, connection, exchange, "the server is busy, try again", false);
    }
}

/* True when there may be more to do with what has been read. */
static bool step_head(nb_connections *connections, nb_connection *connection) {
    if (!connection->input.data) return false;
    /* Requests ahead of their turn must not fill the queue that others need for their first, nor the memory. */
    bool scarce = nb_dispatch_waiting(connections->dispatch) > connections->dispatch->waiting_max / 2 ||
                  connections->dispatch->allowance <= NB_RESPONSE_FLOOR_BYTES;
    bool pipeline_full = connection->in_flight >= (scarce ? 1 : NB_PIPELINE_MAX) || answers_pile_up(connection);
    bool page_leaves = connection->admin && !nb_outbox_empty(&connection->outbox); /* one at a time: they are long */
    if (pipeline_full || page_leaves || (connection->last && !connection->last->safe)) {
        connection->state = NB_CONNECTION_HOLD;
        return false;
    }
    size_t head_bytes = 0;
    nb_refusal refusal = {0, ""};
    nb_status status = nb_head_parse(&connection->parser, nb_buffer_bytes(&connection->input),
                                     nb_buffer_size(&connection->input), &connections->head_limits, &connections->head,
                                     &head_bytes, &refusal);
    if (status == NB_INCOMPLETE) return false;
    nb_head_parser_init(&connection->parser);
    nb_framing framing;
    if (status == NB_OK)
        status = nb_framing_decide(&connections->head, connections->settings.body_bytes_max,
                                   connections->head_limits.compliance, &framing, &refusal);
    if (status != NB_OK) {
        nb_connection_refuse(connections, connection, NULL, refusal);
        return false;
    }
    if (connection->first && !may_overlap(&connections->head, &framing)) {
        connection->state = NB_CONNECTION_HOLD;
        return false;
    }
    begin_request(connections, connection, &framing, head_bytes);
    return true;
}

static void body_complete(nb_connections *connections, nb_connection *connection) {
    nb_exchange *exchange = connection->receiving;
    nb_request_message *message;
    nb_status status = nb_body_take_message(connection->body, &message, &exchange->spooled);
    if (status != NB_OK) {
        nb_connection_shed(connections, connection, exchange, "out of memory", true);
        return;
    }
    nb_body_destroy(connection->body);
    connection->body = NULL;
    message->arrived_ns = connections->time->now_ns;
    message->deadline_ns = deadline_ns(connections);
    nb_stages_body(connections->answers->stages, exchange, connections->time->now_ns);
    request_complete(connections, connection, exchange->facts.keep_alive);
    if (!exchange->asterisk &&
        nb_dispatch_message(nb_dispatch_of(connections->dispatch, exchange), exchange, message) == NB_OK)
        return;
    nb_connection_release_spool(connections, exchange);
    if (message->body_fd >= 0) nb_net_close((int)message->body_fd, false);
    nb_request_log_note_message(&connections->request_log, message);
    nb_free(message);
    if (exchange->asterisk) {
        nb_connection_answer_asterisk(connections, connection, exchange);
    } else {
        nb_connection_shed(connections, connection, exchange, "the server is busy, try again", false);
    }
}

static void body_failed(nb_connections *connections, nb_connection *connection, nb_status status, nb_refusal refusal) {
    nb_exchange *exchange = connection->receiving;
    if (status == NB_INVALID || status == NB_TOO_LARGE) {
        nb_connection_refuse(connections, connection, exchange, refusal);
    } else if (status == NB_SYSTEM) {
        int error = errno;
        if (nb_log_due(&connections->unstored_told_ns, connections->time->now_ns)) {
            nb_log_line(connections->log, "a request body could not be stored in %s: %s", connections->spool.directory,
                        strerror(error));
        }
        nb_connection_shed(connections, connection, exchange, "the request body could not be stored", true);
    } else {
        nb_connection_shed(connections, connection, exchange, "no room for the request body, try again", true);
    }
}

static bool step_body(nb_connections *connections, nb_connection *connection) {
    size_t size = nb_buffer_size(&connection->input), used = 0;
    nb_refusal refusal = {0, ""};
    nb_status status = nb_body_feed(connection->body, size ? nb_buffer_bytes(&connection->input) : NULL, size, &used,
                                    &refusal);
    if (used) nb_buffer_consume(&connection->input, connections->pool, used);
    if (status == NB_OK) {
        body_complete(connections, connection);
        return true;
    }
    if (status == NB_AGAIN) {
        connection->state = NB_CONNECTION_WRITING;
    } else if (status != NB_INCOMPLETE) {
        body_failed(connections, connection, status, refusal);
    }
    return false;
}

/* The rest of a body whose request has been answered is more than is worth reading: the client is let finish reading. */
static void give_up_rest(nb_connections *connections, nb_connection *connection) {
    end_upload(connections, connection);
    connection->refused = true;
    connection->state = NB_CONNECTION_LAST;
    nb_connection_mark_dirty(connections, connection);
}

/* The body of a request that runs cannot be had: its client is told, unless an answer has begun, and so is its
 * application. */
static void stream_failed(nb_connections *connections, nb_connection *connection, nb_refusal refusal,
                          nb_gone_reason reason) {
    nb_exchange *exchange = connection->receiving;
    if (!exchange) {
        give_up_rest(connections, connection);
        return;
    }
    exchange->gone_reason = (uint16_t)reason;
    if (exchange->head_sent) {
        nb_connection_end(connections, connection, true);
        return;
    }
    nb_response_facts facts = exchange->facts;
    if (exchange->in_news) exchange->gone_due = true;
    connection->first = connection->last = connection->receiving = NULL;
    connection->in_flight = 0;
    part_with(connections, exchange);
    nb_request_log_take(&connections->request_log, connection->upload->request_line);
    end_upload(connections, connection);
    exchange = nb_connection_add_exchange(connections, connection);
    if (exchange) exchange->facts = facts;
    nb_connection_refuse(connections, connection, exchange, refusal);
}

static bool step_stream(nb_connections *connections, nb_connection *connection) {
    nb_refusal refusal = {0, ""};
    nb_exchange *exchange = connection->receiving;
    nb_dispatch *dispatch = exchange ? nb_dispatch_of(connections->dispatch, exchange) : connections->dispatch;
    nb_status status = nb_upload_pass(&connections->uploads, connection->upload, dispatch, exchange, connections->pool,
                                      &connection->input, &refusal);
    if (status == NB_OK) {
        end_upload(connections, connection);
        request_complete(connections, connection, !exchange || exchange->facts.keep_alive);
        if (!exchange) nb_connection_mark_dirty(connections, connection); /* idle now: a server that drains ends it */
        return true;
    }
    if (status == NB_FULL) give_up_rest(connections, connection);
    if (status == NB_INVALID) stream_failed(connections, connection, refusal, NB_GONE_INVALID);
    if (status == NB_TOO_LARGE) stream_failed(connections, connection, refusal, NB_GONE_TOO_LARGE);
    return false;
}

void nb_connection_advance(nb_connections *connections, nb_connection *connection) {
    bool more = true;
    while (more) {
        switch (connection->state) {
        case NB_CONNECTION_HEAD:
            more = step_head(connections, connection);
            break;
        case NB_CONNECTION_BODY:
            more = step_body(connections, connection);
            break;
        case NB_CONNECTION_STREAM:
            more = step_stream(connections, connection);
            break;
        case NB_CONNECTION_LINGER:
            nb_buffer_release(&connection->input, connections->pool);
            more = false;
            break;
        case NB_CONNECTION_WRITING:
        case NB_CONNECTION_HOLD:
        case NB_CONNECTION_LAST:
        case NB_CONNECTION_ENDED:
            more = false;
            break;
        }
    }
}

/* Executors are told for each request under way: most clients that finish sending have closed. */
static void tell_left(nb_connections *connections, nb_connection *connection) {
    for (nb_exchange *exchange = connection->first; exchange; exchange = exchange->next) {
        if (!exchange->ended && exchange != connection->receiving)
            nb_dispatch_tell_left(nb_dispatch_of(connections->dispatch, exchange), exchange);
    }
}

/* The client finished sending: what it asked for whole is still answered (a half-closed client is a client), unless
 * cancel_on_disconnect says that it has left then. */
static void input_ended(nb_connections *connections, nb_connection *connection) {
    static const nb_refusal too_short = {400, "the body ended before its announced length"};
    connection->read_ended = true;
    tell_left(connections, connection);
    if (connection->state == NB_CONNECTION_BODY) {
        nb_connection_refuse(connections, connection, connection->receiving, too_short);
    } else if (connection->state == NB_CONNECTION_STREAM && connection->receiving) {
        stream_failed(connections, connection, too_short, NB_GONE_SHORT);
    } else if (connection->state == NB_CONNECTION_STREAM) {
        give_up_rest(connections, connection);
    } else if (connection->state == NB_CONNECTION_LINGER ||
               (connection->state == NB_CONNECTION_HEAD && !connection->first && !nb_connection_owes(connection))) {
        nb_connection_end(connections, connection, false);
    } else if (nb_connection_client_left(connection) && !nb_connection_owes(connection)) {
        nb_connection_end(connections, connection, false);
    } else if (connection->state == NB_CONNECTION_HEAD) {
        connection->state = NB_CONNECTION_LAST;
    }
}

static void read_some(nb_connections *connections, nb_connection *connection) {
    for (int i = 0; i < READS_IN_A_TURN && wants_read(connection); i++) {
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
            connection->window_bytes += moved;
            nb_connection_advance(connections, connection);
            if (moved < room) return;
            continue;
        }
        if (nb_buffer_size(&connection->input) == 0) nb_buffer_release(&connection->input, connections->pool);
        if (status == NB_EOF) input_ended(connections, connection);
        if (status == NB_SYSTEM) nb_connection_end(connections, connection, false);
        return;
    }
}

void nb_connection_ready(nb_connections *connections, nb_connection *connection, uint32_t events) {
    if (connection->state == NB_CONNECTION_ENDED) return;
    if (events & NB_POLL_READ) {
        if (wants_read(connection)) {
            read_some(connections, connection);
        } else {
            bool last = connection->state == NB_CONNECTION_LAST && !connection->read_ended;
            if (last && nb_net_peer_finished(connection->transport.fd)) input_ended(connections, connection);
            set_interest(connections, connection, connection->interest & (uint8_t)~NB_POLL_READ);
        }
    }
    if (connection->state == NB_CONNECTION_ENDED) return;
    if (events & (NB_POLL_HANGUP | NB_POLL_ERROR)) {
        nb_connection_end(connections, connection, false);
        return;
    }
    if (events & NB_POLL_WRITE) {
        connection->writable = true;
        nb_connection_mark_dirty(connections, connection);
    }
    nb_connection_follow(connections, connection);
}

void nb_connection_body_written(nb_connections *connections, nb_connection *connection) {
    NB_ASSERT(connection->state == NB_CONNECTION_WRITING);
    connection->state = NB_CONNECTION_BODY;
    nb_connection_advance(connections, connection);
    nb_connection_follow(connections, connection);
}

void nb_connection_body_failed(nb_connections *connections, nb_connection *connection) {
    body_failed(connections, connection, NB_SYSTEM, (nb_refusal){0, ""});
    nb_connection_follow(connections, connection);
}

void nb_connection_upload(nb_connections *connections, nb_connection *connection) {
    NB_ASSERT(connection->state == NB_CONNECTION_STREAM);
    nb_connection_advance(connections, connection);
    nb_connection_follow(connections, connection);
}

/* Only now, so that no client sends a body that nobody wants (RFC 9110 section 10.1.1). One that has its answer's head already knows. */
static void continue_now(nb_connections *connections, nb_connection *connection) {
    nb_upload *upload = connection->upload;
    if (!upload->expected) return;
    upload->expected = false;
    if (!connection->receiving->head_sent) send_continue(connections, connection);
}

void nb_connection_taken(nb_connections *connections, nb_exchange *exchange, uint64_t bytes) {
    nb_connection *connection = exchange->connection;
    if (!connection || connection->state != NB_CONNECTION_STREAM || connection->receiving != exchange) return;
    nb_upload_taken(connection->upload, bytes);
    continue_now(connections, connection);
    if (connection->state == NB_CONNECTION_STREAM) nb_connection_upload(connections, connection);
}

/* --- responses --- */

/* The first exchange is done with. False: the connection must not serve another. */
static bool drop_first(nb_connections *connections, nb_connection *connection) {
    nb_exchange *exchange = connection->first;
    bool goes_on = exchange->plan.keep_alive && !exchange->cut;
    if (exchange->cut && exchange->plan.body == NB_RESPONSE_BODY_CLOSE) connection->reset = true;
    connection->first = exchange->next;
    if (!connection->first) connection->last = NULL;
    if (connection->receiving == exchange) connection->receiving = NULL;
    connection->in_flight--;
    if (exchange->cut) nb_count(&connections->counters->broken, 1);
    uint64_t end = connection->sent + nb_connection_owed(connection);
    nb_stages_leaving(connections->answers->stages, &connection->leaving, exchange, end);
    nb_downloads_leaving(connections->downloads, &connection->downloads, exchange, end);
    part_with(connections, exchange);
    if (goes_on && connection->first) {
        nb_outbox_join(&connection->outbox, &connection->first->outbox);
        connection->first->out = &connection->outbox;
    }
    return goes_on;
}

/* Answered before its body was whole: what is left must not be taken for the next request. */
static void answered_early(nb_connections *connections, nb_connection *connection) {
    if (connection->state == NB_CONNECTION_LAST || !nb_upload_can_be_dropped(connection->upload)) {
        give_up_rest(connections, connection);
        return;
    }
    nb_upload_drop(&connections->uploads, connection->upload);
    nb_connection_upload(connections, connection);
}

/* Takes ended exchanges off the front, and lets requests that waited for them go on. */
void nb_connection_settle(nb_connections *connections, nb_connection *connection) {
    bool dropped = false;
    while (connection->first && connection->first->ended) {
        dropped = true;
        if (drop_first(connections, connection)) continue;
        connection->state = NB_CONNECTION_LAST;
        part_with_all(connections, connection);
    }
    if (!dropped) return;
    nb_connection_mark_dirty(connections, connection);
    if (connection->upload) answered_early(connections, connection);
    if (connection->state != NB_CONNECTION_HOLD) return;
    connection->state = NB_CONNECTION_HEAD;
    nb_connection_advance(connections, connection);
}

/* A client that is told `close` need not send what nobody reads (RFC 9112 section 9.6). One whose application still reads
 * while it answers is not told. */
static void answer_begins(nb_connection *connection, nb_exchange *exchange, const nb_message *part) {
    nb_upload *upload = connection->upload;
    bool over = upload->expected || (part->flags & NB_PART_LAST);
    if (over && !nb_upload_can_be_dropped(upload)) exchange->facts.keep_alive = false;
}

/* Hints are for the time before the response, and only advice: they do not pile up for a client that does not read. */
static bool takes_hints(const nb_connections *connections, const nb_exchange *exchange) {
    uint64_t owed = nb_connection_owed(exchange->connection) + exchange->outbox.bytes;
    bool awaited = !exchange->head_sent && !exchange->hijack;
    return awaited && exchange->facts.minor_version > 0 && owed <= connections->dispatch->allowance / 4;
}

void nb_connection_part(nb_connections *connections, nb_exchange *exchange, const nb_message *part, const char *rest) {
    nb_connection *connection = exchange->connection;
    if (part->flags & NB_PART_LAST) nb_connection_release_spool(connections, exchange);
    if (!connection || exchange->ended) {
        if (part->type == NB_MESSAGE_NAMED) nb_named_message_drop((const nb_named_message *)(const void *)part);
        if (!(part->flags & NB_PART_LAST)) return;
        exchange->ended = true;
        if (!exchange->in_news) nb_exchange_destroy(&connections->exchanges, exchange);
        return;
    }
    if (part->type == NB_MESSAGE_HIJACK) {
        exchange->hijack = true;
        nb_connection_mark_dirty(connections, connection);
        return;
    }
    if (part->type == NB_MESSAGE_HINTS && !takes_hints(connections, exchange)) return;
    if (connection->upload && (part->type == NB_MESSAGE_RESPONSE || part->type == NB_MESSAGE_NAMED))
        answer_begins(connection, exchange, part);
    bool named = part->type == NB_MESSAGE_NAMED;
    nb_status status = named ? nb_named_answer(connections->answers, exchange,
                                               (const nb_named_message *)(const void *)part, rest)
                             : nb_reply_add_part(connections->answers, exchange, part, rest);
    if (status != NB_OK) {
        exchange->ended = exchange->ended || (part->flags & NB_PART_LAST);
        nb_connection_end(connections, connection, true);
        return;
    }
    nb_connection_mark_dirty(connections, connection);
    if (exchange->ended) nb_connection_settle(connections, connection);
}

/* --- time and drain --- */

static void transfer_timed_out(nb_connections *connections, nb_connection *connection) {
    if (!nb_connection_is_too_slow(connections, connection)) {
        retime(connections, connection);
        return;
    }
    NB_COUNT(connections->counters, timed_out, 1);
    if (connection->waits != NB_WAITS_NOT) {
        connection->downloads.end = NB_DOWNLOAD_timed_out;
        nb_connection_end(connections, connection, true);
        return;
    }
    static const nb_refusal too_slow = {408, "the body comes too slowly"};
    if (connection->state == NB_CONNECTION_STREAM) {
        stream_failed(connections, connection, too_slow, NB_GONE_TOO_SLOW);
    } else {
        nb_connection_refuse(connections, connection, connection->receiving, too_slow);
    }
}

void nb_connection_timed_out(nb_connections *connections, nb_connection *connection, nb_timeout_class queue) {
    if (timeout_class(connection) != queue) { /* the state has moved on in this turn */
        retime(connections, connection);
        return;
    }
    switch (queue) {
    case NB_TIMEOUT_TRANSFER:
        transfer_timed_out(connections, connection);
        break;
    case NB_TIMEOUT_HEADER:
        NB_COUNT(connections->counters, timed_out, 1);
        if (connection->input.data) {
            nb_connection_refuse(connections, connection, NULL,
                                 (nb_refusal){408, "the request's head did not arrive in time"});
        } else {
            nb_connection_end(connections, connection, false);
        }
        break;
    case NB_TIMEOUT_RATE:
        connection->waits = NB_WAITS_TURN;
        nb_connection_mark_dirty(connections, connection);
        return;
    case NB_TIMEOUT_IDLE:
    case NB_TIMEOUT_ADMIN:
    case NB_TIMEOUT_LINGER:
    case NB_TIMEOUT_NONE:
    case NB_TIMEOUT_CLASSES:
        nb_connection_end(connections, connection, false);
        break;
    }
    nb_connection_follow(connections, connection);
}

void nb_connection_drain(nb_connections *connections, nb_connection *connection) {
    if (!nb_connection_idle(connection)) return;
    read_some(connections, connection); /* a request that is already here is served */
    if (nb_connection_idle(connection)) nb_connection_end(connections, connection, false);
    nb_connection_follow(connections, connection);
}
