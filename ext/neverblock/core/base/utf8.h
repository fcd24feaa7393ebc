/*
 * utf8.h - bytes of unknown origin as UTF-8 (RFC 3629).
 */
#ifndef NB_BASE_UTF8_H
#define NB_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character at the start of `bytes` (size > 0); 0: there is none, or it is cut off. */
size_t nb_utf8_character(const char *bytes, size_t size);
/* The same for a character that may be shown: 0 also for control characters (C0, DEL, C1), which a
   terminal might obey. */
size_t nb_utf8_visible(const char *bytes, size_t size);
/* Copies UTF-8 and puts '?' for each byte that is not. Ends it with a NUL and cuts it between two
   characters to `room` (> 0). */
void nb_utf8_scrub(char *out, size_t room, const char *bytes, size_t size);
/* The same for text that contains a URL: what may not be shown is encoded as in a URL (%1B).
   Returns the size. */
size_t nb_utf8_as_url(char *out, size_t room, const char *bytes, size_t size);

#endif
