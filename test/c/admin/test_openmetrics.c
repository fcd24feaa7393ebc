/*
 * test_openmetrics.c - who is given OpenMetrics (RFC 9110 section 12.5.1), and what differs in its
 * text (OpenMetrics 1.0: "Counter", "Numbers", "Exemplars", "Overall structure").
 */
#include "admin/openmetrics.h"

#include <string.h>

#include "support/test.h"

static bool wanted(const char *first, const char *second) {
    nb_head head = {.header_count = 3};
    head.headers[0] = (nb_header){.field = NB_FIELD_HOST, .value = NB_SLICE("application/openmetrics-text")};
    head.headers[1] = (nb_header){.field = NB_FIELD_ACCEPT, .value = nb_slice_of(first, strlen(first))};
    head.headers[2] = (nb_header){.field = second ? NB_FIELD_ACCEPT : NB_FIELD_OTHER,
                                  .value = nb_slice_of(second ? second : "", second ? strlen(second) : 0)};
    return nb_openmetrics_wanted(&head);
}

static void it_is_given_to_those_who_prefer_it(void **state) {
    (void)state;
    static const char *const rows[] = {
        "application/openmetrics-text",
        "application/openmetrics-text; version=1.0.0",
        "Application/OpenMetrics-Text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
        "application/openmetrics-text;version=2.0.0,application/openmetrics-text;version=1.0.0;q=0.2",
        "text/plain;q=0.5 , application/openmetrics-text;q=0.500",
        "text/html,application/openmetrics-text;q=0.001",
        ",,application/openmetrics-text",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!wanted(rows[i], NULL)) fail_msg("not given for: %s", rows[i]);
    }
    assert_true(wanted("text/plain;q=0.2", "application/openmetrics-text;q=0.3"));
}

static void others_get_the_text_of_prometheus(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",
        "*/*",
        "text/plain",
        "text/plain, application/openmetrics-text;q=0.9",
        "application/openmetrics-text;q=0",
        "application/openmetrics-text;q=",
        "application/openmetrics-text;q=2",
        "application/openmetrics-text;q=1.5",
        "application/openmetrics-text;q=0.12345",
        "application/openmetrics-text;q=x",
        "application/openmetrics-text;version=0.0.1",
        "application/openmetrics-textual",
        "application/openmetrics",
        ";;;,;=,q=1",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (wanted(rows[i], NULL)) fail_msg("given for: %s", rows[i]);
    }
}

static bool exemplar_of_second(const void *owner, unsigned bucket, nb_exemplar *exemplar) {
    if (bucket != 1) return false;
    *exemplar = *(const nb_exemplar *)owner;
    return true;
}

static void expect(const char *plain, const char *expected) {
    nb_exemplar exemplar = {
        .trace = {0x4bf92f3577b34da6, 0x00000e0e4736}, .duration_ns = 67200000, .wall_ns = 1520879607789123456};
    nb_text text;
    nb_text_init(&text, 4096);
    nb_openmetrics_write(&text, nb_slice_of(plain, strlen(plain)), "nb_duration_seconds", exemplar_of_second,
                         &exemplar);
    assert_false(nb_text_failed(&text));
    nb_text_add_bytes(&text, "", 1);
    assert_string_equal(expected, nb_text_slice(&text).data);
    nb_text_deinit(&text);
}

static void families_of_counters_are_called_without_total(void **state) {
    (void)state;
    expect("# HELP nb_sent_total Bytes sent_total.\n# TYPE nb_sent_total counter\nnb_sent_total 3\n",
           "# HELP nb_sent Bytes sent_total.\n# TYPE nb_sent counter\nnb_sent_total 3\n# EOF\n");
    expect("# TYPE nb_ready gauge\nnb_ready 1\n", "# TYPE nb_ready gauge\nnb_ready 1\n# EOF\n");
    expect("", "# EOF\n");
}

static void a_name_that_is_another_familys_is_not_taken(void **state) {
    (void)state;
    expect("# HELP a Now.\n# TYPE a gauge\na 1\n# HELP a_total Ever.\n# TYPE a_total counter\na_total 3\n",
           "# HELP a Now.\n# TYPE a gauge\na 1\n# HELP a_total Ever.\n# TYPE a_total unknown\na_total 3\n# EOF\n");
}

static void whole_bounds_are_floats(void **state) {
    (void)state;
    expect("a_bucket{le=\"0.25\"} 1\na_bucket{le=\"1\"} 2\na_bucket{x=\"y\",le=\"100000\"} 3\n"
           "a_bucket{le=\"2500000\"} 4\na_bucket{le=\"1000000000\"} 5\na_bucket{le=\"+Inf\"} 6\na_count 6\n",
           "a_bucket{le=\"0.25\"} 1\na_bucket{le=\"1.0\"} 2\na_bucket{x=\"y\",le=\"100000.0\"} 3\n"
           "a_bucket{le=\"2.5e+06\"} 4\na_bucket{le=\"1e+09\"} 5\na_bucket{le=\"+Inf\"} 6\na_count 6\n# EOF\n");
}

static void buckets_of_the_family_have_exemplars(void **state) {
    (void)state;
    expect("nb_duration_seconds_other_bucket{le=\"0.1\"} 1\nnb_duration_seconds_bucket{le=\"0.05\"} 0\n"
           "nb_duration_seconds_bucket{le=\"0.1\"} 2\nnb_duration_seconds_sum 2\n",
           "nb_duration_seconds_other_bucket{le=\"0.1\"} 1\nnb_duration_seconds_bucket{le=\"0.05\"} 0\n"
           "nb_duration_seconds_bucket{le=\"0.1\"} 2 "
           "# {trace_id=\"4bf92f3577b34da600000000"
           "0e0e4736\"} 0.0672 1520879607.789\n"
           "nb_duration_seconds_sum 2\n# EOF\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_given_to_those_who_prefer_it),
        cmocka_unit_test(others_get_the_text_of_prometheus),
        cmocka_unit_test(families_of_counters_are_called_without_total),
        cmocka_unit_test(a_name_that_is_another_familys_is_not_taken),
        cmocka_unit_test(whole_bounds_are_floats),
        cmocka_unit_test(buckets_of_the_family_have_exemplars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
