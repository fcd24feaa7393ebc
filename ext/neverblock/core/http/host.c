/*
 * host.c - see host.h.
 */
#include "http/host.h"

#include "http/byte_class.h"

/* Skips one to four hex digits; NULL: there are none, or more. */
static const char *skip_group(const char *at, const char *end) {
    const char *const stop = nb_scan_bytewise(at, end, NB_BYTE_HEX);
    return stop > at && stop - at <= 4 ? stop : NULL;
}

/* Four decimal numbers up to 255, without leading zeros, and nothing else. */
static bool is_ipv4(const char *at, const char *end) {
    for (int part = 0; part < 4; part++) {
        if (part > 0) {
            if (at == end || *at != '.') return false;
            at++;
        }
        const char *const stop = nb_scan_bytewise(at, end, NB_BYTE_DIGIT);
        if (stop == at || stop - at > 3 || (stop - at > 1 && *at == '0')) return false;
        unsigned number = 0;
        while (at < stop)
            number = number * 10 + (unsigned)(*at++ - '0');
        if (number > 255) return false;
    }
    return at == end;
}

/* IPv6address: eight groups, once "::" for one or more of them, the last two perhaps as IPv4. */
static bool is_ipv6(const char *at, const char *end) {
    unsigned groups = 0;
    bool elided = false;
    if (end - at >= 2 && at[0] == ':' && at[1] == ':') {
        elided = true;
        at += 2;
    }
    while (at < end) {
        const char *const stop = skip_group(at, end);
        if (stop != NULL && stop < end && *stop == '.') return is_ipv4(at, end) && (elided ? groups <= 5 : groups == 6);
        if (stop == NULL || ++groups > 8) return false;
        at = stop;
        if (at == end) break;
        if (*at != ':' || ++at == end) return false;
        if (*at != ':') continue;
        if (elided) return false;
        elided = true;
        at++;
    }
    return elided ? groups <= 7 : groups == 8;
}

/* "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ) */
static bool is_ip_future(const char *at, const char *end) {
    if (end - at < 4 || (*at | 0x20) != 'v') return false;
    const char *dot = nb_scan_bytewise(at + 1, end, NB_BYTE_HEX);
    if (dot == at + 1 || dot == end || *dot != '.' || dot + 1 == end) return false;
    for (at = dot + 1; at < end; at++) {
        if (!nb_byte_is(*at, NB_BYTE_HOST) && *at != ':') return false;
    }
    return true;
}

/* The end of an IP literal; NULL: it is none. */
static const char *skip_literal(const char *at, const char *end) {
    const char *const bracket = memchr(at, ']', (size_t)(end - at));
    if (bracket == NULL || !(is_ipv6(at + 1, bracket) || is_ip_future(at + 1, bracket))) return NULL;
    return bracket + 1;
}

static const char *skip_name(const char *at, const char *end) {
    const char *const start = at;
    for (;;) {
        at = nb_scan_bytewise(at, end, NB_BYTE_HOST);
        if (at == end || *at != '%') break;
        if (end - at < 3 || !nb_byte_is(at[1], NB_BYTE_HEX) || !nb_byte_is(at[2], NB_BYTE_HEX)) return NULL;
        at += 3;
    }
    return at == start ? NULL : at;
}

static bool is_port(const char *at, const char *end) {
    if (end - at < 1 || end - at > 5) return false;
    unsigned port = 0;
    for (; at < end; at++) {
        if (!nb_byte_is(*at, NB_BYTE_DIGIT)) return false;
        port = port * 10 + (unsigned)(*at - '0');
    }
    return port <= 65535;
}

static const char *skip_host(const char *at, const char *end) {
    return *at == '[' ? skip_literal(at, end) : skip_name(at, end);
}

bool nb_host_is_valid(nb_slice authority, nb_port_rule port) {
    if (authority.size == 0) return false;
    const char *const end = authority.data + authority.size;
    const char *const at = skip_host(authority.data, end);
    if (at == NULL) return false;
    if (at == end) return port == NB_PORT_OPTIONAL;
    return *at == ':' && is_port(at + 1, end);
}

/* "[fe80::1%25eth0]" (RFC 6874) or "[fe80::1%eth0]". */
static const char *skip_zoned_literal(const char *at, const char *end) {
    const char *const bracket = memchr(at, ']', (size_t)(end - at));
    if (bracket == NULL) return NULL;
    const char *const zone = memchr(at, '%', (size_t)(bracket - at));
    if (zone == NULL || zone + 1 == bracket || nb_scan_bytewise(zone + 1, bracket, NB_BYTE_HOST) != bracket)
        return NULL;
    return is_ipv6(at + 1, zone) ? bracket + 1 : NULL;
}

static const char *skip_lenient_name(const char *at, const char *end) {
    const char *const start = at;
    while (at < end) {
        const char *const next = skip_name(at, end);
        if (next != NULL) {
            at = next;
        } else if (*at == ',' || (unsigned char)*at >= 0x80) {
            at++;
        } else {
            break;
        }
    }
    return at == start ? NULL : at;
}

static const char *skip_lenient_host(const char *at, const char *end) {
    if (*at != '[') return skip_lenient_name(at, end);
    const char *const stop = skip_literal(at, end);
    return stop ? stop : skip_zoned_literal(at, end);
}

bool nb_host_is_tolerated(nb_slice authority, nb_compliance compliance) {
    if (compliance == NB_COMPLIANCE_STRICT || authority.size == 0) return false;
    const bool lenient = compliance == NB_COMPLIANCE_LENIENT;
    const char *const end = authority.data + authority.size;
    const char *at = lenient ? skip_lenient_host(authority.data, end) : skip_host(authority.data, end);
    if (at == NULL) return false;
    if (at == end) return true;
    if (*at++ != ':') return false;
    while (lenient && end - at > 5 && *at == '0')
        at++;
    return at == end || is_port(at, end);
}

size_t nb_host_size(nb_slice authority) {
    for (size_t i = authority.size; i > 0; i--) {
        if (authority.data[i - 1] == ':') return i - 1;
        if (authority.data[i - 1] == ']') break;
    }
    return authority.size;
}
