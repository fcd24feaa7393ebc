/*
 * utf8.h - bytes of unknown origin as UTF-8 (RFC 3629).
 */
#ifndef NB_BASE_UTF8_H
#define NB_BASE_UTF8_H

#include <stddef.h>

/* Copies what is UTF-8 and puts '?' for each byte that is not; ends it with NUL and cuts it, between two characters, to what `room` (> 0) holds. */
void nb_utf8_scrub(char *out, size_t room, const char *bytes, size_t size);

#endif
