/*
 * leaks.c - see leaks.h.
 */
#include "support/leaks.h"

#include <dirent.h>

#include "base/alloc.h"
#include "support/test.h"

unsigned nb_test_descriptors(void) {
    unsigned count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all))
        count++;
    closedir(all);
    return count - 3; /* ".", ".." and this folder's */
}

nb_test_leaks nb_test_leaks_begin(void) { return (nb_test_leaks){nb_alloc_live(), nb_test_descriptors()}; }

int nb_test_leaks_end(const nb_test_leaks *before) {
    const nb_test_leaks now = nb_test_leaks_begin();
    if (now.blocks == before->blocks && now.descriptors == before->descriptors) return 0;
    print_error("%ld blocks and %d descriptors are left\n", now.blocks - before->blocks,
                (int)(now.descriptors - before->descriptors));
    return -1;
}
