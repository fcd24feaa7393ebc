/*
 * test_http2_head.c - the fields of a request of HTTP/2 as a head: what goes where, limits,
 * refusals, memory that is out.
 */
#include "support/test.h"

#include <string.h>

#include "base/alloc.h"
#include "http2/http2_head.h"

static nb_pool pool;
static nb_http2_head head;
static nb_head request;
static nb_http2_facts facts;
static nb_refusal refusal;
static nb_head_limits limits = {8192, 1024, 20, NB_COMPLIANCE_COMMON};

static int setup(void **state) {
    (void)state;
    nb_pool_init(&pool);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    nb_http2_head_clear(&head, &pool);
    nb_pool_deinit(&pool);
    return 0;
}

static nb_slice text(const char *bytes) { return nb_slice_of(bytes, strlen(bytes)); }

static nb_status add(const char *name, const char *value) {
    return nb_http2_head_add(&head, &pool, &limits, text(name), text(value));
}

static nb_status end(void) { return nb_http2_head_end(&head, &pool, &limits, &request, &facts, &refusal); }

/* name, value, name, value ..., NULL, behind the four pseudo-fields. */
static nb_status make(const char *method, const char *path, const char *const fields[]) {
    nb_http2_head_clear(&head, &pool);
    assert_status(NB_OK, add(":scheme", "https"));
    assert_status(NB_OK, add(":path", path));
    assert_status(NB_OK, add(":method", method));
    assert_status(NB_OK, add(":authority", "example.org:8443"));
    for (size_t i = 0; fields && fields[i]; i += 2)
        assert_status(NB_OK, add(fields[i], fields[i + 1]));
    return end();
}

static void expect(nb_slice slice, const char *bytes) {
    if (!nb_slice_equal(slice, text(bytes))) fail_msg("%.*s is not %s", (int)slice.size, slice.data, bytes);
}

static bool lies_in_raw(nb_slice slice) {
    return slice.size == 0 ||
           (slice.data >= facts.raw.data && slice.data + slice.size <= facts.raw.data + facts.raw.size);
}

static void pseudo_fields_become_a_line(void **state) {
    (void)state;
    static const char *const fields[] = {"accept", "*/*", "content-length", "12", "expect", "100-Continue", "x-empty",
                                         "",       NULL};
    assert_status(NB_OK, make("POST", "/a/b?c=d", fields));
    expect(request.method_text, "POST");
    assert_int_equal(NB_METHOD_POST, request.method);
    assert_int_equal(NB_TARGET_ORIGIN, request.target_form);
    expect(request.target, "/a/b?c=d");
    expect(request.path, "/a/b");
    expect(request.query, "c=d");
    expect(request.scheme, "https");
    expect(facts.host, "example.org:8443");
    assert_int_equal(NB_HTTP_2, request.minor_version);
    assert_int_equal(4, request.header_count);
    expect(request.headers[0].name, "accept");
    expect(request.headers[0].value, "*/*");
    assert_int_equal(NB_FIELD_CONTENT_LENGTH, request.headers[1].field);
    assert_true(facts.expect_continue);
    expect(request.headers[3].value, "");
    assert_memory_equal("POST /a/b?c=d HTTP/2\n", facts.raw.data, 21);
    for (unsigned i = 0; i < request.header_count; i++)
        assert_true(lies_in_raw(request.headers[i].name) && lies_in_raw(request.headers[i].value));
    assert_true(lies_in_raw(request.method_text) && lies_in_raw(request.target) && lies_in_raw(facts.host));
}

/* RFC 9113 section 8.2.3. */
static void cookies_that_follow_each_other_are_joined(void **state) {
    (void)state;
    static const char *const fields[] = {"cookie", "a=1", "cookie", "b=2", "x", "1", "cookie", "c=3", NULL};
    assert_status(NB_OK, make("GET", "/", fields));
    assert_int_equal(3, request.header_count);
    expect(request.headers[0].value, "a=1; b=2");
    expect(request.headers[1].name, "x");
    expect(request.headers[2].value, "c=3");
}

static void host_stands_in_for_the_authority(void **state) {
    (void)state;
    assert_status(NB_OK, add(":method", "GET"));
    assert_status(NB_OK, add(":scheme", "http"));
    assert_status(NB_OK, add(":path", "/"));
    assert_status(NB_OK, add("host", "example.net"));
    assert_status(NB_OK, end());
    expect(facts.host, "example.net");
    assert_status(NB_OK, make("OPTIONS", "*", NULL));
    assert_int_equal(NB_TARGET_ASTERISK, request.target_form);
}

static void what_is_not_served_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *method, *path, *fields[5];
        unsigned status;
    } cases[] = {
        {"CONNECT", "/", {NULL}, 405},
        {"GE T", "/", {NULL}, 400},
        {"AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDD", "/", {NULL}, 501},
        {"GET", "", {NULL}, 400},
        {"GET", "*", {NULL}, 400},
        {"GET", "a", {NULL}, 400},
        {"GET", "/a b", {NULL}, 400},
        {"GET", "/a#b", {NULL}, 400},
        {"GET", "/", {"host", "example.com"}, 400},
        {"GET", "/", {"host", "EXAMPLE.org:8443", "host", "example.org:8443"}, 400},
        {"GET", "/", {"expect", "more"}, 417},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_status(NB_INVALID, make(cases[i].method, cases[i].path, cases[i].fields));
        if (refusal.http_status != cases[i].status) fail_msg("case %zu: %u", i, refusal.http_status);
    }
    nb_http2_head_clear(&head, &pool);
    assert_status(NB_OK, add(":method", "GET"));
    assert_status(NB_OK, add(":scheme", "ftp"));
    assert_status(NB_OK, add(":path", "/"));
    assert_status(NB_OK, add(":authority", "a"));
    assert_status(NB_INVALID, end());
}

/* HTTP/1 cuts it off, but for `strict`. */
static void a_fragment_is_refused_whatever_is_allowed_in_a_target(void **state) {
    (void)state;
    static const nb_compliance each[] = {NB_COMPLIANCE_STRICT, NB_COMPLIANCE_LENIENT, NB_COMPLIANCE_COMMON};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        limits.compliance = each[i];
        assert_status(NB_INVALID, make("GET", "/a#b", NULL));
        assert_int_equal(400, refusal.http_status);
        assert_status(NB_INVALID, make("GET", "/a?b#c", NULL));
        assert_int_equal(400, refusal.http_status);
    }
}

static void limits_are_kept(void **state) {
    (void)state;
    static char large[10000], path[2000] = "/";
    memset(large, 'a', 9000);
    memset(path + 1, 'a', 1024);
    assert_status(NB_INVALID, make("GET", "/", (const char *const[]){"x", large, "y", "1", NULL}));
    assert_int_equal(431, refusal.http_status);
    expect(request.target, "/");
    assert_true(head.block.capacity <= NB_READ_BUFFER_BYTES);
    assert_status(NB_INVALID, make("GET", path, NULL));
    assert_int_equal(414, refusal.http_status);
    path[1024] = '\0';
    assert_status(NB_OK, make("GET", path, NULL));
    const char *fields[2 * 21 + 1] = {NULL};
    for (size_t i = 0; i < 42; i++)
        fields[i] = "x";
    assert_status(NB_INVALID, make("GET", "/", fields));
    assert_int_equal(431, refusal.http_status);
    fields[40] = NULL;
    assert_status(NB_OK, make("GET", "/", fields));
}

/* A head of any size within the largest limits, and memory that is out at each of its blocks. */
static void a_large_head_grows_its_block(void **state) {
    (void)state;
    static const nb_head_limits largest = {NB_HEAD_BYTES_MAX, NB_TARGET_BYTES_MAX, NB_HEADERS_MAX,
                                           NB_COMPLIANCE_COMMON};
    static char value[60000];
    memset(value, 'b', sizeof value - 1);
    nb_pool_trim(&pool);
    for (unsigned long n = 1; n < 12; n++) {
        nb_status status = NB_OK;
        nb_http2_head_clear(&head, &pool);
        nb_alloc_fail_at(n);
        for (unsigned i = 0; i < 4 && status == NB_OK; i++)
            status = nb_http2_head_add(&head, &pool, &largest, text("x"), text(value));
        if (status == NB_OK) status = nb_http2_head_end(&head, &pool, &largest, &request, &facts, &refusal);
        nb_alloc_fail_at(0);
        if (status == NB_NO_MEMORY) continue;
        assert_status(NB_INVALID, status); /* it has no line */
        assert_true(n > 3);
        return;
    }
    fail();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pseudo_fields_become_a_line, setup, teardown),
        cmocka_unit_test_setup_teardown(cookies_that_follow_each_other_are_joined, setup, teardown),
        cmocka_unit_test_setup_teardown(host_stands_in_for_the_authority, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_served_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fragment_is_refused_whatever_is_allowed_in_a_target, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_head_grows_its_block, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
