/*
 * request_log.h - logs each request that the loop answers in place of the application (400, 408,
 * 413, 431, 503...), when `log_refused` is set: "request STATUS ADDRESS REASON<tab>REQUEST LINE",
 * over TLS with a tab and what was agreed upon. lib/neverblock/log/core_lines.rb turns that into
 * an entry like those of other requests. The bound is that of the log.
 *
 * When the answer is decided the request line is gone. So whoever is about to drop the line notes
 * it, and the next nb_request_log_answered uses the note.
 *
 * Threads: the loop's.
 */
#ifndef NB_METRICS_REQUEST_LOG_H
#define NB_METRICS_REQUEST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/slice.h"
#include "intake/message.h"
#include "transport/transport.h"

#define NB_REQUEST_LINE_BYTES_MAX 200 /* longer lines are cut: a line of the log has 500 */

/* A version, a cipher (the longest names of OpenSSL have 30 bytes) and a word. */
#define NB_REQUEST_TLS_BYTES 64

typedef struct nb_request_log {
    nb_log *log;  /* borrowed; NULL: no log */
    bool enabled; /* the setting; false: all functions but nb_request_line_copy do nothing */
    char line[NB_REQUEST_LINE_BYTES_MAX + 1]; /* the noted line; "": none */
    char tls[NB_REQUEST_TLS_BYTES];
} nb_request_log;

/* Copies the request line of a head, or of a part of one, without empty lines before it: at most
   bytes_max bytes, and a NUL. The result is UTF-8: other bytes, and controls, are encoded as in a
   URL. */
void nb_request_line_copy(char *line, size_t bytes_max, nb_slice raw);
/* Notes the request line. raw: a request head, or a part of one. */
void nb_request_log_note(nb_request_log *log, nb_slice raw);
/* For a request that is answered much later: keep stores its line in `line`
   (NB_REQUEST_LINE_BYTES_MAX + 1 bytes), take notes it then. */
void nb_request_log_keep(nb_request_log *log, char *line, nb_slice raw);
void nb_request_log_take(nb_request_log *log, const char *line);
/* Notes the request line of a message. NULL is fine. */
void nb_request_log_note_message(nb_request_log *log, const nb_request_message *message);
/* What the entries of a connection's requests say of TLS: "TLSv1.3 TLS_AES_256_GCM_SHA384 resumed",
 * or "full". Empty for a plain connection, and where nothing is logged. Valid until the next
 * call. */
nb_slice nb_request_log_tls(nb_request_log *log, const nb_tls_agreement *tls);
/* Logs an answer. tls: what nb_request_log_tls says. address: the client's, or "". received: bytes
 * that the connection has received and not used; without a note its first line is the request's. */
void nb_request_log_answered(nb_request_log *log, const char *address, nb_slice received, uint16_t http_status,
                             const char *reason, nb_slice tls);

#endif
