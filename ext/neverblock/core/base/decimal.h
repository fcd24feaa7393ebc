/*
 * decimal.h - whole numbers as decimal digits, without a locale, a format or a NUL.
 */
#ifndef NB_BASE_DECIMAL_H
#define NB_BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"

#define NB_DECIMAL_BYTES_MAX 20u /* of UINT64_MAX */

/* Two digits, 00 to 99. Returns where the next byte goes. */
static inline char *nb_decimal_put_pair(char *out, unsigned number) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    memcpy(out, pairs + (size_t)number * 2, 2);
    return out + 2;
}

/* At most NB_DECIMAL_BYTES_MAX bytes. Returns where the next byte goes. */
static inline char *nb_decimal_put(char *out, uint64_t number) {
    char digits[NB_DECIMAL_BYTES_MAX];
    char *const end = digits + sizeof digits;
    char *at = end;
    while (number >= 100) {
        at -= 2;
        nb_decimal_put_pair(at, (unsigned)(number % 100));
        number /= 100;
    }
    if (number >= 10) {
        at -= 2;
        nb_decimal_put_pair(at, (unsigned)number);
    } else {
        *--at = (char)('0' + number);
    }
    memcpy(out, at, (size_t)(end - at));
    return out + (end - at);
}

static inline unsigned nb_decimal_bytes(uint64_t number) {
    unsigned bytes = 1;
    for (; number >= 10; number /= 10) {
        bytes++;
    }
    return bytes;
}

/* The number at the front of `text`, held to UINT64_MAX when it is larger. *digits: how many it
   has, 0 for none. */
static inline uint64_t nb_decimal_read(nb_slice text, size_t *digits) {
    uint64_t number = 0;
    size_t at = 0;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
        const uint64_t digit = (uint64_t)(text.data[at] - '0');
        number = number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : number * 10 + digit;
    }
    *digits = at;
    return number;
}

#endif
