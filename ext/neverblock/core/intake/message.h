/*
 * message.h - the flat messages that cross a channel (channel.h): requests and notices to an
 * executor, parts of responses back.
 *
 * No pointer crosses. A message is one ring record: a header struct, followed by bytes that it
 * names by offsets from its own start. Both sides are built from this file, so integers are in
 * native byte order. An exchange id names a request and its response: the I/O loop's slot (26
 * bits), the loop's number (6 bits) and the slot's generation (32 bits). A part for a generation
 * that is gone is dropped.
 */
#ifndef NB_INTAKE_MESSAGE_H
#define NB_INTAKE_MESSAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t nb_exchange_id;

#define NB_EXCHANGE_SLOT_BITS 26u

static inline uint32_t nb_exchange_id_slot(nb_exchange_id id) {
    return (uint32_t)id & ((1u << NB_EXCHANGE_SLOT_BITS) - 1);
}
static inline uint16_t nb_exchange_id_loop(nb_exchange_id id) {
    return (uint16_t)((uint32_t)id >> NB_EXCHANGE_SLOT_BITS);
}

/* The number of a request that no route of the configuration matches (dispatch/routes.h). */
#define NB_ROUTE_NONE 0u

typedef struct nb_span { /* bytes of the same message */
    uint32_t offset, size;
} nb_span;

typedef struct nb_message {
    uint16_t type; /* nb_message_type */
    uint16_t flags;
    uint32_t bytes; /* of the whole message */
    nb_exchange_id exchange;
} nb_message;

typedef enum nb_message_type {
    /* I/O loop to executor */
    NB_MESSAGE_REQUEST = 1, /* nb_request_message; uses one credit */
    /* nb_message: the backlog of the response fell to the low mark, a parked writer may go on. */
    NB_MESSAGE_DRAINED = 2,
    /* nb_message: the client is gone, or the response was cut. Further parts are dropped. The
       exchange ends when the executor has sent its last part. The flags are an nb_gone_reason. */
    NB_MESSAGE_GONE = 3,
    /* nb_message, exchange 0: no request will come any more, and what is still written is not read.
       The executor ends when it has no request left. The flags are an nb_stop: a STOP with
       NB_STOP_NOW may follow one with NB_STOP_LAST. */
    NB_MESSAGE_STOP = 4,
    /* nb_message: the client has finished sending while its response is under way. Mostly it has
       closed, and GONE follows once something is written. A half-closed client still reads. */
    NB_MESSAGE_LEFT = 5,
    /* nb_message + bytes of the body of a request with NB_REQUEST_STREAMS; NB_INPUT_LAST. */
    NB_MESSAGE_INPUT = 6,
    /* nb_hijacked_message: the answer to HIJACK. The connection is the application's, and nothing
       more comes for the exchange. */
    NB_MESSAGE_HIJACKED = 7,
    /* nb_message, exchange 0: the worker retires. It gets no further request and ends with its last
       one. */
    NB_MESSAGE_RETIRE = 8,
    /* nb_message: an operator has cancelled the request. Its application is interrupted where it
       waits, and still answers. */
    NB_MESSAGE_CANCEL = 9,
    /* executor to I/O loop */
    NB_MESSAGE_RESPONSE = 17, /* nb_response_message: head, and the first or only body bytes */
    NB_MESSAGE_BODY = 18,     /* nb_message + body bytes */
    /* nb_taken_message: the application reads its streamed body; not a part of a response. */
    NB_MESSAGE_TAKEN = 19,
    /* nb_message: the executor wants the connection. HIJACKED (or GONE) follows when all responses
       before, and the head sent for this exchange, have left. Then the executor sends its last
       part, empty. */
    NB_MESSAGE_HIJACK = 20,
    /* nb_named_message: a whole response whose body is a file. The loop decides status, head and
       ranges (responses/file_response.h). */
    NB_MESSAGE_NAMED = 21,
    /* nb_message + complete field lines of a 103 response (RFC 8297); not a part of a response.
       Dropped once the response has begun. */
    NB_MESSAGE_HINTS = 22,
} nb_message_type;

/* Flags of a response part. */
enum {
    /* The response ends with this part, and the exchange is over for the executor. */
    NB_PART_LAST = 1,
    /* With LAST: the body could not be completed. The connection must be cut, never ended
       cleanly. */
    NB_PART_ABORTED = 2,
    /* The writer will park: DRAINED is to follow when the backlog has fallen to the low mark. */
    NB_PART_TELL_DRAINED = 4,
};

/* Flags of a request. */
enum {
    NB_REQUEST_STREAMS = 1,     /* its body follows in NB_MESSAGE_INPUT messages */
    NB_REQUEST_CANCELLABLE = 2, /* GONE interrupts it where it waits (cancel_on_disconnect) */
    /* It asks for another protocol: Upgrade, named by Connection (RFC 9110 section 7.8). */
    NB_REQUEST_UPGRADES = 4,
    NB_REQUEST_REVOCABLE = 8, /* CANCEL may come */
};

/* Flag of an INPUT message: the body ends with it. */
enum { NB_INPUT_LAST = 1 };

/* How an executor ends, from the gentlest on. */
typedef enum nb_stop {
    NB_STOP_NONE,
    NB_STOP_LAST, /* with its last request */
    NB_STOP_NOW,  /* the same, and what runs is interrupted where it waits */
} nb_stop;

/* Why a request is GONE. Except for NB_GONE_CLIENT, the client has its answer from the server. */
typedef enum nb_gone_reason {
    NB_GONE_CLIENT,    /* the client is gone, or the response was cut */
    NB_GONE_TOO_LARGE, /* its streamed body grew past the limit */
    NB_GONE_TOO_SLOW,  /* its streamed body came too slowly */
    NB_GONE_INVALID,   /* its streamed body broke the rules of HTTP */
    NB_GONE_SHORT,     /* the client stopped before its streamed body was whole */
    NB_GONE_HIJACKED,  /* never sent; an executor treats HIJACKED like this for a streamed body */
} nb_gone_reason;

typedef struct nb_request_header {
    nb_span name, value;
    uint32_t field; /* nb_field */
    uint32_t pad;
} nb_request_header;

/*
 * Which side has the request. An executor takes it when it reaches its record. Until then the I/O
 * loop may requeue it for another executor that is free sooner. The first to change NONE has the
 * request (compare and exchange). An executor passes over a requeued one and closes its
 * descriptor. BEGUN is set by the executor just before it calls the application. When a process
 * has ended, requests that are not BEGUN can be run by another.
 */
typedef enum nb_claim { NB_CLAIM_NONE, NB_CLAIM_TAKEN, NB_CLAIM_BEGUN, NB_CLAIM_REQUEUED } nb_claim;

typedef struct nb_request_message {
    nb_message message;
    /* CLOCK_MONOTONIC: when it was complete, with its head or with the body that was waited for. */
    int64_t arrived_ns;
    /* How long its head took to come, from its first byte, and its body, if that was waited for. */
    int64_t head_ns, body_ns;
    /* CLOCK_MONOTONIC: when the application must have returned its head; 0: no limit. */
    int64_t deadline_ns;
    /* An unlinked file with the body, owned by the receiver; -1: the body is in `body`. */
    int64_t body_fd;
    uint64_t body_bytes; /* of the whole body, decoded; UINT64_MAX: streamed in chunks, not known */
    uint16_t method;     /* nb_method */
    uint8_t minor_version;
    uint8_t has_body; /* the request was framed with a body, even an empty one */
    uint16_t peer_port;
    uint16_t listener; /* number of the listener that accepted it */
    uint16_t route;    /* number in the table of routes, which both sides have; NB_ROUTE_NONE */
    uint16_t pad;
    _Atomic uint32_t claim; /* nb_claim */
    uint32_t header_count;
    nb_span method_text, target, path, query;
    nb_span host; /* the authority that counts, from an absolute target or from Host */
    nb_span peer_address;
    nb_span client; /* what a client of TLS has shown (transport/transport.h) */
    nb_span tls;    /* what is logged of TLS (metrics/request_log.h); empty: nothing */
    nb_span body;
    nb_request_header headers[];
} nb_request_message;

/* Flags of nb_response_message.message.flags, beside the NB_PART_ ones. */
enum {
    NB_RESPONSE_CLOSE = 256,       /* the application asked for Connection: close */
    NB_RESPONSE_HAS_DATE = 512,    /* its field lines have a Date */
    NB_RESPONSE_HAS_LENGTH = 1024, /* it announced content_length itself */
    /* HIJACK follows the head; no body is framed, status 101 is allowed. */
    NB_RESPONSE_HANDOVER = 2048,
    NB_RESPONSE_EXPIRED = 4096, /* 503: the request has expired */
};

typedef struct nb_response_message {
    nb_message message;
    uint64_t content_length; /* NB_CONTENT_LENGTH_UNKNOWN, or the bytes of all parts together */
    int64_t taken_ns;        /* CLOCK_MONOTONIC: when the executor took the request; 0: not said */
    uint16_t status;
    uint16_t pad;
    /* Field lines follow this struct; body bytes follow them to the end of the message. */
    uint32_t fields_bytes;
} nb_response_message;

typedef struct nb_taken_message {
    nb_message message;
    uint64_t bytes; /* bytes of its body taken in all; 0: it waits for the first */
} nb_taken_message;

/* How a response names the file that is its body. */
typedef enum nb_naming {
    /* By a descriptor, which the I/O loop then owns: the application chose the file (to_path). */
    NB_NAMED_OPEN,
    NB_NAMED_SENDFILE, /* by an absolute path in a root that X-Sendfile may name */
    NB_NAMED_ACCEL,    /* by the path of X-Accel-Redirect, as in a URL */
} nb_naming;

/* Bytes of a path that names a file: PATH_MAX. */
#define NB_NAMED_PATH_BYTES_MAX 4096u

/* Bytes of a download's id, as the application gives it (X-Download-Id). */
#define NB_REPORT_ID_BYTES_MAX 128u

typedef struct nb_named_message {
    /* Of type NB_MESSAGE_NAMED, with NB_PART_LAST. content_length: what the application
       announced. */
    nb_response_message response;
    int64_t fd;           /* with NB_NAMED_OPEN, else -1 */
    uint64_t size;        /* of that file */
    int64_t modified_ns;  /* modification time of that file, since 1970 */
    uint16_t naming;      /* nb_naming */
    uint16_t conditional; /* 1: conditions and ranges of the request apply */
    uint32_t path_bytes, request_bytes;
    uint32_t id_bytes; /* of the download's id (X-Download-Id); 0: none */
    /* field lines, path, id and the facts of the request (files/file_request.h, flat form)
       follow */
} nb_named_message;

/* True: the lengths of what follows the struct fit a record of `bytes`. */
bool nb_named_message_fits(const nb_named_message *named, size_t bytes);
/* Closes the descriptor of a message that is not sent. */
void nb_named_message_drop(const nb_named_message *named);

typedef struct nb_hijacked_message {
    nb_message message;
    int64_t fd;    /* owned by the receiver */
    uint64_t size; /* bytes already read from the connection follow this struct */
} nb_hijacked_message;

/* True: the caller has the request. */
static inline bool nb_request_claim(nb_request_message *request, nb_claim claim) {
    uint32_t expected = NB_CLAIM_NONE;
    return atomic_compare_exchange_strong_explicit(&request->claim, &expected, claim, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* For the executor, just before it calls the application. The record must not have been released to
   the ring. */
static inline void nb_request_begin(nb_request_message *request) {
    atomic_store_explicit(&request->claim, NB_CLAIM_BEGUN, memory_order_release);
}

#endif
