/*
 * ranges.c - see ranges.h.
 */
#include "files/ranges.h"

#include <stdbool.h>
#include <string.h>

typedef enum spec_kind { SPEC_INVALID, SPEC_UNSATISFIABLE, SPEC_RANGE } spec_kind;

/* suffix-range: the last bytes. */
static spec_kind read_suffix(uint64_t bytes, uint64_t size, nb_range *range) {
    if (bytes == 0) return SPEC_UNSATISFIABLE;
    range->bytes = bytes < size ? bytes : size;
    range->offset = size - range->bytes;
    return SPEC_RANGE;
}

/* Reads one range-spec (section 14.1.1). Numbers over 64 bits are read as the largest, which is
 * past every size. */
static spec_kind read_spec(nb_slice spec, uint64_t size, nb_range *range) {
    size_t first_digits, last_digits;
    const uint64_t first = nb_decimal_read(spec, &first_digits);
    if (first_digits == spec.size || spec.data[first_digits] != '-') return SPEC_INVALID;
    const nb_slice rest = nb_slice_of(spec.data + first_digits + 1, spec.size - first_digits - 1);
    const uint64_t last = nb_decimal_read(rest, &last_digits);
    if (last_digits != rest.size || first_digits + last_digits == 0) return SPEC_INVALID;
    if (first_digits == 0) return read_suffix(last, size, range);
    if (last_digits > 0 && last < first) return SPEC_INVALID;
    if (first >= size) return SPEC_UNSATISFIABLE;
    range->offset = first;
    range->bytes = last_digits == 0 || last >= size ? size - first : last - first + 1;
    return SPEC_RANGE;
}

static uint64_t end_of(nb_range range) { return range.offset + range.bytes; }

static bool touch(nb_range a, nb_range b) { return a.offset <= end_of(b) && b.offset <= end_of(a); }

static nb_range span(nb_range a, nb_range b) {
    const uint64_t offset = a.offset < b.offset ? a.offset : b.offset;
    const uint64_t end = end_of(a) > end_of(b) ? end_of(a) : end_of(b);
    return (nb_range){offset, end - offset};
}

/* Adds a range. Ranges that it touches are merged with it, at the place of the first of them. */
static uint16_t add(nb_range *ranges, uint16_t count, nb_range range) {
    nb_range whole = range;
    uint16_t kept = 0, place = count;
    for (uint16_t i = 0; i < count; i++) {
        if (!touch(ranges[i], range)) {
            ranges[kept++] = ranges[i];
            continue;
        }
        whole = span(whole, ranges[i]);
        if (place > kept) place = kept;
    }
    if (place > kept) place = kept;
    memmove(ranges + place + 1, ranges + place, (size_t)(kept - place) * sizeof *ranges);
    ranges[place] = whole;
    return (uint16_t)(kept + 1);
}

/* The sum cannot overflow: the ranges do not overlap, so it is at most the size. */
static bool saves(const nb_range *ranges, uint16_t count, uint64_t size) {
    uint64_t sum = 0;
    for (uint16_t i = 0; i < count; i++) {
        sum += ranges[i].bytes;
    }
    return count == 1 || (uint64_t)count * NB_RANGE_PART_COST_BYTES <= size - sum;
}

/* The value is a list (section 5.6.1): empty elements are skipped. */
static nb_ranges_result read_set(nb_slice set, uint64_t size, nb_range *ranges, uint16_t *count) {
    uint16_t specs = 0;
    *count = 0;
    for (size_t at = 0, end; at < set.size; at = end + 1) {
        const char *const comma = memchr(set.data + at, ',', set.size - at);
        end = comma ? (size_t)(comma - set.data) : set.size;
        const nb_slice spec = nb_slice_trim(nb_slice_of(set.data + at, end - at));
        nb_range range;
        if (spec.size == 0) continue;
        const spec_kind kind = read_spec(spec, size, &range);
        if (kind == SPEC_INVALID || ++specs > NB_RANGES_MAX) return NB_RANGES_WHOLE;
        if (kind == SPEC_RANGE) *count = add(ranges, *count, range);
    }
    if (specs == 0) return NB_RANGES_WHOLE;
    return *count > 0 ? NB_RANGES_SOME : NB_RANGES_UNSATISFIABLE;
}

nb_ranges_result nb_ranges_parse(nb_slice value, uint64_t size, nb_range ranges[NB_RANGES_MAX], uint16_t *count) {
    static const nb_slice unit = {"bytes=", 6};
    if (size == 0 || value.size <= unit.size) return NB_RANGES_WHOLE;
    if (!nb_slice_equal_lower(nb_slice_of(value.data, unit.size), unit)) return NB_RANGES_WHOLE;
    const nb_slice set = nb_slice_of(value.data + unit.size, value.size - unit.size);
    const nb_ranges_result result = read_set(set, size, ranges, count);
    return result == NB_RANGES_SOME && !saves(ranges, *count, size) ? NB_RANGES_WHOLE : result;
}

size_t nb_content_range_write(char *out, nb_range range, uint64_t size) {
    memcpy(out, "bytes ", 6);
    char *at = nb_decimal_put(out + 6, range.offset);
    *at++ = '-';
    at = nb_decimal_put(at, end_of(range) - 1);
    *at++ = '/';
    return (size_t)(nb_decimal_put(at, size) - out);
}

size_t nb_content_range_unsatisfied_write(char *out, uint64_t size) {
    memcpy(out, "bytes */", 8);
    return (size_t)(nb_decimal_put(out + 8, size) - out);
}
