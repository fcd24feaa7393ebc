/*
 * response_parts.c - see response_parts.h.
 */
#include "binding/rack/response_parts.h"

#include <inttypes.h>
#include <string.h>

#include "binding/base/module.h"
#include "binding/ports/writing.h"
#include "binding/rack/input.h"
#include "binding/rack/timing.h"

bool nb_response_body_allowed(const nb_task *task, int status) {
    return !task->head_request && status != 204 && status != 304;
}

/* A fiber that waits for a part of the request's body is woken, and told that no more comes. */
void nb_response_end(nb_task *task) {
    task->ended = true;
    if (nb_input_is(task->input)) nb_input_look(task->input);
}

void nb_response_send_head(nb_task *task, nb_response_head *gathered, nb_slice body, uint16_t flags) {
    nb_timing_add_field(task, gathered);
    size_t bytes = sizeof(nb_response_message) + gathered->size + body.size;
    nb_response_message *part = nb_executor_reserve(task, bytes);
    *part = (nb_response_message){
        .message = {.type = NB_MESSAGE_RESPONSE,
                    .flags = (uint16_t)(gathered->flags | flags),
                    .bytes = (uint32_t)bytes,
                    .exchange = task->exchange},
        .content_length = gathered->content_length,
        .taken_ns = task->taken_ns,
        .status = (uint16_t)gathered->status,
        .fields_bytes = (uint32_t)gathered->size,
    };
    char *out = (char *)(part + 1);
    if (gathered->size) memcpy(out, gathered->bytes, gathered->size);
    if (body.size) memcpy(out + gathered->size, body.data, body.size);
    nb_timing_note_head(task);
    if (flags & NB_PART_LAST) nb_response_end(task);
    task->unacknowledged += body.size;
    nb_executor_send(task, bytes);
}

void nb_response_send_part(nb_task *task, nb_slice body, uint16_t flags) {
    size_t bytes = sizeof(nb_message) + body.size;
    nb_message *part = nb_executor_reserve(task, bytes);
    *part = (nb_message){.type = NB_MESSAGE_BODY, .flags = flags, .bytes = (uint32_t)bytes, .exchange = task->exchange};
    if (body.size) memcpy(part + 1, body.data, body.size);
    if (flags & NB_PART_LAST) nb_response_end(task);
    task->unacknowledged += body.size;
    nb_executor_send(task, bytes);
}

/* While the fiber waits for room, other responses may begin, which leaves less to this one. */
size_t nb_response_step(nb_task *task, size_t head_bytes, size_t left, uint64_t *high) {
    size_t step, most;
    do {
        *high = nb_executor_backlog_high(task);
        most = *high < NB_RESPONSE_SLICE_BYTES ? (size_t)*high : NB_RESPONSE_SLICE_BYTES;
        step = left < most ? left : most ? most : 1;
    } while (!nb_executor_room(task, head_bytes + step));
    return step;
}

/* The fiber parks while the client is behind. */
void nb_response_send_body(nb_task *task, VALUE owner, nb_slice body, uint16_t flags) {
    while (body.size > 0 || (flags & NB_PART_LAST)) {
        if (task->gone) nb_executor_raise_gone(task);
        uint64_t high;
        size_t step = nb_response_step(task, sizeof(nb_message), body.size, &high);
        bool last = step == body.size;
        bool full = task->unacknowledged + step >= high && !(last && (flags & NB_PART_LAST));
        nb_response_send_part(task, (nb_slice){body.data, step},
                              (uint16_t)((last ? flags : 0) | (full ? NB_PART_TELL_DRAINED : 0)));
        if (full) nb_executor_wait_drained(task);
        body.data += step;
        body.size -= step;
        if (last) break;
    }
    RB_GC_GUARD(owner);
}

VALUE nb_response_frozen_chunk(VALUE chunk) {
    return rb_str_new_frozen(RB_TYPE_P(chunk, T_STRING) ? chunk : rb_obj_as_string(chunk));
}

void nb_response_check_length(uint64_t announced, uint64_t sent) {
    if (announced == NB_CONTENT_LENGTH_UNKNOWN || announced == sent) return;
    rb_raise(nb_error_class, "the body has %" PRIu64 " bytes, its Content-Length said %" PRIu64, sent, announced);
}
