/*
 * pattern.c - see pattern.h.
 */
#include "support/pattern.h"

#include <pthread.h>
#include <string.h>

/* It begins again after so many bytes. */
enum { PERIOD = 251 * 26, RUN = 65536 };

static char repeated[PERIOD + RUN];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make(void) {
    for (size_t i = 0; i < sizeof repeated; i++)
        repeated[i] = nb_test_pattern(i);
}

/* *size bytes of it lie there; fewer than were asked for where those are more than a run. */
static const char *run_from(uint64_t index, size_t *size) {
    pthread_once(&made, make);
    if (*size > RUN) *size = RUN;
    return repeated + index % PERIOD;
}

void nb_test_pattern_copy(char *to, uint64_t index, size_t size) {
    for (size_t done = 0, step; done < size; done += step) {
        step = size - done;
        const char *run = run_from(index + done, &step);
        memcpy(to + done, run, step);
    }
}

bool nb_test_pattern_equal(const char *bytes, uint64_t index, size_t size) {
    for (size_t done = 0, step; done < size; done += step) {
        step = size - done;
        const char *run = run_from(index + done, &step);
        if (memcmp(bytes + done, run, step) != 0) return false;
    }
    return true;
}
