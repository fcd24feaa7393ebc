/*
 * mime.h - the end of a file's name to its media type. Filled before the loops start, by one thread; only read afterwards, by any.
 */
#ifndef NB_FILES_MIME_H
#define NB_FILES_MIME_H

#include "base/slice.h"
#include "base/status.h"

#define NB_MIME_ROWS_MAX 4096u       /* rack has 650 */
#define NB_MIME_ENDING_BYTES_MAX 32u /* of an ending without its dot */
#define NB_MIME_TYPE_BYTES_MAX 200u  /* RFC 6838 section 4.2: twice 127 at the very most; the longest in use has 73 */
#define NB_MIME_DEFAULT "application/octet-stream"

typedef struct nb_mime nb_mime;

nb_status nb_mime_create(nb_mime **mime);
/* NULL is fine. */
void nb_mime_destroy(nb_mime *mime);
/* ending: ".html", "html" or ".tar.gz", in any case. A later row takes the place of an earlier one with its ending. NB_INVALID: no
 * ending, or a type that is no field value; NB_TOO_LARGE; NB_FULL; NB_NO_MEMORY. */
nb_status nb_mime_add(nb_mime *mime, nb_slice ending, nb_slice type);
/* Of the longest ending of the last segment of `path` that is in the table, else NB_MIME_DEFAULT. Valid as long as the table. */
nb_slice nb_mime_find(const nb_mime *mime, nb_slice path);

#endif
