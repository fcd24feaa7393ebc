/*
 * memory.c - see memory.h. glibc alone has to be asked for its free pages: it shrinks a heap from
 * its end only.
 */
#include "os/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/file.h"

#if defined(__APPLE__)
#define MAXRSS_UNIT 1u /* getrusage(2) counts bytes on macOS, kilobytes elsewhere */
#else
#define MAXRSS_UNIT 1024u
#endif

static pthread_mutex_t reserve_lock = PTHREAD_MUTEX_INITIALIZER;
static void *reserve; /* NULL: there is none */
static size_t reserve_bytes;

/* NULL: the system refuses. */
static void *untouched(size_t bytes) {
    void *made = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

bool nb_memory_keep_reserve(size_t bytes) {
    pthread_mutex_lock(&reserve_lock);
    if (!reserve) {
        reserve = untouched(bytes);
        reserve_bytes = bytes;
    }
    bool kept = reserve != NULL;
    pthread_mutex_unlock(&reserve_lock);
    if (kept) nb_alloc_on_refusal(nb_memory_use_reserve);
    return kept;
}

void nb_memory_use_reserve(void) {
    pthread_mutex_lock(&reserve_lock);
    if (reserve) (void)munmap(reserve, reserve_bytes);
    reserve = NULL;
    pthread_mutex_unlock(&reserve_lock);
}

bool nb_memory_has_room(size_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    void *room = untouched(bytes);
    if (room) (void)munmap(room, bytes);
    return room != NULL;
}

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
