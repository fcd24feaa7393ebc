/*
 * test_stall_places.c - who is to blame for a trace.
 */
#include "stall/stall_places.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/test.h"

static nb_stall_places *places;
static nb_stall stall;
static nb_stall_culprit culprit;

static int make(void **state) {
    (void)state;
    memset(&stall, 0, sizeof stall);
    assert_status(NB_OK, nb_stall_places_create(&places));
    assert_status(NB_OK, nb_stall_places_add(places, NB_STALL_OURS, "/usr/lib/ruby/3.1.0", ""));
    assert_status(NB_OK, nb_stall_places_add(places, NB_STALL_OURS, "/g/gems/neverblock-2.0/lib", ""));
    assert_status(NB_OK, nb_stall_places_add(places, NB_STALL_APPLICATION, "/srv/app", ""));
    assert_status(NB_OK, nb_stall_places_add(places, NB_STALL_GEM, "/src/rails", "rails-7.1.0"));
    assert_status(NB_OK, nb_stall_places_add(places, NB_STALL_GEM, "/src/rails/activejob", "activejob-7.1.0"));
    return 0;
}

static int drop(void **state) {
    (void)state;
    nb_stall_places_destroy(places);
    return 0;
}

static void blame(const char *const *lines) {
    for (; *lines; lines++)
        nb_stall_add_line(&stall, *lines, (uint32_t)strlen(*lines));
    nb_stall_places_blame(places, &stall, &culprit);
}

#define BLAME(...) blame((const char *const[]){__VA_ARGS__, NULL})

static void the_innermost_line_of_the_application_is_to_blame(void **state) {
    (void)state;
    BLAME("/usr/lib/ruby/3.1.0/net/http.rb:9:in `read'", "<internal:kernel>:187:in `loop'",
          "/srv/app/app/models/user.rb:7:in `block in save'", "/srv/app/config.ru:3:in `call'");
    assert_string_equal("app/models/user.rb:7", culprit.at);
    assert_string_equal("read", culprit.in);
    assert_false(culprit.prompt);
}

static void a_gem_is_known_by_its_folder(void **state) {
    (void)state;
    BLAME("/g/gems/neverblock-2.0/lib/neverblock/pool.rb:4:in 'wait'",
          "/g/ruby/3.1.0/gems/net-http-persistent-4.0.2/lib/net/http.rb:12:in 'Net#get'", "/srv/app/a.rb:1");
    assert_string_equal("net-http-persistent-4.0.2 lib/net/http.rb:12", culprit.at);
    assert_string_equal("wait", culprit.in);
}

static void a_gem_in_the_applications_folder_is_a_gem(void **state) {
    (void)state;
    BLAME("/srv/app/vendor/bundle/ruby/3.1.0/gems/foo-1.0/lib/foo.rb:5:in `x'");
    assert_string_equal("foo-1.0 lib/foo.rb:5", culprit.at);
}

static void what_bundler_has_from_git_is_a_gem(void **state) {
    (void)state;
    BLAME("/g/bundler/gems/foo-bar-0a1b2c3d/lib/foo.rb:5:in `x'");
    assert_string_equal("foo-bar-0a1b2c3d lib/foo.rb:5", culprit.at);
}

static void an_application_in_a_folder_named_gems_is_none(void **state) {
    (void)state;
    BLAME("/home/gems/shop/app.rb:2:in `x'");
    assert_string_equal("/home/gems/shop/app.rb:2", culprit.at);
}

static void the_longest_folder_counts(void **state) {
    (void)state;
    BLAME("/src/rails/activejob/lib/job.rb:3:in `x'");
    assert_string_equal("activejob-7.1.0 lib/job.rb:3", culprit.at);
    BLAME("/src/railsish/x.rb:3:in `x'");
    assert_string_equal("activejob-7.1.0 lib/job.rb:3", culprit.at);
}

static void the_applications_line_is_known_also_where_a_gem_is_to_blame(void **state) {
    (void)state;
    BLAME("/g/gems/bcrypt-3.1.20/lib/bcrypt/engine.rb:53:in `x'", "/srv/app/models/user.rb:7:in `digest'",
          "/srv/app/main.rb:1:in `<main>'");
    assert_string_equal("models/user.rb:7", culprit.application);
    assert_string_equal("bcrypt-3.1.20 lib/bcrypt/engine.rb:53", culprit.at);
    memset(&stall, 0, sizeof stall);
    BLAME("/g/gems/bcrypt-3.1.20/lib/bcrypt/engine.rb:53:in `x'");
    assert_string_equal("", culprit.application);
}

static void where_none_is_to_blame_the_innermost_is_shown(void **state) {
    (void)state;
    BLAME("/usr/lib/ruby/3.1.0/json.rb:4:in `parse'", "/g/gems/neverblock-2.0/lib/x.rb:4:in `y'");
    assert_string_equal("json.rb:4", culprit.at);
    assert_string_equal("parse", culprit.in);
}

static void evaluated_code_is_where_it_was_called(void **state) {
    (void)state;
    BLAME("(eval at /srv/app/b.rb:77):1:in 'x'");
    assert_string_equal("b.rb:77", culprit.at);
    memset(&stall, 0, sizeof stall);
    BLAME("(eval):1:in `x'", "/srv/app/c.rb:8:in `y'");
    assert_string_equal("c.rb:8", culprit.at);
}

static void relative_paths_are_the_applications(void **state) {
    (void)state;
    BLAME("config.ru:5:in `block in <main>'");
    assert_string_equal("config.ru:5", culprit.at);
    assert_string_equal("block in <main>", culprit.in);
    memset(&stall, 0, sizeof stall);
    BLAME("-e:1:in `x'");
    assert_string_equal("-e:1", culprit.at);
}

static nb_stall_owner owner(const char *path) { return nb_stall_places_owner(places, nb_slice_of(path, strlen(path))); }

static void a_path_alone_has_an_owner_too(void **state) {
    (void)state;
    assert_int_equal(NB_STALL_APPLICATION, owner("/srv/app/models/user.rb"));
    assert_int_equal(NB_STALL_APPLICATION, owner("config.ru"));
    assert_int_equal(NB_STALL_APPLICATION, owner("(eval at /srv/app/b.rb:77)"));
    assert_int_equal(NB_STALL_GEM, owner("/g/gems/bcrypt-3.1.20/lib/bcrypt.rb"));
    assert_int_equal(NB_STALL_OURS, owner("/usr/lib/ruby/3.1.0/json.rb"));
    assert_int_equal(NB_STALL_OURS, owner("<internal:kernel>"));
    assert_int_equal(NB_STALL_APPLICATION, owner(""));
}

static void lines_that_are_none_are_passed_over(void **state) {
    (void)state;
    BLAME("", ":", "a", "a:", "a:b", "::1", "x:1y", "/srv/app/a:b.rb:7");
    assert_string_equal(":", culprit.at[0] ? ":" : "");
    memset(&stall, 0, sizeof stall);
    nb_stall_places_blame(places, &stall, &culprit);
    assert_string_equal("", culprit.at);
    assert_string_equal("", culprit.in);
}

static void a_long_path_is_cut_at_its_beginning(void **state) {
    (void)state;
    char line[NB_STALL_LINE_BYTES_MAX];
    memset(line, 'x', sizeof line);
    memcpy(line, "/srv/app/", 9);
    memcpy(line + 380, "/end.rb:12\0", 11);
    BLAME(line);
    assert_int_equal(NB_STALL_CULPRIT_BYTES - 1, strlen(culprit.at));
    assert_string_equal("/end.rb:12", culprit.at + strlen(culprit.at) - 10);
}

static void who_sits_at_a_prompt_stalls_nothing(void **state) {
    (void)state;
    static const char *const lines[] = {
        "/g/gems/debug-1.9.2/lib/debug/session.rb:3:in `x'", "/g/gems/byebug-11.1.3/lib/byebug.rb:1:in `x'",
        "/usr/lib/ruby/3.1.0/irb.rb:8:in `x'", "/usr/lib/ruby/3.1.0/reline/line_editor.rb:8:in `x'",
        "/g/gems/pry-byebug-3.10.1/lib/x.rb:1"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        memset(&stall, 0, sizeof stall);
        BLAME("/usr/lib/ruby/3.1.0/io.rb:1:in `gets'", lines[i], "/srv/app/a.rb:1:in `y'");
        assert_true(culprit.prompt);
    }
    static const char *const others[] = {"/g/gems/debugging-1.9.2/lib/x.rb:3:in `x'", "/srv/app/irb.rb:1:in `x'",
                                         "/g/gems/debug-tools-1.0/lib/x.rb:3", "/usr/lib/ruby/3.1.0/irbis.rb:8"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        memset(&stall, 0, sizeof stall);
        BLAME(others[i]);
        assert_false(culprit.prompt);
    }
}

static void there_is_a_bound_and_memory_may_fail(void **state) {
    (void)state;
    char folder[32];
    nb_status status = NB_OK;
    for (unsigned i = 0; i <= NB_STALL_PLACES_MAX && status == NB_OK; i++) {
        snprintf(folder, sizeof folder, "/x/%u", i);
        status = nb_stall_places_add(places, NB_STALL_GEM, folder, "x");
    }
    assert_status(NB_FULL, status);
    nb_stall_places *other;
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_stall_places_create(&other));
    assert_status(NB_OK, nb_stall_places_create(&other));
    for (unsigned n = 1; n <= 2; n++) {
        nb_alloc_fail_at(n);
        assert_status(NB_NO_MEMORY, nb_stall_places_add(other, NB_STALL_GEM, "/a", "a"));
    }
    nb_stall_places_destroy(other);
    nb_stall_places_destroy(NULL);
}

static bool is_of_the_application(const char *line) {
    return nb_stall_places_application(places, (nb_slice){line, strlen(line)});
}

static void a_line_is_the_applications_or_not(void **state) {
    (void)state;
    assert_true(is_of_the_application("/srv/app/app/models/user.rb:7:in `save'"));
    assert_true(is_of_the_application("(eval at /srv/app/a.rb:3):1:in `b'"));
    assert_false(is_of_the_application("/srv/app/vendor/ruby/3.1.0/gems/foo-1.0/lib/foo.rb:5:in `flock'"));
    assert_false(is_of_the_application("/src/rails/lib/rails.rb:5:in `boot'"));
    assert_false(is_of_the_application("/usr/lib/ruby/3.1.0/set.rb:5:in `each'"));
    assert_false(is_of_the_application("no line of code"));
    assert_false(is_of_the_application(""));
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_innermost_line_of_the_application_is_to_blame, make, drop),
        cmocka_unit_test_setup_teardown(a_gem_is_known_by_its_folder, make, drop),
        cmocka_unit_test_setup_teardown(a_gem_in_the_applications_folder_is_a_gem, make, drop),
        cmocka_unit_test_setup_teardown(what_bundler_has_from_git_is_a_gem, make, drop),
        cmocka_unit_test_setup_teardown(an_application_in_a_folder_named_gems_is_none, make, drop),
        cmocka_unit_test_setup_teardown(the_longest_folder_counts, make, drop),
        cmocka_unit_test_setup_teardown(the_applications_line_is_known_also_where_a_gem_is_to_blame, make, drop),
        cmocka_unit_test_setup_teardown(where_none_is_to_blame_the_innermost_is_shown, make, drop),
        cmocka_unit_test_setup_teardown(evaluated_code_is_where_it_was_called, make, drop),
        cmocka_unit_test_setup_teardown(relative_paths_are_the_applications, make, drop),
        cmocka_unit_test_setup_teardown(a_path_alone_has_an_owner_too, make, drop),
        cmocka_unit_test_setup_teardown(lines_that_are_none_are_passed_over, make, drop),
        cmocka_unit_test_setup_teardown(a_long_path_is_cut_at_its_beginning, make, drop),
        cmocka_unit_test_setup_teardown(who_sits_at_a_prompt_stalls_nothing, make, drop),
        cmocka_unit_test_setup_teardown(there_is_a_bound_and_memory_may_fail, make, drop),
        cmocka_unit_test_setup_teardown(a_line_is_the_applications_or_not, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
