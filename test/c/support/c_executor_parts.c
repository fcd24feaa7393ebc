/*
 * c_executor_parts.c - what tasks of a C executor send: heads, bodies, files, hints, and what was
 * taken of streamed bodies. See c_executor.h.
 */
#include "support/c_executor_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "os/clock.h"
#include "support/pattern.h"

static void *reserve(nb_test_executor *self, size_t bytes) {
    void *place = nb_ring_reserve(&self->port->responses, bytes);
    if (place) return place;
    atomic_store_explicit(&self->port->channel->memory->executor_blocked, 1, memory_order_relaxed);
    nb_doorbell_fence(&self->port->channel->memory->loop_bell);
    place = nb_ring_reserve(&self->port->responses, bytes);
    if (place) return place;
    self->port->room = true;
    nb_test_executor_note(self, NB_TEST_FULL);
    return NULL;
}

static void send_part(nb_test_executor *self, size_t bytes) {
    nb_ring_commit(&self->port->responses, bytes);
    nb_ring_publish(&self->port->responses);
    self->port->published = true;
}

void nb_test_task_send_hints(nb_test_executor *self, const nb_test_task *t) {
    static const char lines[] = "Link: </a.css>; rel=preload\r\nX-Hint: 1\r\n";
    nb_message *message = reserve(self, sizeof *message + sizeof lines - 1);
    if (!message) abort(); /* no test that asks for hints fills the ring */
    *message = (nb_message){
        .type = NB_MESSAGE_HINTS, .bytes = (uint32_t)(sizeof *message + sizeof lines - 1), .exchange = t->exchange};
    memcpy(message + 1, lines, sizeof lines - 1);
    send_part(self, sizeof *message + sizeof lines - 1);
}

static void fill(const nb_test_task *t, char *out, size_t bytes) {
    if (t->memory) {
        memcpy(out, t->memory + t->done, bytes);
    } else if (t->body_fd >= 0) {
        ssize_t got = pread(t->body_fd, out, bytes, (off_t)t->done);
        if (got != (ssize_t)bytes) abort();
    } else {
        nb_test_pattern_copy(out, t->done, bytes);
    }
}

/* Bytes of the next part, and the flags that go with it. */
static size_t next_slice(nb_test_executor *self, nb_test_task *t, uint16_t *flags) {
    uint64_t end = t->abort_at < t->total ? t->abort_at : t->total;
    if (t->kind == NB_TEST_TASK_HIJACK) end = 1; /* of the head's part: not the last */
    uint64_t left = t->kind == NB_TEST_TASK_HIJACK ? 0 : end - t->done;
    uint64_t high = self->options.backlog_high;
    if (high == 0)
        high = atomic_load_explicit(&self->port->channel->memory->response_window_bytes, memory_order_relaxed) / 2;
    uint64_t most = t->parks && high < NB_RESPONSE_SLICE_BYTES ? high : NB_RESPONSE_SLICE_BYTES;
    size_t slice = (size_t)(left < most ? left : most);
    *flags = 0;
    if (t->done + slice == end && t->kind == NB_TEST_TASK_DUPLEX && !t->input_ended) {
        *flags = 0;
    } else if (t->done + slice == end) {
        *flags = (uint16_t)(NB_PART_LAST | (t->abort_at <= t->total ? NB_PART_ABORTED : 0));
    } else if (t->parks && t->unacknowledged + slice >= high) {
        *flags = NB_PART_TELL_DRAINED;
    }
    return slice;
}

static void sent(nb_test_executor *self, nb_test_task *t, size_t slice, uint16_t flags) {
    t->done += slice;
    t->unacknowledged += slice;
    if (!(flags & NB_PART_TELL_DRAINED)) return;
    t->waits_drained = true;
    nb_test_executor_note(self, NB_TEST_PARKED);
}

static bool send_head(nb_test_executor *self, nb_test_task *t, uint16_t *flags) {
    char fields[96];
    snprintf(fields, sizeof fields, "X-Executor: c\r\n%s",
             t->typed ? "Content-Type: text/plain\r\nETag: \"c\"\r\n" : "");
    size_t field_bytes = strlen(fields) + (t->field_bytes ? t->field_bytes + strlen("X-Long: \r\n") : 0);
    size_t slice = next_slice(self, t, flags);
    size_t bytes = sizeof(nb_response_message) + field_bytes + slice;
    nb_response_message *part = reserve(self, bytes);
    if (!part) return false;
    *part = (nb_response_message){.message = {.type = NB_MESSAGE_RESPONSE,
                                              .flags = (uint16_t)(*flags | t->flags),
                                              .bytes = (uint32_t)bytes,
                                              .exchange = t->exchange},
                                  .content_length = t->announced,
                                  .taken_ns = t->taken_ns,
                                  .status = t->status,
                                  .fields_bytes = (uint32_t)field_bytes};
    char *out = (char *)(part + 1);
    memcpy(out, fields, strlen(fields));
    out += strlen(fields);
    if (t->field_bytes) {
        memcpy(out, "X-Long: ", 8);
        memset(out + 8, 'x', t->field_bytes);
        memcpy(out + 8 + t->field_bytes, "\r\n", 2);
        out += t->field_bytes + 10;
    }
    fill(t, out, slice);
    send_part(self, bytes);
    t->head_sent = true;
    if (t->kind == NB_TEST_TASK_DUPLEX) t->reads = true;
    sent(self, t, slice, *flags);
    if (t->hints_late) nb_test_task_send_hints(self, t);
    return true;
}

/* The descriptor goes beside the record. */
static bool give_file(nb_test_executor *self, const nb_test_task *t) {
    nb_status given = nb_channel_send_fd(self->port->channel, t->file_fd);
    if (given == NB_AGAIN) {
        atomic_store_explicit(&self->port->channel->memory->executor_blocked, 1, memory_order_relaxed);
        nb_doorbell_fence(&self->port->channel->memory->loop_bell);
        given = nb_channel_send_fd(self->port->channel, t->file_fd);
        self->port->room = self->port->room || given == NB_AGAIN;
    }
    if (given != NB_OK) return false;
    if (nb_channel_is_shared(self->port->channel)) close(t->file_fd);
    return true;
}

/* The whole response, as binding/rack/response.c sends it. */
static bool send_named(nb_test_executor *self, nb_test_task *t) {
    static const char fields[] = "X-Executor: c\r\n";
    size_t field_bytes = sizeof fields - 1, path_bytes = t->memory ? strlen(t->memory) : 0;
    size_t bytes = sizeof(nb_named_message) + field_bytes + path_bytes + t->asked_bytes;
    nb_named_message *part = reserve(self, bytes);
    if (!part || (t->file_fd >= 0 && !give_file(self, t))) return false;
    *part = (nb_named_message){.response = {.message = {.type = NB_MESSAGE_NAMED,
                                                        .flags = (uint16_t)(NB_PART_LAST | t->flags),
                                                        .bytes = (uint32_t)bytes,
                                                        .exchange = t->exchange},
                                            .content_length = t->announced,
                                            .taken_ns = t->taken_ns,
                                            .status = t->status,
                                            .fields_bytes = (uint32_t)field_bytes},
                               .fd = t->file_fd,
                               .size = t->file_bytes,
                               .modified_ns = NB_TEST_MODIFIED_S * NB_NS_PER_S,
                               .naming = t->naming,
                               .conditional = t->status == 200,
                               .path_bytes = (uint32_t)path_bytes,
                               .request_bytes = (uint32_t)t->asked_bytes};
    char *out = (char *)(part + 1);
    memcpy(out, fields, field_bytes);
    memcpy(out + field_bytes, t->memory ? t->memory : "", path_bytes);
    memcpy(out + field_bytes + path_bytes, t->asked_of_file, t->asked_bytes);
    t->file_fd = -1;
    t->head_sent = true;
    send_part(self, bytes);
    return true;
}

static bool send_body(nb_test_executor *self, nb_test_task *t, uint16_t *flags) {
    size_t slice = next_slice(self, t, flags);
    nb_message *part = reserve(self, sizeof(*part) + slice);
    if (!part) return false;
    *part = (nb_message){
        .type = NB_MESSAGE_BODY, .flags = *flags, .bytes = (uint32_t)(sizeof(*part) + slice), .exchange = t->exchange};
    fill(t, (char *)(part + 1), slice);
    send_part(self, sizeof(*part) + slice);
    sent(self, t, slice, *flags);
    return true;
}

/* Asks for the connection once; its head, if there is one, is sent. True: the last part is sent. */
static bool hijack(nb_test_executor *self, nb_test_task *t) {
    uint16_t flags;
    if (t->status == 101 && !t->head_sent && !send_head(self, t, &flags)) return false;
    nb_message *part = reserve(self, sizeof(*part));
    if (!part) return false;
    *part = (nb_message){.type = t->hijacked ? NB_MESSAGE_BODY : NB_MESSAGE_HIJACK,
                         .flags = t->hijacked ? NB_PART_LAST : 0,
                         .bytes = sizeof(*part),
                         .exchange = t->exchange};
    send_part(self, sizeof(*part));
    t->hijack_asked = true;
    return t->hijacked;
}

static bool give_up(nb_test_executor *self, const nb_test_task *t) {
    nb_message *part = reserve(self, sizeof(*part));
    if (!part) return false;
    *part = (nb_message){.type = NB_MESSAGE_BODY,
                         .flags = NB_PART_LAST | NB_PART_ABORTED,
                         .bytes = sizeof(*part),
                         .exchange = t->exchange};
    send_part(self, sizeof(*part));
    return true;
}

/* True when there is nothing to say, or it is said. */
static bool tell_taken(nb_test_executor *self, nb_test_task *t) {
    if (!t->reads || t->input_ended || (t->asked && t->told == t->input)) return true;
    nb_taken_message *message = reserve(self, sizeof *message);
    if (!message) return false;
    *message = (nb_taken_message){
        .message = {.type = NB_MESSAGE_TAKEN, .bytes = sizeof *message, .exchange = t->exchange}, .bytes = t->input};
    send_part(self, sizeof *message);
    t->asked = true;
    t->told = t->input;
    return true;
}

/* --- a step --- */

bool nb_test_task_waits(nb_test_executor *self, const nb_test_task *t) {
    if (t->gone) return false;
    if (t->kind == NB_TEST_TASK_HIJACK) return t->hijack_asked && !t->hijacked;
    if (t->waits_drained || t->kind == NB_TEST_TASK_NEVER || t->kind == NB_TEST_TASK_HOLD ||
        t->kind == NB_TEST_TASK_READ)
        return true;
    if (t->kind == NB_TEST_TASK_DUPLEX) return t->done == t->total && !t->input_ended && t->head_sent;
    return t->kind == NB_TEST_TASK_LATE && self->last_answered <= t->number;
}

bool nb_test_task_step(nb_test_executor *self, nb_test_task *t) {
    if (!tell_taken(self, t)) return false;
    while (!nb_test_task_waits(self, t)) {
        uint16_t flags = 0;
        if (t->gone || t->kind == NB_TEST_TASK_ABORT) return give_up(self, t);
        if (t->kind == NB_TEST_TASK_NAMED) return send_named(self, t);
        if (t->kind == NB_TEST_TASK_HIJACK) {
            bool asked = t->hijack_asked;
            if (hijack(self, t)) return true;
            if (asked == t->hijack_asked) return false;
            continue;
        }
        bool moved = t->head_sent ? send_body(self, t, &flags) : send_head(self, t, &flags);
        if (!moved) return false;
        if (flags & NB_PART_LAST) return true;
        if (!tell_taken(self, t)) return false;
    }
    return false;
}
