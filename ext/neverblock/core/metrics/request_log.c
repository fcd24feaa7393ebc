/*
 * request_log.c - see request_log.h.
 */
#include "metrics/request_log.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "http/head.h"
#include "tls/tls.h"

void nb_request_line_copy(char *line, size_t bytes_max, nb_slice raw) {
    size_t begin = 0, size = 0;
    while (begin < raw.size && (raw.data[begin] == '\r' || raw.data[begin] == '\n'))
        begin++;
    while (begin + size < raw.size && size < bytes_max && raw.data[begin + size] != '\r' &&
           raw.data[begin + size] != '\n' && raw.data[begin + size] != '\0')
        size++;
    (void)nb_utf8_as_url(line, bytes_max + 1, size ? raw.data + begin : "", size);
}

void nb_request_log_keep(nb_request_log *log, char *line, nb_slice raw) {
    line[0] = '\0';
    if (log->enabled) nb_request_line_copy(line, NB_REQUEST_LINE_BYTES_MAX, raw);
}

void nb_request_log_note(nb_request_log *log, nb_slice raw) { nb_request_log_keep(log, log->line, raw); }

void nb_request_log_take(nb_request_log *log, const char *line) {
    if (log->enabled) memcpy(log->line, line, strlen(line) + 1);
}

static size_t copy_span(char *place, const nb_request_message *message, nb_span span, size_t room) {
    return nb_utf8_as_url(place, room, (const char *)message + span.offset, span.size);
}

/* As the request line has it; a line that was cut has none. */
static void add_version(char *line, size_t size, uint8_t minor_version) {
    static const char *const versions[] = {" HTTP/1.0", " HTTP/1.1", " HTTP/2"};
    const char *version = versions[minor_version == NB_HTTP_2 ? 2 : minor_version > 0];
    size_t bytes = strlen(version) + 1;
    if (size + bytes <= NB_REQUEST_LINE_BYTES_MAX + 1) memcpy(line + size, version, bytes);
}

void nb_request_log_note_message(nb_request_log *log, const nb_request_message *message) {
    if (!log->enabled || !message) return;
    size_t size = copy_span(log->line, message, message->method_text, NB_REQUEST_LINE_BYTES_MAX);
    log->line[size++] = ' ';
    size += copy_span(log->line + size, message, message->target, NB_REQUEST_LINE_BYTES_MAX + 1 - size);
    add_version(log->line, size, message->minor_version);
}

nb_slice nb_request_log_tls(nb_request_log *log, const nb_tls_agreement *tls) {
    if (!log->enabled || !tls->cipher) return nb_slice_of("", 0);
    int size = snprintf(log->tls, sizeof(log->tls), "TLSv1.%u %s %s", tls->version == NB_TLS_1_3 ? 3u : 2u, tls->cipher,
                        tls->resumed ? "resumed" : "full");
    bool fits = size > 0 && (size_t)size < sizeof(log->tls);
    return nb_slice_of(log->tls, fits ? (size_t)size : 0);
}

void nb_request_log_answered(nb_request_log *log, const char *address, nb_slice received, uint16_t http_status,
                             const char *reason, nb_slice tls) {
    if (!log->enabled) return;
    if (!log->line[0] && received.size) nb_request_log_note(log, received);
    nb_log_info(log->log, "request %u %s %s\t%s%s%.*s", http_status, address[0] ? address : "-", reason, log->line,
                tls.size ? "\t" : "", (int)tls.size, tls.data);
    log->line[0] = '\0';
}
