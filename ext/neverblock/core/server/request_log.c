/*
 * request_log.c - see request_log.h.
 */
#include "server/request_log.h"

#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "server/connection.h"
#include "server/loop.h"

void nb_request_line_copy(char *line, size_t bytes_max, nb_slice raw) {
    size_t begin = 0, size = 0;
    while (begin < raw.size && (raw.data[begin] == '\r' || raw.data[begin] == '\n'))
        begin++;
    while (begin + size < raw.size && size < bytes_max && raw.data[begin + size] != '\r' &&
           raw.data[begin + size] != '\n' && raw.data[begin + size] != '\0')
        size++;
    (void)nb_utf8_as_url(line, bytes_max + 1, size ? raw.data + begin : "", size);
}

void nb_request_log_keep(nb_loop *loop, char *line, nb_slice raw) {
    line[0] = '\0';
    if (loop->config.log_refused) nb_request_line_copy(line, NB_REQUEST_LINE_BYTES_MAX, raw);
}

void nb_request_log_note(nb_loop *loop, nb_slice raw) { nb_request_log_keep(loop, loop->request_line, raw); }

void nb_request_log_take(nb_loop *loop, const char *line) {
    if (loop->config.log_refused) memcpy(loop->request_line, line, strlen(line) + 1);
}

static size_t copy_span(char *place, const nb_request_message *message, nb_span span, size_t room) {
    return nb_utf8_as_url(place, room, (const char *)message + span.offset, span.size);
}

void nb_request_log_note_message(nb_loop *loop, const nb_request_message *message) {
    if (!loop->config.log_refused || !message) return;
    size_t size = copy_span(loop->request_line, message, message->method_text, NB_REQUEST_LINE_BYTES_MAX);
    loop->request_line[size++] = ' ';
    (void)copy_span(loop->request_line + size, message, message->target, NB_REQUEST_LINE_BYTES_MAX + 1 - size);
}

void nb_request_log_answered(nb_loop *loop, const nb_connection *connection, uint16_t http_status, const char *reason) {
    if (!loop->config.log_refused) return;
    const nb_buffer *input = &connection->input;
    if (!loop->request_line[0] && input->data)
        nb_request_log_note(loop, (nb_slice){nb_buffer_bytes(input), nb_buffer_size(input)});
    nb_log_info(loop->log, "request %u %s %s\t%s", http_status,
                connection->peer.address[0] ? connection->peer.address : "-", reason, loop->request_line);
    loop->request_line[0] = '\0';
}
