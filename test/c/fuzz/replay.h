/*
 * replay.h - runs a fuzz target over every kept input, its corpus and each crash there ever was,
 * without libFuzzer.
 */
#ifndef NB_TEST_FUZZ_REPLAY_H
#define NB_TEST_FUZZ_REPLAY_H

#include "support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

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

#endif
