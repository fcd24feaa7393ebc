/*
 * accept_encoding.h - which of the codings a file is kept in a request takes best (RFC 9110 sections 8.4.1, 12.4.2, 12.5.3). Pure.
 */
#ifndef NB_FILES_ACCEPT_ENCODING_H
#define NB_FILES_ACCEPT_ENCODING_H

#include "base/slice.h"

/* From the last to the first that is chosen among equals. */
typedef enum nb_encoding {
    NB_ENCODING_IDENTITY,
    NB_ENCODING_GZIP,
    NB_ENCODING_BR,
    NB_ENCODING_ZSTD,
    NB_ENCODING_COUNT,
    NB_ENCODING_NONE = NB_ENCODING_COUNT
} nb_encoding;

/* A bit of `available`. */
#define NB_ENCODING_BIT(encoding) (1u << (encoding))

/*
 * accept: the value of Accept-Encoding, lines joined; no data: the field is not there. available: NB_ENCODING_BITs; identity is always taken
 * to be there. The coding of the highest weight; among equals zstd, br, gzip, identity. A coding that is not named and not covered by "*"
 * is not sent; identity is then what is left when nothing else is taken. Without the field it is identity: RFC 9110 would allow anything,
 * but whoever does not send it does not decode.
 *
 * An element that does not fit the grammar is skipped; of one named twice the lower weight counts; x-gzip is gzip.
 * NB_ENCODING_NONE: identity is refused (weight 0) and nothing else is there. Send identity all the same, as section 12.5.3 allows: its
 * reader can at least show it.
 */
nb_encoding nb_encoding_choose(nb_slice accept, unsigned available);

/* The value of Content-Encoding: "gzip", "br", "zstd"; "identity", which is never sent. */
nb_slice nb_encoding_name(nb_encoding encoding);
/* What the name of a file so coded ends with, with the dot: ".gz", ".br", ".zst"; empty for identity. */
nb_slice nb_encoding_extension(nb_encoding encoding);

#endif
