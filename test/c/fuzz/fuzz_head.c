/*
 * fuzz_head.c - any bytes as a request head. Oracles: the same result however the bytes are cut;
 * every slice inside the head and what it claims to be; an accepted head written out again parses
 * to itself.
 */
#include "fuzz/fuzz.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

typedef struct head_result {
    nb_status status;
    nb_refusal refusal;
    size_t used;
    uint64_t hash;
} head_result;

static nb_head fuzzed_head;

static head_result head_parse_cut(const fuzz_input *input, const nb_head_limits *limits, const size_t *cuts,
                                  size_t count) {
    head_result r = {.status = NB_INCOMPLETE};
    nb_head_parser parser;
    nb_head_parser_init(&parser);
    for (size_t i = 0; i < count && r.status == NB_INCOMPLETE; i++) {
        const char *const bytes = guarded_place(fuzz_memory(), input->bytes, cuts[i]);
        message_forget(&fuzzed_head);
        r.status = nb_head_parse(&parser, bytes, cuts[i], limits, &fuzzed_head, &r.used, &r.refusal);
        if (r.status == NB_OK) r.hash = message_hash_head(&fuzzed_head, bytes, r.used);
    }
    return r;
}

static void check_same_head(const head_result *a, const head_result *b) {
    FUZZ_CHECK(a->status == b->status);
    if (a->status == NB_OK) {
        FUZZ_CHECK(a->used == b->used);
        FUZZ_CHECK(a->hash == b->hash);
    } else if (a->status != NB_INCOMPLETE) {
        FUZZ_CHECK(a->refusal.http_status == b->refusal.http_status);
        FUZZ_CHECK(strcmp(a->refusal.reason, b->refusal.reason) == 0);
    }
}

static void check_slices(const nb_head *head, size_t used, const nb_head_limits *limits) {
    FUZZ_CHECK(used <= limits->head_bytes);
    FUZZ_CHECK(head->target.size <= limits->target_bytes);
    FUZZ_CHECK(head->header_count <= limits->headers);
    FUZZ_CHECK(nb_is_token(head->method_text) && head->method_text.size <= NB_METHOD_BYTES_MAX);
    FUZZ_CHECK(head->minor_version <= 1);
    FUZZ_CHECK(head->target.size > 0);
    for (size_t i = 0; i < head->target.size; i++) {
        const unsigned char byte = (unsigned char)head->target.data[i];
        FUZZ_CHECK(byte > ' ' && byte != 0x7f && byte != '#');
        if (limits->compliance != NB_COMPLIANCE_LENIENT) FUZZ_CHECK(byte != '"' && byte != '<' && byte != '>');
        if (limits->compliance == NB_COMPLIANCE_STRICT) FUZZ_CHECK(byte < 0x80 && byte != '\\');
    }
    if (head->target_form == NB_TARGET_ORIGIN) {
        FUZZ_CHECK(head->path.data == head->target.data && head->path.data[0] == '/');
        FUZZ_CHECK(head->path.size + head->query.size + (head->path.size < head->target.size) == head->target.size);
    }
    for (unsigned i = 0; i < head->header_count; i++) {
        const nb_header *const h = &head->headers[i];
        FUZZ_CHECK(nb_is_token(h->name));
        FUZZ_CHECK(nb_is_field_value(h->value));
        if (h->value.size > 0) {
            const char first = h->value.data[0], last = h->value.data[h->value.size - 1];
            FUZZ_CHECK(first != ' ' && first != '\t' && last != ' ' && last != '\t');
        }
        if (h->field != NB_FIELD_OTHER) FUZZ_CHECK(nb_slice_equal_lower(h->name, nb_field_name(h->field)));
    }
}

static size_t put_slice(char *out, size_t at, nb_slice slice, const char *after) {
    if (slice.size > 0) memcpy(out + at, slice.data, slice.size);
    memcpy(out + at + slice.size, after, strlen(after));
    return at + slice.size + strlen(after);
}

static size_t write_head_again(const nb_head *head, char *out) {
    size_t at = put_slice(out, 0, head->method_text, " ");
    at = put_slice(out, at, head->target, head->minor_version ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
    for (unsigned i = 0; i < head->header_count; i++) {
        at = put_slice(out, at, head->headers[i].name, ":");
        at = put_slice(out, at, head->headers[i].value, "\r\n");
    }
    return put_slice(out, at, nb_slice_of(NULL, 0), "\r\n");
}

/* Without the white space and the empty lines that parsing cuts, a head is no longer than it
   was. */
static void check_written_again(size_t used, const nb_head_limits *limits) {
    static char once[FUZZ_SIZE_MAX], twice[FUZZ_SIZE_MAX];
    nb_head_parser parser;
    nb_refusal refusal;
    size_t used_again = 0;
    const size_t size = write_head_again(&fuzzed_head, once);
    FUZZ_CHECK(size <= used);
    nb_head_parser_init(&parser);
    FUZZ_CHECK(nb_head_parse(&parser, once, size, limits, &fuzzed_head, &used_again, &refusal) == NB_OK);
    FUZZ_CHECK(used_again == size);
    FUZZ_CHECK(write_head_again(&fuzzed_head, twice) == size && memcmp(once, twice, size) == 0);
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    fuzz_input input;
    if (!fuzz_input_read(&input, data, size)) return 0;
    const nb_head_limits *const limits = &fuzz_limits(&input)->head;
    const head_result cut = head_parse_cut(&input, limits, input.cuts, FUZZ_CUTS + 1);
    if (input.size <= FUZZ_BYTEWISE_SIZE_MAX) {
        size_t all[FUZZ_BYTEWISE_SIZE_MAX];
        for (size_t i = 0; i < input.size; i++)
            all[i] = i + 1;
        const head_result bytewise = head_parse_cut(&input, limits, all, input.size);
        check_same_head(&cut, &bytewise);
    }
    const head_result whole = head_parse_cut(&input, limits, &input.size, 1);
    check_same_head(&cut, &whole);
    if (whole.status != NB_OK) return 0;
    check_slices(&fuzzed_head, whole.used, limits);
    check_written_again(whole.used, limits);
    return 0;
}
