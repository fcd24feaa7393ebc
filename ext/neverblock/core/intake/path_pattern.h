/*
 * path_pattern.h - the paths that are meant by a text with places in it for what differs from one to the other.
 *
 * Every other byte stands for itself; a byte over 0x7f, and "%" with its two digits, each for the other, so that a path which was sent without
 * encoding is meant by the same text. Those of places cannot be in the path of a request.
 */
#ifndef NB_INTAKE_PATH_PATTERN_H
#define NB_INTAKE_PATH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

#define NB_PATTERN_PART '\1'   /* a byte or more, none of them "/" or ".": what Rails takes for :id */
#define NB_PATTERN_REST '\2'   /* a byte or more of any kind */
#define NB_PATTERN_DIGITS '\3' /* between two slashes, or behind the last: a byte or more, one of them a digit */

/* Nothing but places and what the path of a request may have, a slash first. */
bool nb_path_pattern_is(nb_slice pattern);
/* The path is as it was sent, without its query. Time: at most the product of the sizes for each NB_PATTERN_REST. */
bool nb_path_pattern_matches(nb_slice pattern, nb_slice path);
/* The pattern of all paths that differ from this one only in parts with digits; its size, 0 where `room` is too small. */
size_t nb_path_pattern_of(nb_slice path, char *out, size_t room);
/* How many bytes of `text` mean the byte of a path: 1 the byte itself, 3 its encoding; 0: it is another one. */
size_t nb_path_byte_is(char byte, const char *text, size_t size);
/* For people: the places as ":", "*" and "0", bytes over 0x7f encoded. Cut to what `room` (> 0) holds with a NUL. */
void nb_path_pattern_show(nb_slice pattern, char *out, size_t room);

#endif
