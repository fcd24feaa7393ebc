/*
 * accept_encoding.h - chooses the coding of a file that a request prefers (RFC 9110 sections 8.4.1,
 * 12.4.2, 12.5.3). Pure functions.
 */
#ifndef NB_FILES_ACCEPT_ENCODING_H
#define NB_FILES_ACCEPT_ENCODING_H

#include "base/slice.h"

/* Of equal weights the last is chosen. */
typedef enum nb_encoding {
    NB_ENCODING_IDENTITY,
    NB_ENCODING_GZIP,
    NB_ENCODING_BR,
    NB_ENCODING_ZSTD,
    NB_ENCODING_COUNT,
    NB_ENCODING_NONE = NB_ENCODING_COUNT
} nb_encoding;

/* The bit of a coding in `available`. */
#define NB_ENCODING_BIT(encoding) (1u << (encoding))

/*
 * Chooses the available coding with the highest weight; of equal weights zstd, br, gzip, identity.
 *
 * accept: the value of Accept-Encoding with its lines joined; no data: there is no such field.
 * available: NB_ENCODING_BITs; identity is always available.
 *
 * A coding is chosen only if the field names it or has "*". Identity is chosen when no other is.
 * Without the field it is identity as well: RFC 9110 allows any coding, but clients that send no
 * field decode none. An invalid element is skipped. Of a coding named twice the lower weight
 * counts. x-gzip is gzip.
 *
 * NB_ENCODING_NONE: identity is refused (weight 0), and no other coding is available. Send identity
 * all the same, as section 12.5.3 allows.
 */
nb_encoding nb_encoding_choose(nb_slice accept, unsigned available);

/* The value of Content-Encoding: "gzip", "br", "zstd"; "identity", which is never sent. */
nb_slice nb_encoding_name(nb_encoding encoding);
/* The ending of a precompressed sibling: ".gz", ".br", ".zst"; empty for identity. */
nb_slice nb_encoding_extension(nb_encoding encoding);

#endif
