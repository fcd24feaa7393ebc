/*
 * file_response.c - see file_response.h.
 */
#include "responses/file_response.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "files/multipart.h"
#include "files/ranges.h"
#include "http/date.h"
#include "responses/compose.h"
#include "http/status_code.h"

/* Bytes added to the offer's lines: Content-Range, a multipart's Content-Type, the text of a
 * refusal. */
#define ADDED_BYTES_MAX 256u

/* Lines of most responses fit on the stack; longer ones are allocated. */
#define STACK_BYTES 2048u

/* --- field lines --- */

void nb_file_lines_add(nb_file_lines *lines, nb_slice bytes) {
    if (bytes.size) memcpy(lines->bytes + lines->size, bytes.data, bytes.size);
    lines->size += bytes.size;
}

void nb_file_line(nb_file_lines *lines, nb_slice name, nb_slice value) {
    nb_file_lines_add(lines, name);
    nb_file_lines_add(lines, NB_SLICE(": "));
    nb_file_lines_add(lines, value);
    nb_file_lines_add(lines, NB_SLICE("\r\n"));
}

void nb_file_line_date(nb_file_lines *lines, nb_slice name, int64_t epoch_s) {
    char date[NB_HTTP_DATE_BYTES];
    nb_http_date_write(date, epoch_s);
    nb_file_line(lines, name, (nb_slice){date, sizeof(date)});
}

/* Removes the first line from `lines` and returns it with its end. */
static nb_slice next_line(nb_slice *lines) {
    const char *end = memchr(lines->data, '\n', lines->size);
    size_t size = end ? (size_t)(end + 1 - lines->data) : lines->size;
    nb_slice line = {lines->data, size};
    lines->data += size;
    lines->size -= size;
    return line;
}

static bool begins_with(nb_slice line, nb_slice lower) {
    return line.size >= lower.size && nb_slice_equal_lower((nb_slice){line.data, lower.size}, lower);
}

static bool is_line_of(nb_slice line, nb_slice name) {
    return line.size > name.size && line.data[name.size] == ':' && begins_with(line, name);
}

nb_slice nb_file_lines_find(nb_slice lines, nb_slice name) {
    while (lines.size > 0) {
        nb_slice line = next_line(&lines);
        if (!is_line_of(line, name)) continue;
        size_t from = name.size + 1, to = line.size;
        while (from < to && (line.data[from] == ' ' || line.data[from] == '\t'))
            from++;
        while (to > from && (line.data[to - 1] == '\n' || line.data[to - 1] == '\r' || line.data[to - 1] == ' '))
            to--;
        return (nb_slice){line.data + from, to - from};
    }
    return (nb_slice){NULL, 0};
}

/* Fields of the representation: not sent with 304, 412 and 416 (RFC 9110 section 15.4.5). */
static bool is_of_the_body(nb_slice line) {
    return begins_with(line, NB_SLICE("content-")) && !is_line_of(line, NB_SLICE("content-location")) &&
           !is_line_of(line, NB_SLICE("content-security-policy")) &&
           !is_line_of(line, NB_SLICE("content-security-policy-report-only"));
}

/* Fields of the file: not sent with 412 and 416. A cache would keep such a response by the
 * cache-control of the file (RFC 9111 section 3). */
static bool is_of_the_file(nb_slice line) {
    static const nb_slice names[] = {
        {"accept-ranges", 13}, {"cache-control", 13}, {"cdn-cache-control", 17}, {"etag", 4},
        {"expires", 7},        {"last-modified", 13}, {"surrogate-control", 17}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (is_line_of(line, names[i])) return true;
    }
    return is_of_the_body(line);
}

/* --- one response --- */

typedef struct answer {
    nb_responses *responses;
    nb_exchange *exchange;
    const nb_file_offer *offer;
    nb_file_lines lines;
    char *memory; /* NULL: the lines are in `stack` */
    char stack[STACK_BYTES];
} answer;

static nb_status open_lines(answer *self) {
    size_t bytes = self->offer->lines.size + ADDED_BYTES_MAX;
    self->memory = bytes > STACK_BYTES ? nb_alloc(bytes) : NULL;
    if (bytes > STACK_BYTES && !self->memory) return NB_NO_MEMORY;
    self->lines = (nb_file_lines){.bytes = self->memory ? self->memory : self->stack};
    return NB_OK;
}

/* Copies the offer's lines, except those for which `drop` is true. */
static nb_status keep_lines(answer *self, bool (*drop)(nb_slice line)) {
    nb_slice left = self->offer->lines;
    if (open_lines(self) != NB_OK) return NB_NO_MEMORY;
    while (left.size > 0) {
        nb_slice line = next_line(&left);
        if (!drop(line)) nb_file_lines_add(&self->lines, line);
    }
    return NB_OK;
}

static nb_slice lines_of(const answer *self) { return (nb_slice){self->lines.bytes, self->lines.size}; }

static nb_status head(const answer *self, uint16_t status, uint64_t bytes, nb_slice lines) {
    nb_exchange *exchange = self->exchange;
    exchange->response.status = status;
    exchange->response.content_length = bytes;
    exchange->response.length_announced = status != 304;
    exchange->response.whole = true;
    return nb_compose_head(self->responses, exchange, lines, self->offer->has_date, self->offer->taken_ns);
}

static nb_status add_range(const answer *self, nb_range range) {
    nb_file *file = nb_file_hold(self->offer->file);
    return nb_send_queue_add_file(self->exchange->out, file, range.offset, range.bytes, self->exchange->send_by);
}

static bool has_body(const answer *self) { return self->exchange->response.has_content; }

/* A body follows the head. */
static bool begins(const answer *self, uint64_t bytes) {
    if (!has_body(self) || bytes == 0) return false;
    nb_downloads_begin(self->responses->downloads, self->exchange, bytes);
    return true;
}

static nb_status send_whole(answer *self) {
    nb_range all = {0, self->offer->size};
    nb_status status = head(self, self->offer->status, all.bytes, self->offer->lines);
    return status == NB_OK && begins(self, all.bytes) ? add_range(self, all) : status;
}

static nb_status send_one(answer *self, nb_range range) {
    char text[NB_CONTENT_RANGE_BYTES_MAX];
    nb_slice value = {text, nb_content_range_write(text, range, self->offer->size)};
    if (open_lines(self) != NB_OK) return NB_NO_MEMORY;
    nb_file_lines_add(&self->lines, self->offer->lines);
    nb_file_line(&self->lines, NB_SLICE("Content-Range"), value);
    nb_status status = head(self, 206, range.bytes, lines_of(self));
    return status == NB_OK && begins(self, range.bytes) ? add_range(self, range) : status;
}

static bool is_content_type(nb_slice line) { return is_line_of(line, NB_SLICE("content-type")); }

/* A number that a client cannot foresee: from the time and an address. */
static uint64_t unforeseen(const answer *self) {
    uint64_t seed = (uint64_t)self->responses->time->now_ns ^ (uint64_t)(uintptr_t)self->exchange ^
                    nb_exchange_id_of(self->exchange) * UINT64_C(0x9e3779b97f4a7c15);
    seed = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9); /* splitmix64's finalizer */
    seed = (seed ^ (seed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return seed ^ (seed >> 31);
}

static nb_status add_part(const answer *self, const nb_multipart *multipart, nb_range range) {
    char fields[NB_MULTIPART_PART_BYTES_MAX + NB_MIME_TYPE_BYTES_MAX];
    nb_slice bytes = {fields, nb_multipart_part_write(fields, multipart, range)};
    nb_status status = nb_send_queue_add(self->exchange->out, self->responses->pool, bytes);
    return status == NB_OK ? add_range(self, range) : status;
}

static nb_status send_several(answer *self, const nb_range *ranges, uint16_t count) {
    char type[NB_MULTIPART_TYPE_BYTES], end[NB_MULTIPART_END_BYTES];
    nb_slice of_parts = self->offer->content_type;
    nb_multipart multipart;
    /* It may be left out (RFC 9110 section 15.3.7.2). */
    if (of_parts.size > NB_MIME_TYPE_BYTES_MAX) of_parts.size = 0;
    nb_multipart_init(&multipart, unforeseen(self), of_parts, self->offer->size);
    if (keep_lines(self, is_content_type) != NB_OK) return NB_NO_MEMORY;
    nb_multipart_type_write(type, &multipart);
    nb_file_line(&self->lines, NB_SLICE("Content-Type"), (nb_slice){type, sizeof(type)});
    uint64_t bytes = nb_multipart_bytes(&multipart, ranges, count);
    nb_status status = head(self, 206, bytes, lines_of(self));
    if (status != NB_OK || !begins(self, bytes)) return status;
    for (uint16_t i = 0; i < count && status == NB_OK; i++) {
        status = add_part(self, &multipart, ranges[i]);
    }
    if (status != NB_OK) return status;
    nb_multipart_end_write(end, &multipart);
    return nb_send_queue_add(self->exchange->out, self->responses->pool, (nb_slice){end, sizeof(end)});
}

static nb_status send_nothing_new(answer *self) {
    nb_downloads_answered(self->responses->downloads, NB_DOWNLOAD_not_modified);
    if (keep_lines(self, is_of_the_body) != NB_OK) return NB_NO_MEMORY;
    return head(self, 304, 0, lines_of(self));
}

static nb_status refuse(answer *self, uint16_t status) {
    char text[NB_CONTENT_RANGE_BYTES_MAX], body[64];
    if (keep_lines(self, is_of_the_file) != NB_OK) return NB_NO_MEMORY;
    nb_slice phrase = nb_status_phrase(status);
    int bytes = snprintf(body, sizeof(body), "%u %.*s\n", status, (int)phrase.size, phrase.data);
    nb_file_line(&self->lines, NB_SLICE("Content-Type"), NB_SLICE("text/plain; charset=utf-8"));
    if (status == 416) {
        nb_slice size = {text, nb_content_range_unsatisfied_write(text, self->offer->size)};
        nb_file_line(&self->lines, NB_SLICE("Content-Range"), size);
    }
    nb_status result = head(self, status, (uint64_t)bytes, lines_of(self));
    if (result != NB_OK || !has_body(self)) return result;
    return nb_send_queue_add(self->exchange->out, self->responses->pool, (nb_slice){body, (size_t)bytes});
}

static nb_status send_ranges(answer *self) {
    nb_range ranges[NB_RANGES_MAX];
    uint16_t count = 0;
    switch (nb_ranges_parse(self->offer->request->range, self->offer->size, ranges, &count)) {
    case NB_RANGES_WHOLE:
        break;
    case NB_RANGES_UNSATISFIABLE:
        return refuse(self, 416);
    case NB_RANGES_SOME:
        return count == 1 ? send_one(self, ranges[0]) : send_several(self, ranges, count);
    }
    return send_whole(self);
}

static nb_status send_by_request(answer *self) {
    const nb_file_request *request = self->offer->request;
    const nb_validators *validators = &self->offer->validators;
    int64_t now_s = self->responses->time->wall_s;
    if (!request) return send_whole(self);
    switch (nb_conditional_decide(request, validators, now_s)) {
    case NB_CONDITION_NOT_MODIFIED:
        return send_nothing_new(self);
    case NB_CONDITION_FAILED:
        return refuse(self, 412);
    case NB_CONDITION_PASS:
        break;
    }
    return nb_conditional_range_holds(request, validators, now_s) ? send_ranges(self) : send_whole(self);
}

nb_status nb_file_response(nb_responses *responses, nb_exchange *exchange, const nb_file_offer *offer) {
    NB_ASSERT(exchange->connection && !exchange->head_sent);
    answer self;
    self.responses = responses;
    self.exchange = exchange;
    self.offer = offer;
    self.memory = NULL;
    nb_status status = send_by_request(&self);
    nb_free(self.memory);
    exchange->response.left = 0;
    exchange->ended = true;
    return status;
}
