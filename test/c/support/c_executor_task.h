/*
 * c_executor_task.h - the inside of a C executor, for its three files only. c_executor_plan.c makes
 * a task of a request, c_executor_parts.c sends what the task answers, and c_executor.c takes
 * messages and runs the tasks. A task is one request that is being answered, as a small state
 * machine. The executor owns its tasks.
 *
 * Threads: all functions are for the executor's thread.
 */
#ifndef NB_TEST_C_EXECUTOR_TASK_H
#define NB_TEST_C_EXECUTOR_TASK_H

#include "files/file_request.h"
#include "poll/poll.h"
#include "support/c_executor.h"

typedef enum nb_test_task_kind {
    NB_TEST_TASK_SEND,   /* sends its body at once */
    NB_TEST_TASK_NAMED,  /* names a file */
    NB_TEST_TASK_HOLD,   /* waits for nb_test_executor_release */
    NB_TEST_TASK_NEVER,  /* waits for GONE */
    NB_TEST_TASK_LATE,   /* waits for the answer of a later request */
    NB_TEST_TASK_ABORT,  /* gives up */
    NB_TEST_TASK_READ,   /* reads its streamed body to the end */
    NB_TEST_TASK_DUPLEX, /* sends as many bytes as it reads */
    NB_TEST_TASK_HIJACK  /* takes the connection */
} nb_test_task_kind;

typedef struct nb_test_task {
    struct nb_test_task *next;
    nb_exchange_id exchange;
    uint64_t number; /* of the request */
    int64_t taken_ns;
    nb_test_task_kind kind;
    uint16_t status, flags;
    uint64_t announced, total, done; /* body bytes: said in the head, to send, sent */
    uint64_t abort_at;               /* gives up there; UINT64_MAX: never */
    uint64_t unacknowledged;         /* bytes sent since the last DRAINED */
    /* the body to send, or the name of the file; NULL: the pattern, or the file */
    char *memory;
    int body_fd; /* a spooled body to send; -1: none */
    int file_fd; /* of NB_NAMED_OPEN; -1: none */
    uint64_t file_bytes;
    uint16_t naming;
    char asked_of_file[NB_FILE_REQUEST_BYTES_MAX]; /* what the request says of it, flat */
    size_t asked_bytes;
    size_t field_bytes; /* of a long field in the head; 0: there is none */
    unsigned hints;     /* 103 responses before it */
    bool hints_late;    /* once its head was sent */
    bool typed;         /* its head has a Content-Type and an ETag */
    bool parks, waits_drained, gone, head_sent, hijack_asked, hijacked;
    uint64_t input, told; /* bytes of a streamed body received, and said to be taken */
    bool reads, asked, input_ended, input_bad;
    struct nb_test_port *port;
} nb_test_task;

/* Its end of one loop's channel. */
typedef struct nb_test_port {
    nb_channel *channel;
    nb_ring_consumer requests;
    nb_ring_producer responses;
    bool published, room, ends;
} nb_test_port;

struct nb_test_executor {
    nb_server *server;
    nb_link *link;
    nb_test_port *ports, *port; /* of each loop; that of the message or task at hand */
    nb_test_executor_options options;
    pthread_t thread;
    nb_poll *poll;
    nb_wake control;
    nb_test_task *tasks;
    /* Requests read from the ring, the requeued ones included; begun with. */
    uint64_t passed, begun, last_answered;
    bool guest;
    _Atomic bool stalled, killed;
    _Atomic unsigned releases, faults, stalls, gone_reason;
    _Atomic nb_exchange_id last; /* the last request begun with */
    _Atomic uint64_t input;
    unsigned released, stalls_seen;
    nb_test_gate events[NB_TEST_EVENTS];
    nb_test_gate go;
    int taken_fd; /* of the connection hijacked last */
    char taken[65536];
    size_t taken_bytes;
    unsigned blocks; /* /block requests so far */
};

#define NB_TEST_EACH_PORT(self) \
    for ((self)->port = (self)->ports; (self)->port < (self)->ports + (self)->link->count; (self)->port++)

/* One more of this event has happened. */
static inline void nb_test_executor_note(nb_test_executor *self, nb_test_event event) {
    nb_test_gate_open(&self->events[event]);
}

/* As fibers are switched: work begins now. 0: it waits. */
static inline void nb_test_executor_stamp(nb_test_executor *self, int64_t now_ns) {
    atomic_store_explicit(&self->link->board->pulse.switched_ns, now_ns, memory_order_relaxed);
}

/* --- c_executor_plan.c --- */

/* The largest number that a path may name: less is for clients that are not the test's own. */
extern uint64_t nb_test_task_number_max;
/* A task that answers the request as its path asks; the caller's, and the caller sets its number,
   time and port. Takes the request's spooled body. */
nb_test_task *nb_test_task_create(const nb_request_message *request);
/* With its files and memory. */
void nb_test_task_free(nb_test_task *t);
/* The task answers with a copy of this text. */
void nb_test_task_keep_text(nb_test_task *t, const char *text);

/* --- c_executor_parts.c --- */

/* It has nothing to send before something else has happened. */
bool nb_test_task_waits(nb_test_executor *self, const nb_test_task *t);
/* Moves one task, whose port is self->port, as far as it goes. True: its last part is sent. */
bool nb_test_task_step(nb_test_executor *self, nb_test_task *t);
/* One 103 response. */
void nb_test_task_send_hints(nb_test_executor *self, const nb_test_task *t);

#endif
