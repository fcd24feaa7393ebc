/*
 * http1_response.c - writes responses as HTTP/1.0 and 1.1 (RFC 9112 sections 4, 6, 7).
 */
#include "base/alloc.h"
#include "http/status_code.h"
#include "protocols/http1_session.h"

/* True: the response says `close`, as the rest of the body is not worth reading (RFC 9112 section
 * 9.6). Not if the application may still read the body. */
static bool gives_up_body(const nb_exchange *exchange) {
    const nb_http1_session *session = nb_http1_session_of(exchange->connection);
    if (session->receiving != exchange) return false;
    bool over = session->input->expected || exchange->response.whole;
    return over && !nb_http1_can_drop(session->input);
}

/* True: the server drains, and the response to the last request announces the end. Earlier requests
 * are answered as usual. */
static bool drains(const nb_responses *responses, const nb_exchange *exchange) {
    return atomic_load_explicit(responses->drains, memory_order_acquire) && exchange->counted && !exchange->next;
}

static nb_response_facts facts_of(const nb_responses *responses, nb_exchange *exchange) {
    nb_http1_exchange *own = nb_http1_exchange_of(exchange);
    if (drains(responses, exchange) || gives_up_body(exchange)) own->keep_alive = false;
    return (nb_response_facts){
        .response = exchange->response, .minor_version = own->minor_version, .keep_alive = own->keep_alive};
}

static nb_status write_large(const nb_responses *responses, nb_exchange *exchange, const nb_response_facts *facts,
                             const nb_response_plan *plan, nb_slice date_line, nb_slice field_lines) {
    char *head = nb_alloc(date_line.size + field_lines.size + NB_RESPONSE_HEAD_OVERHEAD_BYTES);
    if (!head) return NB_NO_MEMORY;
    size_t bytes = nb_response_head_write(head, facts, plan, date_line, field_lines);
    nb_status status = nb_send_queue_add(exchange->out, responses->pool, (nb_slice){head, bytes});
    nb_free(head);
    return status;
}

static nb_status head(nb_responses *responses, nb_exchange *exchange, nb_slice date_line, nb_slice field_lines) {
    nb_http1_exchange *own = nb_http1_exchange_of(exchange);
    nb_response_facts facts = facts_of(responses, exchange);
    nb_response_plan plan = nb_response_plan_decide(&facts);
    own->framing = (uint8_t)plan.body;
    own->goes_on = plan.keep_alive;
    size_t room = date_line.size + field_lines.size + NB_RESPONSE_HEAD_OVERHEAD_BYTES;
    if (room > NB_SEND_QUEUE_RESERVE_MAX)
        return write_large(responses, exchange, &facts, &plan, date_line, field_lines);
    char *place = nb_send_queue_reserve(exchange->out, responses->pool, room);
    if (!place) return NB_NO_MEMORY;
    nb_send_queue_commit(exchange->out, nb_response_head_write(place, &facts, &plan, date_line, field_lines));
    return NB_OK;
}

static nb_status add_chunk(const nb_responses *responses, nb_send_queue *queue, nb_slice bytes) {
    char *place = nb_send_queue_reserve(queue, responses->pool, NB_CHUNK_HEAD_BYTES_MAX);
    if (!place) return NB_NO_MEMORY;
    nb_send_queue_commit(queue, nb_chunk_head_write(place, bytes.size));
    nb_status status = nb_send_queue_add(queue, responses->pool, bytes);
    return status == NB_OK ? nb_send_queue_add(queue, responses->pool, NB_SLICE("\r\n")) : status;
}

static bool is_chunked(nb_exchange *exchange) {
    return nb_http1_exchange_of(exchange)->framing == NB_RESPONSE_BODY_CHUNKED;
}

static nb_status content(nb_responses *responses, nb_exchange *exchange, nb_slice bytes) {
    if (is_chunked(exchange)) return add_chunk(responses, exchange->out, bytes);
    return nb_send_queue_add(exchange->out, responses->pool, bytes);
}

static nb_status end(nb_responses *responses, nb_exchange *exchange) {
    return is_chunked(exchange) ? nb_send_queue_add(exchange->out, responses->pool, NB_SLICE("0\r\n\r\n")) : NB_OK;
}

/* HTTP/1.0 has no interim responses (RFC 9110 section 15.2). */
static nb_status interim(nb_responses *responses, nb_exchange *exchange, uint16_t status, nb_slice field_lines) {
    if (nb_http1_exchange_of(exchange)->minor_version == 0) return NB_OK;
    nb_send_queue *queue = exchange->out;
    char *place = nb_send_queue_reserve(queue, responses->pool, NB_RESPONSE_HEAD_OVERHEAD_BYTES);
    if (!place) return NB_NO_MEMORY;
    nb_send_queue_commit(queue, nb_status_line_write(place, status));
    nb_status added = nb_send_queue_add(queue, responses->pool, field_lines);
    return added == NB_OK ? nb_send_queue_add(queue, responses->pool, NB_SLICE("\r\n")) : added;
}

const nb_response_writer nb_http1_writer = {.head = head, .content = content, .end = end, .interim = interim};
