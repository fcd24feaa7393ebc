/*
 * file_request.c - see file_request.h. The flat form: a uint16_t for each field, its size or
 * FIELD_ABSENT, in the order of `fields`; then the fields' bytes in that order.
 */
#include "files/file_request.h"

#include <string.h>

#define FIELD_ABSENT UINT16_MAX
#define FIELDS 7u
#define SIZES_BYTES (FIELDS * sizeof(uint16_t))

static const char no_bytes[1];
static const nb_slice unusable = {no_bytes, 0};

/* The order decides which fields get room in the flat form first. */
static const struct {
    size_t offset;
    bool list;
} fields[FIELDS] = {
    {offsetof(nb_file_request, if_modified_since), false}, {offsetof(nb_file_request, if_unmodified_since), false},
    {offsetof(nb_file_request, if_range), false},          {offsetof(nb_file_request, range), false},
    {offsetof(nb_file_request, if_none_match), true},      {offsetof(nb_file_request, if_match), true},
    {offsetof(nb_file_request, accept_encoding), true},
};

/* The row of a header's number plus 1; 0: no row. */
static const uint8_t rows[NB_FIELD_COUNT] = {
    [NB_FIELD_IF_MODIFIED_SINCE] = 1, [NB_FIELD_IF_UNMODIFIED_SINCE] = 2,
    [NB_FIELD_IF_RANGE] = 3,          [NB_FIELD_RANGE] = 4,
    [NB_FIELD_IF_NONE_MATCH] = 5,     [NB_FIELD_IF_MATCH] = 6,
    [NB_FIELD_ACCEPT_ENCODING] = 7,
};

static nb_slice *slice_at(nb_file_request *request, size_t row) {
    return (nb_slice *)(void *)((char *)request + fields[row].offset);
}

static nb_slice slice_of(const nb_file_request *request, size_t row) {
    return *(const nb_slice *)(const void *)((const char *)request + fields[row].offset);
}

typedef struct joiner {
    char *room;
    size_t used;
} joiner;

/* The lines of a list field form one list (RFC 9110 section 5.3). The last joined list grows in
 * place. */
static nb_slice join(joiner *joined, nb_slice first, nb_slice next) {
    char *const end = joined->room + joined->used;
    const bool grows = joined->used > 0 && first.data + first.size == end;
    const size_t before = grows ? 0 : first.size;
    if (before + 1 + next.size > NB_FILE_REQUEST_BYTES_MAX - joined->used) return unusable;
    if (before > 0) memcpy(end, first.data, before);
    end[before] = ',';
    if (next.size > 0) memcpy(end + before + 1, next.data, next.size);
    joined->used += before + 1 + next.size;
    return nb_slice_of(grows ? first.data : end, first.size + 1 + next.size);
}

void nb_file_request_of_head(nb_file_request *request, const nb_head *head, char *room) {
    joiner joined = {room, 0};
    *request = (nb_file_request){.method = (uint16_t)head->method};
    for (uint16_t i = 0; i < head->header_count; i++) {
        const nb_header *const header = &head->headers[i];
        if (rows[header->field] == 0) continue;
        const size_t row = rows[header->field] - 1u;
        nb_slice *const slice = slice_at(request, row);
        if (slice->data == NULL) {
            *slice = header->value.data ? header->value : NB_SLICE("");
        } else if (slice->data != no_bytes) {
            *slice = fields[row].list ? join(&joined, *slice, header->value) : unusable;
        }
    }
}

static size_t flat_sizes(const nb_file_request *request, uint16_t sizes[FIELDS]) {
    size_t bytes = SIZES_BYTES;
    bool any = false;
    for (size_t row = 0; row < FIELDS; row++) {
        const nb_slice slice = slice_of(request, row);
        const bool fits = slice.size <= NB_FILE_REQUEST_BYTES_MAX - bytes;
        sizes[row] = slice.data == NULL ? FIELD_ABSENT : fits ? (uint16_t)slice.size : 0;
        if (slice.data == NULL) continue;
        any = true;
        bytes += sizes[row];
    }
    return any ? bytes : 0;
}

size_t nb_file_request_bytes(const nb_file_request *request) {
    uint16_t sizes[FIELDS];
    return flat_sizes(request, sizes);
}

void nb_file_request_write(char *out, const nb_file_request *request) {
    uint16_t sizes[FIELDS];
    if (flat_sizes(request, sizes) == 0) return;
    memcpy(out, sizes, SIZES_BYTES);
    out += SIZES_BYTES;
    for (size_t row = 0; row < FIELDS; row++) {
        if (sizes[row] == FIELD_ABSENT || sizes[row] == 0) continue;
        memcpy(out, slice_of(request, row).data, sizes[row]);
        out += sizes[row];
    }
}

static bool read_flat(nb_file_request *request, nb_slice flat) {
    uint16_t sizes[FIELDS];
    if (flat.size < SIZES_BYTES) return flat.size == 0;
    memcpy(sizes, flat.data, SIZES_BYTES);
    size_t at = SIZES_BYTES;
    for (size_t row = 0; row < FIELDS; row++) {
        if (sizes[row] == FIELD_ABSENT) continue;
        if (sizes[row] > flat.size - at) return false;
        *slice_at(request, row) = nb_slice_of(flat.data + at, sizes[row]);
        at += sizes[row];
    }
    return at == flat.size;
}

bool nb_file_request_read(nb_file_request *request, nb_slice flat) {
    const nb_file_request none = {.method = request->method};
    *request = none;
    if (read_flat(request, flat)) return true;
    *request = none;
    return false;
}
