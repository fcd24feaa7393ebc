/*
 * compose.h - writes a response to its exchange by the protocol's writer: parts that an executor
 * sends, and the server's own responses.
 *
 * All functions: the exchange has a connection. NB_NO_MEMORY: end the connection.
 * Threads: the loop's thread.
 */
#ifndef NB_RESPONSES_COMPOSE_H
#define NB_RESPONSES_COMPOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "intake/message.h"
#include "responses/responses.h"
#include "dispatch/exchange.h"

/* Adds one part of a response: its head, content, or early hints before the head. Notes the end of
 * the response. rest: the bytes behind the struct of the part. */
nb_status nb_compose_part(nb_responses *responses, nb_exchange *exchange, const nb_message *part, const char *rest);

/* The head of a response, and the first bytes of its content, all of them with NB_PART_LAST in
 * message->message.flags. lines: as for nb_response_writer.head; they and the content take the
 * place of those behind the message. */
nb_status nb_compose_response(nb_responses *responses, nb_exchange *exchange, const nb_response_message *message,
                              nb_slice lines, nb_slice content);

/* Writes the head. The caller has set status, content_length, length_announced and whole of
 * exchange->response. lines: as for nb_response_writer.head; has_date: they contain a Date. The
 * caller then adds the content, if has_content. */
nb_status nb_compose_head(nb_responses *responses, nb_exchange *exchange, nb_slice lines, bool has_date,
                          int64_t taken_ns);

/* A complete answer of the server itself, text/plain "400 Bad Request: reason". extra: complete
 * field lines, or "". The exchange has ended then. */
nb_status nb_compose_own(nb_responses *responses, nb_exchange *exchange, uint16_t http_status, const char *reason,
                         const char *extra);
/* The same with given field lines and a body of any length. Both are copied. */
nb_status nb_compose_whole(nb_responses *responses, nb_exchange *exchange, uint16_t http_status, nb_slice fields,
                           nb_slice body);
/* Begins an answer of the server itself whose length is not known. nb_compose_part adds to it. One
   to HEAD has ended. */
nb_status nb_compose_open(nb_responses *responses, nb_exchange *exchange, uint16_t http_status, nb_slice fields);

#endif
