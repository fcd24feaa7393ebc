/*
 * test_fuzz_replay.c - runs the fuzz targets over every kept input, the corpora and each crash there ever was, without libFuzzer.
 */
#include "support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#define NB_FUZZ_ENTRY fuzz_head
#include "fuzz/fuzz_head.c"
#undef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY fuzz_framing
#include "fuzz/fuzz_framing.c"
#undef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY fuzz_chunked
#include "fuzz/fuzz_chunked.c"
#undef NB_FUZZ_ENTRY

static void replay_file(const char *path, int (*target)(const uint8_t *, size_t)) {
    static uint8_t bytes[1 << 20];
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    print_message("%s\n", path); /* the last one printed is the one that failed */
    assert_int_equal(target(bytes, size), 0);
}

static int replay_folder(const char *folder, int (*target)(const uint8_t *, size_t)) {
    int files = 0;
    DIR *const dir = opendir(folder);
    if (dir == NULL) return 0;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[1024];
        struct stat about;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || stat(path, &about) != 0 || !S_ISREG(about.st_mode)) continue;
        replay_file(path, target);
        files++;
    }
    closedir(dir);
    return files;
}

/* Run from test/c (by `make check`) or from the root of the repository. */
static void replay(const char *name, int (*target)(const uint8_t *, size_t)) {
    static const char *const roots[] = {"fuzz", "test/c/fuzz"};
    int corpus = 0;
    for (size_t i = 0; i < 2 && corpus == 0; i++) {
        char folder[512];
        snprintf(folder, sizeof folder, "%s/corpus/%s", roots[i], name);
        corpus = replay_folder(folder, target);
        snprintf(folder, sizeof folder, "%s/crashes/%s", roots[i], name);
        replay_folder(folder, target);
    }
    assert_in_range(corpus, 10, 100000); /* an empty corpus is a wrong folder */
}

static void test_kept_inputs_of_the_head_hold(void **state) {
    (void)state;
    replay("head", fuzz_head);
}

static void test_kept_inputs_of_the_framing_hold(void **state) {
    (void)state;
    replay("framing", fuzz_framing);
}

static void test_kept_inputs_of_the_chunked_coding_hold(void **state) {
    (void)state;
    replay("chunked", fuzz_chunked);
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_inputs_of_the_head_hold),
        cmocka_unit_test(test_kept_inputs_of_the_framing_hold),
        cmocka_unit_test(test_kept_inputs_of_the_chunked_coding_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
