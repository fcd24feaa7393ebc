/*
 * file_request.h - what a request says that bears on a file: its preconditions, ranges and accepted codings (RFC 9110 sections 12.5.3, 13
 * and 14), as slices of the request's head or of a flat copy that outlives it.
 *
 * A field that is not there has no data (NULL). One that cannot be used is there and empty: a date, Range or If-Range sent more than once
 * (none of them is a list), and whatever is longer than its room. Each reader of a field takes the empty value for the harmless answer: a
 * date or Range is ignored, If-Range and If-Match do not hold, If-None-Match names no tag, Accept-Encoding asks for identity.
 */
#ifndef NB_FILES_FILE_REQUEST_H
#define NB_FILES_FILE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "http/head.h"

/* Bytes of all these fields together in a flat copy, and of lists that came in several lines once they are joined: a range of every
   allowed part and a dozen tags fit. */
#define NB_FILE_REQUEST_BYTES_MAX 2048u

typedef struct nb_file_request {
    uint16_t method; /* nb_method */
    nb_slice if_match, if_none_match, if_modified_since, if_unmodified_since, if_range, range, accept_encoding;
} nb_file_request;

/*
 * The slices point into the head's bytes and, where a list field (If-Match, If-None-Match, Accept-Encoding) came in several lines, into
 * `room`, which holds NB_FILE_REQUEST_BYTES_MAX and must live as long.
 */
void nb_file_request_of_head(nb_file_request *request, const nb_head *head, char *room);

/* The flat form: bytes without pointers, for an exchange whose application may answer with a file. 0: nothing but the method would be in it
   (a plain GET), which need not be kept. At most NB_FILE_REQUEST_BYTES_MAX. */
size_t nb_file_request_bytes(const nb_file_request *request);
/* Writes so many bytes; no alignment is needed. */
void nb_file_request_write(char *out, const nb_file_request *request);
/* The slices point into `flat`. False: it is not what nb_file_request_write wrote; *request is then of no field. An empty `flat` is a
   request without any of these fields. Sets all but the method, which is the caller's. */
bool nb_file_request_read(nb_file_request *request, nb_slice flat);

#endif
