/*
 * cache_rules.c - see cache_rules.h.
 */
#include "files/cache_rules.h"

#include <string.h>

#include "base/ascii.h"
#include "http/head.h"

static bool is_pattern(nb_slice pattern) {
    if (pattern.size == 0 || pattern.data[0] != '/') return false;
    const char *star = memchr(pattern.data, '*', pattern.size);
    return nb_is_field_value(pattern) && (!star || star == pattern.data + pattern.size - 1);
}

static uint16_t append(nb_cache_rules *rules, nb_slice text) {
    uint16_t start = rules->text_bytes;
    if (text.size > 0) memcpy(rules->text + start, text.data, text.size);
    rules->text_bytes = (uint16_t)(start + text.size);
    return start;
}

nb_status nb_cache_rules_add(nb_cache_rules *rules, nb_slice pattern, nb_slice value) {
    if (!is_pattern(pattern) || !nb_is_field_value(value)) return NB_INVALID;
    bool prefix = pattern.data[pattern.size - 1] == '*';
    if (prefix) pattern.size--;
    size_t room = NB_CACHE_RULES_TEXT_BYTES - rules->text_bytes;
    if (rules->count == NB_CACHE_RULES_MAX || pattern.size > room || value.size > room - pattern.size) return NB_FULL;
    rules->rules[rules->count++] = (nb_cache_rule){
        .pattern = append(rules, pattern),
        .pattern_bytes = (uint16_t)pattern.size,
        .value = append(rules, value),
        .value_bytes = (uint16_t)value.size,
        .prefix = prefix,
    };
    return NB_OK;
}

/* The leading "/" of a pattern is the document root. */
static bool matches(const nb_cache_rules *rules, const nb_cache_rule *rule, nb_slice path) {
    size_t bytes = rule->pattern_bytes - 1u;
    if (rule->prefix ? path.size < bytes : path.size != bytes) return false;
    return memcmp(path.data, rules->text + rule->pattern + 1, bytes) == 0;
}

nb_slice nb_cache_rules_find(const nb_cache_rules *rules, nb_slice path) {
    for (uint16_t i = 0; i < rules->count; i++) {
        const nb_cache_rule *rule = &rules->rules[i];
        if (matches(rules, rule, path)) return nb_slice_of(rules->text + rule->value, rule->value_bytes);
    }
    return nb_cache_is_fingerprinted(path) ? NB_SLICE(NB_CACHE_FINGERPRINTED) : NB_SLICE("");
}

/* --- fingerprints --- */

enum {
    /* Propshaft: 8 hex digits of a SHA-1; Sprockets has 64, Shakapacker 20. */
    DIGEST_BYTES_MIN = 8,
    DIGEST_BYTES_MAX = 128, /* SHA-512 */
    MARKED_BYTES_MIN = 7,   /* as Propshaft has it */
    VITE_BYTES = 8,         /* Rollup's, in base64url */
};

static bool is_letter_or_digit(char c) {
    char letter = (char)(c | 0x20);
    return nb_is_digit(c) || (letter >= 'a' && letter <= 'z');
}
static bool is_base64url(char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; }

/* Hex digits up to a dot. A short digest must have letters and digits: a date has no letters, a
 * word no digits. */
static bool is_hex_digest(nb_slice rest) {
    size_t digits = 0, letters = 0;
    for (; digits + letters < rest.size; *(nb_is_digit(rest.data[digits + letters]) ? &digits : &letters) += 1) {
        char c = rest.data[digits + letters];
        if (!nb_is_lower_hex(c)) break;
    }
    size_t bytes = digits + letters;
    if (bytes < DIGEST_BYTES_MIN || bytes > DIGEST_BYTES_MAX || bytes == rest.size || rest.data[bytes] != '.')
        return false;
    return digits > 0 && letters > 0;
}

/* Letters and digits, then ".digested.": a digest of a bundler that Propshaft keeps. */
static bool is_marked_digest(nb_slice rest) {
    size_t bytes = 0;
    while (bytes < rest.size && is_letter_or_digit(rest.data[bytes]))
        bytes++;
    nb_slice behind = nb_slice_of(rest.data + bytes, rest.size - bytes);
    return bytes >= MARKED_BYTES_MIN && bytes <= DIGEST_BYTES_MAX &&
           nb_slice_begins_with(behind, NB_SLICE(".digested."));
}

static bool is_vite_digest(nb_slice rest) {
    if (rest.size <= VITE_BYTES || rest.data[VITE_BYTES] != '.') return false;
    for (size_t i = 0; i < VITE_BYTES; i++) {
        if (!is_base64url(rest.data[i])) return false;
    }
    return true;
}

static bool has_digest(nb_slice path, bool is_digest(nb_slice rest)) {
    for (size_t i = path.size; i > 0 && path.data[i - 1] != '/'; i--) {
        char c = path.data[i - 1];
        if ((c == '-' || c == '.') && is_digest(nb_slice_of(path.data + i, path.size - i))) return true;
    }
    return false;
}

bool nb_cache_is_fingerprinted(nb_slice path) {
    if (nb_slice_begins_with(path, NB_SLICE("vite/assets/"))) return has_digest(path, is_vite_digest);
    if (!nb_slice_begins_with(path, NB_SLICE("assets/")) && !nb_slice_begins_with(path, NB_SLICE("packs/")))
        return false;
    return has_digest(path, is_hex_digest) || has_digest(path, is_marked_digest);
}
