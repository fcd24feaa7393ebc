/*
 * file_request.h - the fields of a request that concern a file: preconditions, ranges and accepted
 * codings (RFC 9110 sections 12.5.3, 13, 14). They are slices of the request's head, or of a flat
 * copy that outlives it. Pure functions.
 *
 * A field that is absent has no data (NULL). A field that is unusable is present and empty: a date,
 * Range or If-Range sent more than once, or a value longer than its room. An empty value has the
 * harmless effect: a date or Range is ignored, If-Range and If-Match fail, If-None-Match matches
 * nothing, and Accept-Encoding means identity.
 */
#ifndef NB_FILES_FILE_REQUEST_H
#define NB_FILES_FILE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "http/head.h"

/* Bytes of all fields in a flat copy, and of lists whose lines are joined. A dozen ETags and the
 * largest number of ranges fit. */
#define NB_FILE_REQUEST_BYTES_MAX 2048u

typedef struct nb_file_request {
    uint16_t method; /* nb_method */
    nb_slice if_match, if_none_match, if_modified_since, if_unmodified_since, if_range, range, accept_encoding;
} nb_file_request;

/*
 * Reads the fields of a head. The slices point into the bytes of the head. Lists that came in
 * several lines (If-Match, If-None-Match, Accept-Encoding) are joined in `room`, which holds
 * NB_FILE_REQUEST_BYTES_MAX and must live as long.
 */
void nb_file_request_of_head(nb_file_request *request, const nb_head *head, char *room);

/* Bytes of the flat form, at most NB_FILE_REQUEST_BYTES_MAX. 0: there is none of these fields, and
 * nothing needs to be stored. */
size_t nb_file_request_bytes(const nb_file_request *request);
/* Writes nb_file_request_bytes bytes. No alignment is needed. */
void nb_file_request_write(char *out, const nb_file_request *request);
/* Reads the flat form. Sets all but the method. The slices point into `flat`. An empty `flat` is a
 * request without these fields. False: `flat` is malformed, and *request has no field. */
bool nb_file_request_read(nb_file_request *request, nb_slice flat);

#endif
