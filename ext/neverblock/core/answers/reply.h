/*
 * reply.h - what goes back: an exchange's response head and body as bytes of its connection, and the server's own short
 * answers.
 */
#ifndef NB_ANSWERS_REPLY_H
#define NB_ANSWERS_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "intake/message.h"
#include "answers/answers.h"
#include "dispatch/exchange.h"

/* Adds one part of a response (head, body bytes or file range) and notes its end, or hints before its head. Takes a file part's descriptor. The
   exchange must have a connection. rest: what follows the part's struct, where it has that. NB_NO_MEMORY: the connection must be ended. */
nb_status nb_reply_add_part(nb_answers *answers, nb_exchange *exchange, const nb_message *part, const char *rest);

/* The head of exchange->response, whose status, content_length, length_announced and whole the caller has set. lines:
   as nb_response_writer.head takes them; has_date: they have a Date. The caller then gives the content, if the response
   has any (has_content). */
nb_status nb_reply_head(nb_answers *answers, nb_exchange *exchange, nb_slice lines, bool has_date, int64_t taken_ns);

/* A whole answer of the server's own, text/plain "400 Bad Request: reason". extra: complete field lines, or "". The
 * exchange is then ended. */
nb_status nb_reply_own(nb_answers *answers, nb_exchange *exchange, uint16_t http_status, const char *reason,
                       const char *extra);
/* The same with field lines and a body of any length; both are copied. */
nb_status nb_reply_whole(nb_answers *answers, nb_exchange *exchange, uint16_t http_status, nb_slice fields,
                         nb_slice body);

#endif
