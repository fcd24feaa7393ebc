/*
 * http2_head.c - see http2_head.h. Pseudo-fields come first, in any order. With the first other
 * field the line is written behind them, and from there on the block grows by names and values.
 */
#include "http2/http2_head.h"

#include <string.h>

#include "http/byte_class.h"
#include "http/host.h"

/* Bytes that a field line of HTTP/1.1 has beside name and value, so that a limit means the same. */
#define LINE_OVERHEAD_BYTES 4u

/* Pseudo-fields are in the block twice. */
#define BLOCK_BYTES_MAX (NB_HEAD_BYTES_MAX * 2 + NB_READ_BUFFER_BYTES)

static char *at(const nb_http2_head *head, uint32_t offset) { return head->block.data + offset; }

static nb_slice slice_of(const nb_http2_head *head, nb_http2_span span) {
    return span.size ? nb_slice_of(at(head, span.offset), span.size) : nb_slice_of("", 0);
}

static nb_status append(nb_http2_head *head, nb_pool *pool, nb_slice bytes) {
    while (bytes.size > 0) {
        size_t room = 0;
        nb_status status = nb_buffer_room(&head->block, pool, BLOCK_BYTES_MAX, &room);
        if (status != NB_OK) return NB_NO_MEMORY;
        if (room > bytes.size) room = bytes.size;
        memcpy(head->block.data + head->block.end, bytes.data, room);
        head->block.end += (uint32_t)room;
        bytes.data += room;
        bytes.size -= room;
    }
    return NB_OK;
}

static void refuse(nb_http2_head *head, uint16_t http_status, const char *reason) {
    if (head->refusal.http_status == 0) head->refusal = (nb_refusal){http_status, reason};
}

/* --- the line --- */

/* Copies a part of the block to its end. */
static nb_status repeat(nb_http2_head *head, nb_pool *pool, nb_http2_span *span) {
    nb_http2_span from = *span;
    span->offset = head->block.end;
    while (from.size > 0) {
        size_t room = 0;
        if (nb_buffer_room(&head->block, pool, BLOCK_BYTES_MAX, &room) != NB_OK) return NB_NO_MEMORY;
        if (room > from.size) room = from.size;
        memcpy(head->block.data + head->block.end, at(head, from.offset), room);
        head->block.end += (uint32_t)room;
        from.offset += (uint32_t)room;
        from.size -= (uint32_t)room;
    }
    return NB_OK;
}

static nb_status write_line(nb_http2_head *head, nb_pool *pool) {
    head->line_written = true;
    head->raw = head->block.end;
    nb_status status = repeat(head, pool, &head->method);
    if (status == NB_OK) status = append(head, pool, NB_SLICE(" "));
    if (status == NB_OK) status = repeat(head, pool, &head->path);
    if (status == NB_OK) status = append(head, pool, NB_SLICE(" HTTP/2\n"));
    if (status == NB_OK) status = repeat(head, pool, &head->authority);
    if (status == NB_OK) status = repeat(head, pool, &head->scheme);
    head->fields_at = head->block.end;
    return status;
}

/* --- fields --- */

static nb_status add_pseudo(nb_http2_head *head, nb_pool *pool, nb_slice name, nb_slice value) {
    nb_http2_span *span = NULL;
    if (nb_slice_equal(name, NB_SLICE(":method"))) span = &head->method;
    if (nb_slice_equal(name, NB_SLICE(":scheme"))) span = &head->scheme;
    if (nb_slice_equal(name, NB_SLICE(":authority"))) span = &head->authority;
    if (nb_slice_equal(name, NB_SLICE(":path"))) span = &head->path;
    if (!span || head->line_written) return NB_OK;
    *span = (nb_http2_span){head->block.end, (uint32_t)value.size};
    return append(head, pool, value);
}

/* Clients send a field for each cookie, to compress them better (RFC 9113 section 8.2.3). */
static nb_status join_cookie(nb_http2_head *head, nb_pool *pool, nb_slice value) {
    nb_status status = append(head, pool, NB_SLICE("; "));
    if (status == NB_OK) status = append(head, pool, value);
    head->fields[head->count - 1].value_bytes += 2 + (uint32_t)value.size;
    return status;
}

/* False: it is over a limit. */
static bool count(nb_http2_head *head, const nb_head_limits *limits, nb_slice name, nb_slice value) {
    if (head->refusal.http_status) return false;
    size_t bytes = name.size + value.size + LINE_OVERHEAD_BYTES;
    bool path = nb_slice_equal(name, NB_SLICE(":path"));
    if (path && value.size > limits->target_bytes) {
        refuse(head, 414, "a request target longer than the limit");
    } else if (bytes > limits->head_bytes - head->bytes) {
        refuse(head, 431, "a request head longer than the limit");
    } else {
        head->bytes += (uint32_t)bytes;
        return true;
    }
    return false;
}

nb_status nb_http2_head_add(nb_http2_head *head, nb_pool *pool, const nb_head_limits *limits, nb_slice name,
                            nb_slice value) {
    if (!count(head, limits, name, value)) return NB_OK;
    if (name.size > 0 && name.data[0] == ':') return add_pseudo(head, pool, name, value);
    nb_status status = head->line_written ? NB_OK : write_line(head, pool);
    if (status != NB_OK) return status;
    bool cookie = nb_slice_equal(name, NB_SLICE("cookie"));
    if (cookie && head->cookie_last) return join_cookie(head, pool, value);
    if (head->count == (limits->headers < NB_HEADERS_MAX ? limits->headers : NB_HEADERS_MAX)) {
        refuse(head, 431, "more header fields than the limit");
        return NB_OK;
    }
    head->cookie_last = cookie;
    head->fields[head->count++] = (nb_http2_field){(uint32_t)name.size, (uint32_t)value.size};
    status = append(head, pool, name);
    return status == NB_OK ? append(head, pool, value) : status;
}

void nb_http2_head_clear(nb_http2_head *head, nb_pool *pool) {
    nb_buffer_release(&head->block, pool);
    memset(head, 0, offsetof(nb_http2_head, fields));
}

/* --- the end --- */

static nb_method method_of(nb_slice text) {
    for (unsigned i = NB_METHOD_OTHER + 1; i < NB_METHOD_COUNT; i++) {
        if (nb_slice_equal(text, nb_method_name((nb_method)i))) return (nb_method)i;
    }
    return NB_METHOD_OTHER;
}

static bool is_target_byte(char byte, nb_compliance compliance) {
    if (compliance == NB_COMPLIANCE_STRICT) return nb_byte_is(byte, NB_BYTE_STRICT_TARGET);
    if (compliance == NB_COMPLIANCE_LENIENT && (byte == '"' || byte == '<' || byte == '>')) return true;
    return nb_byte_is(byte, NB_BYTE_TARGET);
}

/* :path is a path with its query, or "*" (RFC 9113 section 8.3.1). A fragment is never sent. */
static const char *judge_target(nb_head *request, nb_compliance compliance) {
    const nb_slice target = request->target;
    if (request->method == NB_METHOD_OPTIONS && nb_slice_equal(target, NB_SLICE("*"))) {
        request->target_form = NB_TARGET_ASTERISK;
        request->path = target;
        return NULL;
    }
    if (target.size == 0 || target.data[0] != '/') return "a request target that is no path";
    for (size_t i = 0; i < target.size; i++) {
        if (!is_target_byte(target.data[i], compliance)) return "a byte that may not be in a request target";
    }
    const char *question = memchr(target.data, '?', target.size);
    size_t path = question ? (size_t)(question - target.data) : target.size;
    request->target_form = NB_TARGET_ORIGIN;
    request->path = nb_slice_of(target.data, path);
    request->query = question ? nb_slice_of(question + 1, target.size - path - 1) : nb_slice_of("", 0);
    return NULL;
}

static bool is_scheme(nb_slice scheme) {
    return nb_slice_equal_lower(scheme, NB_SLICE("http")) || nb_slice_equal_lower(scheme, NB_SLICE("https"));
}

static nb_refusal judge_line(nb_head *request, nb_compliance compliance) {
    if (!nb_is_token(request->method_text)) return (nb_refusal){400, "a byte that may not be in a method"};
    if (request->method_text.size > NB_METHOD_BYTES_MAX) return (nb_refusal){501, "a method longer than any known"};
    if (request->method == NB_METHOD_CONNECT) return (nb_refusal){405, "CONNECT is for proxies"};
    if (!is_scheme(request->scheme)) return (nb_refusal){400, "a scheme other than http and https"};
    const char *reason = judge_target(request, compliance);
    return reason ? (nb_refusal){400, reason} : (nb_refusal){0, ""};
}

/* What one field says of the request. */
static nb_refusal judge_field(const nb_header *header, nb_http2_facts *facts, nb_slice *host, unsigned *hosts) {
    switch (header->field) {
    case NB_FIELD_HOST:
        *host = header->value;
        (*hosts)++;
        break;
    case NB_FIELD_EXPECT:
        if (!nb_slice_equal_lower(header->value, NB_SLICE("100-continue")))
            return (nb_refusal){417, "an Expect other than 100-continue"};
        facts->expect_continue = true;
        break;
    default:
        break;
    }
    return (nb_refusal){0, ""};
}

static bool is_host(nb_slice authority, nb_compliance compliance) {
    return nb_host_is_valid(authority, NB_PORT_OPTIONAL) || nb_host_is_tolerated(authority, compliance);
}

static bool equal_ignoring_case(nb_slice a, nb_slice b) {
    if (a.size != b.size) return false;
    for (size_t i = 0; i < a.size; i++) {
        char x = a.data[i], y = b.data[i];
        if (x >= 'A' && x <= 'Z') x = (char)(x | 0x20);
        if (y >= 'A' && y <= 'Z') y = (char)(y | 0x20);
        if (x != y) return false;
    }
    return true;
}

/* RFC 9113 section 8.3.1. */
static nb_refusal judge_host(const nb_head *request, nb_slice host, unsigned hosts, nb_compliance compliance,
                             nb_http2_facts *facts) {
    nb_slice authority = request->authority;
    if (hosts > 1) return (nb_refusal){400, "more than one Host"};
    if (authority.size == 0 && host.size == 0) return (nb_refusal){400, "no :authority and no Host"};
    if (authority.size > 0 && hosts > 0 && !equal_ignoring_case(authority, host))
        return (nb_refusal){400, "a Host that differs from :authority"};
    facts->host = authority.size > 0 ? authority : host;
    if (!is_host(facts->host, compliance)) return (nb_refusal){400, "an :authority that is no host and port"};
    return (nb_refusal){0, ""};
}

static nb_refusal take_fields(const nb_http2_head *head, nb_compliance compliance, nb_head *request,
                              nb_http2_facts *facts) {
    nb_refusal refusal = {0, ""};
    nb_slice host = {"", 0};
    unsigned hosts = 0;
    const char *place = head->count ? at(head, head->fields_at) : NULL;
    for (uint16_t i = 0; i < head->count && refusal.http_status == 0; i++) {
        nb_header *header = &request->headers[i];
        header->name = nb_slice_of(place, head->fields[i].name_bytes);
        header->value = nb_slice_of(place + header->name.size, head->fields[i].value_bytes);
        header->field = nb_field_lookup(header->name);
        place = header->value.data + header->value.size;
        refusal = judge_field(header, facts, &host, &hosts);
    }
    request->header_count = head->count;
    return refusal.http_status ? refusal : judge_host(request, host, hosts, compliance, facts);
}

static void take_line(const nb_http2_head *head, nb_head *request) {
    request->method_text = slice_of(head, head->method);
    request->method = method_of(request->method_text);
    request->target = slice_of(head, head->path);
    request->authority = slice_of(head, head->authority);
    request->scheme = slice_of(head, head->scheme);
    request->path = request->query = nb_slice_of("", 0);
    request->minor_version = NB_HTTP_2;
    request->header_count = 0;
}

nb_status nb_http2_head_end(nb_http2_head *head, nb_pool *pool, const nb_head_limits *limits, nb_head *request,
                            nb_http2_facts *facts, nb_refusal *refusal) {
    if (!head->line_written && write_line(head, pool) != NB_OK) return NB_NO_MEMORY;
    take_line(head, request);
    *facts = (nb_http2_facts){.host = {"", 0}};
    facts->raw = nb_slice_of(at(head, head->raw), head->block.end - head->raw);
    *refusal = head->refusal;
    if (refusal->http_status == 0) *refusal = judge_line(request, limits->compliance);
    if (refusal->http_status == 0) *refusal = take_fields(head, limits->compliance, request, facts);
    return refusal->http_status ? NB_INVALID : NB_OK;
}
