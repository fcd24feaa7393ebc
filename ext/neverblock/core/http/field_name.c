/*
 * field_name.c - names of header fields and methods to numbers and back. A field is found by a hash
 * of four properties of its name, and one comparison.
 */
#include "http/head.h"

/* "upgrade-insecure-requests" and a NUL; the compiler complains about a longer one. */
#define NAME_BYTES_MAX 26u

typedef struct known_name {
    char text[NAME_BYTES_MAX];
    uint8_t size;
} known_name;

static const known_name names[NB_FIELD_COUNT] = {
#define NB_FIELD_ROW(id, text) {text, sizeof(text) - 1},
    NB_FIELD_LIST(NB_FIELD_ROW)
#undef NB_FIELD_ROW
};

/*
 * A perfect hash: no two known names share a slot. test_field_name.c finds multipliers when the
 * list changes, and prints this table.
 */
static inline unsigned slot_of(nb_slice name) {
    const unsigned char *c = (const unsigned char *)name.data;
    return (unsigned)(name.size + 145u * (c[0] | 0x20u) + 113u * (c[name.size - 1] | 0x20u) +
                      7u * (c[name.size - 2] | 0x20u)) &
           255u;
}

static const uint8_t slots[256] = {
    [0] = NB_FIELD_SEC_WEBSOCKET_EXTENSIONS,
    [7] = NB_FIELD_X_REQUEST_ID,
    [13] = NB_FIELD_PRIORITY,
    [26] = NB_FIELD_PROXY_AUTHORIZATION,
    [28] = NB_FIELD_X_REQUESTED_WITH,
    [30] = NB_FIELD_IF_MATCH,
    [35] = NB_FIELD_IF_NONE_MATCH,
    [36] = NB_FIELD_EXPECT,
    [48] = NB_FIELD_SEC_CH_UA,
    [52] = NB_FIELD_X_FORWARDED_PROTO,
    [53] = NB_FIELD_CONTENT_LENGTH,
    [59] = NB_FIELD_ACCEPT,
    [60] = NB_FIELD_LAST_EVENT_ID,
    [62] = NB_FIELD_TRANSFER_ENCODING,
    [66] = NB_FIELD_PRAGMA,
    [69] = NB_FIELD_HOST,
    [70] = NB_FIELD_SEC_FETCH_USER,
    [77] = NB_FIELD_UPGRADE_INSECURE_REQUESTS,
    [79] = NB_FIELD_TURBO_FRAME,
    [80] = NB_FIELD_X_REAL_IP,
    [82] = NB_FIELD_ORIGIN,
    [85] = NB_FIELD_X_CSRF_TOKEN,
    [89] = NB_FIELD_X_REQUEST_START,
    [90] = NB_FIELD_X_FORWARDED_PORT,
    [96] = NB_FIELD_SEC_WEBSOCKET_KEY,
    [97] = NB_FIELD_X_FORWARDED_HOST,
    [98] = NB_FIELD_X_FORWARDED_FOR,
    [102] = NB_FIELD_ACCEPT_LANGUAGE,
    [105] = NB_FIELD_DATE,
    [112] = NB_FIELD_SEC_CH_UA_PLATFORM,
    [116] = NB_FIELD_KEEP_ALIVE,
    [119] = NB_FIELD_TE,
    [121] = NB_FIELD_ACCEPT_ENCODING,
    [130] = NB_FIELD_SEC_FETCH_MODE,
    [133] = NB_FIELD_USER_AGENT,
    [137] = NB_FIELD_VIA,
    [138] = NB_FIELD_SEC_FETCH_DEST,
    [141] = NB_FIELD_COOKIE,
    [149] = NB_FIELD_AUTHORIZATION,
    [157] = NB_FIELD_UPGRADE,
    [174] = NB_FIELD_REFERER,
    [180] = NB_FIELD_CONNECTION,
    [182] = NB_FIELD_FORWARDED,
    [188] = NB_FIELD_SEC_CH_UA_MOBILE,
    [196] = NB_FIELD_CONTENT_TYPE,
    [207] = NB_FIELD_SEC_WEBSOCKET_VERSION,
    [208] = NB_FIELD_TRAILER,
    [212] = NB_FIELD_IF_MODIFIED_SINCE,
    [213] = NB_FIELD_CACHE_CONTROL,
    [214] = NB_FIELD_IF_UNMODIFIED_SINCE,
    [221] = NB_FIELD_DNT,
    [231] = NB_FIELD_IF_RANGE,
    [238] = NB_FIELD_SEC_WEBSOCKET_PROTOCOL,
    [240] = NB_FIELD_FROM,
    [242] = NB_FIELD_SEC_FETCH_SITE,
    [245] = NB_FIELD_TRACEPARENT,
    [253] = NB_FIELD_RANGE,
};

/* In known names bit 6 is set in letters only; shifted right by one it is the bit that case
 * changes. */
static inline bool same64(const char *name, const char *known) {
    uint64_t a, b;
    memcpy(&a, name, sizeof a);
    memcpy(&b, known, sizeof b);
    return (a | ((b & UINT64_C(0x4040404040404040)) >> 1)) == b;
}

static inline bool same32(const char *name, const char *known) {
    uint32_t a, b;
    memcpy(&a, name, sizeof a);
    memcpy(&b, known, sizeof b);
    return (a | ((b & UINT32_C(0x40404040)) >> 1)) == b;
}

/* Compares `size` bytes. The last block overlaps the one before, so that nothing beyond is read. */
static bool same(const char *name, const char *known, size_t size) {
    if (size < 4) return nb_slice_equal_lower(nb_slice_of(name, size), nb_slice_of(known, size));
    if (size < 8) return same32(name, known) && same32(name + size - 4, known + size - 4);
    for (size_t i = 0; i + 8 < size; i += 8) {
        if (!same64(name + i, known + i)) return false;
    }
    return same64(name + size - 8, known + size - 8);
}

nb_field nb_field_lookup(nb_slice name) {
    if (name.size < 2) return NB_FIELD_OTHER;
    const nb_field field = (nb_field)slots[slot_of(name)];
    if (names[field].size != name.size || !same(name.data, names[field].text, name.size)) return NB_FIELD_OTHER;
    return field;
}

nb_slice nb_field_name(nb_field field) {
    if ((unsigned)field >= NB_FIELD_COUNT) return nb_slice_of("", 0);
    return nb_slice_of(names[field].text, names[field].size);
}

nb_slice nb_method_name(nb_method method) {
    static const nb_slice methods[NB_METHOD_COUNT] = {
#define NB_METHOD_ROW(id) [NB_METHOD_##id] = {#id, sizeof(#id) - 1},
        NB_METHOD_LIST(NB_METHOD_ROW)
#undef NB_METHOD_ROW
    };
    if (method == NB_METHOD_OTHER || (unsigned)method >= NB_METHOD_COUNT) return nb_slice_of("", 0);
    return methods[method];
}
