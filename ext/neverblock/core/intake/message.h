/*
 * message.h - the flat messages that cross a channel (channel.h): requests and news to an executor, response parts
 * back.
 *
 * No pointer crosses: a message is one ring record, a header struct followed by bytes it names by offsets from its own
 * start. Both sides are built from this file, so integers are in native order. An exchange id names a request and its
 * response: the I/O loop's slot (26 bits), the loop's number (6 bits) and that slot's generation (32 bits); a part for a
 * generation that is gone is dropped.
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

/* A request that no route of the configuration takes (dispatch/routes.h). */
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
    NB_MESSAGE_DRAINED = 2, /* nb_message: the response's backlog fell to the low mark; a parked writer may go on */
    /* nb_message: the client is gone, or the response was cut. Further parts are dropped; the exchange ends when the executor
       has sent its last part. Its flags are an nb_gone_reason. */
    NB_MESSAGE_GONE = 3,
    /* nb_message, exchange 0: no request will come any more, and nobody reads what is still written; the executor ends when
       it has none left. */
    NB_MESSAGE_STOP = 4,
    /* nb_message: the client has finished sending while its response is under way. Mostly it has closed, and GONE comes once something is
       written; a half-closed client still reads. */
    NB_MESSAGE_LEFT = 5,
    NB_MESSAGE_INPUT = 6, /* nb_message + bytes of the body of a request with NB_REQUEST_STREAMS; NB_INPUT_LAST */
    /* nb_hijacked_message: the answer to HIJACK. The connection is no longer ours; nothing more comes for its exchange. */
    NB_MESSAGE_HIJACKED = 7,
    /* nb_message, exchange 0: no request will come any more, those that run go on; the executor ends when it has none left. */
    NB_MESSAGE_RETIRE = 8,
    /* executor to I/O loop */
    NB_MESSAGE_RESPONSE = 17, /* nb_response_message: head, and the first or only body bytes */
    NB_MESSAGE_BODY = 18,     /* nb_message + body bytes */
    NB_MESSAGE_TAKEN = 19,    /* nb_taken_message: the application reads its streamed body; no part of a response */
    /* nb_message: the executor wants the connection. When all responses before, and the head sent for this exchange, have
       left, HIJACKED is told (or GONE). Then the executor sends its last part, empty. */
    NB_MESSAGE_HIJACK = 20,
    /* nb_named_message: a whole response whose body is a file; the loop decides its status, head and ranges (answers/file_answer.h) */
    NB_MESSAGE_NAMED = 21,
    /* nb_message + field lines of a 103 response (RFC 8297), each complete; no part of a response. Dropped once the response has begun. */
    NB_MESSAGE_HINTS = 22,
} nb_message_type;

/* Flags of a response part. */
enum {
    /* The response ends with this part; the exchange is over for the executor. */
    NB_PART_LAST = 1,
    /* With LAST: the body could not be finished; the connection must be cut, never ended cleanly. */
    NB_PART_ABORTED = 2,
    /* The writer will park: answer NB_MESSAGE_DRAINED when the backlog has fallen to the low mark. */
    NB_PART_TELL_DRAINED = 4,
};

/* Flags of a request. */
enum {
    NB_REQUEST_STREAMS = 1,     /* its body follows in NB_MESSAGE_INPUT messages */
    NB_REQUEST_CANCELLABLE = 2, /* GONE ends it where it waits (cancel_on_disconnect) */
    NB_REQUEST_UPGRADES = 4,    /* it asks for another protocol: Upgrade, named by Connection (RFC 9110 section 7.8) */
};

/* Flag of an input: the body ends with it. */
enum { NB_INPUT_LAST = 1 };

/* Why a request is GONE. The client of any but the first has had its answer from the server. */
typedef enum nb_gone_reason {
    NB_GONE_CLIENT,    /* the client is gone, or the response was cut */
    NB_GONE_TOO_LARGE, /* its streamed body grew past the limit */
    NB_GONE_TOO_SLOW,  /* its streamed body came too slowly */
    NB_GONE_INVALID,   /* its streamed body broke the rules of HTTP */
    NB_GONE_SHORT,     /* the client stopped before its streamed body was whole */
    NB_GONE_HIJACKED,  /* never sent: to an executor HIJACKED means the same for a streamed body */
} nb_gone_reason;

typedef struct nb_request_header {
    nb_span name, value;
    uint32_t field; /* nb_field */
    uint32_t pad;
} nb_request_header;

/*
 * Who has the request. An executor takes it when it comes to it; until then the I/O loop may requeue it, to give it to
 * another that is free sooner. Whoever changes NONE first has it (compare and exchange); a requeued one is passed over by
 * the executor, its descriptor closed. BEGUN, set by its executor just before the application is called, tells what a
 * process that is no more had done: until then the request can be run by another.
 */
typedef enum nb_claim { NB_CLAIM_NONE, NB_CLAIM_TAKEN, NB_CLAIM_BEGUN, NB_CLAIM_REQUEUED } nb_claim;

typedef struct nb_request_message {
    nb_message message;
    int64_t arrived_ns;  /* CLOCK_MONOTONIC, when it was complete: the head, or the body that was waited for */
    int64_t deadline_ns; /* likewise, when the application must have returned its head; 0: no limit */
    int64_t body_fd;     /* an unlinked file with the body, the receiver's; -1: the body stands in `body` */
    uint64_t body_bytes; /* of the whole body, decoded; streamed in chunks: UINT64_MAX */
    uint16_t method;     /* nb_method */
    uint8_t minor_version;
    uint8_t has_body; /* the request was framed with a body, be it empty */
    uint16_t peer_port;
    uint16_t listener; /* number of the listener it came by */
    uint16_t route;    /* number in the table of routes, which both sides have; NB_ROUTE_NONE */
    uint16_t pad;
    _Atomic uint32_t claim; /* nb_claim */
    uint32_t header_count;
    nb_span method_text, target, path, query;
    nb_span host; /* authority that counts (an absolute target's or Host) */
    nb_span peer_address;
    nb_span body;
    nb_request_header headers[];
} nb_request_message;

/* Flags of nb_response_message.message.flags, beside the NB_PART_ ones. */
enum {
    NB_RESPONSE_CLOSE = 256,       /* the application asked for Connection: close */
    NB_RESPONSE_HAS_DATE = 512,    /* its field lines have a Date */
    NB_RESPONSE_HAS_LENGTH = 1024, /* it announced content_length itself */
    NB_RESPONSE_HANDOVER = 2048,   /* after the head HIJACK comes; no body is framed, status 101 is allowed */
    NB_RESPONSE_EXPIRED = 4096,    /* 503: the request's deadline passed first */
};

typedef struct nb_response_message {
    nb_message message;
    uint64_t content_length; /* NB_CONTENT_LENGTH_UNKNOWN, or the bytes of all parts together */
    int64_t taken_ns;        /* CLOCK_MONOTONIC, when the executor took the request; 0: it does not say */
    uint16_t status;
    uint16_t pad;
    uint32_t fields_bytes; /* field lines follow this struct, body bytes follow them to the end of the message */
} nb_response_message;

typedef struct nb_taken_message {
    nb_message message;
    uint64_t bytes; /* of its body, in all; 0: it waits for the first */
} nb_taken_message;

/* How a response names the file that is its body. */
typedef enum nb_naming {
    NB_NAMED_OPEN,     /* by a descriptor, which belongs to the I/O loop: the application chose the file (to_path) */
    NB_NAMED_SENDFILE, /* by an absolute path, of one of the roots that X-Sendfile may name */
    NB_NAMED_ACCEL,    /* by the path of X-Accel-Redirect, as in a URL */
} nb_naming;

/* Bytes of a path that names one: PATH_MAX. */
#define NB_NAMED_PATH_BYTES_MAX 4096u

/* Bytes of a download's id, as the application gives it (X-Download-Id). */
#define NB_REPORT_ID_BYTES_MAX 128u

typedef struct nb_named_message {
    nb_response_message
        response;  /* of type NB_MESSAGE_NAMED, with NB_PART_LAST. content_length: what the application announced */
    int64_t fd;    /* with NB_NAMED_OPEN, else -1 */
    uint64_t size; /* of that file */
    int64_t modified_ns;  /* and when it was changed, since 1970 */
    uint16_t naming;      /* nb_naming */
    uint16_t conditional; /* 1: the request's conditions and ranges hold for it */
    uint32_t path_bytes, request_bytes;
    uint32_t id_bytes; /* of the download's name (X-Download-Id); 0: it has none */
    /* field lines, path, id, and what the request says (files/file_request.h, the flat form) follow */
} nb_named_message;

/* The lengths of what follows the struct fit a record of `bytes`. */
bool nb_named_message_fits(const nb_named_message *named, size_t bytes);
/* Nobody sends it: closes its descriptor. */
void nb_named_message_drop(const nb_named_message *named);

typedef struct nb_hijacked_message {
    nb_message message;
    int64_t fd;    /* the receiver's */
    uint64_t size; /* bytes already read of it follow this struct */
} nb_hijacked_message;

/* True: the request is the caller's. */
static inline bool nb_request_claim(nb_request_message *request, nb_claim claim) {
    uint32_t expected = NB_CLAIM_NONE;
    return atomic_compare_exchange_strong_explicit(&request->claim, &expected, claim, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* Its executor is about to call the application; the record must not have been given back to the ring. */
static inline void nb_request_begin(nb_request_message *request) {
    atomic_store_explicit(&request->claim, NB_CLAIM_BEGUN, memory_order_release);
}

#endif
