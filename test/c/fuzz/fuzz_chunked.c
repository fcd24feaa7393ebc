/*
 * fuzz_chunked.c - any bytes as a chunked body. Oracles: the same answer, data and end as a slow
 * reading of the grammar, however the bytes are cut.
 */
#include "fuzz/fuzz.h"
#include "http1/slow_chunked.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

static void check_decoded(const fuzz_input *input, uint64_t max, const size_t *cuts, size_t count, int answer,
                          const slow_chunked *slow) {
    nb_chunked chunked;
    nb_refusal refusal;
    nb_status status = NB_INCOMPLETE;
    size_t used_all = 0, decoded_all = 0;
    nb_chunked_init(&chunked, max);
    for (size_t i = 0, from = 0; i < count && status == NB_INCOMPLETE; from = cuts[i++]) {
        const size_t size = cuts[i] - from;
        size_t used = 0, decoded = 0;
        char *const piece = guarded_place(fuzz_memory(), input->bytes + from, size);
        status = nb_chunked_decode(&chunked, piece, size, &used, &decoded, &refusal);
        if (status != NB_OK && status != NB_INCOMPLETE) break;
        FUZZ_CHECK(used <= size && decoded <= used && decoded_all + decoded <= slow->decoded);
        FUZZ_CHECK(status == NB_OK || used == size);
        FUZZ_CHECK(decoded == 0 || memcmp(piece, slow->out + decoded_all, decoded) == 0);
        FUZZ_CHECK(used == size || memcmp(piece + used, input->bytes + from + used, size - used) == 0);
        used_all += used;
        decoded_all += decoded;
        FUZZ_CHECK(chunked.body_bytes == decoded_all);
    }
    const int got = status == NB_OK ? SLOW_OK : status == NB_INCOMPLETE ? SLOW_MORE : refusal.http_status;
    FUZZ_CHECK(got == answer);
    if (got <= 0) FUZZ_CHECK(decoded_all == slow->decoded);
    if (got == SLOW_OK) FUZZ_CHECK(used_all == slow->at);
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    static char out[FUZZ_SIZE_MAX];
    fuzz_input input;
    slow_chunked slow;
    if (!fuzz_input_read(&input, data, size)) return 0;
    const uint64_t max = fuzz_limits(&input)->body_bytes_max;
    const int answer = slow_chunked_read(&slow, input.bytes, input.size, max, out);
    check_decoded(&input, max, &input.size, 1, answer, &slow);
    check_decoded(&input, max, input.cuts, FUZZ_CUTS + 1, answer, &slow);
    if (input.size <= FUZZ_BYTEWISE_SIZE_MAX) {
        size_t all[FUZZ_BYTEWISE_SIZE_MAX];
        for (size_t i = 0; i < input.size; i++)
            all[i] = i + 1;
        check_decoded(&input, max, all, input.size, answer, &slow);
    }
    return 0;
}
