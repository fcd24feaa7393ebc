/*
 * compose.c - see compose.h.
 */
#include "responses/compose.h"

#include <stdio.h>

#include "base/assert.h"
#include "responses/response_writer.h"
#include "http/status_code.h"

/* Bytes of the server's own answer: phrase and reason, or field lines. */
#define OWN_BODY_BYTES_MAX 512

static nb_slice date_line(const nb_responses *responses, bool has_date) {
    return (nb_slice){responses->time->date_line, has_date ? 0 : sizeof(responses->time->date_line)};
}

/* RFC 9110 sections 6.4.1, 9.3.2. After a handover the application sends any bytes it likes. */
static void decide_content(nb_response *response) {
    response->has_content = response->handover || (!response->head_request && nb_status_has_content(response->status));
    response->counted = response->has_content && !response->handover &&
                        response->content_length != NB_CONTENT_LENGTH_UNKNOWN;
    response->left = response->counted ? response->content_length : 0;
}

nb_status nb_compose_head(nb_responses *responses, nb_exchange *exchange, nb_slice lines, bool has_date,
                          int64_t taken_ns) {
    decide_content(&exchange->response);
    exchange->head_sent = true;
    if (exchange->counted) nb_counters_answer(responses->counters, exchange->response.status, exchange->shed);
    nb_stages_answer(responses->stages, exchange, taken_ns, responses->time->now_ns);
    return exchange->writer->head(responses, exchange, date_line(responses, has_date), lines);
}

static nb_status add_content(nb_responses *responses, nb_exchange *exchange, nb_slice bytes) {
    nb_response *response = &exchange->response;
    if (!response->has_content) return NB_OK;
    if (response->counted) {
        if (bytes.size > response->left) bytes.size = (size_t)response->left;
        response->left -= bytes.size;
    }
    return bytes.size ? exchange->writer->content(responses, exchange, bytes) : NB_OK;
}

static nb_status begin(nb_responses *responses, nb_exchange *exchange, const nb_response_message *message,
                       nb_slice lines, nb_slice content) {
    nb_response *response = &exchange->response;
    uint16_t flags = message->message.flags;
    if (flags & NB_RESPONSE_EXPIRED) NB_COUNT(responses->counters, overdue, 1);
    NB_COUNT(responses->counters, responses, 1);
    response->status = message->status;
    response->content_length = message->content_length;
    response->application_closes = (flags & NB_RESPONSE_CLOSE) != 0;
    response->length_announced = (flags & NB_RESPONSE_HAS_LENGTH) != 0;
    response->handover = (flags & NB_RESPONSE_HANDOVER) != 0;
    response->whole = (flags & NB_PART_LAST) != 0;
    nb_status status = nb_compose_head(responses, exchange, lines, (flags & NB_RESPONSE_HAS_DATE) != 0,
                                       message->taken_ns);
    return status == NB_OK ? add_content(responses, exchange, content) : status;
}

/* Ends the content, or marks the response as truncated. */
static nb_status finish(nb_responses *responses, nb_exchange *exchange, bool aborted) {
    const nb_response *response = &exchange->response;
    exchange->ended = true;
    exchange->truncated = !exchange->head_sent || (aborted && response->has_content) || response->left > 0;
    return exchange->truncated || !response->has_content ? NB_OK : exchange->writer->end(responses, exchange);
}

/* What the flags of a part say of what follows. */
static nb_status follow(nb_responses *responses, nb_exchange *exchange, uint16_t flags) {
    if (flags & NB_PART_TELL_DRAINED) exchange->tell_drained = true;
    return flags & NB_PART_LAST ? finish(responses, exchange, (flags & NB_PART_ABORTED) != 0) : NB_OK;
}

nb_status nb_compose_response(nb_responses *responses, nb_exchange *exchange, const nb_response_message *message,
                              nb_slice lines, nb_slice content) {
    NB_ASSERT(!exchange->head_sent);
    nb_status status = begin(responses, exchange, message, lines, content);
    return status == NB_OK ? follow(responses, exchange, message->message.flags) : status;
}

nb_status nb_compose_part(nb_responses *responses, nb_exchange *exchange, const nb_message *part, const char *rest) {
    if (part->type == NB_MESSAGE_RESPONSE) {
        const nb_response_message *message = (const nb_response_message *)(const void *)part;
        size_t content_bytes = part->bytes - sizeof(*message) - message->fields_bytes;
        return nb_compose_response(responses, exchange, message, nb_slice_of(rest, message->fields_bytes),
                                   nb_slice_of(rest + message->fields_bytes, content_bytes));
    }
    if (part->type == NB_MESSAGE_HINTS)
        return exchange->writer->interim(responses, exchange, 103, (nb_slice){rest, part->bytes - sizeof(*part)});
    nb_status status = add_content(responses, exchange, (nb_slice){rest, part->bytes - sizeof(*part)});
    return status == NB_OK ? follow(responses, exchange, part->flags) : status;
}

nb_status nb_compose_own(nb_responses *responses, nb_exchange *exchange, uint16_t http_status, const char *reason,
                         const char *extra) {
    char body[OWN_BODY_BYTES_MAX], fields[OWN_BODY_BYTES_MAX];
    nb_slice phrase = nb_status_phrase(http_status);
    int body_bytes = snprintf(body, sizeof(body), "%u %.*s%s%s\n", http_status, (int)phrase.size, phrase.data,
                              *reason ? ": " : "", reason);
    int fields_bytes = snprintf(fields, sizeof(fields), "Content-Type: text/plain; charset=utf-8\r\n%s", extra);
    NB_ASSERT(body_bytes < (int)sizeof(body) && fields_bytes < (int)sizeof(fields));
    return nb_compose_whole(responses, exchange, http_status, (nb_slice){fields, (size_t)fields_bytes},
                            (nb_slice){body, (size_t)body_bytes});
}

nb_status nb_compose_whole(nb_responses *responses, nb_exchange *exchange, uint16_t http_status, nb_slice fields,
                           nb_slice body) {
    exchange->response.status = http_status;
    exchange->response.content_length = body.size;
    exchange->response.length_announced = true;
    exchange->response.whole = true;
    nb_status status = nb_compose_head(responses, exchange, fields, false, 0);
    if (status == NB_OK) status = add_content(responses, exchange, body);
    if (status == NB_OK) status = finish(responses, exchange, false);
    exchange->ended = true;
    return status;
}

nb_status nb_compose_open(nb_responses *responses, nb_exchange *exchange, uint16_t http_status, nb_slice fields) {
    exchange->response.status = http_status;
    exchange->response.content_length = NB_CONTENT_LENGTH_UNKNOWN;
    nb_status status = nb_compose_head(responses, exchange, fields, false, 0);
    return status == NB_OK && !exchange->response.has_content ? finish(responses, exchange, false) : status;
}
