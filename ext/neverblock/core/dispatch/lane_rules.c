/*
 * lane_rules.c - see lane_rules.h.
 */
#include "dispatch/lane_rules.h"

#include <string.h>

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

const nb_lane_rule *nb_lane_rules_find(const nb_lane_rules *rules, nb_method method, nb_slice path) {
    if (path.size > NB_LANE_PATH_BYTES_MAX) return NULL;
    while (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    for (uint16_t i = 0; i < rules->count; i++) {
        const nb_lane_rule *rule = &rules->each[i];
        if (!(rule->methods & (1u << method))) continue;
        if (nb_path_pattern_matches((nb_slice){rules->text + rule->start, rule->bytes}, path)) return rule;
    }
    return NULL;
}
