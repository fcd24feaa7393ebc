/*
 * response_writer.h - how a protocol writes a response. answers/ decides what a response says; the writer decides how
 * that looks on the wire. Bytes of the content go to exchange->out, files among them; the loop's thread.
 *
 * All functions: NB_OK, or NB_NO_MEMORY: the connection must be ended. The exchange has a connection.
 */
#ifndef NB_ANSWERS_RESPONSE_WRITER_H
#define NB_ANSWERS_RESPONSE_WRITER_H

#include "answers/answers.h"
#include "dispatch/exchange.h"

typedef struct nb_response_writer nb_response_writer;
struct nb_response_writer {
    /* The head of exchange->response. date_line: a Date line, or empty. field_lines: complete "Name: value\r\n" lines,
       without Content-Length and what concerns one connection alone (RFC 9110 section 7.6.1). */
    nb_status (*head)(nb_answers *answers, nb_exchange *exchange, nb_slice date_line, nb_slice field_lines);
    /* Content in memory, more than 0 bytes, which is copied. Of files the bytes are put into exchange->out as they are:
       their number is always known. */
    nb_status (*content)(nb_answers *answers, nb_exchange *exchange, nb_slice bytes);
    /* The content was whole. Not called for a response that has none, nor for one that was cut. */
    nb_status (*end)(nb_answers *answers, nb_exchange *exchange);
    /* A response before the one that answers (RFC 9110 section 15.2): 103. */
    nb_status (*interim)(nb_answers *answers, nb_exchange *exchange, uint16_t status, nb_slice field_lines);
};

#endif
