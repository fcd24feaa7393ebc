/*
 * fuzz_framing.c - any bytes as a whole request: head, framing, body. Oracles: the same outcome
 * however the bytes are cut; what was accepted names its end in one way only, as a plain reading of
 * its fields finds.
 */
#include "fuzz/fuzz.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

static message_reader fuzzed_reader;

static outcome message_read_cut(const fuzz_input *input, const size_t *cuts, size_t count) {
    message_reader_init(&fuzzed_reader, *fuzz_memory(), fuzz_limits(input), input->bytes);
    for (size_t i = 0; i < count; i++)
        message_give(&fuzzed_reader, cuts[i]);
    return fuzzed_reader.result;
}

static void check_same_message(const outcome *a, const outcome *b) {
    const char *const difference = message_difference(a, b);
    if (difference) fprintf(stderr, "%s differs\n", difference);
    FUZZ_CHECK(difference == NULL);
}

/* The only field line of this name: its value in *value. Returns how many there are. `lower` ends
   with a colon. */
static int find_field(const char *head, size_t size, const char *lower, nb_slice *value) {
    int found = 0;
    const size_t name = strlen(lower);
    for (size_t line = 0; line < size;) {
        const char *const end = memchr(head + line, '\r', size - line);
        const size_t next = end ? (size_t)(end - head) + 2 : size;
        if (next - 2 - line >= name && nb_slice_equal_lower(nb_slice_of(head + line, name), nb_slice_of(lower, name))) {
            found++;
            *value = nb_slice_of(head + line + name, next - 2 - line - name);
            while (value->size > 0 && (value->data[0] == ' ' || value->data[0] == '\t'))
                value->data++, value->size--;
            while (value->size > 0 && (value->data[value->size - 1] == ' ' || value->data[value->size - 1] == '\t'))
                value->size--;
        }
        line = next;
    }
    return found;
}

static void check_accepted(const fuzz_input *input, const outcome *o) {
    nb_slice length = {0}, coding = {0}, host = {0};
    const int lengths = find_field(input->bytes, o->head_bytes, "content-length:", &length);
    const int codings = find_field(input->bytes, o->head_bytes, "transfer-encoding:", &coding);
    const int hosts = find_field(input->bytes, o->head_bytes, "host:", &host);
    FUZZ_CHECK(lengths + codings <= 1 && hosts <= 1);
    if (codings) FUZZ_CHECK(nb_slice_equal_lower(coding, nb_slice_of("chunked", 7)));
    uint64_t number = 0;
    for (size_t i = 0; i < length.size; i++) {
        FUZZ_CHECK(length.data[i] >= '0' && length.data[i] <= '9');
        number = number * 10 + (uint64_t)(length.data[i] - '0');
    }
    FUZZ_CHECK(lengths == 0 || length.size > 0);
    FUZZ_CHECK(o->framing.body == (codings ? NB_BODY_CHUNKED : number > 0 ? NB_BODY_LENGTH : NB_BODY_NONE));
    FUZZ_CHECK(o->framing.content_length == number && number <= fuzz_limits(input)->body_bytes_max);
    if (o->status == NB_OK && o->framing.body == NB_BODY_LENGTH)
        FUZZ_CHECK(o->used == o->head_bytes + number && o->body_bytes == number);
    if (o->status == NB_OK && o->framing.body == NB_BODY_NONE)
        FUZZ_CHECK(o->used == o->head_bytes && o->body_bytes == 0);
    FUZZ_CHECK(o->body_bytes <= fuzz_limits(input)->body_bytes_max);
    const char *const none = input->compliance == NB_COMPLIANCE_LENIENT ? " \t@/?#\\\"<>" : " \t@/,?#\\\"<>";
    for (size_t i = 0; i < o->framing.host.size; i++)
        FUZZ_CHECK(strchr(none, o->framing.host.data[i]) == NULL);
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    fuzz_input input;
    if (!fuzz_input_read(&input, data, size)) return 0;
    const outcome whole = message_read_cut(&input, &input.size, 1);
    const outcome cut = message_read_cut(&input, input.cuts, FUZZ_CUTS + 1);
    check_same_message(&whole, &cut);
    if (input.size <= FUZZ_BYTEWISE_SIZE_MAX) {
        size_t all[FUZZ_BYTEWISE_SIZE_MAX];
        for (size_t i = 0; i < input.size; i++)
            all[i] = i + 1;
        const outcome bytewise = message_read_cut(&input, all, input.size);
        check_same_message(&whole, &bytewise);
    }
    if (whole.head_bytes > 0 && (whole.status == NB_OK || whole.status == NB_INCOMPLETE))
        check_accepted(&input, &whole);
    return 0;
}
