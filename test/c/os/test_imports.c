/*
 * test_imports.c - what one library calls under an imported name is replaced, and what others call
 * is not. The library is cmocka, which imports strcmp.
 */
#include "support/test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "os/imports.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#define OWN "_assert_string_equal"

static nb_function original;
static int calls;

static int counted(const char *left, const char *right) {
    calls++;
    return ((int (*)(const char *, const char *))original)(left, right);
}

static const char *library(void) {
    Dl_info info;
    assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, OWN), &info), 0);
    return info.dli_fname;
}

static void calls_of_the_library_go_to_the_replacement_until_it_is_taken_back(void **state) {
    (void)state;
    const char *const word = getenv("PATH");
    nb_function before = NULL;
    calls = 0;
    assert_status(NB_OK, nb_imports_replace(library(), OWN, "strcmp", (nb_function)counted, &original));
    assert_non_null(original);
    assert_string_equal("word", "word");
    assert_int_equal(calls, 1);
    assert_true(word == NULL || strcmp(word, "no path") != 0); /* the test's own */
    assert_int_equal(calls, 1);

    assert_status(NB_OK, nb_imports_replace(library(), OWN, "strcmp", original, &before));
    assert_string_equal("word", "word");
    assert_int_equal(calls, 1);
    assert_ptr_equal(before, original);
}

static void a_name_is_looked_for_in_that_library_alone(void **state) {
    (void)state;
    nb_function kept = (nb_function)counted;
    assert_status(NB_NOT_FOUND, nb_imports_replace("libnone.so.9", OWN, "strcmp", (nb_function)counted, &kept));
    assert_status(NB_NOT_FOUND, nb_imports_replace(library(), "not_there", "strcmp", (nb_function)counted, &kept));
    assert_status(NB_NOT_FOUND, nb_imports_replace(library(), OWN, "not_there", (nb_function)counted, &kept));
    assert_status(NB_NOT_FOUND, nb_imports_replace(library(), OWN, "socketpair", (nb_function)counted, &kept));
    assert_ptr_equal(kept, counted);
}

#else

static void calls_of_the_library_go_to_the_replacement_until_it_is_taken_back(void **state) {
    (void)state;
    skip();
}

static void a_name_is_looked_for_in_that_library_alone(void **state) {
    (void)state;
    nb_function kept = NULL;
    assert_status(NB_NOT_FOUND, nb_imports_replace("libc", "puts", "strcmp", NULL, &kept));
}

#endif

int main(void) {
    nb_test_alarm(20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_the_library_go_to_the_replacement_until_it_is_taken_back),
        cmocka_unit_test(a_name_is_looked_for_in_that_library_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
