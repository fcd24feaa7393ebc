/*
 * trace_context.c - see trace_context.h.
 */
#include "http/trace_context.h"

#include "base/assert.h"

/* VERSION-TRACEID-PARENTID-FLAGS: 2, 32, 16 and 2 digits. */
#define TRACE_AT 3u
#define PARENT_AT 36u
#define PARENT_DIGITS 16u
#define FLAGS_AT 53u
#define BYTES 55u

/* The value of a lower-case hexadecimal digit, + 1; 0: it is none. */
static const uint8_t digit_values[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

static bool is_hex(const char *text, size_t size) {
    bool all = true;
    for (size_t i = 0; i < size; i++)
        all &= digit_values[(uint8_t)text[i]] > 0;
    return all;
}

static bool is_id(const char *text, size_t size) {
    bool zero = true;
    for (size_t i = 0; i < size && zero; i++)
        zero = text[i] == '0';
    return !zero && is_hex(text, size);
}

static bool has_dashes(const char *text) {
    return text[TRACE_AT - 1] == '-' && text[PARENT_AT - 1] == '-' && text[FLAGS_AT - 1] == '-';
}

/* text: of BYTES at least */
static bool ends_well(const char *text, size_t size) {
    const bool first = text[0] == '0' && text[1] == '0';
    return size == BYTES || (!first && text[BYTES] == '-');
}

bool nb_trace_context_id(nb_slice value, nb_slice *id) {
    const char *text = value.data;
    if (value.size < BYTES || !has_dashes(text) || !ends_well(text, value.size)) return false;
    if (!is_hex(text, TRACE_AT - 1) || (text[0] == 'f' && text[1] == 'f')) return false;
    if (!is_id(text + TRACE_AT, NB_TRACE_ID_DIGITS) || !is_id(text + PARENT_AT, PARENT_DIGITS)) return false;
    if (!is_hex(text + FLAGS_AT, BYTES - FLAGS_AT)) return false;
    *id = nb_slice_of(text + TRACE_AT, NB_TRACE_ID_DIGITS);
    return true;
}

static uint64_t read_digits(const char *digits) {
    uint64_t value = 0;
    for (unsigned i = 0; i < NB_TRACE_ID_DIGITS / 2; i++)
        value = value << 4 | (uint64_t)(digit_values[(uint8_t)digits[i]] - 1);
    return value;
}

nb_trace_id nb_trace_id_read(nb_slice digits) {
    NB_ASSERT(digits.size == NB_TRACE_ID_DIGITS);
    return (nb_trace_id){read_digits(digits.data), read_digits(digits.data + NB_TRACE_ID_DIGITS / 2)};
}
