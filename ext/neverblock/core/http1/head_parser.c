/*
 * head_parser.c - see head_parser.h. One pass looks at each byte once, notes slices, and can stop
 * and resume at any byte. A head that came in pieces is valid when the pass ends, and is then
 * parsed once more for its slices: at most twice the work of a head that came at once. No pass
 * reads what an earlier one wrote: others may have used the head since.
 */
#include "http1/head_parser.h"

#include "base/assert.h"
#include "http/byte_class.h"
#include "http/host.h"

#define BLANK_LINES_MAX 2u /* CRLF before the request line */

/* The state of the pass. Before the fields all that is known is an offset, in `mark`. */
enum state { START, START_LF, METHOD, TARGET, VERSION, FIELD_START, FIELD_NAME, VALUE_START, VALUE, VALUE_LF, HEAD_LF };

enum step { GO_ON, NEED_MORE, REFUSED, COMPLETE };

typedef struct walk {
    const char *base, *at, *end;
    const char *mark; /* first byte of the element that contains `at` */
    const nb_head_limits *limits;
    nb_head *head; /* written as the pass goes; valid only if it began at the first byte */
    nb_refusal *refusal;
    unsigned headers, headers_max, blank_lines;
    enum state state;
} walk;

static __attribute__((cold)) enum step refuse(walk *w, uint16_t http_status, const char *reason) {
    *w->refusal = (nb_refusal){http_status, reason};
    return REFUSED;
}

static enum step walk_start(walk *w) {
    for (;;) {
        if (w->at == w->end) return NEED_MORE;
        if (w->state == START_LF) {
            if (*w->at != '\n') return refuse(w, 400, "a CR without LF before the request line");
            w->at++;
            w->state = START;
            continue;
        }
        if (*w->at != '\r') break;
        if (w->blank_lines == BLANK_LINES_MAX) return refuse(w, 400, "too many empty lines before the request line");
        w->blank_lines++;
        w->at++;
        w->state = START_LF;
    }
    w->mark = w->at;
    w->state = METHOD;
    return GO_ON;
}

size_t nb_head_skip_empty_lines(nb_head_parser *parser, const char *bytes, size_t size) {
    size_t at = 0;
    while (parser->scanned == 0 && at < size) {
        bool began = parser->state == START_LF;
        if (bytes[at] != (began ? '\n' : '\r') || (!began && parser->blank_lines == BLANK_LINES_MAX)) break;
        if (!began) parser->blank_lines++;
        parser->state = began ? START : START_LF;
        at++;
    }
    return at;
}

static nb_method method_number(const char *text, size_t size) {
    switch (size) {
    case 3:
        if (memcmp(text, "GET", 3) == 0) return NB_METHOD_GET;
        return memcmp(text, "PUT", 3) == 0 ? NB_METHOD_PUT : NB_METHOD_OTHER;
    case 4:
        if (memcmp(text, "POST", 4) == 0) return NB_METHOD_POST;
        return memcmp(text, "HEAD", 4) == 0 ? NB_METHOD_HEAD : NB_METHOD_OTHER;
    case 5:
        if (memcmp(text, "PATCH", 5) == 0) return NB_METHOD_PATCH;
        return memcmp(text, "TRACE", 5) == 0 ? NB_METHOD_TRACE : NB_METHOD_OTHER;
    case 6:
        return memcmp(text, "DELETE", 6) == 0 ? NB_METHOD_DELETE : NB_METHOD_OTHER;
    case 7:
        if (memcmp(text, "OPTIONS", 7) == 0) return NB_METHOD_OPTIONS;
        return memcmp(text, "CONNECT", 7) == 0 ? NB_METHOD_CONNECT : NB_METHOD_OTHER;
    default:
        return NB_METHOD_OTHER;
    }
}

static enum step walk_method(walk *w) {
    const char *limit = (size_t)(w->end - w->mark) > NB_METHOD_BYTES_MAX ? w->mark + NB_METHOD_BYTES_MAX + 1 : w->end;
    w->at = nb_scan_bytewise(w->at, limit, NB_BYTE_TOKEN);
    const size_t size = (size_t)(w->at - w->mark);
    if (size > NB_METHOD_BYTES_MAX) return refuse(w, 501, "a method longer than any known");
    if (w->at == w->end) return NEED_MORE;
    if (*w->at != ' ') return refuse(w, 400, "a byte that may not be in a method");
    if (size == 0) return refuse(w, 400, "no method");
    w->head->method_text = nb_slice_of(w->mark, size);
    w->head->method = method_number(w->mark, size);
    w->at++;
    w->mark = w->at;
    w->state = TARGET;
    return GO_ON;
}

static bool method_is_connect(const walk *w) {
    static const char connect[] = "CONNECT ";
    const size_t size = sizeof connect - 1;
    return (size_t)(w->mark - w->base) >= size && memcmp(w->mark - size, connect, size) == 0 &&
           ((size_t)(w->mark - w->base) == size || w->mark[-(ptrdiff_t)size - 1] == '\n');
}

/* True: the text may still become "http://..." or "https://...", in any case. */
static bool scheme_may_follow(const char *text, size_t size) {
    nb_slice head = nb_slice_of(text, size < 4 ? size : 4);
    if (!nb_slice_equal_lower(head, nb_slice_of("http", head.size))) return false;
    if (size <= 4) return true;
    const size_t secure = (text[4] | 0x20) == 's' ? 1u : 0u;
    const size_t rest = size - 4 - secure;
    return memcmp(text + 4 + secure, "://", rest < 3 ? rest : 3) == 0;
}

/* Checks the first bytes of a target, as far as they have come. */
static bool target_may_begin(const walk *w, size_t size) {
    if (size == 0) return true;
    if (method_is_connect(w)) return nb_byte_is(*w->mark, NB_BYTE_HOST) || *w->mark == '[' || *w->mark == '%';
    if (*w->mark == '/') return true;
    if (*w->mark == '*') return size == 1;
    return scheme_may_follow(w->mark, size);
}

static void split_path(nb_head *head, const char *path, const char *end) {
    const char *question = path == end ? NULL : memchr(path, '?', (size_t)(end - path));
    head->path = nb_slice_of(path, (size_t)((question ? question : end) - path));
    head->query = question ? nb_slice_of(question + 1, (size_t)(end - question - 1)) : nb_slice_of(end, 0);
}

static bool split_absolute(nb_head *head, nb_compliance compliance) {
    /* A valid beginning that ends too early. */
    if (head->target.size < sizeof "http://" - 1) return false;
    const char *const end = head->target.data + head->target.size;
    const size_t scheme = (head->target.data[4] | 0x20) == 's' ? 5 : 4;
    if (head->target.size <= scheme + 3) return false;
    const char *const authority = head->target.data + scheme + 3;
    const char *path = authority;
    while (path < end && *path != '/' && *path != '?')
        path++;
    head->target_form = NB_TARGET_ABSOLUTE;
    head->scheme = nb_slice_of(head->target.data, scheme);
    head->authority = nb_slice_of(authority, (size_t)(path - authority));
    split_path(head, path, end);
    if (head->path.size == 0) head->path = NB_SLICE("/");
    return nb_host_is_valid(head->authority, NB_PORT_OPTIONAL) || nb_host_is_tolerated(head->authority, compliance);
}

/* Finds the form of the target and its parts (RFC 9112 section 3.2). False: it has no valid
 * form. */
static bool split_target(const walk *w, nb_head *head) {
    const nb_slice target = head->target;
    head->scheme = head->authority = head->query = nb_slice_of(target.data, 0);
    if (method_is_connect(w)) {
        head->target_form = NB_TARGET_AUTHORITY;
        head->authority = target;
        head->path = nb_slice_of(target.data, 0);
        return nb_host_is_valid(target, NB_PORT_REQUIRED);
    }
    if (target.data[0] == '/') {
        head->target_form = NB_TARGET_ORIGIN;
        split_path(head, target.data, target.data + target.size);
        return true;
    }
    if (target.data[0] == '*') {
        head->target_form = NB_TARGET_ASTERISK;
        head->path = target;
        return true;
    }
    return split_absolute(head, w->limits->compliance);
}

static enum step refuse_target_byte(walk *w) {
    switch (*w->at) {
    case '\r':
    case '\n':
        return refuse(w, 400, "no HTTP version after the request target");
    case '#':
        return refuse(w, 400, "a fragment in the request target");
    default:
        return refuse(w, 400, "a byte that may not be in a request target");
    }
}

/* Scans past bytes that are rare in targets, if the compliance allows them. It does not take the
 * walk, which the compiler then keeps in registers. */
static __attribute__((cold, noinline)) const char *scan_odd_target(const char *base, const char *at, const char *limit,
                                                                   nb_compliance compliance) {
    if (compliance == NB_COMPLIANCE_STRICT) return nb_scan_bytewise(at, limit, NB_BYTE_STRICT_TARGET);
    for (;; at++) {
        at = nb_scan_target(base, at, limit);
        if (at == limit) break;
        const bool odd = *at == '"' || *at == '<' || *at == '>';
        if (*at != '#' && !(odd && compliance == NB_COMPLIANCE_LENIENT)) break;
    }
    return at;
}

/* A fragment concerns the client only (RFC 3986 section 3.5). */
static __attribute__((cold, noinline)) size_t size_without_fragment(const char *target, size_t size) {
    const char *const hash = memchr(target, '#', size);
    return hash ? (size_t)(hash - target) : size;
}

static enum step walk_target(walk *w) {
    const size_t most = w->limits->target_bytes;
    const char *const limit = (size_t)(w->end - w->mark) > most ? w->mark + most + 1 : w->end;
    const char *const from = w->at;
    const nb_compliance compliance = w->limits->compliance;
    w->at = nb_scan_target(w->base, from, limit);
    const bool usual = from == w->mark && w->at < limit && *w->at == ' ' && compliance != NB_COMPLIANCE_STRICT;
    if (!usual) w->at = scan_odd_target(w->base, from, limit, compliance);
    size_t size = (size_t)(w->at - w->mark);
    if (!target_may_begin(w, size)) return refuse(w, 400, "a request target that is no path and no http URL");
    if (size > most) return refuse(w, 414, "a request target longer than the limit");
    if (w->at == w->end) return NEED_MORE;
    if (*w->at != ' ') return refuse_target_byte(w);
    if (size == 0) return refuse(w, 400, "no request target");
    if (!usual && !method_is_connect(w)) size = size_without_fragment(w->mark, size);
    w->head->target = nb_slice_of(w->mark, size);
    if (!split_target(w, w->head)) return refuse(w, 400, "a request target whose authority is no host and port");
    w->at++;
    w->mark = w->at;
    w->state = VERSION;
    return GO_ON;
}

/* The ten bytes "HTTP/1.x CR LF", parsed again from the first when more of them have come. */
static __attribute__((cold)) enum step walk_version_bytewise(walk *w) {
    const char *const v = w->mark;
    const size_t size = (size_t)(w->end - v);
    for (size_t i = 0; i < size && i < 5; i++) {
        if (v[i] != "HTTP/"[i]) return refuse(w, 400, "no HTTP version after the request target");
    }
    if (size > 5 && !nb_byte_is(v[5], NB_BYTE_DIGIT)) return refuse(w, 400, "a malformed HTTP version");
    if (size > 6 && v[6] != '.') return refuse(w, 400, "a malformed HTTP version");
    if (size > 6 && v[5] != '1') return refuse(w, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    if (size > 7 && !nb_byte_is(v[7], NB_BYTE_DIGIT)) return refuse(w, 400, "a malformed HTTP version");
    if (size > 8 && v[8] != '\r') return refuse(w, 400, "the request line does not end after the HTTP version");
    if (size > 9 && v[9] != '\n') return refuse(w, 400, "a CR without LF at the end of the request line");
    w->at = size < 10 ? w->end : v + 10;
    return size < 10 ? NEED_MORE : GO_ON;
}

static enum step walk_version(walk *w) {
    const char *const v = w->mark;
    if (w->end - v >= 10 && memcmp(v, "HTTP/1.1\r\n", 10) == 0) {
        w->at = v + 10;
    } else {
        const enum step step = walk_version_bytewise(w);
        if (step != GO_ON) return step;
    }
    w->head->minor_version = v[7] == '0' ? 0 : 1;
    w->state = FIELD_START;
    return GO_ON;
}

static enum step refuse_name_byte(walk *w) {
    switch (*w->at) {
    case ' ':
    case '\t':
        return refuse(w, 400, "white space before the colon of a header field");
    case '\r':
    case '\n':
        return refuse(w, 400, "a header line without a colon");
    default:
        return refuse(w, 400, "a byte that may not be in a header name");
    }
}

static enum step refuse_line_start(walk *w) {
    switch (*w->at) {
    case ' ':
    case '\t':
        return refuse(w, 400, w->headers ? "a folded header line" : "white space before the first header field");
    case '\n':
        return refuse(w, 400, "a bare LF at the end of the head");
    case ':':
        return refuse(w, 400, "a header field without a name");
    default:
        return refuse(w, 400, "a byte that may not be in a header name");
    }
}

/* Parses a field name: from the first byte of a line to the colon. */
static inline enum step walk_name(walk *w) {
    if (w->state == FIELD_START) {
        if (w->at == w->end) return NEED_MORE;
        if (*w->at == '\r') {
            w->at++;
            w->state = HEAD_LF;
            return GO_ON;
        }
        if (!nb_byte_is(*w->at, NB_BYTE_TOKEN)) return refuse_line_start(w);
        if (w->headers == w->headers_max) return refuse(w, 431, "more header fields than the limit");
        w->mark = w->at;
        w->state = FIELD_NAME;
    }
    w->at = nb_scan_token(w->base, w->at, w->end);
    if (w->at == w->end) return NEED_MORE;
    if (*w->at != ':') return refuse_name_byte(w);
    const nb_slice name = nb_slice_of(w->mark, (size_t)(w->at - w->mark));
    w->head->headers[w->headers].name = name;
    w->head->headers[w->headers].field = nb_field_lookup(name);
    w->at++;
    w->state = VALUE_START;
    return GO_ON;
}

static inline bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

/* Parses a field value: from behind the colon to the CR. */
static inline enum step walk_value(walk *w) {
    if (w->state == VALUE_START) {
        while (w->at < w->end && is_blank(*w->at))
            w->at++;
        if (w->at == w->end) return NEED_MORE;
        w->mark = w->at;
        w->state = VALUE;
    }
    w->at = nb_scan_value(w->base, w->at, w->end);
    if (w->at == w->end) return NEED_MORE;
    if (*w->at != '\r') {
        return refuse(w, 400,
                      *w->at == '\n' ? "a bare LF at the end of a header line" : "a control byte in a header value");
    }
    const char *last = w->at;
    while (last > w->mark && is_blank(last[-1]))
        last--;
    w->head->headers[w->headers].value = nb_slice_of(w->mark, (size_t)(last - w->mark));
    w->at++;
    w->state = VALUE_LF;
    return GO_ON;
}

static inline enum step walk_value_lf(walk *w) {
    if (w->at == w->end) return NEED_MORE;
    if (*w->at != '\n') return refuse(w, 400, "a CR without LF in a header line");
    w->headers++;
    w->at++;
    w->state = FIELD_START;
    return GO_ON;
}

static enum step walk_fields(walk *w) {
    for (;;) {
        enum step step = GO_ON;
        switch (w->state) {
        case FIELD_START:
        case FIELD_NAME:
            step = walk_name(w);
            break;
        case VALUE_START:
        case VALUE:
            step = walk_value(w);
            break;
        case VALUE_LF:
            step = walk_value_lf(w);
            break;
        default:
            if (w->at == w->end) return NEED_MORE;
            if (*w->at != '\n') return refuse(w, 400, "a CR without LF at the end of the head");
            w->at++;
            w->head->header_count = (uint16_t)w->headers;
            return COMPLETE;
        }
        if (step != GO_ON) return step;
    }
}

static enum step walk_head(walk *w) {
    enum step step = GO_ON;
    if (w->state <= START_LF) step = walk_start(w);
    if (step == GO_ON && w->state == METHOD) step = walk_method(w);
    if (step == GO_ON && w->state == TARGET) step = walk_target(w);
    if (step == GO_ON && w->state == VERSION) step = walk_version(w);
    return step == GO_ON ? walk_fields(w) : step;
}

/* Refuses a head that is not complete when its last allowed byte has come. */
static nb_status refuse_size(enum state state, nb_refusal *refusal) {
    *refusal = state == TARGET ? (nb_refusal){414, "a request target longer than the limit"}
                               : (nb_refusal){431, "a request head longer than the limit"};
    return NB_OVER_LIMIT;
}

void nb_head_parser_init(nb_head_parser *parser) { *parser = (nb_head_parser){0}; }

nb_status nb_head_parse(nb_head_parser *parser, const char *bytes, size_t size, const nb_head_limits *limits,
                        nb_head *head, size_t *used, nb_refusal *refusal) {
    NB_ASSERT(size >= parser->scanned);
    const bool at_limit = size >= limits->head_bytes;
    walk w = {
        .base = bytes,
        .at = bytes + parser->scanned,
        .end = bytes + (at_limit ? limits->head_bytes : size),
        .mark = bytes + parser->mark,
        .limits = limits,
        .head = head,
        .refusal = refusal,
        .headers = parser->headers,
        .headers_max = limits->headers < NB_HEADERS_MAX ? limits->headers : NB_HEADERS_MAX,
        .blank_lines = parser->blank_lines,
        .state = (enum state)parser->state,
    };
    const bool resumed = parser->scanned != 0;
    const enum step step = walk_head(&w);
    if (step == REFUSED)
        return refusal->http_status == 414 || refusal->http_status == 431 || refusal->http_status == 501 ? NB_OVER_LIMIT
                                                                                                         : NB_INVALID;
    if (step == NEED_MORE) {
        if (at_limit) return refuse_size(w.state, refusal);
        parser->scanned = (size_t)(w.at - bytes);
        parser->state = w.state;
        parser->mark = (uint32_t)(w.mark - bytes);
        parser->headers = w.headers;
        parser->blank_lines = w.blank_lines;
        return NB_INCOMPLETE;
    }
    const size_t whole = (size_t)(w.at - bytes);
    nb_head_parser_init(parser);
    if (resumed) return nb_head_parse(parser, bytes, whole, limits, head, used, refusal);
    *used = whole;
    return NB_OK;
}

bool nb_is_token(nb_slice text) {
    return text.size > 0 && nb_scan_token(text.data, text.data, text.data + text.size) == text.data + text.size;
}

bool nb_is_field_value(nb_slice text) {
    return text.size == 0 || nb_scan_value(text.data, text.data, text.data + text.size) == text.data + text.size;
}
