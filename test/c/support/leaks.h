/*
 * leaks.h - what a test must give back: blocks of base/alloc.h and descriptors of this process.
 */
#ifndef NB_TEST_LEAKS_H
#define NB_TEST_LEAKS_H

/* Descriptors that this process has open. */
unsigned nb_test_descriptors(void);

/* What there was at one moment. */
typedef struct nb_test_leaks {
    long blocks;
    unsigned descriptors;
} nb_test_leaks;

nb_test_leaks nb_test_leaks_begin(void);
/* For a cmocka teardown. Returns 0, or -1 with a line on standard error when there is more or less
   than there was. */
int nb_test_leaks_end(const nb_test_leaks *before);

#endif
