/*
 * path.h - the path of a request, as it was sent, to the name of a file under a root (RFC 3986 sections 2.1 and 3.3). Pure.
 *
 * Percent-encoding is decoded once; what it gives is not looked at as encoding again. Refused, because no honest link to a file has
 * them and every one of them has opened somebody's server: "." and ".." segments, however written; empty segments ("//"); "/", "\" and
 * NUL encoded; control bytes (C0, DEL, C1); text that is not UTF-8 (RFC 3629: overlong forms, surrogates) after decoding; a "%" without two
 * hex digits. UTF-8 may stand there encoded, as it is, or mixed: it is one name. Names that begin with a dot are refused too, but for ".well-known" as the first
 * (RFC 8615).
 */
#ifndef NB_FILES_PATH_H
#define NB_FILES_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

/* Bytes of a decoded name: eight of the longest names a file system has. */
#define NB_FILE_PATH_BYTES_MAX 2048u

typedef struct nb_file_path {
    uint16_t size;
    bool folder;                           /* it ended with "/": only a folder may answer to it */
    char text[NB_FILE_PATH_BYTES_MAX + 1]; /* "a/b.html"; no "/" at its ends; empty: the root; NUL-terminated */
} nb_file_path;

/* target: origin form, without its query ("/a/b.html"). NB_INVALID: names no file that is served; NB_TOO_LARGE. */
nb_status nb_file_path_decode(nb_slice target, nb_file_path *path);

/* A name that an application gave, not a client (X-Sendfile): bytes as they are; "/" in front and several in a row, as joined strings
 * have them, count for nothing. Only "." and ".." segments, NUL and a "/" at the end are refused. */
nb_status nb_file_path_take(nb_slice name, nb_file_path *path);

/* Appends "/" and `name` to a folder's path (an index file). NB_TOO_LARGE: `path` is as before. */
nb_status nb_file_path_append(nb_file_path *path, nb_slice name);

static inline nb_slice nb_file_path_slice(const nb_file_path *path) { return (nb_slice){path->text, path->size}; }

#endif
