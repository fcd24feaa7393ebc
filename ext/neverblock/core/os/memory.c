/*
 * memory.c - see memory.h. glibc alone has to be asked for its free pages: it shrinks a heap from its end only.
 */
#include "os/memory.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/file.h"

#if defined(__APPLE__)
#define MAXRSS_UNIT 1u /* getrusage(2) counts bytes there, kilobytes elsewhere */
#else
#define MAXRSS_UNIT 1024u
#endif

#if defined(__GLIBC__)

#include <malloc.h>

void nb_memory_trim(void) { (void)malloc_trim(0); }

#else

void nb_memory_trim(void) {}

#endif

static uint64_t most_ever(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * MAXRSS_UNIT : 0;
}

uint64_t nb_memory_resident_bytes(void) {
    char line[128];
    if (!nb_file_read_text("/proc/self/statm", line, sizeof(line))) return most_ever();
    char *at;
    (void)strtoull(line, &at, 10); /* the first number is the virtual size */
    uint64_t pages = strtoull(at, NULL, 10);
    return pages ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : most_ever();
}
