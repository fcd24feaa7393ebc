/*
 * json.h - objects of the admin pages, piece by piece. A comma comes before what is not the first
 * of its object or array. name NULL: an element of an array.
 */
#ifndef NB_ADMIN_JSON_H
#define NB_ADMIN_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* bracket: '{', '[', or 0: what the caller adds is the value. */
void nb_json_begin(nb_text *text, const char *name, char bracket);
void nb_json_number(nb_text *text, const char *name, uint64_t value);
/* Nanoseconds, as seconds. Negative ones are 0. */
void nb_json_seconds(nb_text *text, const char *name, int64_t ns);
void nb_json_string(nb_text *text, const char *name, const char *value);
void nb_json_flag(nb_text *text, const char *name, bool value);
/* Bytes of unknown origin: what is no UTF-8 becomes '?'. At most NB_JSON_BYTES_MAX of them. */
#define NB_JSON_BYTES_MAX 512u
void nb_json_bytes(nb_text *text, const char *name, nb_slice bytes);

#endif
