/*
 * send_queue.h - fills a send queue of a test with bytes of the pattern (pattern.h). What cannot be
 * had fails the test.
 */
#ifndef NB_TEST_SEND_QUEUE_H
#define NB_TEST_SEND_QUEUE_H

#include "send/send_queue.h"

/* A file of so many bytes of the pattern; the caller's. */
nb_file *nb_test_queue_new_file(size_t bytes);
/* Adds `bytes` bytes of memory: those of the pattern from byte `from` on. */
void nb_test_queue_memory(nb_send_queue *queue, nb_pool *pool, size_t from, size_t bytes);
/* Adds `bytes` bytes of the file from byte `offset` on, sent by the default algorithm. Takes the
   caller's hold of the file. */
void nb_test_queue_file(nb_send_queue *queue, nb_file *file, size_t offset, size_t bytes);

#endif
