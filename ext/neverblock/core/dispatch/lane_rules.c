/*
 * lane_rules.c - see lane_rules.h.
 */
#include "dispatch/lane_rules.h"

#include <string.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "intake/path_pattern.h"

nb_status nb_lane_rules_add(nb_lane_rules *rules, uint16_t methods, nb_slice pattern, uint16_t lane) {
    if (methods == 0 || !nb_path_pattern_is(pattern)) return NB_INVALID;
    if (rules->count == NB_LANE_RULES_MAX) return NB_FULL;
    if (pattern.size > (size_t)(NB_LANE_RULES_TEXT_BYTES - rules->text_bytes)) return NB_FULL;
    rules->each[rules->count++] = (nb_lane_rule){
        .start = rules->text_bytes, .bytes = (uint16_t)pattern.size, .methods = methods, .lane = lane};
    memcpy(rules->text + rules->text_bytes, pattern.data, pattern.size);
    rules->text_bytes = (uint16_t)(rules->text_bytes + pattern.size);
    return NB_OK;
}

/* Rails writes the digits of "%c3" as capitals, and leaves "%cB" as it is. */
static bool is_lower_escape(nb_slice path, size_t at) {
    return path.size - at >= 3 && path.data[at] == '%' && nb_is_lower_hex(path.data[at + 1]) &&
           nb_is_lower_hex(path.data[at + 2]) && !(nb_is_digit(path.data[at + 1]) && nb_is_digit(path.data[at + 2]));
}

static bool is_normal(nb_slice path) {
    for (size_t i = 0; i < path.size; i++) {
        if (path.data[i] == '/' && i > 0 && path.data[i - 1] == '/') return false;
        if (is_lower_escape(path, i)) return false;
    }
    return true;
}

static char upper(char byte) { return byte >= 'a' && byte <= 'f' ? (char)(byte - 'a' + 'A') : byte; }

/* Writes the path as Rails' routes see it, which is never longer. Returns its size. */
static size_t normalize(nb_slice path, char *out) {
    size_t size = 0, escape_end = 0;
    for (size_t i = 0; i < path.size; i++) {
        if (path.data[i] == '/' && size > 0 && out[size - 1] == '/') continue;
        if (is_lower_escape(path, i)) escape_end = i + 3;
        out[size++] = i < escape_end ? upper(path.data[i]) : path.data[i];
    }
    return size;
}

static const nb_lane_rule *find(const nb_lane_rules *rules, nb_method method, nb_slice path) {
    while (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    for (uint16_t i = 0; i < rules->count; i++) {
        const nb_lane_rule *rule = &rules->each[i];
        if (!(rule->methods & (1u << method))) continue;
        if (nb_path_pattern_matches((nb_slice){rules->text + rule->start, rule->bytes}, path)) return rule;
    }
    return NULL;
}

const nb_lane_rule *nb_lane_rules_find(const nb_lane_rules *rules, nb_method method, nb_slice path) {
    char few[512];
    if (rules->count == 0 || is_normal(path)) return find(rules, method, path);
    char *memory = path.size > sizeof(few) ? nb_alloc(path.size) : NULL, *out = memory ? memory : few;
    if (path.size > sizeof(few) && !memory) return find(rules, method, path);
    const nb_lane_rule *found = find(rules, method, (nb_slice){out, normalize(path, out)});
    nb_free(memory);
    return found;
}
