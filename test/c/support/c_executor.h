/*
 * c_executor.h - an executor in C: a thread at the other end of a channel that answers requests by
 * their path, where the Ruby executor calls an application. So a whole server runs in one C
 * program, under any sanitizer.
 *
 *   /hello          200 "hello"
 *   /big/N          N bytes of nb_test_pattern with Content-Length, in parts, parking at the
 *                   backlog's high mark
 *   /chunked/N      the same, its length unknown to the server
 *   /lump/N         the same, without ever parking: only a full ring stops it
 *   /file/N         an open file of N bytes of the pattern, with the conditions and ranges of the
 *                   request; /fileshort/N: it is a byte too short
 *   /sendfile/PATH  names the file /PATH as X-Sendfile does; /accel/PATH as X-Accel-Redirect does;
 *                   either with the query of the request
 *   /hold           answered "held" after nb_test_executor_release, or GONE
 *   /never          ends with GONE alone
 *   /late           answered "late" once a request that came after it was answered
 *   /hijack         takes the connection (nb_test_executor_taken); /hijackhead: after a head of
 *                   status 101
 *   /block          keeps the executor's thread itself until nb_test_executor_unblock
 *   /abort          announces 100 bytes, sends 10, gives up; /abortchunked, /aborthead (before any
 *                   byte)
 *   /close          as /hello, asking for Connection: close
 *   /short, /long   announce 10 bytes and send 5; announce 5 and send 10
 *   /hints          as /hold, behind two 103 responses; /hints/N answered "hinted" at once behind N
 *   /hintslate      300,000 bytes of the pattern, hints behind its head
 *   /status/N       that status, no body
 *   /fields/N       as /hello with a field of N bytes
 *   /route...       200 with the number of its route
 * With a streamed body (a route with stream_input) all of them answer without reading it, but:
 *   /count          "N good" when the body of N bytes was whole and the pattern's, else "N bad"
 *   /slow           the same; takes nothing until nb_test_executor_release
 *   /duplex         the pattern in chunks, as many bytes of it as were read of the body, while
 *                   they are read
 *   /headfirst      the same, its head sent before anything is read
 *   /silent         reads nothing and answers nothing until nb_test_executor_release
 *
 *   anything else   200 with the request's body
 *
 * A request with Accept-Encoding is answered with a Content-Type (text/plain) and a strong ETag
 * ("c").
 */
#ifndef NB_TEST_C_EXECUTOR_H
#define NB_TEST_C_EXECUTOR_H

#include "server/server.h"
#include "support/test.h"

typedef struct nb_test_executor nb_test_executor;

typedef struct nb_test_executor_options {
    /* Runs the I/O loop's turns while it waits, where the server allows it (loop/lease.h). */
    bool guest;
    /* The same, never sleeping, as one that holds a lock others want (nb_server_guest_turn). */
    bool locked;
    uint32_t credit;       /* 0: what the server says */
    uint64_t backlog_high; /* 0: what the server says */
} nb_test_executor_options;

/* What has happened so far; each is a gate a test can wait at. */
typedef enum nb_test_event {
    NB_TEST_RECEIVED, /* requests begun with */
    NB_TEST_ANSWERED, /* last parts sent */
    NB_TEST_GONE,
    NB_TEST_LEFT,
    NB_TEST_CANCELLED, /* CANCEL received for a request that is not answered */
    NB_TEST_HIJACKED,  /* connections taken */
    NB_TEST_DRAINED,
    NB_TEST_PARKED,      /* writers that wait for DRAINED */
    NB_TEST_FULL,        /* times the response ring was found full */
    NB_TEST_BLOCKED,     /* /block requests that hold the thread, and stalls begun */
    NB_TEST_GUEST,       /* times a turn was run as guest */
    NB_TEST_REFUSED,     /* times that was refused */
    NB_TEST_STOPPED,     /* STOP received */
    NB_TEST_RETIRED,     /* RETIRE received */
    NB_TEST_PASSED_OVER, /* requests found requeued */
    NB_TEST_INPUT,       /* parts of streamed bodies received */
    NB_TEST_UPGRADES,    /* requests that ask for another protocol */
    NB_TEST_WHOLE,       /* streamed bodies received to their end */
    NB_TEST_EVENTS
} nb_test_event;

/* After nb_server_start. channel: one that nb_server_channel_add gave. */
nb_test_executor *nb_test_executor_start(nb_server *server, nb_channel *channel,
                                         const nb_test_executor_options *options);
/* The same, in the calling process, until it ends. channel: one that was attached to. */
void nb_test_executor_run(nb_channel *channel, const nb_test_executor_options *options);
/* Takes no more from its ring and asks for nothing until it is told to go on: an executor whose
   thread is busy. */
void nb_test_executor_stall(nb_test_executor *executor, bool stalled);
/* Lets the /hold requests go that are there. */
void nb_test_executor_release(nb_test_executor *executor);
/* Lets one /block go, be it there or still to come. */
void nb_test_executor_unblock(nb_test_executor *executor);
/* Ends the thread as soon as it looks, whatever it still has to do, as a killed Ruby thread does;
   that of a worker without a word, as a killed process does. */
void nb_test_executor_kill(nb_test_executor *executor);
/* The thread has ended (after STOP, or killed), bounded by the test's alarm; frees it. */
void nb_test_executor_join(nb_test_executor *executor);

unsigned nb_test_executor_count(nb_test_executor *executor, nb_test_event event);
/* Waits until that many have happened. */
void nb_test_executor_await(nb_test_executor *executor, nb_test_event event, unsigned count);
/* Bytes of streamed bodies received so far; the nb_gone_reason of the last GONE. */
uint64_t nb_test_executor_input(nb_test_executor *executor);
unsigned nb_test_executor_gone_reason(nb_test_executor *executor);
/* The last request that it has begun with. */
nb_exchange_id nb_test_executor_last(nb_test_executor *executor);
/* The connection taken last, now the caller's, and what had been read of it: *size bytes, at most
   65536. */
int nb_test_executor_taken(nb_test_executor *executor, char *bytes, size_t *size);
/* A message that breaks the contract was seen: a second DRAINED without a request for one, a GONE
   or DRAINED for an exchange it has not. */
unsigned nb_test_executor_faults(nb_test_executor *executor);

/* When its files were modified. */
#define NB_TEST_MODIFIED_S INT64_C(1700000000)

#endif
