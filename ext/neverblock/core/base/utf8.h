/*
 * utf8.h - bytes of unknown origin as UTF-8 (RFC 3629).
 */
#ifndef NB_BASE_UTF8_H
#define NB_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character that begins `bytes`; 0: none does, or it is cut. size > 0. */
size_t nb_utf8_character(const char *bytes, size_t size);
/* The same of a character that may be shown: 0, too, for a control character (C0, DEL, C1), which may be one for a terminal. */
size_t nb_utf8_visible(const char *bytes, size_t size);
/* Copies what is UTF-8 and puts '?' for each byte that is not; ends it with NUL and cuts it, between two characters, to what `room` (> 0) holds. */
void nb_utf8_scrub(char *out, size_t room, const char *bytes, size_t size);
/* The same for text with a URL in it: what may not be shown is encoded as a URL has it (%1B). Its size. */
size_t nb_utf8_as_url(char *out, size_t room, const char *bytes, size_t size);

#endif
