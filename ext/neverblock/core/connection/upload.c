/*
 * upload.c - see upload.h.
 */
#include "connection/upload.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

nb_status nb_upload_create(nb_exchange *exchange, nb_upload **result) {
    nb_upload *upload = nb_alloc_zero(1, sizeof(*upload));
    if (!upload) return NB_NO_MEMORY;
    upload->exchange = exchange;
    *result = upload;
    return NB_OK;
}

static void stop_waiting(nb_uploads *uploads, nb_upload *upload) {
    if (!upload->waits) return;
    upload->waits = false;
    if (upload->previous) {
        upload->previous->next = upload->next;
    } else {
        uploads->first = upload->next;
    }
    if (upload->next) upload->next->previous = upload->previous;
    upload->previous = upload->next = NULL;
}

static void wait(nb_uploads *uploads, nb_upload *upload) {
    upload->waits = true;
    upload->next = uploads->first;
    if (upload->next) upload->next->previous = upload;
    uploads->first = upload;
}

void nb_upload_destroy(nb_uploads *uploads, nb_upload *upload) {
    if (!upload) return;
    stop_waiting(uploads, upload);
    nb_free(upload);
}

static uint64_t window(const nb_upload *upload) { return NB_INPUT_WINDOW_BYTES - (upload->sent - upload->taken); }

char *nb_upload_place(nb_uploads *uploads, nb_upload *upload, nb_dispatch *dispatch, size_t *room) {
    stop_waiting(uploads, upload);
    uint64_t open = window(upload);
    *room = open < NB_INPUT_PART_BYTES ? (size_t)open : NB_INPUT_PART_BYTES;
    if (*room == 0) return NULL;
    char *place = nb_dispatch_input_reserve(dispatch, upload->exchange);
    if (!place) wait(uploads, upload);
    return place;
}

void nb_upload_send(nb_upload *upload, nb_dispatch *dispatch, size_t bytes, bool last) {
    if (bytes > 0 || last) nb_dispatch_input_send(dispatch, upload->exchange, bytes, last);
    upload->sent += bytes;
}

bool nb_upload_wants_input(const nb_upload *upload) { return !upload->waits && window(upload) > 0; }

bool nb_upload_may_be_taken(const nb_upload *upload, uint64_t bytes) {
    return bytes >= upload->taken && bytes <= upload->sent;
}

void nb_upload_taken(nb_upload *upload, uint64_t bytes) {
    NB_ASSERT(nb_upload_may_be_taken(upload, bytes));
    upload->taken = bytes;
}
