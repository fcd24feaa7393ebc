/*
 * dispatch.h - sets up and tears down the dispatch of a test, with what it is made of.
 */
#ifndef NB_TEST_DISPATCH_H
#define NB_TEST_DISPATCH_H

#include "base/alloc.h"
#include "dispatch/dispatch.h"
#include "support/leaks.h"
#include "support/test.h"

/* live, descriptors: how many there were before. Returns 0, or -1 with a line when some are left,
   for a cmocka teardown. */
static inline void nb_test_dispatch_open(nb_dispatch *dispatch, nb_exchanges *exchanges, nb_wake *wake,
                                         uint32_t waiting_max, long *live, unsigned *descriptors) {
    *live = nb_alloc_live();
    *descriptors = nb_test_descriptors();
    assert_status(NB_OK, nb_wake_init(wake));
    nb_exchanges_init(exchanges);
    nb_dispatch_init(dispatch, exchanges, waiting_max);
}

/* live, descriptors: how many there were before. Returns 0, or -1 with a line when some are left,
   for a cmocka teardown. */
static inline int nb_test_dispatch_close(nb_dispatch *dispatch, nb_exchanges *exchanges, nb_wake *wake, long live,
                                         unsigned descriptors) {
    nb_dispatch_deinit(dispatch);
    nb_exchanges_deinit(exchanges);
    nb_wake_deinit(wake);
    if (live == nb_alloc_live() && descriptors == nb_test_descriptors()) return 0;
    print_error("%ld blocks and %d descriptors are left\n", nb_alloc_live() - live,
                (int)(nb_test_descriptors() - descriptors));
    return -1;
}

#endif
