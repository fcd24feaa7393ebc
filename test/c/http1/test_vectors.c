/*
 * test_vectors.c - every vector of the strictness policy, delivered at once, byte by byte, at every
 * split, and behind another request.
 */
#include "support/test.h"

#include "http1/message.h"
#include "http1/vectors.h"

#define LARGEST 131072u

static guarded memory;

static message_limits limits_with(int compliance) {
    message_limits limits = message_limits_usual;
    limits.head.compliance = (nb_compliance)compliance;
    return limits;
}

static int answer_with(const vector *v, int compliance) {
    return compliance == NB_COMPLIANCE_STRICT    ? v->strict
           : compliance == NB_COMPLIANCE_LENIENT ? v->lenient
                                                 : v->refused;
}

static void check_answer(const vector *v, int expected, const outcome *o, size_t size) {
    if (expected == INCOMPLETE) {
        if (o->status != NB_INCOMPLETE) fail_msg("vector %d, %s: %s", v->number, v->name, nb_status_name(o->status));
        return;
    }
    const int refused = o->status == NB_OK || o->status == NB_INCOMPLETE ? 0 : o->refusal.http_status;
    if (refused != expected) {
        fail_msg("vector %d, %s: expected %d, got %s %d (%s)", v->number, v->name, expected, nb_status_name(o->status),
                 refused, refused ? o->refusal.reason : "-");
    }
    if (expected) return;
    if (o->status != NB_OK) fail_msg("vector %d, %s: %s", v->number, v->name, nb_status_name(o->status));
    if (o->used != size - v->rest) fail_msg("vector %d, %s: used %zu of %zu", v->number, v->name, o->used, size);
    if (o->body_bytes != strlen(v->body) || memcmp(o->body_start, v->body, strlen(v->body)) != 0) {
        fail_msg("vector %d, %s: the body is %.*s", v->number, v->name, (int)o->body_bytes, o->body_start);
    }
}

static void check_same(const vector *v, const outcome *whole, const outcome *other, const char *delivery, size_t cut) {
    const char *const difference = message_difference(whole, other);
    if (difference)
        fail_msg("vector %d, %s: %s differs when delivered %s %zu", v->number, v->name, difference, delivery, cut);
}

static void test_every_vector_has_its_answer(void **state) {
    (void)state;
    for (int compliance = 0; compliance < NB_COMPLIANCE_COUNT; compliance++) {
        const message_limits limits = limits_with(compliance);
        for (size_t i = 0; i < VECTOR_COUNT; i++) {
            const outcome o = message_read_whole(memory, &limits, vectors[i].bytes, vectors[i].size);
            check_answer(&vectors[i], answer_with(&vectors[i], compliance), &o, vectors[i].size);
        }
    }
}

static void check_cuts(const vector *v, const message_limits *limits) {
    const outcome whole = message_read_whole(memory, limits, v->bytes, v->size);
    const outcome bytewise = message_read_bytewise(memory, limits, v->bytes, v->size);
    check_same(v, &whole, &bytewise, "byte by byte", 0);
    for (size_t cut = 0; cut <= v->size; cut++) {
        const outcome split = message_read_split(memory, limits, v->bytes, v->size, cut);
        check_same(v, &whole, &split, "in two, cut at", cut);
    }
}

static void test_every_vector_has_the_same_answer_however_it_is_cut(void **state) {
    (void)state;
    for (int compliance = 0; compliance < NB_COMPLIANCE_COUNT; compliance++) {
        const message_limits limits = limits_with(compliance);
        for (size_t i = 0; i < VECTOR_COUNT; i++)
            check_cuts(&vectors[i], &limits);
    }
}

/* A request that one compliance accepts is the same request for the next: a message ends at the
 * same byte. */
static void test_every_compliance_reads_what_a_stricter_one_reads_and_alike(void **state) {
    (void)state;
    for (int compliance = 1; compliance < NB_COMPLIANCE_COUNT; compliance++) {
        const message_limits strict = limits_with(compliance - 1), lenient = limits_with(compliance);
        for (size_t i = 0; i < VECTOR_COUNT; i++) {
            const vector *const v = &vectors[i];
            const outcome one = message_read_whole(memory, &strict, v->bytes, v->size);
            const outcome other = message_read_whole(memory, &lenient, v->bytes, v->size);
            if (one.status == NB_OK || one.status == NB_INCOMPLETE)
                check_same(v, &one, &other, "with compliance", (size_t)compliance);
        }
    }
}

/* A request is refused at its wrong byte, before more has come. */
static void check_refused_at_its_byte(const vector *v, const message_limits *limits) {
    const outcome bytewise = message_read_bytewise(memory, limits, v->bytes, v->size);
    const outcome shorter = message_read_whole(memory, limits, v->bytes, bytewise.refused_at);
    const outcome before = message_read_whole(memory, limits, v->bytes, bytewise.refused_at - 1);
    check_same(v, &bytewise, &shorter, "up to byte", bytewise.refused_at);
    if (before.status != NB_INCOMPLETE) fail_msg("vector %d, %s: told one byte late", v->number, v->name);
}

static void test_every_refusal_comes_with_the_offending_byte(void **state) {
    (void)state;
    for (int compliance = 0; compliance < NB_COMPLIANCE_COUNT; compliance++) {
        const message_limits limits = limits_with(compliance);
        for (size_t i = 0; i < VECTOR_COUNT; i++) {
            if (answer_with(&vectors[i], compliance) > 0) check_refused_at_its_byte(&vectors[i], &limits);
        }
    }
}

/* Another request comes before, on the same connection. */
static void test_every_vector_has_the_same_answer_behind_a_request(void **state) {
    (void)state;
    static const char first[] = "POST /first HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc";
    static char both[LARGEST];
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        const vector *const v = &vectors[i];
        memcpy(both, first, sizeof first - 1);
        memcpy(both + sizeof first - 1, v->bytes, v->size);
        const outcome one = message_read_whole(memory, &message_limits_usual, both, sizeof first - 1 + v->size);
        assert_status(NB_OK, one.status);
        assert_int_equal(one.used, sizeof first - 1);
        const outcome two = message_read_whole(memory, &message_limits_usual, both + one.used, v->size);
        check_answer(v, v->refused, &two, v->size);
    }
}

/* Vectors 22, 25, 41 are too long to write down. Built as begin, then `unit` up to `size` bytes,
 * then end. */
static const struct {
    vector v;
    const char *begin, *unit, *end;
    size_t size;
} large[] = {
#define LARGE(number, name, refused, begin, unit, size, end) \
    { {number, name, NULL, 0, refused, refused, refused, "", 0}, begin, unit, end, size }
    LARGE(22, "an extension of 64 KB", 400, CHUNKS("5;"), "a", 65536, "\r\nhello\r\n0\r\n\r\n"),
    LARGE(22, "extensions of 64 KB in many chunks", 400, CHUNKS(""), "1;abcdefghijklmnopqrstuvwxyz\r\nx\r\n", 65536,
          "0\r\n\r\n"),
    LARGE(25, "trailers of 64 KB", 400, CHUNKS("0\r\n"), "Trailer: abcdefgh\r\n", 65536, "\r\n"),
    LARGE(25, "one trailer of 64 KB", 400, CHUNKS("0\r\nA: "), "a", 65536, "\r\n\r\n"),
    LARGE(25, "chunks that are mostly framing", 400, CHUNKS(""), "0000000000000001\r\nx\r\n", 65536, "0\r\n\r\n"),
    LARGE(41, "a target of 100 KB", 414, "GET /", "a", 102400, " HTTP/1.1\r\n" HOST "\r\n"),
    LARGE(41, "a value of 100 KB", 431, "GET / HTTP/1.1\r\n" HOST "A: ", "a", 102400, "\r\n\r\n"),
    LARGE(41, "a name of 100 KB", 431, "GET / HTTP/1.1\r\n" HOST, "a", 102400, ": b\r\n\r\n"),
    LARGE(41, "10,000 fields", 431, "GET / HTTP/1.1\r\n" HOST, "A: b\r\n", 60000, "\r\n"),
    LARGE(40, "a method of 100 KB", 501, "", "A", 102400, " / HTTP/1.1\r\n" HOST "\r\n"),
    LARGE(41, "white space of 100 KB", 431, "GET / HTTP/1.1\r\n" HOST "A:", " ", 102400, "\r\n\r\n"),
    LARGE(41, "a target of 8001 bytes", 0, "GET /", "a", 8005, " HTTP/1.1\r\n" HOST "\r\n"),
    LARGE(41, "a target of the largest size", 0, "GET /", "a", NB_TARGET_BYTES_MAX + 4, " HTTP/1.1\r\n" HOST "\r\n"),
    LARGE(41, "a target of one more", 414, "GET /", "a", NB_TARGET_BYTES_MAX + 5, " HTTP/1.1\r\n" HOST "\r\n"),
    LARGE(41, "a head of the largest size", 0, "GET / HTTP/1.1\r\n" HOST "A: ", "a", 65536 - 4, "\r\n\r\n"),
    LARGE(41, "a head of one more", 431, "GET / HTTP/1.1\r\n" HOST "A: ", "a", 65536 - 3, "\r\n\r\n"),
    LARGE(41, "100 fields", 0, "GET / HTTP/1.1\r\n" HOST, "A: b\r\n", 28 + 99 * 6, "\r\n"),
    LARGE(41, "101 fields", 431, "GET / HTTP/1.1\r\n" HOST, "A: b\r\n", 28 + 100 * 6, "\r\n"),
#undef LARGE
};

static size_t build_large(size_t i, char *out) {
    size_t size = strlen(large[i].begin);
    const size_t unit = strlen(large[i].unit);
    memcpy(out, large[i].begin, size);
    for (; size < large[i].size; size += unit)
        memcpy(out + size, large[i].unit, unit);
    memcpy(out + size, large[i].end, strlen(large[i].end));
    return size + strlen(large[i].end);
}

static void test_large_vectors_have_their_answers_however_they_are_cut(void **state) {
    (void)state;
    static char bytes[LARGEST];
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        const vector *const v = &large[i].v;
        const size_t size = build_large(i, bytes);
        const outcome whole = message_read_whole(memory, &message_limits_usual, bytes, size);
        check_answer(v, v->refused, &whole, size);
        const outcome bytewise = message_read_bytewise(memory, &message_limits_usual, bytes, size);
        check_same(v, &whole, &bytewise, "byte by byte", 0);
        if (v->refused) assert_true(bytewise.refused_at < size);
        for (size_t cut = 1; cut < size; cut += size / 101) {
            const outcome split = message_read_split(memory, &message_limits_usual, bytes, size, cut);
            check_same(v, &whole, &split, "in two, cut at", cut);
        }
    }
}

int main(void) {
    nb_test_alarm(150);
    memory = guarded_create(LARGEST);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_vector_has_its_answer),
        cmocka_unit_test(test_every_vector_has_the_same_answer_however_it_is_cut),
        cmocka_unit_test(test_every_compliance_reads_what_a_stricter_one_reads_and_alike),
        cmocka_unit_test(test_every_refusal_comes_with_the_offending_byte),
        cmocka_unit_test(test_every_vector_has_the_same_answer_behind_a_request),
        cmocka_unit_test(test_large_vectors_have_their_answers_however_they_are_cut),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
