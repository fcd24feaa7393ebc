/*
 * file_answer.h - the one place where a file becomes a response: by what the request says of it (files/file_request.h) a whole one, one or
 * several of its ranges, 304, 412 or 416, and for HEAD the same without a body (RFC 9110 sections 13, 14, 15.3.7). Loop's thread.
 */
#ifndef NB_ANSWERS_FILE_ANSWER_H
#define NB_ANSWERS_FILE_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "files/cache_rules.h"
#include "files/conditional.h"
#include "files/etag.h"
#include "files/file_request.h"
#include "files/mime.h"
#include "files/open_file.h"
#include "answers/answers.h"
#include "dispatch/exchange.h"

typedef struct nb_file_offer {
    nb_file *file;   /* the caller's; what is sent of it holds it as well */
    uint64_t size;   /* of what is sent, from the file's first byte */
    uint16_t status; /* of the response without conditions */
    nb_slice lines;  /* complete field lines of that response, without those that frame it (http1/head_writer.h) */
    nb_slice content_type; /* the value among them, for the parts of several ranges; size 0: none */
    nb_validators validators;
    const nb_file_request *request; /* NULL: neither conditions nor ranges hold; it is sent whole */
    bool has_date;                  /* the lines have a Date */
    int64_t taken_ns;               /* as nb_response_message has it */
} nb_file_offer;

/* The exchange, which has a connection and no head yet, is ended. NB_NO_MEMORY: the connection must be ended. */
nb_status nb_file_answer(nb_answers *answers, nb_exchange *exchange, const nb_file_offer *offer);

/* --- field lines --- */

/* Of a file as static.c sends it: what the cache rules say is the longest. */
#define NB_FILE_LINES_BYTES_MAX (NB_CACHE_RULES_TEXT_BYTES + NB_MIME_TYPE_BYTES_MAX + 512u)

typedef struct nb_file_lines {
    char *bytes; /* the caller's, large enough */
    size_t size;
} nb_file_lines;

void nb_file_lines_add(nb_file_lines *lines, nb_slice bytes);
void nb_file_line(nb_file_lines *lines, nb_slice name, nb_slice value);
void nb_file_line_date(nb_file_lines *lines, nb_slice name, int64_t epoch_s);
/* The value of the first line of that name (lower case); no data: there is none. */
nb_slice nb_file_lines_find(nb_slice lines, nb_slice name);

/* Seconds since 1970, as dates of HTTP have them. */
static inline int64_t nb_file_modified_s(int64_t modified_ns) {
    return modified_ns / 1000000000 - (modified_ns % 1000000000 < 0);
}

#endif
