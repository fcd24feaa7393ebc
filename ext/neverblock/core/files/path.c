/*
 * path.c - see path.h.
 */
#include "files/path.h"

#include <string.h>

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes allowed unencoded; "?" and "#" end a path. */
static bool is_plain(unsigned char c) { return c > ' ' && c != 0x7f && c != '\\' && c != '?' && c != '#'; }

/* Bytes allowed encoded. */
static bool is_decoded(unsigned char c) { return c >= ' ' && c != 0x7f && c != '/' && c != '\\'; }

/* *high: some bytes are not ASCII. */
static nb_status decode(nb_slice in, nb_file_path *path, bool *high) {
    size_t size = 0;
    *high = false;
    for (size_t i = 0; i < in.size; i++) {
        unsigned char c = (unsigned char)in.data[i];
        if (c != '%') {
            if (!is_plain(c)) return NB_INVALID;
        } else {
            int upper = in.size - i > 2 ? hex_digit(in.data[i + 1]) : -1;
            int lower = in.size - i > 2 ? hex_digit(in.data[i + 2]) : -1;
            if (upper < 0 || lower < 0) return NB_INVALID;
            c = (unsigned char)(upper << 4 | lower);
            if (!is_decoded(c)) return NB_INVALID;
            i += 2;
        }
        if (c >= 0x80) *high = true;
        if (size == NB_FILE_PATH_BYTES_MAX) return NB_OVER_LIMIT;
        path->text[size++] = (char)c;
    }
    path->size = (uint16_t)size;
    return NB_OK;
}

static bool is_tail(unsigned char c) { return (c & 0xc0) == 0x80; }

/* Bytes of the character at `at` (RFC 3629 section 4); 0: invalid, or a C1 control. */
static size_t character(const unsigned char *at, size_t left) {
    unsigned char c = at[0];
    if (c < 0x80) return 1;
    if (left < 2 || !is_tail(at[1])) return 0;
    if (c >= 0xc2 && c <= 0xdf) return c == 0xc2 && at[1] < 0xa0 ? 0 : 2;
    if (left < 3 || !is_tail(at[2])) return 0;
    if (c >= 0xe0 && c <= 0xef) {
        if ((c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] > 0x9f)) return 0;
        return 3;
    }
    if (left < 4 || !is_tail(at[3]) || c < 0xf0 || c > 0xf4) return 0;
    return (c == 0xf0 && at[1] < 0x90) || (c == 0xf4 && at[1] > 0x8f) ? 0 : 4;
}

static bool is_utf8(const char *text, size_t size) {
    for (size_t i = 0, step; i < size; i += step) {
        step = character((const unsigned char *)text + i, size - i);
        if (step == 0) return false;
    }
    return true;
}

static bool is_served(nb_slice name, bool first) {
    if (name.size == 0) return false;
    return name.data[0] != '.' || (first && nb_slice_equal(name, NB_SLICE(".well-known")));
}

static bool is_safe(nb_slice name, bool first) {
    (void)first;
    if (name.size == 0 || memchr(name.data, '\0', name.size)) return false;
    return !nb_slice_equal(name, NB_SLICE(".")) && !nb_slice_equal(name, NB_SLICE(".."));
}

static bool all_segments(nb_slice text, bool fits(nb_slice name, bool first)) {
    for (size_t start = 0; start <= text.size;) {
        const char *slash = text.size > start ? memchr(text.data + start, '/', text.size - start) : NULL;
        size_t end = slash ? (size_t)(slash - text.data) : text.size;
        if (!fits(nb_slice_of(text.data + start, end - start), start == 0)) return false;
        start = end + 1;
    }
    return true;
}

nb_status nb_file_path_decode(nb_slice target, nb_file_path *path) {
    bool high;
    if (target.size == 0 || target.data[0] != '/') return NB_INVALID;
    nb_status status = decode(nb_slice_of(target.data + 1, target.size - 1), path, &high);
    if (status != NB_OK) return status;
    path->folder = path->size == 0 || path->text[path->size - 1] == '/';
    if (path->size > 0 && path->folder) path->size--;
    path->text[path->size] = '\0';
    if (path->size == 0) return target.size == 1 ? NB_OK : NB_INVALID;
    if (!all_segments(nb_file_path_slice(path), is_served)) return NB_INVALID;
    return high && !is_utf8(path->text, path->size) ? NB_INVALID : NB_OK;
}

nb_status nb_file_path_take(nb_slice name, nb_file_path *path) {
    if (name.size > NB_FILE_PATH_BYTES_MAX) return NB_OVER_LIMIT;
    size_t size = 0;
    for (size_t i = 0; i < name.size; i++) {
        bool empty = name.data[i] == '/' && (size == 0 || path->text[size - 1] == '/');
        if (!empty) path->text[size++] = name.data[i];
    }
    path->text[size] = '\0';
    path->size = (uint16_t)size;
    path->folder = false;
    return all_segments(nb_file_path_slice(path), is_safe) ? NB_OK : NB_INVALID;
}

nb_status nb_file_path_append(nb_file_path *path, nb_slice name) {
    size_t slash = path->size > 0;
    if (path->size + slash + name.size > NB_FILE_PATH_BYTES_MAX) return NB_OVER_LIMIT;
    if (slash) path->text[path->size++] = '/';
    memcpy(path->text + path->size, name.data, name.size);
    path->size = (uint16_t)(path->size + name.size);
    path->text[path->size] = '\0';
    path->folder = false;
    return NB_OK;
}
