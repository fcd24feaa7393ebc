/*
 * open_files.c - nanoseconds of CPU to find the file a request names: what every request pays where
 * files are served.
 *
 *   make -C test/c lib SAN=none OPT=-O2 DEFS= MODULES="base os http http1 files"
 *   gcc -O2 -std=c11 -D_GNU_SOURCE -Iext/neverblock/core benchmark/c/open_files.c \
 *       "$(make -sC test/c path SAN=none MODULES="base os http http1 files")" -pthread -o build/c/open_files && build/c/open_files
 *
 * Prints the median and the spread of nine runs of at least 20 ms each. The claims: a file in
 * demand costs well under 100 ns in the turn in which it was looked at, and one cheap system call
 * in the next; a path whose first name is not in the folder costs one fstat(2) a turn, one that is
 * no file's but begins with the name of a folder as much as one stat(2); a cold opening, with its
 * three precompressed siblings looked for, is a few microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#include "files/open_files.h"
#include "files/top_names.h"

#define RUNS 9
#define RUN_NS 20000000

static nb_open_files *files;
static nb_cache_rules rules;
static int64_t turn_ns = 5000000000;
static char folder[] = "/tmp/neverblock-benchmark-XXXXXX";
static const char *target;
static long asked_workers;

static int64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void decode(void) {
    static nb_file_path path;
    if (nb_file_path_decode(nb_slice_of(target, strlen(target)), &path) != NB_OK) abort();
}

/* What a worker does, and the loop when it is back; once, for what is not in memory yet. */
static void open_by_worker(const nb_file_path *path) {
    static nb_opening opening;
    nb_file *file;
    nb_open_files_begin(files, 0, path, &opening);
    nb_opening_run(&opening);
    if (nb_open_files_enter(files, &opening, turn_ns, &file) == NB_OK) nb_file_release(file);
}

static void find(void) {
    static nb_file_path path;
    nb_file *file;
    if (nb_file_path_decode(nb_slice_of(target, strlen(target)), &path) != NB_OK) abort();
    nb_status status = nb_open_files_find(files, 0, &path, turn_ns, &file);
    if (status == NB_OK) nb_file_release(file);
    if (status == NB_AGAIN) {
        asked_workers++;
        open_by_worker(&path);
    }
}

static void find_in_next_turn(void) {
    turn_ns++;
    find();
}

static void find_closed(void) {
    turn_ns++;
    nb_open_files_shrink(files, 0);
    find();
}

static void stat_whole_path(void) {
    static char path[4096];
    struct stat found;
    snprintf(path, sizeof path, "%s%s", folder, target);
    (void)!stat(path, &found);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(const char *name, const char *path, void work(void)) {
    double runs[RUNS];
    target = path;
    work();
    asked_workers = 0;
    for (int run = 0; run < RUNS; run++) {
        long count = 0;
        const int64_t start = cpu_ns();
        int64_t end = start;
        while (end - start < RUN_NS) {
            for (int i = 0; i < 100; i++)
                work();
            count += 100;
            end = cpu_ns();
        }
        runs[run] = (double)(end - start) / (double)count;
    }
    qsort(runs, RUNS, sizeof *runs, ascending);
    printf("%-44s %-32s %8.1f ns  (%.1f-%.1f)", name, path, runs[RUNS / 2], runs[0], runs[RUNS - 1]);
    puts(asked_workers > 0 ? "  with workers" : "");
}

static void make_file(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, "x", 1) != 1) abort();
    close(fd);
}

int main(void) {
    static const char asset[] = "/assets/application-6d58c9e6.js";
    nb_mime *mime;
    uint16_t root;
    char assets[4096];
    if (!mkdtemp(folder)) abort();
    snprintf(assets, sizeof assets, "%s/assets", folder);
    if (mkdir(assets, 0755) < 0) abort();
    make_file("assets/application-6d58c9e6.js");
    make_file("404.html");
    sleep(NB_TOP_NAMES_SETTLED_S + 1); /* until then the folder's names are not listed */
    if (nb_mime_create(&mime) != NB_OK || nb_open_files_create(1024, mime, &rules, &files) != NB_OK) abort();
    if (nb_open_files_add_root(files, folder, NB_SYMLINKS_INSIDE, false, &root) != NB_OK) abort();
    measure("decode the path", asset, decode);
    measure("find, looked at in this turn", asset, find);
    measure("find, in the next turn", asset, find_in_next_turn);
    measure("find, when it is not open", asset, find_closed);
    measure("find nothing again in this turn", "/articles/17", find);
    measure("find nothing, in the next turn", "/articles/17", find_in_next_turn);
    measure("find nothing in a folder, in the next turn", "/assets/none.js", find_in_next_turn);
    measure("stat(2) of the whole path, beside it", asset, stat_whole_path);
    measure("stat(2) of nothing, beside it", "/articles/17", stat_whole_path);
    nb_open_files_destroy(files);
    nb_mime_destroy(mime);
    snprintf(assets, sizeof assets, "rm -rf %s", folder);
    return system(assets);
}
