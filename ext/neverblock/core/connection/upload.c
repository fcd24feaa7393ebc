/*
 * upload.c - see upload.h.
 */
#include "connection/upload.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

nb_status nb_upload_create(nb_connection *connection, const nb_framing *framing, uint64_t body_bytes_max,
                           nb_upload **result) {
    nb_upload *upload = nb_alloc_zero(1, sizeof(*upload));
    if (!upload) return NB_NO_MEMORY;
    upload->connection = connection;
    upload->is_chunked = framing->body == NB_BODY_CHUNKED;
    upload->length_left = framing->content_length;
    upload->expected = framing->expect_continue;
    if (upload->is_chunked) nb_chunked_init(&upload->chunked, body_bytes_max);
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

static nb_status wait(nb_uploads *uploads, nb_upload *upload) {
    if (upload->waits) return NB_AGAIN;
    upload->waits = true;
    upload->next = uploads->first;
    if (upload->next) upload->next->previous = upload;
    uploads->first = upload;
    return NB_AGAIN;
}

void nb_upload_destroy(nb_uploads *uploads, nb_upload *upload) {
    if (!upload) return;
    stop_waiting(uploads, upload);
    nb_free(upload);
}

static uint64_t window(const nb_upload *upload) { return NB_INPUT_WINDOW_BYTES - (upload->sent - upload->taken); }

/* Decodes in place. NB_OK: the body is complete. */
static nb_status decode(nb_upload *upload, char *bytes, size_t size, size_t *used, size_t *decoded,
                        nb_refusal *refusal) {
    if (upload->is_chunked) return nb_chunked_decode(&upload->chunked, bytes, size, used, decoded, refusal);
    *used = *decoded = size < upload->length_left ? size : (size_t)upload->length_left;
    upload->length_left -= *used;
    return upload->length_left == 0 ? NB_OK : NB_INCOMPLETE;
}

static nb_status pass_part(nb_uploads *uploads, nb_upload *upload, nb_dispatch *dispatch, nb_exchange *exchange,
                           nb_pool *pool, nb_buffer *input, nb_refusal *refusal) {
    size_t size = nb_buffer_size(input), used = 0, decoded = 0;
    if (size > NB_INPUT_PART_BYTES) size = NB_INPUT_PART_BYTES;
    if (size > window(upload)) size = (size_t)window(upload);
    char *place = nb_dispatch_input_reserve(dispatch, exchange);
    if (!place) return wait(uploads, upload);
    char *bytes = nb_buffer_bytes(input);
    nb_status status = decode(upload, bytes, size, &used, &decoded, refusal);
    if (status != NB_OK && status != NB_INCOMPLETE) return status;
    memcpy(place, bytes, decoded);
    if (decoded > 0 || status == NB_OK) nb_dispatch_input_send(dispatch, exchange, decoded, status == NB_OK);
    upload->sent += decoded;
    nb_buffer_consume(input, pool, used);
    return status;
}

static nb_status drop_some(nb_upload *upload, nb_pool *pool, nb_buffer *input, nb_refusal *refusal) {
    size_t size = nb_buffer_size(input), used = 0, decoded = 0;
    nb_status status = decode(upload, nb_buffer_bytes(input), size, &used, &decoded, refusal);
    if (status != NB_OK && status != NB_INCOMPLETE) return status;
    nb_buffer_consume(input, pool, used);
    if (status == NB_OK) return NB_OK;
    if (used > upload->drop_left) return NB_FULL;
    upload->drop_left -= used;
    return NB_INCOMPLETE;
}

nb_status nb_upload_pass(nb_uploads *uploads, nb_upload *upload, nb_dispatch *dispatch, nb_exchange *exchange,
                         nb_pool *pool, nb_buffer *input, nb_refusal *refusal) {
    stop_waiting(uploads, upload);
    nb_status status = NB_INCOMPLETE;
    while (status == NB_INCOMPLETE && input->data && nb_buffer_size(input) > 0) {
        if (upload->dropped) {
            status = drop_some(upload, pool, input, refusal);
        } else if (window(upload) == 0) {
            return NB_INCOMPLETE;
        } else {
            upload->expected = false; /* it did not wait (RFC 9110 section 10.1.1) */
            status = pass_part(uploads, upload, dispatch, exchange, pool, input, refusal);
        }
    }
    return status;
}

bool nb_upload_wants_input(const nb_upload *upload) {
    return upload->dropped || (!upload->waits && window(upload) > 0);
}

bool nb_upload_may_be_taken(const nb_upload *upload, uint64_t bytes) {
    return bytes >= upload->taken && bytes <= upload->sent;
}

void nb_upload_taken(nb_upload *upload, uint64_t bytes) {
    NB_ASSERT(nb_upload_may_be_taken(upload, bytes));
    upload->taken = bytes;
}

bool nb_upload_can_be_dropped(const nb_upload *upload) {
    return !upload->expected && (upload->is_chunked || upload->length_left <= NB_INPUT_DROP_BYTES);
}

void nb_upload_drop(nb_uploads *uploads, nb_upload *upload) {
    stop_waiting(uploads, upload);
    upload->dropped = true;
    upload->drop_left = NB_INPUT_DROP_BYTES;
}
