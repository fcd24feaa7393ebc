/*
 * file_response.h - turns a file into a response, for all that answer with files. What the request
 * says of the file (files/file_request.h) decides: all of it, one or several ranges, 304, 412 or
 * 416. HEAD gets the same without content (RFC 9110 sections 13, 14, 15.3.7).
 *
 * Threads: the loop's thread.
 */
#ifndef NB_RESPONSES_FILE_RESPONSE_H
#define NB_RESPONSES_FILE_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "files/cache_rules.h"
#include "files/conditional.h"
#include "files/etag.h"
#include "files/file_request.h"
#include "files/mime.h"
#include "files/open_file.h"
#include "responses/responses.h"
#include "dispatch/exchange.h"

typedef struct nb_file_offer {
    nb_file *file;   /* borrowed; ranges that are sent hold it as well */
    uint64_t size;   /* bytes to send, from the file's beginning */
    uint16_t status; /* of the response when no condition or range applies */
    /* Complete field lines of that response, without those for framing (http1/head_writer.h). */
    nb_slice lines;
    /* The Content-Type among the lines, for the parts of several ranges; size 0: none. */
    nb_slice content_type;
    nb_validators validators;
    const nb_file_request *request; /* NULL: conditions and ranges are ignored */
    bool has_date;                  /* the lines contain a Date */
    int64_t taken_ns;               /* as in nb_response_message */
} nb_file_offer;

/* Answers an exchange that has a connection and no head yet. The exchange has ended then.
 * NB_NO_MEMORY: end the connection. */
nb_status nb_file_response(nb_responses *responses, nb_exchange *exchange, const nb_file_offer *offer);

/* --- field lines --- */

/* Enough for a file that static.c sends: the value of a cache rule is the longest part. */
#define NB_FILE_LINES_BYTES_MAX (NB_CACHE_RULES_TEXT_BYTES + NB_MIME_TYPE_BYTES_MAX + 512u)

typedef struct nb_file_lines {
    char *bytes; /* the caller's; large enough for what is added */
    size_t size;
} nb_file_lines;

void nb_file_lines_add(nb_file_lines *lines, nb_slice bytes);
void nb_file_line(nb_file_lines *lines, nb_slice name, nb_slice value);
void nb_file_line_date(nb_file_lines *lines, nb_slice name, int64_t epoch_s);
/* The value of the first line with that name. name: lower case. No data: there is none. */
nb_slice nb_file_lines_find(nb_slice lines, nb_slice name);

/* Nanoseconds to seconds since 1970, rounded down, as HTTP dates have them. */
static inline int64_t nb_file_modified_s(int64_t modified_ns) {
    return modified_ns / 1000000000 - (modified_ns % 1000000000 < 0);
}

#endif
