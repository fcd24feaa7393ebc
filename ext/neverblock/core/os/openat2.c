/*
 * openat2.c - see openat2.h; openat2(2).
 */
#include "os/openat2.h"

#include <errno.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/openat2.h>)
#define NB_WITH_OPENAT2 1
#endif
#endif

#if NB_WITH_OPENAT2

#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif

static pthread_once_t probed = PTHREAD_ONCE_INIT;
static nb_openat2_answer answer;

static int call(int folder, const char *path, uint64_t flags, uint64_t resolve) {
    const struct open_how how = {.flags = flags, .resolve = resolve};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

static bool works(uint64_t resolve) {
    int fd = call(AT_FDCWD, "/", O_PATH | O_CLOEXEC, resolve);
    if (fd >= 0) close(fd);
    return fd >= 0 || errno == EAGAIN;
}

static void probe(void) {
    if (!works(RESOLVE_NO_MAGICLINKS)) return;
    answer = works(RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED) ? NB_OPENAT2_KNOWS_CACHED : NB_OPENAT2_PLAIN;
}

nb_openat2_answer nb_openat2_probe(void) {
    pthread_once(&probed, probe);
    return answer;
}

int nb_openat2(int folder, const char *path, nb_symlinks symlinks, bool cached) {
    static const uint64_t policies[] = {
        [NB_SYMLINKS_INSIDE] = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        [NB_SYMLINKS_OWNER] = RESOLVE_NO_SYMLINKS,
        [NB_SYMLINKS_FOLLOW] = RESOLVE_NO_MAGICLINKS,
    };
    uint64_t resolve = policies[symlinks] | (cached ? RESOLVE_CACHED : 0);
    return call(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, resolve);
}

#else

nb_openat2_answer nb_openat2_probe(void) { return NB_OPENAT2_ABSENT; }

int nb_openat2(int folder, const char *path, nb_symlinks symlinks, bool cached) {
    (void)folder, (void)path, (void)symlinks, (void)cached;
    errno = ENOSYS;
    return -1;
}

#endif
