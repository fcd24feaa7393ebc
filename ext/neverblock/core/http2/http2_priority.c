/*
 * http2_priority.c - see http2_priority.h. The whole dictionary is parsed, as a malformed one has
 * no meaning (RFC 9651 section 4.2), but only integers and booleans have a value here.
 */
#include "http2/http2_priority.h"

#include <stddef.h>
#include <string.h>

#include "base/ascii.h"

/* Digits of numbers (RFC 9651 section 4.2.4). */
#define INTEGER_DIGITS_MAX 15u
#define DECIMAL_DIGITS_MAX 12u
#define FRACTION_DIGITS_MAX 3u

typedef struct cursor {
    const char *at, *end;
} cursor;

typedef enum kind { OTHER, INTEGER, BOOLEAN } kind;

typedef struct item {
    kind kind;
    int64_t number;
} item;

static bool is_lower(char byte) { return byte >= 'a' && byte <= 'z'; }
static bool is_alpha(char byte) { return is_lower(byte) || (byte >= 'A' && byte <= 'Z'); }
static bool is_one_of(char byte, const char *set) { return byte && strchr(set, byte); }
static bool is_printable(char byte) { return byte >= 0x20 && byte <= 0x7e; }

/* 0: the end, which no value may contain as a byte. */
static char peek(const cursor *in) { return in->at < in->end ? *in->at : '\0'; }

static bool take(cursor *in, char byte) {
    if (peek(in) != byte || !byte) return false;
    in->at++;
    return true;
}

static void skip(cursor *in, const char *set) {
    while (is_one_of(peek(in), set))
        in->at++;
}

/* --- bare items (section 4.2.3.1) --- */

static unsigned digits(cursor *in, int64_t *number) {
    unsigned count = 0;
    for (; nb_is_digit(peek(in)) && count <= INTEGER_DIGITS_MAX; in->at++, count++)
        *number = *number * 10 + (*in->at - '0');
    return count;
}

static bool number(cursor *in, item *found) {
    int64_t whole = 0, fraction = 0;
    bool negative = take(in, '-');
    unsigned count = digits(in, &whole);
    if (count == 0 || count > INTEGER_DIGITS_MAX) return false;
    if (!take(in, '.')) {
        *found = (item){INTEGER, negative ? -whole : whole};
        return true;
    }
    unsigned places = digits(in, &fraction);
    return count <= DECIMAL_DIGITS_MAX && places >= 1 && places <= FRACTION_DIGITS_MAX;
}

static bool string(cursor *in) {
    while (is_printable(peek(in))) {
        char byte = *in->at++;
        if (byte == '"') return true;
        if (byte != '\\') continue;
        if (!is_one_of(peek(in), "\"\\")) return false;
        in->at++;
    }
    return false;
}

static bool display_string(cursor *in) {
    if (!take(in, '"')) return false;
    while (is_printable(peek(in))) {
        char byte = *in->at++;
        if (byte == '"') return true;
        if (byte != '%') continue;
        for (int i = 0; i < 2; i++) {
            if (!nb_is_lower_hex(peek(in))) return false;
            in->at++;
        }
    }
    return false;
}

static bool byte_sequence(cursor *in) {
    while (is_alpha(peek(in)) || nb_is_digit(peek(in)) || is_one_of(peek(in), "+/="))
        in->at++;
    return take(in, ':');
}

static bool token(cursor *in) {
    while (is_alpha(peek(in)) || nb_is_digit(peek(in)) || is_one_of(peek(in), "!#$%&'*+-.^_`|~:/"))
        in->at++;
    return true;
}

static bool boolean(cursor *in, item *found) {
    char byte = peek(in);
    if (byte != '0' && byte != '1') return false;
    in->at++;
    *found = (item){BOOLEAN, byte == '1'};
    return true;
}

static bool date(cursor *in) {
    item found = {OTHER, 0};
    return number(in, &found) && found.kind == INTEGER;
}

static bool bare_item(cursor *in, item *found) {
    char byte = peek(in);
    *found = (item){OTHER, 0};
    if (byte == '-' || nb_is_digit(byte)) return number(in, found);
    if (byte == '*' || is_alpha(byte)) return token(in);
    if (take(in, '"')) return string(in);
    if (take(in, ':')) return byte_sequence(in);
    if (take(in, '?')) return boolean(in, found);
    if (take(in, '@')) return date(in);
    return take(in, '%') && display_string(in);
}

/* --- keys, parameters, inner lists (sections 4.2.1.2, 4.2.3.2, 4.2.3.3) --- */

static bool key(cursor *in, nb_slice *found) {
    const char *begin = in->at;
    if (!is_lower(peek(in)) && peek(in) != '*') return false;
    while (is_lower(peek(in)) || nb_is_digit(peek(in)) || is_one_of(peek(in), "_-.*"))
        in->at++;
    *found = nb_slice_of(begin, (size_t)(in->at - begin));
    return true;
}

static bool parameters(cursor *in) {
    while (take(in, ';')) {
        nb_slice name;
        item value;
        skip(in, " ");
        if (!key(in, &name) || (take(in, '=') && !bare_item(in, &value))) return false;
    }
    return true;
}

static bool inner_list(cursor *in) {
    for (;;) {
        item member;
        skip(in, " ");
        if (take(in, ')')) return parameters(in);
        if (!bare_item(in, &member) || !parameters(in)) return false;
        if (peek(in) != ' ' && peek(in) != ')') return false;
    }
}

/* --- the dictionary (section 4.2.2) --- */

static bool member_value(cursor *in, item *value) {
    *value = (item){BOOLEAN, 1};
    if (take(in, '=')) {
        *value = (item){OTHER, 0};
        if (take(in, '(')) return inner_list(in);
        if (!bare_item(in, value)) return false;
    }
    return parameters(in);
}

static void apply(nb_http2_priority *priority, nb_slice name, item value) {
    bool in_range = value.number >= 0 && value.number < (int64_t)NB_HTTP2_URGENCIES;
    if (nb_slice_equal(name, NB_SLICE("u")) && value.kind == INTEGER && in_range)
        priority->urgency = (uint8_t)value.number;
    if (nb_slice_equal(name, NB_SLICE("i")) && value.kind == BOOLEAN) priority->incremental = value.number;
}

bool nb_http2_priority_read(nb_slice value, nb_http2_priority *priority) {
    cursor in = {value.data, value.data + value.size};
    nb_http2_priority read = *priority;
    if (value.size == 0) return true;
    while (in.end > in.at && in.end[-1] == ' ')
        in.end--;
    skip(&in, " ");
    while (in.at < in.end) {
        nb_slice name;
        item found;
        if (!key(&in, &name) || !member_value(&in, &found)) return false;
        apply(&read, name, found);
        skip(&in, " \t");
        if (in.at == in.end) break;
        if (!take(&in, ',')) return false;
        skip(&in, " \t");
        if (in.at == in.end) return false;
    }
    *priority = read;
    return true;
}
