/*
 * reply.c - see reply.h.
 */
#include "answers/reply.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "http/status.h"

/* The longest own answer: a phrase, a reason and its field lines. */
#define OWN_BODY_BYTES_MAX 512

static nb_slice date_line(const nb_answers *answers, bool has_date) {
    return (nb_slice){answers->time->date_line, has_date ? 0 : sizeof(answers->time->date_line)};
}

static nb_status write_large_head(nb_answers *answers, nb_exchange *exchange, nb_slice date, nb_slice fields) {
    char *head = nb_alloc(date.size + fields.size + NB_RESPONSE_HEAD_OVERHEAD_BYTES);
    if (!head) return NB_NO_MEMORY;
    size_t bytes = nb_response_head_write(head, &exchange->facts, &exchange->plan, date, fields);
    nb_status status = nb_outbox_add(exchange->out, answers->pool, (nb_slice){head, bytes});
    nb_free(head);
    return status;
}

static nb_status write_head(nb_answers *answers, nb_exchange *exchange, nb_slice date, nb_slice fields) {
    size_t room = date.size + fields.size + NB_RESPONSE_HEAD_OVERHEAD_BYTES;
    if (room > NB_OUTBOX_RESERVE_MAX) return write_large_head(answers, exchange, date, fields);
    nb_outbox *outbox = exchange->out;
    char *place = nb_outbox_reserve(outbox, answers->pool, room);
    if (!place) return NB_NO_MEMORY;
    nb_outbox_commit(outbox, nb_response_head_write(place, &exchange->facts, &exchange->plan, date, fields));
    return NB_OK;
}

/* While draining, the last request under way says that the connection ends; those before it are answered as well. */
static void plan(nb_answers *answers, nb_exchange *exchange, int64_t taken_ns) {
    bool drains = atomic_load_explicit(answers->drains, memory_order_acquire);
    if (drains && exchange->counted && !exchange->next) exchange->facts.keep_alive = false;
    exchange->plan = nb_response_plan_decide(&exchange->facts);
    exchange->head_sent = true;
    if (exchange->counted) nb_counters_answer(answers->counters, exchange->facts.status);
    nb_stages_answer(answers->stages, exchange, taken_ns, answers->time->now_ns);
    exchange->body_left = exchange->plan.body == NB_RESPONSE_BODY_LENGTH ? exchange->facts.content_length : 0;
}

nb_status nb_reply_head(nb_answers *answers, nb_exchange *exchange, nb_slice lines, bool has_date, int64_t taken_ns) {
    plan(answers, exchange, taken_ns);
    return write_head(answers, exchange, date_line(answers, has_date), lines);
}

static nb_status add_chunk(nb_answers *answers, nb_outbox *outbox, nb_slice bytes) {
    char *place = nb_outbox_reserve(outbox, answers->pool, NB_CHUNK_HEAD_BYTES_MAX);
    if (!place) return NB_NO_MEMORY;
    nb_outbox_commit(outbox, nb_chunk_head_write(place, bytes.size));
    nb_status status = nb_outbox_add(outbox, answers->pool, bytes);
    return status == NB_OK ? nb_outbox_add(outbox, answers->pool, NB_SLICE("\r\n")) : status;
}

static nb_status add_body(nb_answers *answers, nb_exchange *exchange, nb_slice bytes) {
    nb_outbox *outbox = exchange->out;
    if (bytes.size == 0) return NB_OK;
    switch (exchange->plan.body) {
    case NB_RESPONSE_BODY_NONE:
        return NB_OK;
    case NB_RESPONSE_BODY_CHUNKED:
        return add_chunk(answers, outbox, bytes);
    case NB_RESPONSE_BODY_LENGTH:
        if (bytes.size > exchange->body_left) bytes.size = (size_t)exchange->body_left;
        exchange->body_left -= bytes.size;
        return nb_outbox_add(outbox, answers->pool, bytes);
    case NB_RESPONSE_BODY_CLOSE:
        break;
    }
    return nb_outbox_add(outbox, answers->pool, bytes);
}

static nb_status begin(nb_answers *answers, nb_exchange *exchange, const nb_response_message *response,
                       const char *fields) {
    size_t body_bytes = response->message.bytes - sizeof(*response) - response->fields_bytes;
    if (response->message.flags & NB_RESPONSE_OVERDUE) NB_COUNT(answers->counters, overdue, 1);
    exchange->facts.status = response->status;
    exchange->facts.content_length = response->content_length;
    exchange->facts.application_closes = (response->message.flags & NB_RESPONSE_CLOSE) != 0;
    exchange->facts.length_announced = (response->message.flags & NB_RESPONSE_HAS_LENGTH) != 0;
    exchange->facts.handover = (response->message.flags & NB_RESPONSE_HANDOVER) != 0;
    bool has_date = (response->message.flags & NB_RESPONSE_HAS_DATE) != 0;
    nb_status status = nb_reply_head(answers, exchange, (nb_slice){fields, response->fields_bytes}, has_date,
                                     response->taken_ns);
    if (status != NB_OK) return status;
    return add_body(answers, exchange, (nb_slice){fields + response->fields_bytes, body_bytes});
}

/* The body's clean end, or the mark that it cannot have one. */
static nb_status finish(nb_answers *answers, nb_exchange *exchange, bool aborted) {
    exchange->ended = true;
    nb_response_body body = exchange->plan.body;
    if (!exchange->head_sent || (aborted && body != NB_RESPONSE_BODY_NONE)) {
        exchange->cut = true;
        return NB_OK;
    }
    if (body == NB_RESPONSE_BODY_LENGTH && exchange->body_left > 0) exchange->cut = true;
    if (body != NB_RESPONSE_BODY_CHUNKED) return NB_OK;
    return nb_outbox_add(exchange->out, answers->pool, NB_SLICE("0\r\n\r\n"));
}

/* An interim response (RFC 9110 section 15.2): the one that answers the request comes behind it. */
static nb_status add_hints(nb_answers *answers, nb_exchange *exchange, nb_slice lines) {
    nb_outbox *outbox = exchange->out;
    nb_status status = nb_outbox_add(outbox, answers->pool, NB_SLICE("HTTP/1.1 103 Early Hints\r\n"));
    if (status == NB_OK) status = nb_outbox_add(outbox, answers->pool, lines);
    return status == NB_OK ? nb_outbox_add(outbox, answers->pool, NB_SLICE("\r\n")) : status;
}

nb_status nb_reply_add_part(nb_answers *answers, nb_exchange *exchange, const nb_message *part, const char *rest) {
    nb_status status = NB_OK;
    if (part->type == NB_MESSAGE_RESPONSE) {
        NB_ASSERT(!exchange->head_sent);
        status = begin(answers, exchange, (const nb_response_message *)(const void *)part, rest);
        NB_COUNT(answers->counters, responses, 1);
    } else if (part->type == NB_MESSAGE_HINTS) {
        return add_hints(answers, exchange, (nb_slice){rest, part->bytes - sizeof(*part)});
    } else {
        status = add_body(answers, exchange, (nb_slice){rest, part->bytes - sizeof(*part)});
    }
    if (status != NB_OK) return status;
    if (part->flags & NB_PART_TELL_DRAINED) exchange->tell_drained = true;
    return part->flags & NB_PART_LAST ? finish(answers, exchange, (part->flags & NB_PART_ABORTED) != 0) : NB_OK;
}

nb_status nb_reply_own(nb_answers *answers, nb_exchange *exchange, uint16_t http_status, const char *reason,
                       const char *extra) {
    char body[OWN_BODY_BYTES_MAX], fields[OWN_BODY_BYTES_MAX];
    nb_slice phrase = nb_status_phrase(http_status);
    int body_bytes = snprintf(body, sizeof(body), "%u %.*s%s%s\n", http_status, (int)phrase.size, phrase.data,
                              *reason ? ": " : "", reason);
    int fields_bytes = snprintf(fields, sizeof(fields), "Content-Type: text/plain; charset=utf-8\r\n%s", extra);
    NB_ASSERT(body_bytes < (int)sizeof(body) && fields_bytes < (int)sizeof(fields));
    return nb_reply_whole(answers, exchange, http_status, (nb_slice){fields, (size_t)fields_bytes},
                          (nb_slice){body, (size_t)body_bytes});
}

nb_status nb_reply_whole(nb_answers *answers, nb_exchange *exchange, uint16_t http_status, nb_slice fields,
                         nb_slice body) {
    exchange->facts.status = http_status;
    exchange->facts.content_length = body.size;
    exchange->facts.length_announced = true;
    nb_status status = nb_reply_head(answers, exchange, fields, false, 0);
    if (status == NB_OK) status = add_body(answers, exchange, body);
    exchange->ended = true;
    return status;
}
