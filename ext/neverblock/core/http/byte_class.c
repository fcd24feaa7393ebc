/*
 * byte_class.c - the table of byte classes, computed by the compiler from the grammar.
 */
#include "http/byte_class.h"

#define IN(c, low, high) ((c) >= (low) && (c) <= (high))
#define DIGIT(c) IN(c, '0', '9')
#define ALNUM(c) (DIGIT(c) || IN(c, 'A', 'Z') || IN(c, 'a', 'z'))
#define HEX(c) (DIGIT(c) || IN(c, 'A', 'F') || IN(c, 'a', 'f'))
#define VISIBLE(c) IN(c, 0x21, 0x7e)
#define BLANK(c) ((c) == ' ' || (c) == '\t')
#define OBS_TEXT(c) ((c) >= 0x80)

/* tchar (RFC 9110 section 5.6.2): visible bytes that are no delimiters. */
#define DELIMITER(c)                                                                                             \
    ((c) == '"' || (c) == '(' || (c) == ')' || (c) == ',' || (c) == '/' || IN(c, ':', '@') || IN(c, '[', ']') || \
     (c) == '{' || (c) == '}')
#define TOKEN(c) (VISIBLE(c) && !DELIMITER(c))
#define TARGET(c) ((VISIBLE(c) || OBS_TEXT(c)) && (c) != '"' && (c) != '#' && (c) != '<' && (c) != '>')
#define STRICT_TARGET(c) (TARGET(c) && !OBS_TEXT(c) && (c) != '\\')
#define VALUE(c) (VISIBLE(c) || BLANK(c) || OBS_TEXT(c))
#define HOST(c)                                                                                                    \
    (ALNUM(c) || (c) == '-' || (c) == '.' || (c) == '_' || (c) == '~' || (c) == '!' || (c) == '$' || (c) == '&' || \
     (c) == '\'' || (c) == '(' || (c) == ')' || (c) == '*' || (c) == '+' || (c) == ';' || (c) == '=')
#define QUOTED(c) (VALUE(c) && (c) != '"' && (c) != '\\')

#define B(c)                                                                                             \
    (TOKEN(c) ? NB_BYTE_TOKEN : 0) | (TARGET(c) ? NB_BYTE_TARGET : 0) | (VALUE(c) ? NB_BYTE_VALUE : 0) | \
        (HOST(c) ? NB_BYTE_HOST : 0) | (HEX(c) ? NB_BYTE_HEX : 0) | (DIGIT(c) ? NB_BYTE_DIGIT : 0) |     \
        (QUOTED(c) ? NB_BYTE_QUOTED : 0) | (STRICT_TARGET(c) ? NB_BYTE_STRICT_TARGET : 0)
#define ROW(c) B(c), B((c) + 1), B((c) + 2), B((c) + 3), B((c) + 4), B((c) + 5), B((c) + 6), B((c) + 7)

const uint8_t nb_byte_classes[256] = {
    ROW(0x00), ROW(0x08), ROW(0x10), ROW(0x18), ROW(0x20), ROW(0x28), ROW(0x30), ROW(0x38),
    ROW(0x40), ROW(0x48), ROW(0x50), ROW(0x58), ROW(0x60), ROW(0x68), ROW(0x70), ROW(0x78),
    ROW(0x80), ROW(0x88), ROW(0x90), ROW(0x98), ROW(0xa0), ROW(0xa8), ROW(0xb0), ROW(0xb8),
    ROW(0xc0), ROW(0xc8), ROW(0xd0), ROW(0xd8), ROW(0xe0), ROW(0xe8), ROW(0xf0), ROW(0xf8),
};
