/*
 * path_pattern.h - the paths that are meant by a text with places in it for what differs from one to the other.
 *
 * Every other byte stands for itself. Those of places cannot be in the path of a request (RFC 3986 section 3.3).
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
size_t nb_path_pattern_like(nb_slice path, char *out, size_t room);
/* For people: the places as ":", "*" and "0". `out` has room for pattern.size and a NUL. */
void nb_path_pattern_show(nb_slice pattern, char *out);

#endif
