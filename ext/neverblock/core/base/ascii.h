/*
 * ascii.h - classes of ASCII bytes, whatever the locale (unlike ctype.h).
 */
#ifndef NB_BASE_ASCII_H
#define NB_BASE_ASCII_H

#include <stdbool.h>

static inline bool nb_is_digit(char byte) { return byte >= '0' && byte <= '9'; }
/* A hexadecimal digit, none of the capitals. */
static inline bool nb_is_lower_hex(char byte) { return nb_is_digit(byte) || (byte >= 'a' && byte <= 'f'); }

#endif
