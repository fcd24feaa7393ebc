/*
 * fuzz_ranges.c - any bytes as a Range field against any size. Oracles: the grammar as a regular
 * expression; for small files the set of bytes asked for, one by one; whatever the size, ranges lie
 * inside, do not touch, and a multipart body is as long as announced.
 *
 * An input is eight bytes of the size (its low byte says how many of them count), then the field.
 */
#include <regex.h>

#include "files/multipart.h"
#include "files/ranges.h"
#include "fuzz/fuzz.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

#define RANGES_FIELD_BYTES_MAX 400u
#define RANGES_SMALL_BYTES 3000u /* files looked at byte by byte */

#define OWS "[ \t]*"
#define SPEC "([0-9]+-[0-9]*|-[0-9]+)"

static regex_t ranges_grammar, ranges_one;

static void ranges_compile(void) {
    static bool compiled;
    if (compiled) return;
    compiled = true;
    FUZZ_CHECK(regcomp(&ranges_grammar,
                       "^[bB][yY][tT][eE][sS]=" OWS "(," OWS ")*" SPEC OWS "(," OWS "(" SPEC OWS ")?)*$",
                       REG_EXTENDED | REG_NOSUB) == 0);
    FUZZ_CHECK(regcomp(&ranges_one, "[0-9]*-[0-9]*", REG_EXTENDED) == 0);
}

/* strtoull holds what is too large to ULLONG_MAX, as ours does. */
static uint64_t ranges_number(const char *digits) { return strtoull(digits, NULL, 10); }

typedef struct ranges_wish {
    bool valid;
    uint16_t specs;
    uint8_t named[RANGES_SMALL_BYTES]; /* 1 + the number of the spec that first named this byte */
} ranges_wish;

/* What the field asks of a file of so many bytes (at most RANGES_SMALL_BYTES for `named` to be
   complete). */
static void ranges_read_slowly(const char *field, uint64_t size, ranges_wish *wish) {
    regmatch_t match;
    *wish = (ranges_wish){.valid = regexec(&ranges_grammar, field, 0, NULL, 0) == 0};
    if (!wish->valid) return;
    for (const char *at = field + 6; regexec(&ranges_one, at, 1, &match, 0) == 0; at += match.rm_eo) {
        const char *const spec = at + match.rm_so, *const dash = strchr(spec, '-');
        const bool suffix = dash == spec, open = !(dash[1] >= '0' && dash[1] <= '9');
        uint64_t first = ranges_number(spec), last = open ? UINT64_MAX : ranges_number(dash + 1);
        wish->specs++;
        if (suffix) {
            const uint64_t bytes = ranges_number(dash + 1);
            first = bytes >= size ? 0 : size - bytes;
            last = bytes == 0 ? 0 : UINT64_MAX;
            if (bytes == 0) continue;
        }
        wish->valid = wish->valid && first <= last;
        for (uint64_t i = first; i < size && i <= last && i < RANGES_SMALL_BYTES; i++)
            if (wish->named[i] == 0) wish->named[i] = (uint8_t)(wish->specs > 255 ? 255 : wish->specs);
    }
}

static void ranges_check_multipart(const nb_range *ranges, uint16_t count, uint64_t size) {
    char out[NB_MULTIPART_PART_BYTES_MAX + 8];
    nb_multipart multipart;
    nb_multipart_init(&multipart, size * 31, count % 2 ? NB_SLICE("a/b") : nb_slice_of(NULL, 0), size);
    uint64_t bytes = NB_MULTIPART_END_BYTES;
    for (uint16_t i = 0; i < count; i++)
        bytes += nb_multipart_part_write(out, &multipart, ranges[i]) + ranges[i].bytes;
    FUZZ_CHECK(bytes == nb_multipart_bytes(&multipart, ranges, count));
}

static void ranges_check_some(const nb_range *ranges, uint16_t count, uint64_t size) {
    uint64_t sum = 0;
    FUZZ_CHECK(count >= 1 && count <= NB_RANGES_MAX);
    for (uint16_t i = 0; i < count; i++) {
        FUZZ_CHECK(ranges[i].bytes > 0 && ranges[i].bytes <= size && ranges[i].offset <= size - ranges[i].bytes);
        sum += ranges[i].bytes;
        for (uint16_t j = 0; j < i; j++)
            FUZZ_CHECK(ranges[i].offset > ranges[j].offset + ranges[j].bytes ||
                       ranges[j].offset > ranges[i].offset + ranges[i].bytes);
    }
    FUZZ_CHECK(sum <= size);
    if (count > 1) FUZZ_CHECK(sum + (uint64_t)count * NB_RANGE_PART_COST_BYTES <= size);
    ranges_check_multipart(ranges, count, size);
}

/* The earliest spec that named a byte of the range. */
static uint8_t ranges_place(const ranges_wish *wish, nb_range range) {
    uint8_t place = 255;
    for (uint64_t i = range.offset; i < range.offset + range.bytes; i++)
        if (wish->named[i] < place) place = wish->named[i];
    return place;
}

static void ranges_check_small(const ranges_wish *wish, nb_ranges_result result, const nb_range *ranges, uint16_t count,
                               uint64_t size) {
    uint64_t wanted = 0, sent = 0, pieces = 0;
    for (uint64_t i = 0; i < size; i++) {
        wanted += wish->named[i] > 0;
        pieces += wish->named[i] > 0 && (i == 0 || wish->named[i - 1] == 0);
    }
    const bool costs = pieces > 1 && wanted + pieces * NB_RANGE_PART_COST_BYTES > size;
    FUZZ_CHECK((result == NB_RANGES_WHOLE) == (!wish->valid || size == 0 || wish->specs > NB_RANGES_MAX || costs));
    if (result == NB_RANGES_UNSATISFIABLE) FUZZ_CHECK(wanted == 0);
    if (result != NB_RANGES_SOME) return;
    FUZZ_CHECK(count == pieces);
    for (uint16_t i = 0; i < count; i++) {
        sent += ranges[i].bytes;
        FUZZ_CHECK(ranges_place(wish, ranges[i]) > 0);
        if (i > 0) FUZZ_CHECK(ranges_place(wish, ranges[i - 1]) < ranges_place(wish, ranges[i]));
    }
    FUZZ_CHECK(sent == wanted);
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    static ranges_wish wish;
    char field[RANGES_FIELD_BYTES_MAX + 1];
    nb_range ranges[NB_RANGES_MAX];
    uint16_t count = 0;
    uint64_t file_bytes;
    if (size < 8 || size - 8 > RANGES_FIELD_BYTES_MAX || !fuzz_is_text(data + 8, size - 8)) return 0;
    ranges_compile();
    memcpy(&file_bytes, data, 8);
    if (data[0] % 8 < 7) file_bytes >>= 64 - 8 * (1 + data[0] % 8);
    memcpy(field, data + 8, size - 8);
    field[size - 8] = 0;
    const char *const placed = guarded_place(fuzz_memory(), field, size - 8);
    const nb_ranges_result result = nb_ranges_parse(nb_slice_of(placed, size - 8), file_bytes, ranges, &count);
    if (result == NB_RANGES_SOME) ranges_check_some(ranges, count, file_bytes);
    ranges_read_slowly(field, file_bytes, &wish);
    if (!wish.valid) FUZZ_CHECK(result == NB_RANGES_WHOLE);
    if (file_bytes <= RANGES_SMALL_BYTES) ranges_check_small(&wish, result, ranges, count, file_bytes);
    return 0;
}
