/*
 * path.h - the path of a request to the name of a file under a document root (RFC 3986 sections
 * 2.1, 3.3). Pure functions.
 *
 * Percent-encoding is decoded once. UTF-8 may be encoded, plain or mixed. Refused are, as no honest
 * link contains them:
 *
 *   - "." and ".." segments, however written, and empty segments ("//")
 *   - "/", "\" and NUL encoded; a "%" without two hex digits
 *   - control bytes (C0, DEL, C1)
 *   - what is not UTF-8 after decoding (RFC 3629: overlong forms, surrogates)
 *   - names that begin with a dot, except ".well-known" as the first (RFC 8615)
 */
#ifndef NB_FILES_PATH_H
#define NB_FILES_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

/* Bytes of a decoded path: eight of the longest names of a file system. */
#define NB_FILE_PATH_BYTES_MAX 2048u

typedef struct nb_file_path {
    uint16_t size;
    bool folder;                           /* it ended with "/": only a folder matches */
    char text[NB_FILE_PATH_BYTES_MAX + 1]; /* "a/b.html", NUL-terminated; empty: the root */
} nb_file_path;

/* target: origin form without its query ("/a/b.html"). NB_INVALID: it names no file that may be
 * served. NB_OVER_LIMIT. */
nb_status nb_file_path_decode(nb_slice target, nb_file_path *path);

/* A path from an application, not from a client (X-Sendfile). Bytes are taken as they are. Leading
 * and repeated "/" are dropped. Refused are "." and ".." segments, NUL and a final "/". */
nb_status nb_file_path_take(nb_slice name, nb_file_path *path);

/* Appends "/" and `name` to the path of a folder (an index file). NB_OVER_LIMIT: `path` is
 * unchanged. */
nb_status nb_file_path_append(nb_file_path *path, nb_slice name);

static inline nb_slice nb_file_path_slice(const nb_file_path *path) { return (nb_slice){path->text, path->size}; }

#endif
