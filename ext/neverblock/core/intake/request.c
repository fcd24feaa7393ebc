/*
 * request.c - see request.h. The raw head is copied once and named by offsets; nothing in it is
 * looked at again.
 */
#include "intake/request.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"

static size_t round_up(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static size_t fixed_bytes(const nb_request_facts *facts) {
    return sizeof(nb_request_message) + facts->head->header_count * sizeof(nb_request_header);
}

size_t nb_request_message_bytes(const nb_request_facts *facts) {
    return round_up(fixed_bytes(facts) + facts->raw.size + strlen(facts->peer->address) + 1 + facts->client.size +
                    facts->tls.size);
}

/* A slice outside the raw head (the "/" of an absolute target without a path) becomes an empty
   span, for which the reader has a default. */
static nb_span span_of(const nb_request_facts *facts, nb_slice slice, size_t raw_offset) {
    if (slice.size == 0) return (nb_span){(uint32_t)raw_offset, 0};
    uintptr_t start = (uintptr_t)facts->raw.data, place = (uintptr_t)slice.data;
    if (place < start || place >= start + facts->raw.size) return (nb_span){0, 0};
    return (nb_span){(uint32_t)(raw_offset + (place - start)), (uint32_t)slice.size};
}

static void write_headers(nb_request_message *message, const nb_request_facts *facts, size_t raw_offset) {
    const nb_head *head = facts->head;
    for (size_t i = 0; i < head->header_count; i++) {
        message->headers[i] = (nb_request_header){
            .name = span_of(facts, head->headers[i].name, raw_offset),
            .value = span_of(facts, head->headers[i].value, raw_offset),
            .field = (uint32_t)head->headers[i].field,
        };
    }
}

void nb_request_message_write(void *out, const nb_request_facts *facts) {
    const nb_head *head = facts->head;
    nb_request_message *message = out;
    size_t raw_offset = fixed_bytes(facts);
    size_t peer_offset = raw_offset + facts->raw.size;
    size_t peer_bytes = strlen(facts->peer->address), client_offset = peer_offset + peer_bytes;
    size_t tls_offset = client_offset + facts->client.size;
    *message = (nb_request_message){
        .message = {.type = NB_MESSAGE_REQUEST,
                    .flags = (uint16_t)((facts->streams ? NB_REQUEST_STREAMS : 0) |
                                        (facts->cancellable ? NB_REQUEST_CANCELLABLE : 0) |
                                        (facts->revocable ? NB_REQUEST_REVOCABLE : 0) |
                                        (facts->upgrade ? NB_REQUEST_UPGRADES : 0)),
                    .bytes = (uint32_t)nb_request_message_bytes(facts),
                    .exchange = facts->exchange},
        .arrived_ns = facts->arrived_ns,
        .head_ns = facts->head_ns,
        .deadline_ns = facts->deadline_ns,
        .body_fd = -1,
        .body_bytes = facts->streams ? facts->body_bytes : 0,
        .method = (uint16_t)head->method,
        .minor_version = head->minor_version,
        .has_body = facts->has_body,
        .peer_port = facts->peer->port,
        .listener = facts->listener,
        .route = facts->route,
        .header_count = head->header_count,
        .method_text = span_of(facts, head->method_text, raw_offset),
        .target = span_of(facts, head->target, raw_offset),
        .path = span_of(facts, head->path, raw_offset),
        .query = span_of(facts, head->query, raw_offset),
        .host = span_of(facts, facts->host, raw_offset),
        .peer_address = {(uint32_t)peer_offset, (uint32_t)peer_bytes},
        .client = {(uint32_t)client_offset, (uint32_t)facts->client.size},
        .tls = {(uint32_t)tls_offset, (uint32_t)facts->tls.size},
    };
    write_headers(message, facts, raw_offset);
    memcpy((char *)out + raw_offset, facts->raw.data, facts->raw.size);
    memcpy((char *)out + peer_offset, facts->peer->address, peer_bytes);
    if (facts->client.size) memcpy((char *)out + client_offset, facts->client.data, facts->client.size);
    if (facts->tls.size) memcpy((char *)out + tls_offset, facts->tls.data, facts->tls.size);
}

void nb_request_message_add_body(nb_request_message *message, size_t body_bytes) {
    NB_ASSERT(message->body.size == 0);
    message->body = (nb_span){message->message.bytes, (uint32_t)body_bytes};
    message->body_bytes = body_bytes;
    message->message.bytes = (uint32_t)round_up(message->message.bytes + body_bytes);
}

static bool lies_within(nb_span span, size_t bytes) { return span.offset <= bytes && span.size <= bytes - span.offset; }

static bool spans_lie_within(const nb_request_message *message, size_t bytes) {
    const nb_span spans[] = {message->method_text,  message->target, message->path, message->query, message->host,
                             message->peer_address, message->client, message->tls,  message->body};
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
        if (!lies_within(spans[i], bytes)) return false;
    }
    for (uint32_t i = 0; i < message->header_count; i++) {
        if (!lies_within(message->headers[i].name, bytes) || !lies_within(message->headers[i].value, bytes))
            return false;
    }
    return true;
}

bool nb_request_message_copy(nb_request_message *to, const nb_request_message *from, size_t bytes) {
    const size_t behind = offsetof(nb_request_message, claim) + sizeof(from->claim);
    memcpy(to, from, offsetof(nb_request_message, claim));
    atomic_init(&to->claim, NB_CLAIM_NONE);
    memcpy((char *)to + behind, (const char *)from + behind, bytes - behind);
    return to->message.type == NB_MESSAGE_REQUEST && to->message.bytes == bytes &&
           to->header_count <= (bytes - sizeof(*to)) / sizeof(nb_request_header) && spans_lie_within(to, bytes);
}

void nb_request_message_free(nb_request_message *message) {
    if (message->body_fd >= 0) close((int)message->body_fd);
    nb_free(message);
}
