/*
 * shown.c - see shown.h.
 */
#include "admin/shown.h"

#include <string.h>

#include "admin/json.h"

bool nb_shown_parameter(nb_slice query, const char *name, nb_slice *value) {
    size_t length = strlen(name);
    while (query.size) {
        const char *end = memchr(query.data, '&', query.size);
        size_t size = end ? (size_t)(end - query.data) : query.size;
        if (size >= length && memcmp(query.data, name, length) == 0 && (size == length || query.data[length] == '=')) {
            *value = size == length ? nb_slice_of("", 0) : nb_slice_of(query.data + length + 1, size - length - 1);
            return true;
        }
        size_t step = end ? size + 1 : size;
        query = nb_slice_of(query.data + step, query.size - step);
    }
    return false;
}

uint32_t nb_shown_number(nb_slice query, const char *name, uint32_t standard, uint32_t most) {
    nb_slice value;
    uint32_t number = 0;
    if (!nb_shown_parameter(query, name, &value) || value.size == 0) return standard;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9') return standard;
        if (number <= most) number = number * 10 + (uint32_t)(value.data[i] - '0');
    }
    return number < most ? number : most;
}

void nb_shown_whose(nb_text *text, const nb_dispatch_channel *channel) {
    nb_json_number(text, "worker", channel->number);
    if (channel->pid) nb_json_number(text, "pid", (uint64_t)channel->pid);
    if (channel->channel->link->lane) nb_json_number(text, "lane", channel->channel->link->lane);
    if (channel->helped != NB_CHANNEL_NONE) nb_json_flag(text, "spare", true);
}

void nb_shown_route(nb_text *text, const nb_routes *routes, uint16_t number) {
    if (number == NB_ROUTE_NONE || number > routes->count) return;
    const nb_route_entry *entry = &routes->entries[number - 1];
    char pattern[NB_JSON_BYTES_MAX];
    size_t size = entry->bytes < sizeof(pattern) - 1 ? entry->bytes : sizeof(pattern) - 1;
    memcpy(pattern, routes->text + entry->start, size);
    if (entry->prefix) pattern[size++] = '*';
    nb_json_bytes(text, "route", nb_slice_of(pattern, size));
}

/* The first executor of a process has them; its spares and lanes have none. */
void nb_shown_pools(const nb_dispatch *dispatch, int64_t now_ns, nb_shown_pool *show, void *context) {
    nb_pool_gauge gauge;
    uint32_t shown = 0;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel || channel->helped != NB_CHANNEL_NONE) continue;
        for (uint32_t record = 0; record < NB_POOL_GAUGES_MAX && shown < NB_SHOWN_POOLS_MAX; record++) {
            if (!nb_pool_gauges_read(channel->channel->link->pools, record, now_ns, &gauge)) continue;
            show(context, channel, &gauge);
            shown++;
        }
    }
}
