/*
 * routes.c - see routes.h.
 */
#include "dispatch/routes.h"

#include <string.h>

#include "intake/path_pattern.h"

/* True: a valid pattern: bytes that a request target's path may have (RFC 3986 section 3.3), and
   "*" as the last byte only. */
static bool is_pattern(nb_slice pattern) {
    if (pattern.size == 0 || pattern.data[0] != '/') return false;
    for (size_t i = 0; i < pattern.size; i++) {
        char c = pattern.data[i];
        if (c <= ' ' || c > '~' || c == '?' || c == '#') return false;
        if (c == '*' && i + 1 < pattern.size) return false;
    }
    return true;
}

nb_status nb_routes_add(nb_routes *routes, nb_slice pattern, nb_route route, uint16_t *number) {
    if (!is_pattern(pattern)) return NB_INVALID;
    bool prefix = pattern.data[pattern.size - 1] == '*';
    size_t bytes = pattern.size - prefix;
    if (routes->count == NB_ROUTES_MAX || bytes > NB_ROUTES_TEXT_BYTES - routes->text_bytes) return NB_FULL;
    routes->entries[routes->count] = (nb_route_entry){.start = routes->text_bytes,
                                                      .bytes = (uint16_t)bytes,
                                                      .prefix = prefix,
                                                      .encoded = memchr(pattern.data, '%', bytes) != NULL,
                                                      .route = route};
    memcpy(routes->text + routes->text_bytes, pattern.data, bytes);
    routes->text_bytes = (uint16_t)(routes->text_bytes + bytes);
    *number = ++routes->count;
    return NB_OK;
}

/* Matches an unencoded path with an encoded pattern, of which a byte takes three. */
static bool matches_encoded(const nb_routes *routes, const nb_route_entry *entry, nb_slice path) {
    const char *text = routes->text + entry->start;
    size_t in = 0, at = 0;
    while (in < entry->bytes) {
        size_t taken = at < path.size ? nb_path_byte_is(path.data[at], text + in, entry->bytes - in) : 0;
        if (taken == 0) return false;
        in += taken;
        at++;
    }
    return entry->prefix || at == path.size;
}

uint16_t nb_routes_find(const nb_routes *routes, nb_slice path) {
    for (uint16_t i = 0; i < routes->count; i++) {
        const nb_route_entry *entry = &routes->entries[i];
        if (entry->encoded && matches_encoded(routes, entry, path)) return (uint16_t)(i + 1);
        if (entry->prefix ? path.size < entry->bytes : path.size != entry->bytes) continue;
        if (memcmp(path.data, routes->text + entry->start, entry->bytes) == 0) return (uint16_t)(i + 1);
    }
    return NB_ROUTE_NONE;
}
