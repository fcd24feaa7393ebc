/*
 * request_log.h - a line of the log for each request that the loop answers in place of the application (400, 408, 413,
 * 431, 503...), when `log_refused` is set: "request STATUS ADDRESS REASON<tab>REQUEST LINE". lib/neverblock/log/core_lines.rb
 * makes it an entry like those of answered requests. The log's bound is its bound. Only the loop's thread.
 *
 * The request line is gone when the answer is decided: whoever is about to drop it notes it, and the next
 * nb_request_log_answered takes it.
 */
#ifndef NB_FIGURES_REQUEST_LOG_H
#define NB_FIGURES_REQUEST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/slice.h"
#include "intake/message.h"

#define NB_REQUEST_LINE_BYTES_MAX 200 /* more of it is cut: a line of the log has 500 */

typedef struct nb_request_log {
    nb_log *log;  /* borrowed; NULL: no log */
    bool enabled; /* the setting; false: every function but nb_request_line_copy does nothing */
    char line[NB_REQUEST_LINE_BYTES_MAX + 1]; /* noted; "": none */
} nb_request_log;

/* The request line of a head, or of what there is of one, without empty lines before it: at most bytes_max bytes, and a NUL. It is UTF-8; bytes that
   are not, and controls, are encoded as a URL has them. */
void nb_request_line_copy(char *line, size_t bytes_max, nb_slice raw);
/* raw: a request head, or what there is of one. */
void nb_request_log_note(nb_request_log *log, nb_slice raw);
/* For a request whose answer is decided much later: keeps its line in `line` (NB_REQUEST_LINE_BYTES_MAX + 1 bytes), and notes it then. */
void nb_request_log_keep(nb_request_log *log, char *line, nb_slice raw);
void nb_request_log_take(nb_request_log *log, const char *line);
/* NULL is fine. */
void nb_request_log_note_message(nb_request_log *log, const nb_request_message *message);
/* address: the client's, or "". received: what the connection has received and not used; where nothing was noted its first line is the request's. */
void nb_request_log_answered(nb_request_log *log, const char *address, nb_slice received, uint16_t http_status,
                             const char *reason);

#endif
