/*
 * compressible.c - see compressible.h.
 */
#include "responses/compressible.h"

#include <string.h>

/* --- media types --- */

static const char *const usual[] = {
    "text/*",
    "application/json",
    "application/*+json",
    "application/javascript",
    "application/x-javascript",
    "application/xml",
    "application/*+xml",
    "application/x-ndjson",
    "application/jsonl",
    "application/graphql",
    "application/wasm",
    "application/yaml",
    "application/toml",
    "application/sql",
    "application/vnd.ms-fontobject",
    "application/vnd.apple.mpegurl",
    "font/ttf",
    "font/otf",
    "image/svg+xml",
    "image/bmp",
    "image/x-icon",
    "image/vnd.microsoft.icon",
    "model/gltf+json",
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

static bool is_type(nb_slice type) {
    const char *slash = type.size ? memchr(type.data, '/', type.size) : NULL;
    const char *star = type.size ? memchr(type.data, '*', type.size) : NULL;
    if (!slash || slash == type.data || slash + 1 == type.data + type.size) return false;
    if (star && memchr(star + 1, '*', (size_t)(type.data + type.size - star - 1))) return false;
    for (size_t i = 0; i < type.size; i++) {
        if (type.data + i != slash && !nb_is_token(nb_slice_of(type.data + i, 1))) return false;
    }
    return true;
}

nb_status nb_compress_types_add(nb_compress_types *types, nb_slice type) {
    if (!is_type(type)) return NB_INVALID;
    if (types->count == NB_COMPRESS_TYPES_MAX || type.size > NB_COMPRESS_TYPES_BYTES - types->text_bytes)
        return NB_FULL;
    for (size_t i = 0; i < type.size; i++)
        types->text[types->text_bytes++] = lower(type.data[i]);
    types->starts[++types->count] = types->text_bytes;
    return NB_OK;
}

void nb_compress_types_add_usual(nb_compress_types *types) {
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        (void)nb_compress_types_add(types, nb_slice_of(usual[i], strlen(usual[i])));
}

static bool matches(nb_slice pattern, nb_slice type) {
    const char *star = memchr(pattern.data, '*', pattern.size);
    if (!star) return nb_slice_equal_lower(type, pattern);
    nb_slice before = nb_slice_of(pattern.data, (size_t)(star - pattern.data));
    nb_slice after = nb_slice_of(star + 1, pattern.size - before.size - 1);
    if (type.size < before.size + after.size) return false;
    return nb_slice_equal_lower(nb_slice_of(type.data, before.size), before) &&
           nb_slice_equal_lower(nb_slice_of(type.data + type.size - after.size, after.size), after);
}

bool nb_compress_types_have(const nb_compress_types *types, nb_slice value) {
    const char *semicolon = value.size ? memchr(value.data, ';', value.size) : NULL;
    nb_slice type = nb_slice_trim(semicolon ? nb_slice_of(value.data, (size_t)(semicolon - value.data)) : value);
    if (type.size == 0) return false;
    for (uint16_t i = 0; i < types->count; i++) {
        uint16_t start = types->starts[i];
        if (matches(nb_slice_of(types->text + start, (size_t)(types->starts[i + 1] - start)), type)) return true;
    }
    return false;
}

/* --- the request --- */

/* Sec-Fetch-Site (W3C Fetch Metadata): what a browser says of who made it send the request. */
static bool is_own(nb_slice site) {
    return nb_slice_equal(site, NB_SLICE("same-origin")) || nb_slice_equal(site, NB_SLICE("none"));
}

bool nb_compress_is_guarded(const nb_head *head, bool secure, bool certified) {
    bool known = certified, told = false, own = true;
    for (uint16_t i = 0; i < head->header_count; i++) {
        const nb_header *header = &head->headers[i];
        switch (header->field) {
        case NB_FIELD_COOKIE:
        case NB_FIELD_AUTHORIZATION:
            known = true;
            break;
        case NB_FIELD_X_FORWARDED_PROTO:
            if (nb_slice_equal_lower(header->value, NB_SLICE("https"))) secure = true;
            break;
        case NB_FIELD_SEC_FETCH_SITE:
            told = true;
            own = own && is_own(header->value);
            break;
        default:
            break;
        }
    }
    return known && (told ? !own : secure);
}

/* --- the response --- */

/* The next line without its end; no data: there is none. *end: its CR and LF. */
static nb_slice next_line(nb_slice *lines, nb_slice *end) {
    if (lines->size == 0) return nb_slice_of(NULL, 0);
    const char *feed = memchr(lines->data, '\n', lines->size);
    size_t bytes = feed ? (size_t)(feed - lines->data) + 1 : lines->size;
    nb_slice line = nb_slice_of(lines->data, bytes);
    while (line.size > 0 && (line.data[line.size - 1] == '\n' || line.data[line.size - 1] == '\r'))
        line.size--;
    *end = nb_slice_of(line.data + line.size, bytes - line.size);
    *lines = nb_slice_of(lines->data + bytes, lines->size - bytes);
    return line;
}

static nb_slice name_of(nb_slice line) {
    const char *colon = line.size ? memchr(line.data, ':', line.size) : NULL;
    return nb_slice_of(line.data, colon ? (size_t)(colon - line.data) : 0);
}

static nb_slice value_of(nb_slice line, nb_slice name) {
    return nb_slice_trim(nb_slice_of(line.data + name.size + 1, line.size - name.size - 1));
}

/* True: one of the comma-separated elements is `word`, which is lower case. */
static bool lists(nb_slice value, nb_slice word) {
    while (value.size > 0) {
        const char *comma = memchr(value.data, ',', value.size);
        size_t bytes = comma ? (size_t)(comma - value.data) : value.size;
        if (nb_slice_equal_lower(nb_slice_trim(nb_slice_of(value.data, bytes)), word)) return true;
        size_t used = comma ? bytes + 1 : bytes;
        value = nb_slice_of(value.data + used, value.size - used);
    }
    return false;
}

static void read_cache_control(nb_response_fields *fields, nb_slice value) {
    if (lists(value, NB_SLICE("no-transform"))) fields->fixed = true;
    if (lists(value, NB_SLICE("public"))) fields->open = true;
}

static void read_vary(nb_response_fields *fields, nb_slice value) {
    if (!fields->vary.data) fields->vary = value;
    if (lists(value, NB_SLICE("*")) || lists(value, NB_SLICE("accept-encoding"))) fields->varies = true;
}

/* Content-Encoding: it is encoded already. Content-Range: a part of something. Digests of the
 * content would be wrong afterwards (RFC 9530, RFC 3230, RFC 1864). */
static bool fixes(nb_slice name) {
    static const nb_slice names[] = {{"content-encoding", 16}, {"content-range", 13}, {"content-digest", 14},
                                     {"repr-digest", 11},      {"content-md5", 11},   {"digest", 6}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (nb_slice_equal_lower(name, names[i])) return true;
    }
    return false;
}

void nb_response_fields_read(nb_response_fields *fields, nb_slice lines) {
    *fields = (nb_response_fields){.fixed = false};
    for (nb_slice line, end; (line = next_line(&lines, &end)).data;) {
        nb_slice name = name_of(line);
        if (name.size == 0) continue;
        switch (lower(name.data[0])) {
        case 'c':
            if (nb_slice_equal_lower(name, NB_SLICE("content-type"))) fields->content_type = value_of(line, name);
            if (nb_slice_equal_lower(name, NB_SLICE("cache-control"))) read_cache_control(fields, value_of(line, name));
            if (fixes(name)) fields->fixed = true;
            break;
        case 'd':
        case 'r':
            if (fixes(name)) fields->fixed = true;
            break;
        case 'e':
            if (nb_slice_equal_lower(name, NB_SLICE("etag"))) fields->etag = value_of(line, name);
            break;
        case 'v':
            if (nb_slice_equal_lower(name, NB_SLICE("vary"))) read_vary(fields, value_of(line, name));
            break;
        default:
            break;
        }
    }
}

bool nb_compress_may(const nb_compress_types *types, uint16_t status, const nb_response_fields *fields) {
    if (status < 200 || status == 204 || status == 205 || status == 206 || status == 304) return false;
    return !fields->fixed && fields->content_type.data && nb_compress_types_have(types, fields->content_type);
}

/* --- changed lines --- */

static char *put(char *out, nb_slice bytes) {
    if (bytes.size) memcpy(out, bytes.data, bytes.size);
    return out + bytes.size;
}

/* True: the line is left out. */
static bool drops(nb_slice name, unsigned changes) {
    if ((changes & NB_COMPRESS_ENCODE) && nb_slice_equal_lower(name, NB_SLICE("accept-ranges"))) return true;
    return (changes & NB_COMPRESS_EMPTY) && nb_slice_equal_lower(name, NB_SLICE("content-type"));
}

size_t nb_compress_lines_write(char *out, nb_slice lines, const nb_response_fields *fields, unsigned changes,
                               nb_encoding coding) {
    char *at = out;
    bool adds_vary = (changes & NB_COMPRESS_VARY) && !fields->varies;
    for (nb_slice line, end; (line = next_line(&lines, &end)).data;) {
        nb_slice name = name_of(line);
        if (drops(name, changes)) continue;
        nb_slice value = name.size ? value_of(line, name) : nb_slice_of(NULL, 0);
        if ((changes & NB_COMPRESS_WEAKEN) && value.data == fields->etag.data && nb_compress_is_strong(value)) {
            at = put(put(at, NB_SLICE("ETag: W/")), value);
        } else {
            at = put(at, line);
            if (adds_vary && value.size && value.data == fields->vary.data) {
                at = put(at, NB_SLICE(", Accept-Encoding"));
                adds_vary = false;
            }
        }
        at = put(at, end);
    }
    if (changes & NB_COMPRESS_ENCODE)
        at = put(put(put(at, NB_SLICE("Content-Encoding: ")), nb_encoding_name(coding)), NB_SLICE("\r\n"));
    if (adds_vary) at = put(at, NB_SLICE("Vary: Accept-Encoding\r\n"));
    return (size_t)(at - out);
}
