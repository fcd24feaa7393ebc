/*
 * request_log.h - a line of the log for each request that the loop answers in place of the application (400, 408, 413,
 * 431, 503...), when `log_refused` is set: "request STATUS ADDRESS REASON<tab>REQUEST LINE". lib/neverblock/log/core_lines.rb
 * makes it an entry like those of answered requests. The log's bound is its bound. Only the loop's thread.
 *
 * The request line is gone when the answer is decided: whoever is about to drop it notes it, and the next
 * nb_request_log_answered takes it.
 */
#ifndef NB_SERVER_REQUEST_LOG_H
#define NB_SERVER_REQUEST_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "intake/message.h"

struct nb_loop;
struct nb_connection;

#define NB_REQUEST_LINE_BYTES_MAX 200 /* more of it is cut: a line of the log has 500 */

/* The request line of a head, or of what there is of one, without empty lines before it: at most bytes_max bytes, and a NUL. It is UTF-8; bytes that
   are not, and controls, are encoded as a URL has them. */
void nb_request_line_copy(char *line, size_t bytes_max, nb_slice raw);
/* raw: a request head, or what there is of one. */
void nb_request_log_note(struct nb_loop *loop, nb_slice raw);
/* For a request whose answer is decided much later: keeps its line in `line` (NB_REQUEST_LINE_BYTES_MAX + 1 bytes), and notes it then. */
void nb_request_log_keep(struct nb_loop *loop, char *line, nb_slice raw);
void nb_request_log_take(struct nb_loop *loop, const char *line);
/* NULL is fine. */
void nb_request_log_note_message(struct nb_loop *loop, const nb_request_message *message);
/* Nothing noted: the line is the one at the beginning of what the connection has received. */
void nb_request_log_answered(struct nb_loop *loop, const struct nb_connection *connection, uint16_t http_status,
                             const char *reason);

#endif
