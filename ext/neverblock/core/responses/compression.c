/*
 * compression.c - see compression.h.
 */
#include "responses/compression.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "files/conditional.h"
#include "files/file_request.h"
#include "responses/compose.h"

/* What the loop's own thread may spend in a turn, by the estimates of nb_encoder_cost_ns. */
#define TURN_NS INT64_C(1000000)

/* Bytes that a thread encodes before another response has its turn. */
#define PIECE_BYTES_MAX 131072u

/* Bytes of encoders that are kept for other responses, until the loop has had a quiet time. */
#define IDLE_BYTES_MAX 16777216u

/* An array with more room than this is not kept between two pieces. */
#define KEPT_BYTES_MAX 16384u

/* Pieces that wait for a thread. Each response has one. */
#define QUEUE_MAX 4096u

struct nb_compression {
    nb_job job;
    nb_compression *next; /* in nb_compressions.due or .returned */
    nb_compressions *all;
    nb_exchange *exchange; /* NULL: gone */
    nb_encoder *encoder;   /* owned; NULL until there is something to encode */
    nb_bytes input;        /* written by the application, not taken yet */
    nb_bytes taken;        /* being encoded, from taken_at on */
    size_t taken_at, piece_bytes;
    nb_bytes output;
    nb_encode_then then; /* of the piece */
    nb_status status;    /* of the piece */
    uint64_t left;       /* of the announced length; NB_CONTENT_LENGTH_UNKNOWN: none was */
    size_t held;         /* of nb_compressions.bytes */
    bool due, with_thread;
    bool events;        /* an event stream: it stays open for long */
    bool last, aborted; /* flags of the part that was the last */
    nb_response_message head;
    char lines[]; /* of the head, head.fields_bytes */
};

/* --- life --- */

static nb_compression *of_job(nb_job *job) {
    return (nb_compression *)(void *)((char *)job - offsetof(nb_compression, job));
}

/* Notes the memory that it holds now. No thread has it. */
static void account(nb_compression *self) {
    size_t held = sizeof(*self) + self->head.fields_bytes + self->input.capacity + self->taken.capacity +
                  self->output.capacity + (self->encoder ? nb_encoder_bytes(self->encoder) : 0);
    self->all->bytes += held;
    self->all->bytes -= self->held;
    self->held = held;
}

static void keep_encoder(nb_compressions *all, nb_encoder *encoder) {
    if (!encoder) return;
    if (all->idle_bytes + nb_encoder_bytes(encoder) > IDLE_BYTES_MAX || !nb_encoder_reset(encoder)) {
        nb_encoder_destroy(encoder);
        return;
    }
    nb_encoder **idle = &all->idle[encoder->coding][encoder->window];
    encoder->next = *idle;
    *idle = encoder;
    all->idle_bytes += nb_encoder_bytes(encoder);
}

static nb_encoder *take_encoder(nb_compressions *all, nb_encoding coding, nb_window window) {
    nb_encoder **idle = &all->idle[coding][window], *encoder = *idle;
    if (encoder) {
        *idle = encoder->next;
        all->idle_bytes -= nb_encoder_bytes(encoder);
        return encoder;
    }
    return nb_encoder_create(coding, all->level, window, &encoder) == NB_OK ? encoder : NULL;
}

static void destroy(nb_compression *self) {
    NB_ASSERT(!self->due && !self->with_thread);
    if (self->status == NB_OK) {
        keep_encoder(self->all, self->encoder);
    } else {
        nb_encoder_destroy(self->encoder);
    }
    nb_bytes_free(&self->input);
    nb_bytes_free(&self->taken);
    nb_bytes_free(&self->output);
    self->all->bytes -= self->held;
    nb_free(self);
}

void nb_compression_drop(nb_exchange *exchange) {
    nb_free(exchange->weak_tags);
    exchange->weak_tags = NULL;
    nb_compression *self = exchange->compression;
    exchange->compression = NULL;
    if (!self) return;
    self->exchange = NULL;
    if (!self->due && !self->with_thread) destroy(self); /* else where it is met next */
}

void nb_compressions_init(nb_compressions *compressions) { pthread_mutex_init(&compressions->lock, NULL); }

nb_status nb_compressions_start(nb_compressions *compressions) {
    return nb_workers_create("nb-compress", compressions->threads, QUEUE_MAX, &compressions->workers);
}

static void destroy_all(nb_compression *list) {
    while (list) {
        nb_compression *next = list->next;
        list->due = list->with_thread = false;
        NB_ASSERT(!list->exchange);
        destroy(list);
        list = next;
    }
}

void nb_compressions_deinit(nb_compressions *compressions) {
    nb_workers_destroy(compressions->workers);
    compressions->workers = NULL;
    destroy_all(compressions->returned);
    destroy_all(compressions->due);
    compressions->returned = compressions->due = NULL;
    nb_compressions_trim(compressions);
    pthread_mutex_destroy(&compressions->lock);
}

void nb_compressions_trim(nb_compressions *compressions) {
    for (unsigned coding = 0; coding < NB_ENCODING_COUNT; coding++) {
        for (unsigned window = 0; window < NB_WINDOWS; window++) {
            nb_encoder *encoder;
            while ((encoder = compressions->idle[coding][window])) {
                compressions->idle[coding][window] = encoder->next;
                nb_encoder_destroy(encoder);
            }
        }
    }
    compressions->idle_bytes = 0;
}

/* --- the request --- */

/* A tag that was made weak comes back as W/"...", which an application that knows it as "..." does
 * not find. */
static void note_tags(nb_exchange *exchange, const nb_file_request *request) {
    nb_slice tags = request->if_none_match;
    bool reads = request->method == NB_METHOD_GET || request->method == NB_METHOD_HEAD;
    if (!reads || tags.size == 0 || !memchr(tags.data, '/', tags.size)) return;
    exchange->weak_tags = nb_alloc(tags.size + 1); /* without them the response is sent again */
    if (!exchange->weak_tags) return;
    memcpy(exchange->weak_tags, tags.data, tags.size);
    exchange->weak_tags[tags.size] = '\0';
}

void nb_compression_request(nb_exchange *exchange, const nb_head *head, nb_compress how, bool secure, bool certified) {
    char room[NB_FILE_REQUEST_BYTES_MAX];
    nb_file_request request;
    nb_file_request_of_head(&request, head, room);
    nb_encoding coding = nb_encoding_choose(request.accept_encoding, nb_encoders_built());
    exchange->compresses = true;
    exchange->accepts = coding == NB_ENCODING_NONE ? NB_ENCODING_IDENTITY : (uint8_t)coding;
    if (exchange->accepts == NB_ENCODING_IDENTITY) return;
    exchange->guarded = how != NB_COMPRESS_ALWAYS && nb_compress_is_guarded(head, secure, certified);
    note_tags(exchange, &request);
}

/* --- the head --- */

/* Writes a head with changed lines. */
static nb_status respond(nb_responses *responses, nb_exchange *exchange, const nb_response_message *message,
                         nb_slice lines, const nb_response_fields *fields, unsigned changes, nb_slice content) {
    char *changed = nb_alloc(NB_COMPRESS_LINES_BYTES(lines));
    if (!changed) return NB_NO_MEMORY;
    size_t bytes = nb_compress_lines_write(changed, lines, fields, changes, (nb_encoding)exchange->accepts);
    nb_status status = nb_compose_response(responses, exchange, message, nb_slice_of(changed, bytes), content);
    nb_free(changed);
    return status;
}

static bool encodes(const nb_responses *responses, const nb_exchange *exchange, const nb_response_fields *fields) {
    if (exchange->accepts == NB_ENCODING_IDENTITY || (exchange->guarded && !fields->open)) return false;
    return responses->compressions.bytes < responses->compressions.bytes_max;
}

/* A response to HEAD says what its GET would say, where that is known (RFC 9110 section 9.3.2). */
static nb_status respond_head(nb_responses *responses, nb_exchange *exchange, const nb_response_message *message,
                              nb_slice lines, const nb_response_fields *fields) {
    bool known = (message->message.flags & NB_RESPONSE_HAS_LENGTH) != 0;
    unsigned changes = NB_COMPRESS_VARY;
    nb_response_message copy = *message;
    if (known && message->content_length < responses->compressions.bytes_min) {
        changes = 0;
    } else if (encodes(responses, exchange, fields)) {
        changes |= NB_COMPRESS_WEAKEN | (known ? NB_COMPRESS_ENCODE : 0u);
        copy.message.flags &= (uint16_t)~NB_RESPONSE_HAS_LENGTH;
        copy.content_length = NB_CONTENT_LENGTH_UNKNOWN;
    }
    return respond(responses, exchange, &copy, lines, fields, changes, nb_slice_of(NULL, 0));
}

/* True: the client has the response, under the weak tag that it was sent with. */
static bool is_known(const nb_responses *responses, const nb_exchange *exchange, const nb_response_fields *fields) {
    if (!exchange->weak_tags || !nb_compress_is_strong(fields->etag)) return false;
    nb_file_request request = {.method = NB_METHOD_GET,
                               .if_none_match = nb_slice_of(exchange->weak_tags, strlen(exchange->weak_tags))};
    nb_validators validators = {.etag = fields->etag, .modified_s = NB_NO_DATE};
    return nb_conditional_decide(&request, &validators, responses->time->wall_s) == NB_CONDITION_NOT_MODIFIED;
}

/* 304 in place of the application's response, whose content is dropped as it comes. */
static nb_status respond_known(nb_responses *responses, nb_exchange *exchange, const nb_response_message *message,
                               nb_slice lines, const nb_response_fields *fields) {
    nb_response_message copy = *message;
    copy.status = 304;
    copy.message.flags &= (uint16_t)~NB_RESPONSE_HAS_LENGTH;
    copy.content_length = NB_CONTENT_LENGTH_UNKNOWN;
    return respond(responses, exchange, &copy, lines, fields, NB_COMPRESS_VARY | NB_COMPRESS_WEAKEN | NB_COMPRESS_EMPTY,
                   nb_slice_of(NULL, 0));
}

/* --- bytes of the application --- */

static void make_due(nb_compression *self) {
    if (self->due || self->with_thread) return;
    nb_compressions *all = self->all;
    self->due = true;
    self->next = NULL;
    *(all->due ? &all->due_last->next : &all->due) = self;
    all->due_last = self;
}

/* Takes a part of the content. What is more than was announced is dropped; too little is no valid
 * end. */
static nb_status take(nb_compression *self, nb_exchange *exchange, nb_slice content, uint16_t flags) {
    if (self->left != NB_CONTENT_LENGTH_UNKNOWN) {
        if (content.size > self->left) content.size = (size_t)self->left;
        self->left -= content.size;
    }
    nb_status status = nb_bytes_add(&self->input, content);
    if (status != NB_OK) return status;
    if (!self->with_thread) account(self);
    if (flags & NB_PART_TELL_DRAINED) exchange->tell_drained = true;
    if (flags & NB_PART_LAST) {
        self->last = true;
        self->aborted = (flags & NB_PART_ABORTED) || (self->left != NB_CONTENT_LENGTH_UNKNOWN && self->left > 0);
        exchange->channel = NB_CHANNEL_NONE; /* its executor is done with it */
    }
    make_due(self);
    return NB_OK;
}

static void run(nb_job *job) {
    nb_compression *self = of_job(job);
    nb_slice piece = nb_slice_of(self->taken.data + self->taken_at, self->piece_bytes);
    self->status = nb_encoder_encode(self->encoder, piece, self->then, &self->output);
}

/* On the thread. */
static void done(nb_job *job) {
    nb_compression *self = of_job(job);
    nb_compressions *all = self->all;
    pthread_mutex_lock(&all->lock);
    self->next = all->returned;
    all->returned = self;
    bool first = self->next == NULL;
    pthread_mutex_unlock(&all->lock);
    if (first) nb_wake_signal(all->wake);
}

static bool is_event_stream(nb_slice type) {
    nb_slice events = NB_SLICE("text/event-stream");
    return type.size >= events.size && nb_slice_equal_lower(nb_slice_of(type.data, events.size), events);
}

static nb_status begin(nb_responses *responses, nb_exchange *exchange, const nb_response_message *message,
                       nb_slice lines, const nb_response_fields *fields, nb_slice content) {
    nb_compression *self = nb_alloc(sizeof(*self) + lines.size);
    if (!self) return NB_NO_MEMORY;
    *self = (nb_compression){.job = {.run = run, .done = done},
                             .all = &responses->compressions,
                             .exchange = exchange,
                             .left = message->content_length,
                             .events = is_event_stream(fields->content_type),
                             .head = *message};
    memcpy(self->lines, lines.data, lines.size);
    exchange->compression = self;
    account(self);
    return take(self, exchange, content, message->message.flags);
}

/* The application's response begins. */
static nb_status decide(nb_responses *responses, nb_exchange *exchange, const nb_response_message *message,
                        nb_slice lines, nb_slice content) {
    nb_response_fields fields;
    uint64_t bytes_min = responses->compressions.bytes_min;
    nb_response_fields_read(&fields, lines);
    if (message->status == 304 && !fields.fixed) {
        unsigned changes = NB_COMPRESS_VARY;
        if (is_known(responses, exchange, &fields)) changes |= NB_COMPRESS_WEAKEN;
        return respond(responses, exchange, message, lines, &fields, changes, content);
    }
    if ((message->message.flags & NB_RESPONSE_HANDOVER) ||
        !nb_compress_may(responses->compressions.types, message->status, &fields))
        return nb_compose_response(responses, exchange, message, lines, content);
    if (message->status == 200 && encodes(responses, exchange, &fields) && is_known(responses, exchange, &fields))
        return respond_known(responses, exchange, message, lines, &fields);
    if (exchange->response.head_request) return respond_head(responses, exchange, message, lines, &fields);
    if (message->content_length < bytes_min) return nb_compose_response(responses, exchange, message, lines, content);
    if (!encodes(responses, exchange, &fields))
        return respond(responses, exchange, message, lines, &fields, NB_COMPRESS_VARY, content);
    return begin(responses, exchange, message, lines, &fields, content);
}

nb_status nb_compression_part(nb_responses *responses, nb_exchange *exchange, const nb_message *part,
                              const char *rest) {
    if (part->type == NB_MESSAGE_RESPONSE && exchange->compresses) {
        const nb_response_message *message = (const nb_response_message *)(const void *)part;
        size_t content_bytes = part->bytes - sizeof(*message) - message->fields_bytes;
        return decide(responses, exchange, message, nb_slice_of(rest, message->fields_bytes),
                      nb_slice_of(rest + message->fields_bytes, content_bytes));
    }
    if (part->type == NB_MESSAGE_BODY && exchange->compression)
        return take(exchange->compression, exchange, nb_slice_of(rest, part->bytes - sizeof(*part)), part->flags);
    return nb_compose_part(responses, exchange, part, rest);
}

/* --- pieces --- */

static size_t waiting_bytes(const nb_compression *self) { return self->input.size + self->taken.size - self->taken_at; }

size_t nb_compression_waiting(const nb_exchange *exchange) {
    return exchange->compression ? waiting_bytes(exchange->compression) : 0;
}

/* Frees what a large piece has needed. */
static void shrink(nb_bytes *bytes) {
    bytes->size = 0;
    if (bytes->capacity > KEPT_BYTES_MAX) nb_bytes_free(bytes);
}

/* What is encoded next: the piece, and what follows it. */
static void choose_piece(nb_compression *self, size_t most) {
    if (self->taken_at == self->taken.size) {
        nb_bytes empty = self->taken;
        empty.size = 0;
        self->taken = self->input;
        self->input = empty;
        self->taken_at = 0;
    }
    size_t there = self->taken.size - self->taken_at;
    self->piece_bytes = there < most ? there : most;
    bool all = self->piece_bytes == there && self->input.size == 0;
    self->then = !all ? NB_ENCODE_MORE : self->last && !self->aborted ? NB_ENCODE_END : NB_ENCODE_FLUSH;
}

/* The head with which the response is sent. plain: not encoded. */
static nb_status send_head(nb_responses *responses, nb_compression *self, nb_slice content, uint16_t flags,
                           bool plain) {
    nb_exchange *exchange = self->exchange;
    nb_response_fields fields;
    nb_slice lines = nb_slice_of(self->lines, self->head.fields_bytes);
    nb_response_message message = self->head;
    unsigned changes = plain ? 0 : NB_COMPRESS_VARY | NB_COMPRESS_WEAKEN | NB_COMPRESS_ENCODE;
    bool whole = (flags & NB_PART_LAST) && !(flags & NB_PART_ABORTED);
    message.message.flags &= (uint16_t) ~(NB_PART_LAST | NB_PART_ABORTED | NB_PART_TELL_DRAINED |
                                          NB_RESPONSE_HAS_LENGTH);
    message.message.flags |= flags;
    message.content_length = whole ? content.size : NB_CONTENT_LENGTH_UNKNOWN;
    nb_response_fields_read(&fields, lines);
    nb_status status = respond(responses, exchange, &message, lines, &fields, changes, content);
    if (status == NB_OK && !plain) nb_count(&responses->counters->compressed[exchange->accepts], 1);
    return status;
}

static nb_status send_output(nb_responses *responses, nb_compression *self, uint16_t flags) {
    nb_exchange *exchange = self->exchange;
    nb_slice content = nb_bytes_slice(&self->output);
    if (!exchange->head_sent) return send_head(responses, self, content, flags, false);
    nb_message part = {.type = NB_MESSAGE_BODY,
                       .flags = flags,
                       .bytes = (uint32_t)(sizeof(part) + content.size),
                       .exchange = nb_exchange_id_of(exchange)};
    return nb_compose_part(responses, exchange, &part, content.data);
}

/* Tells the connection, after which nothing may be used any more. */
static void tell(nb_responses *responses, nb_compression *self, nb_status status) {
    nb_exchange *exchange = self->exchange;
    if (status != NB_OK) self->status = status;
    if (exchange->ended || status != NB_OK) {
        nb_compression_drop(exchange);
    } else if (waiting_bytes(self) > 0 || self->last) {
        make_due(self);
    }
    responses->events->encoded(responses->owner, exchange, status);
}

/* Sends what a piece has become. */
static void follow(nb_responses *responses, nb_compression *self) {
    nb_status status = self->status;
    if (status == NB_OK) {
        NB_COUNT(responses->counters, compress_bytes_in, self->piece_bytes);
        NB_COUNT(responses->counters, compress_bytes_out, self->output.size);
        self->taken_at += self->piece_bytes;
        bool broken = self->aborted && waiting_bytes(self) == 0, over = self->then == NB_ENCODE_END || broken;
        uint16_t flags = broken ? NB_PART_LAST | NB_PART_ABORTED : over ? NB_PART_LAST : 0;
        if (over || self->output.size > 0 || !self->exchange->head_sent) status = send_output(responses, self, flags);
        shrink(&self->output);
        if (self->taken_at == self->taken.size) {
            self->taken_at = 0;
            shrink(&self->taken);
        }
        account(self);
    }
    tell(responses, self, status);
}

/* What there is needs no encoder. True: done. */
static bool send_without(nb_responses *responses, nb_compression *self) {
    bool nothing = waiting_bytes(self) == 0, untouched = !self->exchange->head_sent && self->taken.size == 0;
    nb_status status = NB_OK;
    if (untouched && self->last && !self->aborted && self->input.size < responses->compressions.bytes_min) {
        status = send_head(responses, self, nb_bytes_slice(&self->input), NB_PART_LAST, true);
    } else if (nothing && self->last && self->aborted) {
        status = send_output(responses, self, NB_PART_LAST | NB_PART_ABORTED);
    } else if (nothing && !self->last) { /* a head whose content is late */
        if (!self->exchange->head_sent) status = send_output(responses, self, 0);
    } else {
        return false;
    }
    tell(responses, self, status);
    return true;
}

static bool has_encoder(nb_compression *self) {
    if (self->encoder) return true;
    /* NB_CONTENT_LENGTH_UNKNOWN is a large one. */
    uint64_t all = self->last ? waiting_bytes(self) : self->head.content_length;
    bool small = self->events || all <= NB_WINDOW_SMALL_BYTES;
    self->encoder = take_encoder(self->all, (nb_encoding)self->exchange->accepts,
                                 small ? NB_WINDOW_SMALL : NB_WINDOW_LARGE);
    return self->encoder != NULL;
}

/* How much of it the time that is left allows. */
static size_t affordable(const nb_compression *self, int64_t left_ns) {
    const nb_compressions *all = self->all;
    nb_encoding coding = (nb_encoding)self->exchange->accepts;
    int64_t fixed_ns = nb_encoder_cost_ns(coding, all->level, 0);
    int64_t kb_ns = nb_encoder_cost_ns(coding, all->level, 1024) - fixed_ns;
    return left_ns <= fixed_ns ? 0 : (size_t)((left_ns - fixed_ns) / kb_ns) * 1024;
}

/* Encodes a piece here or by a thread. left_ns: of the turn's time, of which it takes its part. */
static void step(nb_responses *responses, nb_compression *self, int64_t *left_ns) {
    nb_compressions *all = &responses->compressions;
    if (send_without(responses, self)) return;
    if (!has_encoder(self)) {
        tell(responses, self, NB_NO_MEMORY);
        return;
    }
    size_t most = affordable(self, *left_ns);
    bool here = waiting_bytes(self) <= most;
    choose_piece(self, PIECE_BYTES_MAX);
    account(self);
    if (!here) {
        self->with_thread = true;
        if (nb_workers_submit(all->workers, &self->job) == NB_OK) return;
        self->with_thread = false;
        choose_piece(self, most);
        if (self->piece_bytes == 0) {
            make_due(self);
            return;
        }
    }
    *left_ns -= nb_encoder_cost_ns((nb_encoding)self->exchange->accepts, all->level, self->piece_bytes);
    run(&self->job);
    follow(responses, self);
}

static void take_returned(nb_responses *responses) {
    nb_compressions *all = &responses->compressions;
    pthread_mutex_lock(&all->lock);
    nb_compression *self = all->returned;
    all->returned = NULL;
    pthread_mutex_unlock(&all->lock);
    while (self) {
        nb_compression *next = self->next;
        self->with_thread = false;
        if (self->exchange) {
            follow(responses, self);
        } else {
            destroy(self);
        }
        self = next;
    }
}

bool nb_compressions_step(nb_responses *responses, bool threads_only) {
    nb_compressions *all = &responses->compressions;
    int64_t left_ns = threads_only ? 0 : TURN_NS;
    take_returned(responses);
    nb_compression *self = all->due;
    all->due = NULL;
    while (self) {
        nb_compression *next = self->next;
        self->due = false;
        if (self->exchange) {
            step(responses, self, &left_ns);
        } else {
            destroy(self);
        }
        self = next;
    }
    return all->due != NULL;
}
