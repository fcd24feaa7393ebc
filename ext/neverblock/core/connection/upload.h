/*
 * upload.h - a request body on its way to an application that already runs (a route with `input: :stream`): put straight
 * into the executor's ring, a part at a time, as far as the window is open.
 *
 * The window is what one request may have with its executor and its application has not taken yet. While it is closed
 * the protocol reads nothing more of the body, so that the client is held back. Where the ring has no room, or the
 * request still waits for an executor, the upload waits in the loop's list and is tried again each turn.
 *
 * Owned by its exchange. The loop's thread.
 */
#ifndef NB_CONNECTION_UPLOAD_H
#define NB_CONNECTION_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/dispatch.h"
#include "dispatch/exchange.h"
#include "figures/request_log.h"

typedef struct nb_upload nb_upload;

struct nb_upload {
    nb_upload *previous, *next; /* in the list, while `waits` */
    nb_exchange *exchange;
    bool waits;           /* for room in the ring, or for an executor */
    uint64_t sent, taken; /* bytes: given to the executor; of these taken by the application */
    char request_line[NB_REQUEST_LINE_BYTES_MAX + 1]; /* kept for the log of refused requests; "" when there is none */
};

/* The uploads that wait. */
typedef struct nb_uploads {
    nb_upload *first;
} nb_uploads;

nb_status nb_upload_create(nb_exchange *exchange, nb_upload **upload);
/* NULL is fine. */
void nb_upload_destroy(nb_uploads *uploads, nb_upload *upload);

/*
 * Where bytes of the body may be put for the executor, *room of them: at most NB_INPUT_PART_BYTES, and what the window
 * allows. NULL, *room 0: the window is closed, until the application takes more. NULL, *room above 0: the upload waits
 * now, for the ring.
 */
char *nb_upload_place(nb_uploads *uploads, nb_upload *upload, nb_dispatch *dispatch, size_t *room);
/* Sends the first `bytes` of the place, which may be 0 with the last. */
void nb_upload_send(nb_upload *upload, nb_dispatch *dispatch, size_t bytes, bool last);

/* More of the client's bytes can be used. */
bool nb_upload_wants_input(const nb_upload *upload);
/* The application may say that it has taken so many bytes in all. */
bool nb_upload_may_be_taken(const nb_upload *upload, uint64_t bytes);
/* It does. */
void nb_upload_taken(nb_upload *upload, uint64_t bytes);

#endif
