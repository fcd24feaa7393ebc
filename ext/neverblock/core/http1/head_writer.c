/*
 * head_writer.c - see head_writer.h. The framing is a decision table; the head is written with a
 * few block copies.
 */
#include "http1/head_writer.h"

#include <string.h>

#include "base/decimal.h"
#include "http/status_code.h"

/* The longest: "HTTP/1.1 431 Request Header Fields Too Large", CRLF and a NUL. */
#define STATUS_LINE_BYTES_MAX 47u

typedef struct status_line {
    char text[STATUS_LINE_BYTES_MAX];
    uint8_t size;
} status_line;

enum status_row {
    ROW_UNKNOWN,
#define STATUS_ROW(code, phrase) ROW_##code,
    NB_HTTP_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const status_line status_lines[] = {[ROW_UNKNOWN] = {"HTTP/1.1 500 \r\n", 15},
#define STATUS_ROW(code, phrase) \
    [ROW_##code] = {"HTTP/1.1 " #code " " phrase "\r\n", sizeof("HTTP/1.1 " #code " " phrase "\r\n") - 1},
                                           NB_HTTP_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const uint8_t status_rows[600] = {
#define STATUS_ROW(code, phrase) [code] = ROW_##code,
    NB_HTTP_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const status_line *status_line_of(uint16_t status) {
    return &status_lines[status < 600 ? status_rows[status] : ROW_UNKNOWN];
}

/* Rules in this order: RFC 9110 sections 6.4.1, 8.6, 9.3.2, 15.3.5, 15.3.6, 15.4.5, RFC 9112
 * section 6.3. */
static nb_response_body decide_body(const nb_response_facts *f) {
    if (f->response.handover) return NB_RESPONSE_BODY_CLOSE;
    if (f->response.head_request || f->response.status == 204 || f->response.status == 205 || f->response.status == 304)
        return NB_RESPONSE_BODY_NONE;
    if (f->response.content_length != NB_CONTENT_LENGTH_UNKNOWN) return NB_RESPONSE_BODY_LENGTH;
    return f->minor_version > 0 ? NB_RESPONSE_BODY_CHUNKED : NB_RESPONSE_BODY_CLOSE;
}

static bool decide_content_length(const nb_response_facts *f, nb_response_body body) {
    if (f->response.status == 204 || f->response.status == 101) return false;
    if (f->response.handover) return f->response.length_announced;
    if (f->response.status == 205) return true; /* 0 tells the client that no body follows */
    if (body == NB_RESPONSE_BODY_NONE)
        return f->response.length_announced && f->response.content_length != NB_CONTENT_LENGTH_UNKNOWN;
    return body == NB_RESPONSE_BODY_LENGTH;
}

nb_response_plan nb_response_plan_decide(const nb_response_facts *facts) {
    nb_response_plan plan;
    plan.body = decide_body(facts);
    plan.keep_alive = facts->keep_alive && !facts->response.application_closes && plan.body != NB_RESPONSE_BODY_CLOSE;
    plan.send_content_length = decide_content_length(facts, plan.body);
    plan.send_connection = facts->minor_version > 0 ? !plan.keep_alive : plan.keep_alive;
    return plan;
}

static char *put(char *out, const char *text, size_t size) {
    memcpy(out, text, size);
    return out + size;
}

#define PUT(out, literal) put(out, literal, sizeof(literal) - 1)

/* Copies as many bytes as the longest line has: a copy of constant size is faster, and what follows
 * overwrites the tail. */
static char *put_status_line(char *out, uint16_t status) {
    const status_line *const line = status_line_of(status);
    memcpy(out, line->text, STATUS_LINE_BYTES_MAX);
    if (line == &status_lines[ROW_UNKNOWN]) {
        out[9] = (char)('0' + status / 100 % 10);
        out[10] = (char)('0' + status / 10 % 10);
        out[11] = (char)('0' + status % 10);
    }
    return out + line->size;
}

size_t nb_status_line_write(char *out, uint16_t status) { return (size_t)(put_status_line(out, status) - out); }

size_t nb_response_head_write(char *out, const nb_response_facts *facts, const nb_response_plan *plan,
                              nb_slice date_line, nb_slice field_lines) {
    char *at = put_status_line(out, facts->response.status);
    if (date_line.size > 0) at = put(at, date_line.data, date_line.size);
    if (field_lines.size > 0) at = put(at, field_lines.data, field_lines.size);
    if (plan->send_content_length) {
        at = PUT(at, "Content-Length: ");
        at = nb_decimal_put(at, facts->response.status == 205 ? 0 : facts->response.content_length);
        at = PUT(at, "\r\n");
    }
    if (plan->body == NB_RESPONSE_BODY_CHUNKED) at = PUT(at, "Transfer-Encoding: chunked\r\n");
    if (facts->response.status == 101)
        at = PUT(at, "Connection: Upgrade\r\n"); /* RFC 9110 section 7.8 */
    else if (plan->send_connection)
        at = plan->keep_alive ? PUT(at, "Connection: keep-alive\r\n") : PUT(at, "Connection: close\r\n");
    at = PUT(at, "\r\n");
    return (size_t)(at - out);
}

size_t nb_chunk_head_write(char *out, uint64_t bytes) {
    char digits[16];
    size_t first = sizeof digits;
    do {
        digits[--first] = "0123456789abcdef"[bytes & 15];
        bytes >>= 4;
    } while (bytes > 0);
    char *at = put(out, digits + first, sizeof digits - first);
    return (size_t)(PUT(at, "\r\n") - out);
}
