/*
 * fuzz_path.c - any bytes as the path of a request. Oracles: the rules of files/path.h read slowly,
 * character by character; what is accepted goes down from the root name by name, and written with
 * every byte encoded it names the same.
 */
#include "fuzz/fuzz.h"

#include "files/path.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

static nb_file_path path_fuzzed, path_again;

/* The value of two hex digits, or -1. */
static int path_hex(const char *at, const char *end) {
    static const char digits[] = "0123456789abcdefABCDEF";
    int value = 0;
    if (end - at < 2) return -1;
    for (int i = 0; i < 2; i++) {
        const char *const found = at[i] ? strchr(digits, at[i]) : NULL;
        if (!found) return -1;
        const int digit = (int)(found - digits);
        value = value * 16 + (digit < 16 ? digit : digit - 6);
    }
    return value;
}

/* Every code point that text may have, by encoding it and comparing. */
static size_t path_character(const unsigned char *at, size_t left) {
    for (unsigned bytes = 1; bytes <= 4 && bytes <= left; bytes++) {
        uint32_t code = bytes == 1 ? at[0] : at[0] & (0x7fu >> bytes);
        for (unsigned i = 1; i < bytes; i++)
            code = code << 6 | (at[i] & 0x3fu);
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) continue;
        unsigned char out[4];
        unsigned size = 0;
        if (code < 0x80) {
            out[size++] = (unsigned char)code;
        } else if (code < 0x800) {
            out[size++] = (unsigned char)(0xc0 | code >> 6);
            out[size++] = (unsigned char)(0x80 | (code & 63));
        } else if (code < 0x10000) {
            out[size++] = (unsigned char)(0xe0 | code >> 12);
            out[size++] = (unsigned char)(0x80 | (code >> 6 & 63));
            out[size++] = (unsigned char)(0x80 | (code & 63));
        } else {
            out[size++] = (unsigned char)(0xf0 | code >> 18);
            out[size++] = (unsigned char)(0x80 | (code >> 12 & 63));
            out[size++] = (unsigned char)(0x80 | (code >> 6 & 63));
            out[size++] = (unsigned char)(0x80 | (code & 63));
        }
        if (size != bytes || memcmp(out, at, size) != 0) continue;
        return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : bytes;
    }
    return 0;
}

/* Bytes of what a slow reader decodes, -1 where he refuses. */
static long path_read_slowly(const char *data, size_t size, char *out) {
    long made = 0;
    if (size == 0 || data[0] != '/') return -1;
    for (const char *at = data + 1, *end = data + size; at < end; at++) {
        int byte = (unsigned char)*at;
        if (byte == '%') {
            byte = path_hex(at + 1, end);
            if (byte < 0 || byte == '/' || byte == '\\') return -1;
            at += 2;
        } else if (byte <= ' ' || byte == 0x7f || byte == '\\' || byte == '?' || byte == '#') {
            return -1;
        }
        out[made++] = (char)byte;
    }
    for (size_t i = 0, step; i < (size_t)made; i += step) {
        step = path_character((const unsigned char *)out + i, (size_t)made - i);
        if (step == 0) return -1;
    }
    return made;
}

/* As a file system reads it: how deep it lies under the root; -1: it leaves the root, stands still,
   or shows what is hidden. */
static int path_depth(const char *text) {
    int depth = 0;
    for (const char *name = text; *name != '\0'; depth++) {
        const size_t bytes = strcspn(name, "/");
        if (bytes == 0) return -1;
        if (name[0] == '.' && !(depth == 0 && bytes == 11 && memcmp(name, ".well-known", 11) == 0)) return -1;
        name += bytes;
        if (*name == '/' && *++name == '\0') return -1;
    }
    return depth;
}

static void path_check_again(const nb_file_path *path) {
    static char encoded[3 * NB_FILE_PATH_BYTES_MAX + 4];
    size_t size = 0;
    encoded[size++] = '/';
    for (size_t i = 0; i < path->size; i++) {
        if (path->text[i] == '/') {
            encoded[size++] = '/';
        } else {
            size += (size_t)sprintf(encoded + size, "%%%02x", (unsigned char)path->text[i]);
        }
    }
    FUZZ_CHECK(nb_file_path_decode(nb_slice_of(encoded, size), &path_again) == NB_OK);
    FUZZ_CHECK(strcmp(path->text, path_again.text) == 0 && path_again.size == path->size);
    FUZZ_CHECK(nb_file_path_take(nb_file_path_slice(path), &path_again) == (path->size > 0 ? NB_OK : NB_INVALID));
}

static void path_check(const char *data, size_t size) {
    static char slow[FUZZ_SIZE_MAX];
    const nb_status status = nb_file_path_decode(nb_slice_of(data, size), &path_fuzzed);
    long expected = path_read_slowly(data, size, slow);
    const bool folder = expected == 0 || (expected > 0 && slow[expected - 1] == '/');
    if (expected > 0 && folder) expected--;
    if (expected >= 0) slow[expected] = '\0';
    /* The one "/" behind a folder's name is not a name of its own. */
    const bool fine = expected >= 0 && path_depth(slow) >= 0 && (expected > 0 || size == 1);
    if (status == NB_OVER_LIMIT) {
        FUZZ_CHECK(expected < 0 || expected + folder > NB_FILE_PATH_BYTES_MAX);
        return;
    }
    FUZZ_CHECK(status == (fine ? NB_OK : NB_INVALID));
    if (status != NB_OK) return;
    FUZZ_CHECK(path_fuzzed.size == expected && strcmp(path_fuzzed.text, slow) == 0);
    FUZZ_CHECK(strlen(path_fuzzed.text) == path_fuzzed.size && path_fuzzed.folder == folder);
    path_check_again(&path_fuzzed);
}

/* A name that an application gives: no dot segments, no empty ones, no NUL, and it is what was
   given but for "/" that say nothing. */
static void path_check_taken(const char *data, size_t size) {
    if (nb_file_path_take(nb_slice_of(data, size), &path_fuzzed) != NB_OK) return;
    FUZZ_CHECK(strlen(path_fuzzed.text) == path_fuzzed.size);
    size_t taken = 0;
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '/' && (taken == 0 || data[i - 1] == '/')) continue;
        FUZZ_CHECK(path_fuzzed.text[taken++] == data[i]);
    }
    FUZZ_CHECK(taken == path_fuzzed.size);
    for (const char *name = path_fuzzed.text;; name++) {
        const size_t bytes = strcspn(name, "/");
        FUZZ_CHECK(bytes > 0 && !(bytes == 1 && name[0] == '.') && !(bytes == 2 && name[0] == '.' && name[1] == '.'));
        name += bytes;
        if (*name == '\0') break;
    }
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    if (size >= FUZZ_SIZE_MAX) return 0;
    const char *const placed = guarded_place(fuzz_memory(), (const char *)data, size);
    path_check(placed, size);
    path_check_taken(placed, size);
    return 0;
}
