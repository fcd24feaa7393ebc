/*
 * response_writer.h - how a protocol writes a response, as a table of functions. responses/ decides
 * what a response says, and the writer how that looks on the wire. Content goes to exchange->out;
 * the caller adds file ranges there itself, since their length is always known.
 *
 * All functions: the exchange has a connection. NB_OK, or NB_NO_MEMORY: end the connection.
 * Threads: the loop's thread.
 */
#ifndef NB_RESPONSES_RESPONSE_WRITER_H
#define NB_RESPONSES_RESPONSE_WRITER_H

#include "responses/responses.h"
#include "dispatch/exchange.h"

typedef struct nb_response_writer nb_response_writer;
struct nb_response_writer {
    /* Writes the head of exchange->response. date_line: a Date line, or empty. field_lines:
     * complete "Name: value\r\n" lines, without Content-Length and fields of one connection (RFC
     * 9110 section 7.6.1). */
    nb_status (*head)(nb_responses *responses, nb_exchange *exchange, nb_slice date_line, nb_slice field_lines);
    /* Writes content, more than 0 bytes, which is copied. */
    nb_status (*content)(nb_responses *responses, nb_exchange *exchange, nb_slice bytes);
    /* Ends the content. Not called for a response without content, nor for one that is
     * truncated. */
    nb_status (*end)(nb_responses *responses, nb_exchange *exchange);
    /* Writes an interim response: 103 (RFC 9110 section 15.2). */
    nb_status (*interim)(nb_responses *responses, nb_exchange *exchange, uint16_t status, nb_slice field_lines);
};

#endif
