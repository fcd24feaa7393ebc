/*
 * framing.c - see framing.h. Collects the relevant fields in one pass and judges them: first what
 * makes the message ambiguous (400, 501), then what is clear but not served (405, 417, 413).
 */
#include "http1/framing.h"

#include "http/byte_class.h"
#include "http/host.h"

/* The relevant fields. Of several Content-Lengths or codings only the last is kept: several are
 * refused anyway. */
typedef struct facts {
    nb_slice host, content_length, coding;
    unsigned hosts, content_lengths, codings;
    bool upgrade_field, expect, expect_unknown;
    bool close, keep_alive, upgrade; /* named by Connection */
} facts;

static nb_status refuse(nb_refusal *refusal, nb_status status, uint16_t http_status, const char *reason) {
    *refusal = (nb_refusal){http_status, reason};
    return status;
}

static bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

static bool equal_ignoring_case(nb_slice a, nb_slice b) {
    if (a.size != b.size) return false;
    for (size_t i = 0; i < a.size; i++) {
        unsigned char x = (unsigned char)a.data[i], y = (unsigned char)b.data[i];
        if (x >= 'A' && x <= 'Z') x |= 0x20;
        if (y >= 'A' && y <= 'Z') y |= 0x20;
        if (x != y) return false;
    }
    return true;
}

/* Removes the first item from a comma-separated list, and trims it (RFC 9110 section 5.6.1). False:
 * the list is empty. */
static bool list_next(nb_slice *list, nb_slice *item) {
    if (list->data == NULL) return false;
    const char *start = list->data, *const end = start + list->size;
    const char *const comma = list->size == 0 ? NULL : memchr(start, ',', list->size);
    const char *stop = comma ? comma : end;
    *list = comma ? nb_slice_of(comma + 1, (size_t)(end - comma - 1)) : nb_slice_of(NULL, 0);
    while (start < stop && is_blank(*start))
        start++;
    while (stop > start && is_blank(stop[-1]))
        stop--;
    *item = nb_slice_of(start, (size_t)(stop - start));
    return true;
}

static void gather_connection(facts *f, nb_slice value) {
    if (nb_slice_equal_lower(value, NB_SLICE("keep-alive"))) {
        f->keep_alive = true;
        return;
    }
    nb_slice item;
    while (list_next(&value, &item)) {
        if (nb_slice_equal_lower(item, NB_SLICE("close"))) f->close = true;
        if (nb_slice_equal_lower(item, NB_SLICE("keep-alive"))) f->keep_alive = true;
        if (nb_slice_equal_lower(item, NB_SLICE("upgrade"))) f->upgrade = true;
    }
}

static void gather(const nb_head *head, facts *f) {
    for (unsigned i = 0; i < head->header_count; i++) {
        const nb_slice value = head->headers[i].value;
        switch (head->headers[i].field) {
        case NB_FIELD_HOST:
            f->hosts++;
            f->host = value;
            break;
        case NB_FIELD_CONNECTION:
            gather_connection(f, value);
            break;
        case NB_FIELD_CONTENT_LENGTH:
            f->content_lengths++;
            f->content_length = value;
            break;
        case NB_FIELD_TRANSFER_ENCODING:
            f->codings++;
            f->coding = value;
            break;
        case NB_FIELD_EXPECT:
            f->expect = true;
            if (!nb_slice_equal_lower(value, NB_SLICE("100-continue"))) f->expect_unknown = true;
            break;
        case NB_FIELD_UPGRADE:
            f->upgrade_field = true;
            break;
        default:
            break;
        }
    }
}

/* Without a port that is empty or the default of the scheme: these mean the same as none (RFC 9110
 * section 4.2.3). */
static nb_slice without_own_port(nb_slice authority, nb_slice scheme) {
    const size_t size = nb_host_size(authority);
    if (size == authority.size) return authority;
    const nb_slice port = nb_slice_of(authority.data + size + 1, authority.size - size - 1);
    const bool own = port.size == 0 || nb_slice_equal(port, scheme.size == 4 ? NB_SLICE("80") : NB_SLICE("443"));
    return own ? nb_slice_of(authority.data, size) : authority;
}

static bool names_the_target(const nb_head *head, nb_slice host, nb_compliance compliance) {
    if (compliance == NB_COMPLIANCE_STRICT) return equal_ignoring_case(host, head->authority);
    return equal_ignoring_case(without_own_port(host, head->scheme), without_own_port(head->authority, head->scheme));
}

/* RFC 9112 section 3.2, RFC 9110 section 7.2. */
static nb_status decide_host(const nb_head *head, const facts *f, nb_compliance compliance, nb_slice *host,
                             nb_refusal *refusal) {
    const bool http10 = head->minor_version == 0;
    if (f->hosts > 1) return refuse(refusal, NB_INVALID, 400, "more than one Host");
    if (f->hosts == 0 && !http10) return refuse(refusal, NB_INVALID, 400, "no Host");
    if (f->host.size == 0 && !http10 && compliance == NB_COMPLIANCE_STRICT)
        return refuse(refusal, NB_INVALID, 400, "an empty Host");
    if (f->host.size > 0 && !nb_host_is_valid(f->host, NB_PORT_OPTIONAL) &&
        !nb_host_is_tolerated(f->host, compliance)) {
        return refuse(refusal, NB_INVALID, 400, "a Host that is no host and port");
    }
    if (head->target_form != NB_TARGET_ABSOLUTE) {
        *host = f->host;
        return NB_OK;
    }
    const bool ignored = http10 && f->host.size == 0;
    if (!ignored && !names_the_target(head, f->host, compliance)) {
        return refuse(refusal, NB_INVALID, 400, "a Host that differs from the request target");
    }
    *host = head->authority;
    return NB_OK;
}

/* Only one coding is decoded: chunked, once and alone (RFC 9112 sections 6.1, 7). */
static nb_status decide_coding(nb_slice coding, nb_refusal *refusal) {
    if (nb_slice_equal_lower(coding, NB_SLICE("chunked"))) return NB_OK;
    unsigned items = 0, chunked = 0;
    bool last_is_chunked = false;
    nb_slice item;
    while (list_next(&coding, &item)) {
        if (!nb_is_token(item)) return refuse(refusal, NB_INVALID, 400, "a malformed Transfer-Encoding");
        items++;
        last_is_chunked = nb_slice_equal_lower(item, NB_SLICE("chunked"));
        chunked += last_is_chunked;
    }
    if (items > 1 && (chunked != 1 || !last_is_chunked)) {
        return refuse(refusal, NB_INVALID, 400, "a Transfer-Encoding that does not end with chunked, once");
    }
    return refuse(refusal, NB_INVALID, 501, "a transfer coding other than chunked");
}

/* 1*DIGIT (RFC 9112 section 6.2). A number over 64 bits is valid, and too large. */
static nb_status decide_length(nb_slice text, uint64_t *length, nb_refusal *refusal) {
    uint64_t number = 0;
    bool overflow = false;
    if (text.size == 0) return refuse(refusal, NB_INVALID, 400, "an empty Content-Length");
    for (size_t i = 0; i < text.size; i++) {
        if (!nb_byte_is(text.data[i], NB_BYTE_DIGIT))
            return refuse(refusal, NB_INVALID, 400, "a Content-Length that is no number");
        const unsigned digit = (unsigned)(text.data[i] - '0');
        if (number > (UINT64_MAX - digit) / 10) overflow = true;
        number = number * 10 + digit;
    }
    if (overflow) return refuse(refusal, NB_OVER_LIMIT, 413, "a Content-Length larger than any limit");
    *length = number;
    return NB_OK;
}

/* RFC 9112 section 6.3. */
static nb_status decide_body(const nb_head *head, const facts *f, nb_framing *framing, nb_refusal *refusal) {
    framing->body = NB_BODY_NONE;
    framing->content_length = 0;
    if (f->codings > 0) {
        if (head->minor_version == 0) return refuse(refusal, NB_INVALID, 400, "Transfer-Encoding in HTTP/1.0");
        if (f->content_lengths > 0)
            return refuse(refusal, NB_INVALID, 400, "both Content-Length and Transfer-Encoding");
        if (f->codings > 1) return refuse(refusal, NB_INVALID, 400, "more than one Transfer-Encoding");
        framing->body = NB_BODY_CHUNKED;
        return decide_coding(f->coding, refusal);
    }
    if (f->content_lengths == 0) return NB_OK;
    if (f->content_lengths > 1) return refuse(refusal, NB_INVALID, 400, "more than one Content-Length");
    const nb_status status = decide_length(f->content_length, &framing->content_length, refusal);
    if (status == NB_OK && framing->content_length > 0) framing->body = NB_BODY_LENGTH;
    return status;
}

/* The message is clear. Decides whether it is served. */
static nb_status decide_service(const nb_head *head, const facts *f, uint64_t body_bytes_max, const nb_framing *framing,
                                nb_refusal *refusal) {
    if (head->method == NB_METHOD_CONNECT) return refuse(refusal, NB_INVALID, 405, "CONNECT is for proxies");
    if (head->minor_version > 0 && f->expect_unknown)
        return refuse(refusal, NB_INVALID, 417, "an Expect other than 100-continue");
    if (framing->content_length > body_bytes_max) return refuse(refusal, NB_OVER_LIMIT, 413, NB_BODY_TOO_LARGE);
    return NB_OK;
}

nb_status nb_framing_decide(const nb_head *head, uint64_t body_bytes_max, nb_compliance compliance, nb_framing *framing,
                            nb_refusal *refusal) {
    facts f = {0};
    nb_framing result;
    gather(head, &f);
    nb_status status = decide_host(head, &f, compliance, &result.host, refusal);
    if (status != NB_OK) return status;
    if (head->target_form == NB_TARGET_ASTERISK && head->method != NB_METHOD_OPTIONS) {
        return refuse(refusal, NB_INVALID, 400, "the target * with a method other than OPTIONS");
    }
    status = decide_body(head, &f, &result, refusal);
    if (status == NB_OK) status = decide_service(head, &f, body_bytes_max, &result, refusal);
    if (status != NB_OK) return status;
    const bool http11 = head->minor_version > 0;
    result.keep_alive = !f.close && (http11 || f.keep_alive);
    /* Ignored in HTTP/1.0, and without a body, which is all that could be waited for (RFC 9110
     * section 10.1.1). */
    result.expect_continue = http11 && f.expect && result.body != NB_BODY_NONE;
    result.upgrade = http11 && f.upgrade && f.upgrade_field;
    *framing = result;
    return NB_OK;
}
