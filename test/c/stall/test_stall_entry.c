/*
 * test_stall_entry.c - entries as the log has them, for people and for programs.
 */
#include "stall/stall_entry.h"

#include <string.h>

#include "os/clock.h"
#include "support/test.h"

static nb_stall stall;
static nb_stall_culprit culprit;
static nb_stall_voice voice;
static nb_text text;

static int make(void **state) {
    (void)state;
    memset(&stall, 0, sizeof stall);
    stall.kind = NB_STALL_blocking_call;
    strcpy(stall.request.method, "GET");
    strcpy(stall.request.path, "/a\x1b\xff\xc2\x9b\xc3\xa9z");
    strcpy(stall.request.id, "id7");
    culprit = (nb_stall_culprit){.at = "foo-1.0 lib/foo.rb:5", .in = "flock"};
    voice = (nb_stall_voice){
        .worker = -1, .pid = 42, .wall_ns = INT64_C(1795284206123000000), .lasted_ns = INT64_C(104900000)};
    const char *lines[] = {"/g/gems/foo-1.0/lib/foo.rb:5:in `flock'", "/srv/\"a\".rb:1:in `b'"};
    nb_stall_add_line(&stall, lines[0], (uint32_t)strlen(lines[0]));
    nb_stall_add_line(&stall, lines[1], (uint32_t)strlen(lines[1]));
    nb_text_init(&text, NB_STALL_ENTRY_BYTES_MAX);
    return 0;
}

static int drop(void **state) {
    (void)state;
    nb_text_deinit(&text);
    return 0;
}

static void expect(const char *expected) {
    assert_false(nb_text_failed(&text));
    nb_text_add_bytes(&text, "", 1);
    assert_string_equal(expected, text.bytes);
}

static void people_read_a_line_and_the_trace(void **state) {
    (void)state;
    nb_stall_entry_begun(&text, &voice, &stall, &culprit);
    expect("neverblock: 2026-11-21T18:03:26.123Z warning: GET /a\\x1b\\xff\\xc2\\x9b\xc3\xa9z (id7) has kept its "
           "executor for 104 ms so "
           "far: a blocking call, in flock, by "
           "foo-1.0 lib/foo.rb:5\n"
           "    /g/gems/foo-1.0/lib/foo.rb:5:in `flock'\n"
           "    /srv/\"a\".rb:1:in `b'\n");
}

static void a_worker_says_which_it_is_and_what_was_not_told(void **state) {
    (void)state;
    voice.worker = 3;
    voice.untold = 12;
    stall.trace_bytes = 0;
    memset(&stall.request, 0, sizeof stall.request);
    nb_stall_entry_begun(&text, &voice, &stall, &culprit);
    expect("neverblock: 2026-11-21T18:03:26.123Z warning: worker 3: a fiber of no request has kept its executor for "
           "104 ms so far: a blocking call, in "
           "flock, by foo-1.0 lib/foo.rb:5 (and 12 such stalls since that was last told)\n");
}

static void a_thread_that_had_no_processor_for_half_of_it_says_so(void **state) {
    (void)state;
    stall.trace_bytes = 0;
    memset(&stall.request, 0, sizeof stall.request);
    voice.starved_ns = voice.lasted_ns / 2 - 1;
    nb_stall_entry_over(&text, &voice, &stall, &culprit);
    nb_text_add_bytes(&text, "", 1);
    assert_null(strstr(text.bytes, "processor"));
    nb_text_deinit(&text);
    nb_text_init(&text, NB_STALL_ENTRY_BYTES_MAX);
    voice.starved_ns++;
    nb_stall_entry_over(&text, &voice, &stall, &culprit);
    expect("neverblock: 2026-11-21T18:03:26.123Z info: a fiber of no request kept its executor for 104 ms, which "
           "is over: a blocking call, in flock, by foo-1.0 lib/foo.rb:5; the machine was busy: its thread waited for a "
           "processor for 52 ms of that\n");
}

static void its_end_is_a_line(void **state) {
    (void)state;
    culprit = (nb_stall_culprit){0};
    stall.kind = NB_STALL_unknown;
    nb_stall_entry_over(&text, &voice, &stall, &culprit);
    expect("neverblock: 2026-11-21T18:03:26.123Z info: GET /a\\x1b\\xff\\xc2\\x9b\xc3\xa9z (id7) kept its executor for "
           "104 ms, which is "
           "over: nobody says where: Ruby's lock is held, by this thread or another\n");
}

/* config.ru is the application's; of its calls of itself only the first five are shown. */
static void see_the_application(nb_stall_places **places) {
    assert_status(NB_OK, nb_stall_places_create(places));
    assert_status(NB_OK, nb_stall_places_add(*places, NB_STALL_APPLICATION, "/srv", ""));
    assert_status(NB_OK, nb_stall_places_add(*places, NB_STALL_OURS, "/usr/lib/ruby", ""));
    stall.lines = stall.trace_bytes = 0;
    const char *lines[] = {"/srv/gems/foo-1.0/lib/foo.rb:5:in `flock'",
                           "/srv/a.rb:1:in `a'",
                           "/usr/lib/ruby/set.rb:2:in `each'",
                           "/srv/a.rb:2:in `b'",
                           "/srv/a.rb:3:in `c'",
                           "/srv/a.rb:4:in `d'",
                           "/srv/a.rb:5:in `e'",
                           "/srv/a.rb:6:in `f'",
                           "no line of code"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        nb_stall_add_line(&stall, lines[i], (uint32_t)strlen(lines[i]));
    voice.places = *places;
    voice.route = "/a*";
    strcpy(stall.request.path, "/a");
}

static void five_lines_of_the_application_are_shown_and_the_others_are_counted(void **state) {
    (void)state;
    nb_stall_places *places;
    see_the_application(&places);
    nb_stall_entry_begun(&text, &voice, &stall, &culprit);
    expect("neverblock: 2026-11-21T18:03:26.123Z warning: GET /a (id7, route /a*) has kept its executor for 104 ms so "
           "far: a blocking call, in flock, by foo-1.0 lib/foo.rb:5\n"
           "    /srv/a.rb:1:in `a'\n"
           "    /srv/a.rb:2:in `b'\n"
           "    /srv/a.rb:3:in `c'\n"
           "    /srv/a.rb:4:in `d'\n"
           "    /srv/a.rb:5:in `e'\n"
           "    (4 more; executor { stall_trace :whole } shows all)\n");
    nb_stall_places_destroy(places);
}

static void programs_read_the_applications_lines_and_how_many_are_left_out(void **state) {
    (void)state;
    nb_stall_places *places;
    see_the_application(&places);
    voice.json = true;
    voice.starved_ns = 60 * NB_NS_PER_MS;
    nb_stall_entry_begun(&text, &voice, &stall, &culprit);
    nb_text_add_bytes(&text, "", 1);
    assert_non_null(strstr(text.bytes, ",\"stall_ms\":104,\"processor_wait_ms\":60,\"culprit\""));
    assert_non_null(strstr(text.bytes, ",\"backtrace\":[\"/srv/a.rb:1:in `a'\",\"/srv/a.rb:2:in `b'\","
                                       "\"/srv/a.rb:3:in `c'\",\"/srv/a.rb:4:in `d'\",\"/srv/a.rb:5:in `e'\"],"
                                       "\"lines_left_out\":4}\n"));
    nb_stall_places_destroy(places);
}

static void programs_read_an_object(void **state) {
    (void)state;
    voice.json = true;
    voice.worker = 0;
    voice.route = "/a*";
    nb_stall_entry_begun(&text, &voice, &stall, &culprit);
    expect("{\"time\":\"2026-11-21T18:03:26.123Z\",\"level\":\"warning\",\"pid\":42,\"worker\":0,\"message\":\"GET "
           "/a\\\\x1b\\\\xff\\\\xc2\\\\x9b\xc3\xa9z (id7, route /a*) has kept its executor for "
           "104 ms so far: a blocking call, in flock, by foo-1.0 "
           "lib/foo.rb:5\",\"stall\":\"blocking_call\",\"stall_ms\":104,\"culprit\":\"foo-1.0 "
           "lib/foo.rb:5\",\"in\":\"flock\",\"method\":\"GET\",\"path\":\"/a\\u001b?\xc2\x9b\xc3\xa9z\",\"route\":\"/"
           "a*\",\"request_id\":\"id7\",\"backtrace\":"
           "[\"/g/gems/foo-1.0/lib/foo.rb:5:in `flock'\",\"/srv/\\\"a\\\".rb:1:in `b'\"]}\n");
}

static void a_full_trace_of_the_worst_bytes_fits(void **state) {
    (void)state;
    char line[NB_STALL_LINE_BYTES_MAX];
    memset(line, 1, sizeof line);
    stall.lines = stall.trace_bytes = 0;
    for (unsigned i = 0; i < NB_STALL_LINES_MAX; i++)
        nb_stall_add_line(&stall, line, 159);
    memset(stall.request.path, 1, sizeof(stall.request.path) - 1);
    memset(culprit.at, 1, sizeof(culprit.at) - 1);
    for (int json = 0; json < 2; json++) {
        voice.json = json == 1;
        nb_stall_entry_begun(&text, &voice, &stall, &culprit);
        assert_false(nb_text_failed(&text));
        assert_int_equal('\n', text.bytes[text.size - 1]);
        nb_text_deinit(&text);
    }
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(people_read_a_line_and_the_trace, make, drop),
        cmocka_unit_test_setup_teardown(a_worker_says_which_it_is_and_what_was_not_told, make, drop),
        cmocka_unit_test_setup_teardown(a_thread_that_had_no_processor_for_half_of_it_says_so, make, drop),
        cmocka_unit_test_setup_teardown(its_end_is_a_line, make, drop),
        cmocka_unit_test_setup_teardown(five_lines_of_the_application_are_shown_and_the_others_are_counted, make, drop),
        cmocka_unit_test_setup_teardown(programs_read_the_applications_lines_and_how_many_are_left_out, make, drop),
        cmocka_unit_test_setup_teardown(programs_read_an_object, make, drop),
        cmocka_unit_test_setup_teardown(a_full_trace_of_the_worst_bytes_fits, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
