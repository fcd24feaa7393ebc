/*
 * json.c - see json.h.
 */
#include "admin/json.h"

#include <inttypes.h>

#include "base/utf8.h"

void nb_json_begin(nb_text *text, const char *name, char bracket) {
    char last = text->size ? text->bytes[text->size - 1] : '{';
    if (last != '{' && last != '[') nb_text_add(text, ",");
    if (name) nb_text_format(text, "\"%s\":", name);
    if (bracket) nb_text_format(text, "%c", bracket);
}

void nb_json_number(nb_text *text, const char *name, uint64_t value) {
    nb_json_begin(text, name, 0);
    nb_text_number(text, value);
}

void nb_json_seconds(nb_text *text, const char *name, int64_t ns) {
    nb_json_begin(text, name, 0);
    nb_text_seconds(text, ns > 0 ? (uint64_t)ns : 0);
}

void nb_json_string(nb_text *text, const char *name, const char *value) {
    nb_json_begin(text, name, 0);
    nb_text_json(text, value);
}

void nb_json_flag(nb_text *text, const char *name, bool value) {
    nb_json_begin(text, name, 0);
    nb_text_add(text, value ? "true" : "false");
}

void nb_json_bytes(nb_text *text, const char *name, nb_slice bytes) {
    char shown[NB_JSON_BYTES_MAX + 1];
    nb_utf8_scrub(shown, sizeof(shown), bytes.data, bytes.size);
    nb_json_string(text, name, shown);
}
