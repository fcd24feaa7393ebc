/*
 * test_encoder.c - what encoders write, decoded by the libraries themselves.
 */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "coding/encoder.h"
#include "support/leaks.h"

#define TEXT_BYTES 300000u

static char text[TEXT_BYTES];
static nb_test_random chance = {7};

/* Words of a few letters: neither one byte again and again, nor noise. */
static void fill_text(void) {
    for (size_t i = 0; i < TEXT_BYTES; i++)
        text[i] = i % 7 == 6 ? ' ' : (char)('a' + nb_test_random_below(&chance, 3 + i / 7 % 11));
}

/* --- decoding: `bytes` may be the beginning of a stream --- */

typedef struct decoded {
    char *bytes;
    size_t size;
    bool whole; /* the stream has ended */
} decoded;

#ifdef NB_HAVE_ZLIB
#include <zlib.h>

static void gunzip(nb_slice bytes, decoded *out) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes.data, .avail_in = (uInt)bytes.size};
    assert_int_equal(Z_OK, inflateInit2(&stream, 15 + 16));
    stream.next_out = (Bytef *)out->bytes;
    stream.avail_out = TEXT_BYTES + 1;
    int result = inflate(&stream, Z_SYNC_FLUSH);
    assert_true(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
    out->whole = result == Z_STREAM_END;
    out->size = stream.total_out;
    inflateEnd(&stream);
}
#else
static void gunzip(nb_slice bytes, decoded *out) { (void)bytes, (void)out; }
#endif

#ifdef NB_HAVE_BROTLI
#include <brotli/decode.h>

static void unbrotli(nb_slice bytes, decoded *out) {
    BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    const uint8_t *in = (const uint8_t *)bytes.data;
    uint8_t *to = (uint8_t *)out->bytes;
    size_t left = TEXT_BYTES + 1;
    BrotliDecoderResult result = BrotliDecoderDecompressStream(state, &bytes.size, &in, &left, &to, &out->size);
    assert_int_not_equal(BROTLI_DECODER_RESULT_ERROR, result);
    out->whole = result == BROTLI_DECODER_RESULT_SUCCESS;
    BrotliDecoderDestroyInstance(state);
}
#else
static void unbrotli(nb_slice bytes, decoded *out) { (void)bytes, (void)out; }
#endif

#ifdef NB_HAVE_ZSTD
#include <zstd.h>

static void unzstd(nb_slice bytes, decoded *out) {
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
    ZSTD_outBuffer to = {out->bytes, TEXT_BYTES + 1, 0};
    size_t more = 1;
    while (in.pos < in.size || more == 0) {
        size_t before = to.pos + in.pos;
        more = ZSTD_decompressStream(context, &to, &in);
        assert_false(ZSTD_isError(more));
        if (more == 0 || to.pos + in.pos == before) break;
    }
    out->whole = more == 0;
    out->size = to.pos;
    ZSTD_freeDCtx(context);
}
#else
static void unzstd(nb_slice bytes, decoded *out) { (void)bytes, (void)out; }
#endif

static void decode(nb_encoding coding, nb_slice bytes, decoded *out) {
    out->size = 0;
    switch (coding) {
    case NB_ENCODING_GZIP:
        gunzip(bytes, out);
        break;
    case NB_ENCODING_BR:
        unbrotli(bytes, out);
        break;
    case NB_ENCODING_ZSTD:
        unzstd(bytes, out);
        break;
    default:
        fail();
    }
}

static void expect(nb_encoding coding, const nb_bytes *encoded, size_t size, bool whole) {
    decoded out = {.bytes = malloc(TEXT_BYTES + 1)};
    decode(coding, nb_bytes_slice(encoded), &out);
    assert_int_equal(size, out.size);
    assert_memory_equal(text, out.bytes, size);
    assert_int_equal(whole, out.whole);
    free(out.bytes);
}

/* --- cases --- */

static const nb_encoding codings[] = {NB_ENCODING_GZIP, NB_ENCODING_BR, NB_ENCODING_ZSTD};
#define EACH_BUILT(coding)                                \
    for (size_t c_ = 0; c_ < 3; c_++)                     \
        for (nb_encoding coding = codings[c_], once_ = 0; \
             once_ == 0 && (nb_encoders_built() & NB_ENCODING_BIT(coding)); once_ = 1)

static void each_size_level_and_window(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 1024, 8192, 70000, TEXT_BYTES};
    EACH_BUILT(coding) {
        for (unsigned level = 1; level <= NB_LEVEL_MAX; level++) {
            for (size_t i = 0; i < 7; i++) {
                nb_encoder *encoder = NULL;
                nb_bytes out = {0};
                nb_window window = sizes[i] <= NB_WINDOW_SMALL_BYTES ? NB_WINDOW_SMALL : NB_WINDOW_LARGE;
                assert_status(NB_OK, nb_encoder_create(coding, level, window, &encoder));
                assert_status(NB_OK, nb_encoder_encode(encoder, nb_slice_of(text, sizes[i]), NB_ENCODE_END, &out));
                expect(coding, &out, sizes[i], true);
                assert_true(sizes[i] < 1024 || out.size < sizes[i] * 7 / 8);
                nb_bytes_free(&out);
                nb_encoder_destroy(encoder);
            }
        }
    }
}

/* After a flush all that went in can be decoded, and nothing says that it ends. */
static void parts_of_any_size_flushed_by_chance(void **state) {
    (void)state;
    EACH_BUILT(coding) {
        for (int round = 0; round < 40; round++) {
            nb_encoder *encoder = NULL;
            nb_bytes out = {0};
            size_t at = 0;
            nb_window window = round % 2 ? NB_WINDOW_SMALL : NB_WINDOW_LARGE;
            assert_status(NB_OK, nb_encoder_create(coding, 1 + (unsigned)round % 9, window, &encoder));
            for (int part = 0; part < 12; part++) {
                size_t most = nb_test_random_below(&chance, 3) ? 300 : 25000;
                size_t size = nb_test_random_below(&chance, most);
                bool flush = nb_test_random_below(&chance, 2) && size > 0;
                assert_status(NB_OK, nb_encoder_encode(encoder, nb_slice_of(text + at, size),
                                                       flush ? NB_ENCODE_FLUSH : NB_ENCODE_MORE, &out));
                at += size;
                if (flush) expect(coding, &out, at, false);
            }
            assert_status(NB_OK, nb_encoder_encode(encoder, nb_slice_of(NULL, 0), NB_ENCODE_END, &out));
            expect(coding, &out, at, true);
            nb_bytes_free(&out);
            nb_encoder_destroy(encoder);
        }
    }
}

static void used_again_it_knows_nothing_of_before(void **state) {
    (void)state;
    EACH_BUILT(coding) {
        nb_encoder *encoder = NULL;
        nb_bytes out = {0};
        assert_status(NB_OK, nb_encoder_create(coding, 4, NB_WINDOW_SMALL, &encoder));
        /* It is left in the middle of a stream. */
        assert_status(NB_OK, nb_encoder_encode(encoder, nb_slice_of(text, 5000), NB_ENCODE_FLUSH, &out));
        if (nb_encoder_reset(encoder)) {
            out.size = 0;
            assert_status(NB_OK, nb_encoder_encode(encoder, nb_slice_of(text, 5000), NB_ENCODE_END, &out));
            expect(coding, &out, 5000, true);
        }
        nb_bytes_free(&out);
        nb_encoder_destroy(encoder);
    }
}

static void it_says_what_memory_it_holds(void **state) {
    (void)state;
    EACH_BUILT(coding) {
        size_t held[NB_WINDOWS];
        for (unsigned window = 0; window < NB_WINDOWS; window++) {
            nb_encoder *encoder = NULL;
            nb_bytes out = {0};
            assert_status(NB_OK, nb_encoder_create(coding, 4, (nb_window)window, &encoder));
            assert_status(NB_OK, nb_encoder_encode(encoder, nb_slice_of(text, 8000), NB_ENCODE_END, &out));
            held[window] = nb_encoder_bytes(encoder);
            nb_bytes_free(&out);
            nb_encoder_destroy(encoder);
        }
        assert_in_range(held[NB_WINDOW_SMALL], 10000, 1000000);
        assert_true(held[NB_WINDOW_LARGE] >= held[NB_WINDOW_SMALL]);
    }
}

/* Each allocation fails once: the call says so, and nothing is left behind. */
static void any_allocation_may_fail(void **state) {
    (void)state;
    EACH_BUILT(coding) {
        bool whole = false;
        for (unsigned long n = 1; !whole; n++) {
            nb_test_leaks before = nb_test_leaks_begin();
            nb_encoder *encoder = NULL;
            nb_bytes out = {0};
            nb_alloc_fail_at(n);
            nb_status status = nb_encoder_create(coding, 6, NB_WINDOW_LARGE, &encoder);
            if (status == NB_OK) status = nb_encoder_encode(encoder, nb_slice_of(text, 20000), NB_ENCODE_FLUSH, &out);
            if (status == NB_OK) status = nb_encoder_encode(encoder, nb_slice_of(text + 20000, 5), NB_ENCODE_END, &out);
            nb_alloc_fail_at(0);
            assert_true(status == NB_OK || status == NB_NO_MEMORY);
            whole = status == NB_OK;
            if (whole) expect(coding, &out, 20005, true);
            assert_true(n > 1 || !whole);
            nb_bytes_free(&out);
            nb_encoder_destroy(encoder);
            assert_int_equal(0, nb_test_leaks_end(&before));
        }
    }
}

static void more_bytes_cost_more(void **state) {
    (void)state;
    EACH_BUILT(coding) {
        for (unsigned level = 1; level <= NB_LEVEL_MAX; level++) {
            assert_true(nb_encoder_cost_ns(coding, level, 1024) > nb_encoder_cost_ns(coding, level, 0));
            assert_true(level == 1 ||
                        nb_encoder_cost_ns(coding, level, 9000) >= nb_encoder_cost_ns(coding, level - 1, 9000));
        }
    }
}

int main(void) {
    fill_text();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_size_level_and_window),
        cmocka_unit_test(parts_of_any_size_flushed_by_chance),
        cmocka_unit_test(used_again_it_knows_nothing_of_before),
        cmocka_unit_test(it_says_what_memory_it_holds),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(more_bytes_cost_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
