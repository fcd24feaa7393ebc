/*
 * fake_page_cache.h - a page cache whose answers a test sets. Includes os/page_cache.c over a
 * preadv2(2) and a preadv(2) of the test, so a program takes it instead of the library's. For one
 * file of a program.
 */
#ifndef NB_TEST_FAKE_PAGE_CACHE_H
#define NB_TEST_FAKE_PAGE_CACHE_H

#include <errno.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum nb_test_pages {
    NB_TEST_PAGES_WARM,        /* all are in memory */
    NB_TEST_PAGES_COLD,        /* those are that were read */
    NB_TEST_PAGES_ALWAYS_COLD, /* none is, whatever was read */
    NB_TEST_PAGES_UNTOLD       /* the file system does not tell */
} nb_test_pages;

static _Atomic nb_test_pages nb_test_pages_are;
/* With NB_TEST_PAGES_COLD: the file is in memory up to here, in bytes. */
static _Atomic uint64_t nb_test_pages_read_until;
/* Times the test's page cache was looked at. */
static _Atomic unsigned nb_test_pages_probes;

/* Each program begins with warm pages. */
static inline void nb_test_pages_set(nb_test_pages pages) {
    atomic_store(&nb_test_pages_are, pages);
    atomic_store(&nb_test_pages_read_until, 0);
}

static ssize_t fake_preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    (void)flags;
    atomic_fetch_add(&nb_test_pages_probes, 1);
    nb_test_pages now = atomic_load(&nb_test_pages_are);
    errno = now == NB_TEST_PAGES_UNTOLD ? EOPNOTSUPP : EAGAIN;
    if (now == NB_TEST_PAGES_UNTOLD || now == NB_TEST_PAGES_ALWAYS_COLD) return -1;
    if (now == NB_TEST_PAGES_COLD && (uint64_t)offset >= atomic_load(&nb_test_pages_read_until)) return -1;
    return preadv(fd, parts, count, offset);
}

static ssize_t noted_preadv(int fd, const struct iovec *parts, int count, off_t offset) {
    ssize_t got = preadv(fd, parts, count, offset);
    if (got > 0 && (uint64_t)(offset + got) > atomic_load(&nb_test_pages_read_until))
        atomic_store(&nb_test_pages_read_until, (uint64_t)(offset + got));
    return got;
}

#define preadv2 fake_preadv2
#define preadv noted_preadv
#include "os/page_cache.c"
#undef preadv2
#undef preadv

#endif
