/*
 * guarded.h - memory that ends at a page which traps. A read of one byte too many ends the test,
 * also by a vector instruction.
 */
#ifndef NB_TEST_HTTP1_GUARDED_H
#define NB_TEST_HTTP1_GUARDED_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guarded {
    char *end;
    size_t capacity;
} guarded;

static inline guarded guarded_create(size_t capacity) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t whole = (capacity + page - 1) / page * page;
    char *const memory = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + whole, page, PROT_NONE) != 0) abort();
    return (guarded){memory + whole, whole};
}

static inline void guarded_destroy(guarded *g) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(g->end - g->capacity, g->capacity + page);
}

/* A copy of the bytes that ends at the guarded page. */
static inline char *guarded_place(guarded *g, const char *bytes, size_t size) {
    if (size > g->capacity) abort();
    if (size > 0) memcpy(g->end - size, bytes, size);
    return g->end - size;
}

#endif
