/*
 * upload.h - a request body on its way to an application that already runs (a route with
 * `input: :stream`). Parts of it are put straight into the executor's ring.
 *
 * Flow control: the window is how many bytes one request may have with its executor that its
 * application has not read. While the window is full the protocol reads nothing more of the body,
 * and so holds the client back. When the ring has no room, or the request still waits for an
 * executor, the upload waits in the loop's list and is tried again in each turn.
 *
 * Owner: the exchange. Threads: the loop's thread.
 */
#ifndef NB_CONNECTION_UPLOAD_H
#define NB_CONNECTION_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/dispatch.h"
#include "dispatch/exchange.h"
#include "metrics/request_log.h"

typedef struct nb_upload nb_upload;

struct nb_upload {
    nb_upload *previous, *next; /* in nb_uploads, while `waits` */
    nb_exchange *exchange;
    bool waits;     /* for room in the ring, or for an executor */
    uint64_t sent;  /* bytes given to the executor */
    uint64_t taken; /* of these, bytes read by the application */
    /* For the log of refused requests; "": there is none. */
    char request_line[NB_REQUEST_LINE_BYTES_MAX + 1];
};

/* The uploads that wait. */
typedef struct nb_uploads {
    nb_upload *first;
} nb_uploads;

/* NB_NO_MEMORY. */
nb_status nb_upload_create(nb_exchange *exchange, nb_upload **upload);
/* upload: NULL is fine. */
void nb_upload_destroy(nb_uploads *uploads, nb_upload *upload);

/*
 * Returns where to put bytes of the body for the executor, *room of them: at most
 * NB_INPUT_PART_BYTES and what the window allows. NULL with *room 0: the window is full until the
 * application reads more. NULL with *room above 0: the ring has no room, and the upload waits now.
 */
char *nb_upload_place(nb_uploads *uploads, nb_upload *upload, nb_dispatch *dispatch, size_t *room);
/* Sends the first `bytes` of that place; 0 is allowed with `last`. */
void nb_upload_send(nb_upload *upload, nb_dispatch *dispatch, size_t bytes, bool last);

/* More of the client's bytes can be used. */
bool nb_upload_wants_input(const nb_upload *upload);
/* `bytes` is a possible argument of nb_upload_taken. */
bool nb_upload_may_be_taken(const nb_upload *upload, uint64_t bytes);
/* The application has read `bytes` in all. */
void nb_upload_taken(nb_upload *upload, uint64_t bytes);

#endif
