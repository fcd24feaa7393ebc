/*
 * upload.h - a request body on its way to an application that already runs (a route with `input: :stream`): decoded
 * from the connection's buffer straight into the executor's ring, a part at a time, as far as the window is open.
 *
 * The window is what one request may have with its executor and not yet taken by the application; when it is closed
 * nothing more is read of the client, so TCP holds it back. Where the ring has no room, or the request still waits for an
 * executor, the upload waits in the loop's list and is tried again each turn. After the answer what is left of a body is
 * read and dropped up to a bound, so that the connection can go on (RFC 9112 section 9.3).
 *
 * Owned by its connection. The loop's thread.
 */
#ifndef NB_CONNECTION_UPLOAD_H
#define NB_CONNECTION_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "http1/chunked.h"
#include "http1/framing.h"
#include "dispatch/dispatch.h"
#include "dispatch/exchange.h"
#include "figures/request_log.h"

typedef struct nb_upload nb_upload;

struct nb_upload {
    nb_upload *previous, *next; /* in the list, while `waits` */
    nb_connection *connection;
    nb_chunked chunked;
    bool is_chunked;
    bool waits;           /* for room in the ring, or for an executor */
    bool dropped;         /* nobody takes it any more */
    bool expected;        /* the client waits for 100 (Continue), which was not sent */
    uint64_t length_left; /* with Content-Length */
    uint64_t sent, taken; /* decoded bytes: given to the executor; of these taken by the application */
    uint64_t drop_left;   /* bytes of input that are still read for nothing */
    char request_line[NB_REQUEST_LINE_BYTES_MAX + 1]; /* kept for the log of refused requests; "" when there is none */
};

/* The uploads that wait. */
typedef struct nb_uploads {
    nb_upload *first;
} nb_uploads;

nb_status nb_upload_create(nb_connection *connection, const nb_framing *framing, uint64_t body_bytes_max,
                           nb_upload **upload);
/* NULL is fine. */
void nb_upload_destroy(nb_uploads *uploads, nb_upload *upload);

/*
 * Passes on what `input` holds. NB_OK: the body is complete, what is left in `input` is not its. NB_INCOMPLETE: all was
 * used, or the window is closed. NB_AGAIN: it waits now. NB_INVALID, NB_TOO_LARGE: *refusal. Once dropped: NB_FULL when
 * there is more than is worth reading.
 */
nb_status nb_upload_pass(nb_uploads *uploads, nb_upload *upload, nb_dispatch *dispatch, nb_exchange *exchange,
                         nb_pool *pool, nb_buffer *input, nb_refusal *refusal);

/* More of the client's bytes can be used. */
bool nb_upload_wants_input(const nb_upload *upload);
/* The application may say that it has taken so many bytes in all. */
bool nb_upload_may_be_taken(const nb_upload *upload, uint64_t bytes);
/* It does. */
void nb_upload_taken(nb_upload *upload, uint64_t bytes);
/* What is left may be read and dropped, as far as it is known: else the connection ends with the answer. */
bool nb_upload_can_be_dropped(const nb_upload *upload);
/* From here on it is. */
void nb_upload_drop(nb_uploads *uploads, nb_upload *upload);

#endif
