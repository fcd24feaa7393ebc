/*
 * mold.h - real processes for tests of a front: a process forked while the test has one thread,
 * which forks others on demand, as the mold of NeverBlock does. All end with the test, however it
 * ends.
 */
#ifndef NB_TEST_MOLD_H
#define NB_TEST_MOLD_H

#include <sys/types.h>

#include "intake/channel.h"
#include "support/c_executor.h"

typedef struct nb_test_mold {
    pid_t pid;
    int control, descriptors;
} nb_test_mold;

/* Before the test has a second thread. */
nb_test_mold nb_test_mold_start(void);
void nb_test_mold_end(nb_test_mold *mold);
/* A process that runs a C executor on the channel until that is stopped. The front's copies of what
   only it needs are closed. */
pid_t nb_test_mold_worker(nb_test_mold *mold, nb_channel *channel);
/* A process that does nothing. */
pid_t nb_test_mold_idler(nb_test_mold *mold);
/* Waits for the end of one of them: its status as waitpid(2) has it. */
int nb_test_mold_wait(nb_test_mold *mold, pid_t pid);

#endif
