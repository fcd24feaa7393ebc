/*
 * assert.c - ends a process that has lost track of its own state: one line on stderr, then
 * abort(3) for the core dump.
 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void nb_assert_failed(const char *expression, const char *file, int line) {
    fprintf(stderr, "neverblock: assertion failed: %s (%s:%d)\n", expression, file, line);
    abort();
}
