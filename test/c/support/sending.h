/*
 * sending.h - the loop's side of sending, for tests of the algorithms: senders, one send queue that
 * is filled for the next client, and steps of sendings, each on the thread where it is due. Clients
 * are those of sink.h.
 *
 * Threads: all functions are for the test's thread, which is the loop's.
 */
#ifndef NB_TEST_SENDING_H
#define NB_TEST_SENDING_H

#include "send/sending.h"
#include "support/leaks.h"
#include "support/send_queue.h"
#include "support/sink.h"

enum {
    NB_TEST_SENDING_BUFFER = 64, /* bytes of an equal part */
    NB_TEST_SENDING_QUEUE = 100  /* sendings that may wait for a worker */
};

typedef struct nb_test_sendings {
    nb_pool pool;
    nb_senders senders;
    nb_send_queue send_queue;
    uint64_t sent; /* bytes, as the loop has counted them; a test may set it back */
    nb_test_leaks before;
} nb_test_sendings;

/* algorithm: its number. workers: threads; 0: the loop sends everything. */
void nb_test_sendings_open(nb_test_sendings *all, uint16_t algorithm, unsigned workers);
/* For a cmocka teardown: 0, or -1 with a line when something is left. All sendings have ended. */
int nb_test_sendings_close(nb_test_sendings *all);

/* nb_test_queue_memory and nb_test_queue_file (send_queue.h) for the send queue. */
void nb_test_sending_memory(nb_test_sendings *all, size_t from, size_t bytes);
void nb_test_sending_file(nb_test_sendings *all, nb_file *file, size_t offset, size_t bytes);

/* What is in the send queue goes to this client. The caller ends it with nb_sending_end, before it
   frees the sink. */
nb_sending *nb_test_sending_begin(nb_test_sendings *all, nb_test_sink *sink);
/* Waits until a worker has returned this sending. */
void nb_test_sending_await(nb_sending *sending);
/* One step of at most about `most` bytes. The bytes that it sent are added to all->sent. */
nb_step nb_test_sending_step(nb_test_sendings *all, nb_sending *sending, uint64_t most);
/* Steps without a bound, to the end: NB_STEP_DONE or NB_STEP_FAILED. A client that the loop waits
   for has room in the next step. */
nb_step nb_test_sending_drive(nb_test_sendings *all, nb_sending *sending, nb_test_sink *sink);

#endif
