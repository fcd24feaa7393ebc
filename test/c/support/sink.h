/*
 * sink.h - a client in memory, as a transport for tests of sending. It takes so many bytes in a
 * call, is full after so many calls, and keeps all that it takes. Any thread may send to it. A test
 * reads its fields under its lock, or while no worker sends to it.
 */
#ifndef NB_TEST_SINK_H
#define NB_TEST_SINK_H

#include "support/test.h"
#include "transport/transport.h"

enum { NB_TEST_SINK_THREADS_MAX = 8 };

typedef struct nb_test_sink {
    nb_transport transport;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a thread waits for room, or all ends */
    size_t step;            /* bytes that a call takes at most */
    unsigned calls;         /* calls that it takes until it is full */
    unsigned calls_left;    /* of these; 0: it is full. The next call, or waiting, makes room */
    /* Says that it is full when it takes fewer bytes of a file than it is given, as sendfile(2)
       does. */
    bool tells;
    bool stalled;      /* it makes no room */
    bool aborted;      /* the transport was aborted */
    nb_status failing; /* what each call returns, with ECONNRESET; NB_OK: it works */
    char *taken;
    size_t size, capacity;      /* bytes of `taken`, and the most that there may be */
    unsigned writes, files;     /* calls with memory, and with a file */
    unsigned waits, long_waits; /* times a thread waited for room; of these, without a timeout */
    unsigned more;              /* calls that announced more bytes */
    unsigned in_vain;           /* calls while it was full */
    /* Threads that sent or waited, each once; those beyond the last place are not noted. */
    pthread_t threads[NB_TEST_SINK_THREADS_MAX];
    unsigned thread_count;
    /* Called without the lock after each call that took something; NULL: nothing is. */
    void (*sent)(struct nb_test_sink *);
} nb_test_sink;

/* step: bytes. capacity: bytes in all; a call with more fails the test. The caller frees it with
   nb_test_sink_free when nothing sends to it any more. */
nb_test_sink *nb_test_sink_create(size_t step, unsigned calls, size_t capacity);
void nb_test_sink_free(nb_test_sink *sink);
/* No other thread than the calling one sent or waited, and that one did. */
bool nb_test_sink_used_here(const nb_test_sink *sink);
/* Fails the test unless it has taken `bytes` bytes, which are those of the pattern (pattern.h) from
   its beginning. */
void nb_test_sink_expect_pattern(const nb_test_sink *sink, size_t bytes);

#endif
