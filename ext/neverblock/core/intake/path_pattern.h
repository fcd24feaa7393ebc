/*
 * path_pattern.h - path patterns: texts with placeholders that match many paths.
 *
 * Every other byte stands for itself. A byte over 0x7f and its encoding ("%" and two digits) match
 * each other, so that a path sent without encoding matches the same pattern. The bytes of
 * placeholders cannot occur in a request's path. Pure functions.
 */
#ifndef NB_INTAKE_PATH_PATTERN_H
#define NB_INTAKE_PATH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

/* One or more bytes other than "/" and ".": what Rails matches with :id. */
#define NB_PATTERN_PART '\1'
#define NB_PATTERN_REST '\2' /* one or more bytes of any kind */
/* Between two slashes, or behind the last: one or more bytes, one of them a digit. */
#define NB_PATTERN_DIGITS '\3'

/* True: a slash first, then only placeholders and bytes that a request's path may have. */
bool nb_path_pattern_is(nb_slice pattern);
/* True: the pattern matches the path, given as it was sent, without its query. Time: at
   most the product of both sizes. */
bool nb_path_pattern_matches(nb_slice pattern, nb_slice path);
/* Writes the pattern of all paths that differ from this one only in segments with digits. Returns
   its size; 0: `room` is too small. */
size_t nb_path_pattern_of(nb_slice path, char *out, size_t room);
/* How many bytes of `text` match the byte of a path: 1: the byte itself, 3: its encoding, 0:
   neither. */
size_t nb_path_byte_is(char byte, const char *text, size_t size);
/* Writes the pattern for people: placeholders as ":", "*" and "0", bytes over 0x7f encoded. Cut to
   what `room` (> 0) holds with its NUL. */
void nb_path_pattern_show(nb_slice pattern, char *out, size_t room);

#endif
