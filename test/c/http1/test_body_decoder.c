/*
 * test_body_decoder.c - a body with a length: what is taken, where it ends, and how near the end is
 * known to be. Chunks: test_chunked.c.
 */
#include "http1/body_decoder.h"

#include <string.h>

#include "support/test.h"

static nb_body_decoder decoder_of(nb_body_framing framing, uint64_t length) {
    nb_body_decoder decoder;
    nb_framing decided = {.body = framing, .content_length = length};
    nb_body_decoder_init(&decoder, &decided, 100);
    return decoder;
}

static void a_length_is_taken_in_any_cut(void **state) {
    (void)state;
    for (size_t cut = 1; cut < 12; cut++) {
        char bytes[] = "0123456789next";
        size_t at = 0, used, decoded;
        nb_refusal refusal;
        nb_body_decoder decoder = decoder_of(NB_BODY_LENGTH, 10);
        while (!decoder.complete) {
            size_t size = cut < sizeof bytes - 1 - at ? cut : sizeof bytes - 1 - at;
            nb_status status = nb_body_decode(&decoder, bytes + at, size, &used, &decoded, &refusal);
            assert_true(used == decoded && used > 0);
            at += used;
            assert_status(at == 10 ? NB_OK : NB_INCOMPLETE, status);
        }
        assert_int_equal(10, at);
    }
}

static void chunks_are_decoded_in_place(void **state) {
    (void)state;
    char bytes[] = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nnext";
    size_t used, decoded;
    nb_refusal refusal;
    nb_body_decoder decoder = decoder_of(NB_BODY_CHUNKED, 0);
    assert_status(NB_OK, nb_body_decode(&decoder, bytes, sizeof bytes - 1, &used, &decoded, &refusal));
    assert_true(decoder.complete);
    assert_int_equal(sizeof bytes - 1 - strlen("next"), used);
    assert_int_equal(5, decoded);
    assert_memory_equal("abcde", bytes, 5);
}

static void chunks_over_the_limit_are_refused(void **state) {
    (void)state;
    char bytes[] = "65\r\n";
    size_t used, decoded;
    nb_refusal refusal;
    nb_body_decoder decoder = decoder_of(NB_BODY_CHUNKED, 0);
    assert_status(NB_OVER_LIMIT, nb_body_decode(&decoder, bytes, sizeof bytes - 1, &used, &decoded, &refusal));
    assert_int_equal(413, refusal.http_status);
    assert_false(decoder.complete);
}

static void the_end_of_a_length_is_known_and_that_of_chunks_may_be_near(void **state) {
    (void)state;
    nb_body_decoder decoder = decoder_of(NB_BODY_LENGTH, 10);
    assert_false(nb_body_decoder_ends_within(&decoder, 9));
    assert_true(nb_body_decoder_ends_within(&decoder, 10));
    decoder = decoder_of(NB_BODY_CHUNKED, 0);
    assert_true(nb_body_decoder_ends_within(&decoder, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_length_is_taken_in_any_cut),
        cmocka_unit_test(chunks_are_decoded_in_place),
        cmocka_unit_test(chunks_over_the_limit_are_refused),
        cmocka_unit_test(the_end_of_a_length_is_known_and_that_of_chunks_may_be_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
