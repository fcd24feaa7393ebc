/*
 * mime.h - a table from the ending of a file name to its media type.
 *
 * Threads: one thread fills it before the loops start; afterwards any thread may read it.
 */
#ifndef NB_FILES_MIME_H
#define NB_FILES_MIME_H

#include "base/slice.h"
#include "base/status.h"

#define NB_MIME_ROWS_MAX 4096u       /* Rack has 650 */
#define NB_MIME_ENDING_BYTES_MAX 32u /* of an ending without its dot */
#define NB_MIME_TYPE_BYTES_MAX 200u  /* RFC 6838 section 4.2: at most twice 127 */
#define NB_MIME_DEFAULT "application/octet-stream"

typedef struct nb_mime nb_mime;

nb_status nb_mime_create(nb_mime **mime);
/* NULL is fine. */
void nb_mime_destroy(nb_mime *mime);
/* Adds a row. ending: ".html", "html" or ".tar.gz", in any case. It replaces an earlier row with
 * that ending. NB_INVALID: not an ending, or not a field value. NB_OVER_LIMIT, NB_FULL,
 * NB_NO_MEMORY. */
nb_status nb_mime_add(nb_mime *mime, nb_slice ending, nb_slice type);
/* The type for the longest ending of the last segment of `path` that is in the table, else
 * NB_MIME_DEFAULT. Valid as long as the table. */
nb_slice nb_mime_find(const nb_mime *mime, nb_slice path);

#endif
