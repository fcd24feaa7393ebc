/*
 * fuzz_http2_head.c - any fields as those of a request of HTTP/2 (http2/http2_message.h,
 * http2/http2_head.h). Oracles: a message that is well formed has its pseudo-fields first, once
 * each, and no byte in it that would end a line of HTTP/1.1. A head that is accepted has each field
 * as it came, cookies that follow each other joined, within one block and within the limits; its
 * path, host and length are those of a plain reading.
 *
 * An input is a byte that says which compliance and limits hold, then fields: a byte of length each
 * for name and value, then both. What is malformed goes no further, as with the caller.
 */
#include "fuzz/fuzz.h"

#include <string.h>

#include "http/host.h"
#include "http2/http2_head.h"
#include "http2/http2_message.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

#define HTTP2_HEAD_FIELDS_MAX 600u

typedef struct http2_head_input {
    nb_slice names[HTTP2_HEAD_FIELDS_MAX], values[HTTP2_HEAD_FIELDS_MAX];
    size_t count, pseudo; /* all; how many of them are pseudo-fields */
} http2_head_input;

/* False: it is no input, or malformed. */
static bool http2_head_take(http2_head_input *input, nb_http2_message *message, const uint8_t *data, size_t size) {
    input->count = input->pseudo = 0;
    nb_http2_message_begin(message, false);
    for (size_t at = 1; at + 2 <= size && input->count < HTTP2_HEAD_FIELDS_MAX; input->count++) {
        const size_t name = data[at], value = data[at + 1];
        at += 2;
        if (name + value > size - at) return false;
        input->names[input->count] = nb_slice_of((const char *)data + at, name);
        input->values[input->count] = nb_slice_of((const char *)data + at + name, value);
        if (!nb_http2_message_field(message, input->names[input->count], input->values[input->count])) return false;
        input->pseudo += data[at] == ':';
        at += name + value;
    }
    return nb_http2_message_end(message, false);
}

/* What was taken of a message, by a plain reading. */
static void http2_head_well_formed(const http2_head_input *input) {
    for (size_t i = 0; i < input->count; i++) {
        const nb_slice name = input->names[i], value = input->values[i];
        FUZZ_CHECK(name.size > 0 && (name.data[0] == ':') == (i < input->pseudo));
        for (size_t k = 0; k < i && i < input->pseudo; k++)
            FUZZ_CHECK(!nb_slice_equal(input->names[k], name));
        for (size_t k = 0; k < name.size; k++)
            FUZZ_CHECK(name.data[k] > ' ' && (name.data[k] < 'A' || name.data[k] > 'Z') &&
                       (name.data[k] != ':' || k == 0));
        for (size_t k = 0; k < value.size; k++)
            FUZZ_CHECK(value.data[k] != '\0' && value.data[k] != '\r' && value.data[k] != '\n');
    }
}

static nb_slice http2_head_pseudo(const http2_head_input *input, const char *name) {
    for (size_t i = 0; i < input->pseudo; i++)
        if (nb_slice_equal(input->names[i], nb_slice_of(name, strlen(name)))) return input->values[i];
    return nb_slice_of("", 0);
}

static void http2_head_inside(nb_slice block, nb_slice part) {
    if (part.size == 0) return;
    FUZZ_CHECK(part.data >= block.data && part.data + part.size <= block.data + block.size);
}

static bool http2_head_is_cookie(const http2_head_input *input, size_t at) {
    return at < input->count && nb_slice_equal(input->names[at], NB_SLICE("cookie"));
}

/* The value is that of the field at *next, and of the cookies that follow a cookie. */
static void http2_head_value(const http2_head_input *input, nb_slice value, size_t *next) {
    size_t at = 0;
    bool more = true;
    while (more) {
        const nb_slice part = input->values[*next];
        FUZZ_CHECK(at + part.size <= value.size);
        FUZZ_CHECK(part.size == 0 || memcmp(value.data + at, part.data, part.size) == 0);
        at += part.size;
        more = http2_head_is_cookie(input, *next) && http2_head_is_cookie(input, *next + 1);
        ++*next;
        if (!more) continue;
        FUZZ_CHECK(at + 2 <= value.size && memcmp(value.data + at, "; ", 2) == 0);
        at += 2;
    }
    FUZZ_CHECK(at == value.size);
}

/* Each field of the head is the next of the input. */
static void http2_head_fields(const http2_head_input *input, const nb_head *head, nb_slice block) {
    size_t next = input->pseudo;
    for (uint16_t i = 0; i < head->header_count; i++) {
        const nb_header *field = &head->headers[i];
        http2_head_inside(block, field->name);
        http2_head_inside(block, field->value);
        FUZZ_CHECK(next < input->count && nb_slice_equal(field->name, input->names[next]));
        http2_head_value(input, field->value, &next);
    }
    FUZZ_CHECK(next == input->count);
}

static void http2_head_accepted(const http2_head_input *input, const nb_head *head, const nb_http2_facts *facts,
                                const nb_head_limits *limits) {
    size_t bytes = 0;
    for (size_t i = 0; i < input->count; i++)
        bytes += input->names[i].size + input->values[i].size + 4;
    FUZZ_CHECK(bytes <= limits->head_bytes && head->header_count <= limits->headers);
    FUZZ_CHECK(head->target.size <= limits->target_bytes);
    FUZZ_CHECK(nb_slice_equal(head->method_text, http2_head_pseudo(input, ":method")));
    FUZZ_CHECK(nb_slice_equal(head->target, http2_head_pseudo(input, ":path")));
    FUZZ_CHECK(nb_slice_equal(head->authority, http2_head_pseudo(input, ":authority")));
    FUZZ_CHECK(head->path.size > 0 && (head->path.data[0] == '/' || head->path.data[0] == '*'));
    FUZZ_CHECK(head->path.size + head->query.size <= head->target.size);
    FUZZ_CHECK(memchr(head->path.data, '?', head->path.size) == NULL);
    for (size_t i = 0; i < head->target.size; i++)
        FUZZ_CHECK((unsigned char)head->target.data[i] > ' ' && head->target.data[i] != 127 &&
                   head->target.data[i] != '#');
    FUZZ_CHECK(facts->host.size > 0 && memchr(facts->host.data, '@', facts->host.size) == NULL);
    http2_head_inside(facts->raw, facts->host);
    http2_head_inside(facts->raw, head->target);
    http2_head_inside(facts->raw, head->method_text);
    http2_head_fields(input, head, facts->raw);
}

static void http2_head_length(const nb_http2_message *message, const nb_head *head) {
    bool said = false;
    for (uint16_t i = 0; i < head->header_count; i++)
        said = said || head->headers[i].field == NB_FIELD_CONTENT_LENGTH;
    FUZZ_CHECK(said == (message->content_length != NB_CONTENT_LENGTH_UNKNOWN));
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    static http2_head_input input;
    static nb_http2_head collected;
    static nb_pool pool;
    static nb_head head;
    static bool made;
    nb_http2_message message;
    if (size < 1 || size > FUZZ_SIZE_MAX || !http2_head_take(&input, &message, data, size)) return 0;
    http2_head_well_formed(&input);
    if (!made) nb_pool_init(&pool);
    made = true;
    nb_head_limits limits = message_limits_usual.head;
    if (data[0] & 1) limits = (nb_head_limits){200, 40, 4, NB_COMPLIANCE_STRICT};
    limits.compliance = (nb_compliance)(data[0] / 2 % NB_COMPLIANCE_COUNT);
    for (size_t i = 0; i < input.count; i++)
        FUZZ_CHECK(nb_http2_head_add(&collected, &pool, &limits, input.names[i], input.values[i]) == NB_OK);
    nb_http2_facts facts;
    nb_refusal refusal;
    const nb_status status = nb_http2_head_end(&collected, &pool, &limits, &head, &facts, &refusal);
    FUZZ_CHECK(status == NB_OK || status == NB_INVALID);
    FUZZ_CHECK((status == NB_INVALID) == (refusal.http_status >= 400));
    if (status == NB_OK) http2_head_accepted(&input, &head, &facts, &limits);
    if (status == NB_OK) http2_head_length(&message, &head);
    nb_http2_head_clear(&collected, &pool);
    return 0;
}
