/*
 * c_executor.c - see c_executor.h. Tasks are small state machines in a list. A turn takes what
 * came, steps every task that can move, asks for more, and sleeps by the doorbell protocol, as
 * binding/executor/executor.c does.
 */
#include "support/c_executor.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "files/file_request.h"
#include "http1/head_parser.h"
#include "http1/head_writer.h"
#include "os/clock.h"
#include "poll/poll.h"
#include "support/pattern.h"
#include "support/pattern_file.h"

typedef enum task_kind { SEND, NAMED, HOLD, NEVER, LATE, ABORT, READ, DUPLEX, HIJACK } task_kind;

typedef struct task {
    struct task *next;
    nb_exchange_id exchange;
    uint64_t number; /* of the request */
    int64_t taken_ns;
    task_kind kind;
    uint16_t status, flags;
    uint64_t announced, total, done; /* body bytes */
    uint64_t abort_at;               /* gives up there; UINT64_MAX: never */
    uint64_t unacknowledged;
    char *memory; /* the body to send, or the name of the file; NULL: the pattern, or the file */
    int body_fd;  /* a spooled body to send; -1: none */
    int file_fd;  /* of NB_NAMED_OPEN; -1: none */
    uint64_t file_bytes;
    uint16_t naming;
    char asked_of_file[NB_FILE_REQUEST_BYTES_MAX]; /* what the request says of it, flat */
    size_t asked_bytes;
    size_t field_bytes;
    unsigned hints;  /* 103 responses before it */
    bool hints_late; /* once its head was sent */
    bool parks, waits_drained, gone, head_sent, hijack_asked, hijacked;
    uint64_t input, told; /* bytes of a streamed body received, and said to be taken */
    bool reads, asked, input_ended, input_bad;
    struct port *port;
} task;

/* Its end of one loop's channel. */
typedef struct port {
    nb_channel *channel;
    nb_ring_consumer requests;
    nb_ring_producer responses;
    bool published, room, ends;
} port;

struct nb_test_executor {
    nb_server *server;
    nb_link *link;
    port *ports, *port; /* of each loop; that of the message or task at hand */
    nb_test_executor_options options;
    pthread_t thread;
    nb_poll *poll;
    nb_wake control;
    task *tasks;
    /* Requests read from the ring, the requeued ones included; begun with. */
    uint64_t passed, begun, last_answered;
    bool guest;
    _Atomic bool stalled, killed;
    _Atomic unsigned releases, faults, stalls, gone_reason;
    _Atomic uint64_t input;
    unsigned released, stalls_seen;
    nb_test_gate events[NB_TEST_EVENTS];
    nb_test_gate go;
    int taken_fd; /* of the connection hijacked last */
    char taken[65536];
    size_t taken_bytes;
    unsigned blocks; /* /block requests so far */
};

static void count(nb_test_executor *self, nb_test_event event) { nb_test_gate_open(&self->events[event]); }

/* As fibers are switched: work begins now. 0: it waits. */
static void stamp(nb_test_executor *self, int64_t now_ns) {
    atomic_store_explicit(&self->link->board->pulse.switched_ns, now_ns, memory_order_relaxed);
}

/* --- parts out --- */

static void *reserve(nb_test_executor *self, size_t bytes) {
    void *place = nb_ring_reserve(&self->port->responses, bytes);
    if (place) return place;
    atomic_store_explicit(&self->port->channel->memory->executor_blocked, 1, memory_order_relaxed);
    nb_doorbell_fence(&self->port->channel->memory->loop_bell);
    place = nb_ring_reserve(&self->port->responses, bytes);
    if (place) return place;
    self->port->room = true;
    count(self, NB_TEST_FULL);
    return NULL;
}

static void send_part(nb_test_executor *self, size_t bytes) {
    nb_ring_commit(&self->port->responses, bytes);
    nb_ring_publish(&self->port->responses);
    self->port->published = true;
}

static void send_hints(nb_test_executor *self, const task *t) {
    static const char lines[] = "Link: </a.css>; rel=preload\r\nX-Hint: 1\r\n";
    nb_message *message = reserve(self, sizeof *message + sizeof lines - 1);
    if (!message) abort(); /* no test that asks for hints fills the ring */
    *message = (nb_message){
        .type = NB_MESSAGE_HINTS, .bytes = (uint32_t)(sizeof *message + sizeof lines - 1), .exchange = t->exchange};
    memcpy(message + 1, lines, sizeof lines - 1);
    send_part(self, sizeof *message + sizeof lines - 1);
}

static void fill(const task *t, char *out, size_t bytes) {
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
static size_t next_slice(nb_test_executor *self, task *t, uint16_t *flags) {
    uint64_t end = t->abort_at < t->total ? t->abort_at : t->total;
    if (t->kind == HIJACK) end = 1; /* of the head's part: not the last */
    uint64_t left = t->kind == HIJACK ? 0 : end - t->done;
    uint64_t high = self->options.backlog_high;
    if (high == 0)
        high = atomic_load_explicit(&self->port->channel->memory->response_window_bytes, memory_order_relaxed) / 2;
    uint64_t most = t->parks && high < NB_RESPONSE_SLICE_BYTES ? high : NB_RESPONSE_SLICE_BYTES;
    size_t slice = (size_t)(left < most ? left : most);
    *flags = 0;
    if (t->done + slice == end && t->kind == DUPLEX && !t->input_ended) {
        *flags = 0;
    } else if (t->done + slice == end) {
        *flags = (uint16_t)(NB_PART_LAST | (t->abort_at <= t->total ? NB_PART_ABORTED : 0));
    } else if (t->parks && t->unacknowledged + slice >= high) {
        *flags = NB_PART_TELL_DRAINED;
    }
    return slice;
}

static void sent(nb_test_executor *self, task *t, size_t slice, uint16_t flags) {
    t->done += slice;
    t->unacknowledged += slice;
    if (!(flags & NB_PART_TELL_DRAINED)) return;
    t->waits_drained = true;
    count(self, NB_TEST_PARKED);
}

static bool send_head(nb_test_executor *self, task *t, uint16_t *flags) {
    char fields[64] = "X-Executor: c\r\n";
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
    if (t->kind == DUPLEX) t->reads = true;
    sent(self, t, slice, *flags);
    if (t->hints_late) send_hints(self, t);
    return true;
}

/* The descriptor goes beside the record. */
static bool give_file(nb_test_executor *self, const task *t) {
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
static bool send_named(nb_test_executor *self, task *t) {
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

static bool send_body(nb_test_executor *self, task *t, uint16_t *flags) {
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
static bool hijack(nb_test_executor *self, task *t) {
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

static bool give_up(nb_test_executor *self, const task *t) {
    nb_message *part = reserve(self, sizeof(*part));
    if (!part) return false;
    *part = (nb_message){.type = NB_MESSAGE_BODY,
                         .flags = NB_PART_LAST | NB_PART_ABORTED,
                         .bytes = sizeof(*part),
                         .exchange = t->exchange};
    send_part(self, sizeof(*part));
    return true;
}

/* --- streamed bodies --- */

/* True when there is nothing to say, or it is said. */
static bool tell_taken(nb_test_executor *self, task *t) {
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

static void receive_input(nb_test_executor *self, task *t, const nb_message *message) {
    size_t bytes = message->bytes - sizeof *message;
    const char *from = (const char *)(message + 1);
    atomic_fetch_add(&self->input, bytes);
    count(self, NB_TEST_INPUT);
    if (message->flags & NB_INPUT_LAST) count(self, NB_TEST_WHOLE);
    if (!t) return; /* answered */
    if (t->input_ended || bytes > NB_INPUT_PART_BYTES || t->input + bytes - t->told > NB_INPUT_WINDOW_BYTES)
        atomic_fetch_add(&self->faults, 1);
    if (!nb_test_pattern_equal(from, t->input, bytes)) t->input_bad = true;
    t->input += bytes;
    t->input_ended = (message->flags & NB_INPUT_LAST) != 0;
    if (t->kind == DUPLEX) t->total = t->input;
    if (t->kind != READ || !t->input_ended || !t->reads) return;
    char text[32];
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)t->input, t->input_bad ? "bad" : "good");
    t->memory = strdup(text);
    t->announced = t->total = strlen(text);
    t->kind = SEND;
}

static bool plan_reader(task *t, const char *path, const nb_request_message *request) {
    if (!(request->message.flags & NB_REQUEST_STREAMS)) return false;
    if (strcmp(path, "/count") == 0) {
        t->kind = READ;
        t->reads = true;
    } else if (strcmp(path, "/slow") == 0) {
        t->kind = READ;
    } else if (strcmp(path, "/duplex") == 0 || strcmp(path, "/headfirst") == 0) {
        t->kind = DUPLEX;
        t->reads = strcmp(path, "/duplex") == 0;
        t->announced = NB_CONTENT_LENGTH_UNKNOWN;
    } else if (strcmp(path, "/silent") == 0) {
        t->kind = HOLD;
        t->memory = strdup("silent");
        t->announced = t->total = 6;
    } else {
        return false;
    }
    return true;
}

/* --- tasks --- */

static bool waits(nb_test_executor *self, const task *t) {
    if (t->gone) return false;
    if (t->kind == HIJACK) return t->hijack_asked && !t->hijacked;
    if (t->waits_drained || t->kind == NEVER || t->kind == HOLD || t->kind == READ) return true;
    if (t->kind == DUPLEX) return t->done == t->total && !t->input_ended && t->head_sent;
    return t->kind == LATE && self->last_answered <= t->number;
}

/* Moves one task as far as it goes. True: its last part is sent. */
static bool step(nb_test_executor *self, task *t) {
    if (!tell_taken(self, t)) return false;
    while (!waits(self, t)) {
        uint16_t flags = 0;
        if (t->gone || t->kind == ABORT) return give_up(self, t);
        if (t->kind == NAMED) return send_named(self, t);
        if (t->kind == HIJACK) {
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

static void task_free(task *t) {
    if (t->body_fd >= 0) close(t->body_fd);
    if (t->file_fd >= 0) close(t->file_fd);
    free(t->memory);
    free(t);
}

#define EACH_PORT(self) \
    for ((self)->port = (self)->ports; (self)->port < (self)->ports + (self)->link->count; (self)->port++)

static bool run_tasks(nb_test_executor *self) {
    bool moved = false;
    EACH_PORT(self)
    self->port->room = false;
    for (task **link = &self->tasks; *link;) {
        task *t = *link;
        self->port = t->port;
        if (!waits(self, t)) stamp(self, nb_clock_monotonic_ns());
        if (!step(self, t)) {
            link = &t->next;
            continue;
        }
        moved = true;
        if (t->number > self->last_answered) self->last_answered = t->number;
        *link = t->next;
        task_free(t);
        atomic_fetch_sub_explicit(&self->link->board->figures.running, 1, memory_order_relaxed);
        count(self, NB_TEST_ANSWERED);
    }
    return moved;
}

/* --- requests in --- */

static bool number_behind(const char *path, const char *prefix, uint64_t *number) {
    if (strncmp(path, prefix, strlen(prefix)) != 0) return false;
    *number = strtoull(path + strlen(prefix), NULL, 10);
    return true;
}

static void keep_text(task *t, const char *text) {
    t->memory = strdup(text);
    t->announced = t->total = strlen(text);
}

static nb_slice field_of(const nb_request_message *request, nb_field field) {
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nb_request_header *header = &request->headers[i];
        if (header->field == (uint32_t)field)
            return (nb_slice){(const char *)request + header->value.offset, header->value.size};
    }
    return (nb_slice){NULL, 0};
}

static void keep_conditions(task *t, const nb_request_message *request) {
    const nb_file_request asked = {.method = request->method,
                                   .if_none_match = field_of(request, NB_FIELD_IF_NONE_MATCH),
                                   .if_modified_since = field_of(request, NB_FIELD_IF_MODIFIED_SINCE),
                                   .if_match = field_of(request, NB_FIELD_IF_MATCH),
                                   .range = field_of(request, NB_FIELD_RANGE)};
    t->asked_bytes = nb_file_request_bytes(&asked);
    if (t->asked_bytes) nb_file_request_write(t->asked_of_file, &asked);
}

static bool plan_file(task *t, const char *path, const nb_request_message *request) {
    uint64_t number;
    bool is_short = number_behind(path, "/fileshort/", &number);
    t->announced = NB_CONTENT_LENGTH_UNKNOWN;
    if (is_short || number_behind(path, "/file/", &number)) {
        t->file_fd = nb_test_pattern_file(number - is_short);
        t->announced = t->file_bytes = number;
        t->naming = NB_NAMED_OPEN;
    } else if (strncmp(path, "/sendfile/", 10) == 0) {
        t->memory = strdup(path + 9);
        t->naming = NB_NAMED_SENDFILE;
    } else if (strncmp(path, "/accel/", 7) == 0) {
        t->memory = strdup(path + 6);
        t->naming = NB_NAMED_ACCEL;
    } else {
        return false;
    }
    t->kind = NAMED;
    keep_conditions(t, request);
    return true;
}

static bool plan_stream(task *t, const char *path) {
    uint64_t number;
    if (number_behind(path, "/chunked/", &number)) {
        t->announced = NB_CONTENT_LENGTH_UNKNOWN;
    } else if (number_behind(path, "/lump/", &number)) {
        t->parks = false;
        t->announced = number;
    } else if (number_behind(path, "/big/", &number)) {
        t->announced = number;
    } else {
        return false;
    }
    t->total = number;
    return true;
}

static bool plan_abort(task *t, const char *path) {
    if (strcmp(path, "/aborthead") == 0) {
        t->kind = ABORT;
        return true;
    }
    if (strncmp(path, "/abort", 6) != 0) return false;
    t->total = 100;
    t->announced = strcmp(path, "/abortchunked") == 0 ? NB_CONTENT_LENGTH_UNKNOWN : 100;
    t->abort_at = 10;
    return true;
}

static bool plan_text(task *t, const char *path) {
    uint64_t number;
    if (strcmp(path, "/hello") == 0) {
        keep_text(t, "hello");
    } else if (strcmp(path, "/hold") == 0) {
        keep_text(t, "held");
        t->kind = HOLD;
    } else if (strcmp(path, "/hints") == 0) {
        keep_text(t, "held");
        t->kind = HOLD;
        t->hints = 2;
    } else if (number_behind(path, "/hints/", &number)) {
        keep_text(t, "hinted");
        t->hints = (unsigned)number;
    } else if (strcmp(path, "/hintslate") == 0) {
        t->announced = t->total = 300000;
        t->hints_late = true;
    } else if (strcmp(path, "/late") == 0) {
        keep_text(t, "late");
        t->kind = LATE;
    } else if (strcmp(path, "/never") == 0) {
        t->kind = NEVER;
    } else if (strcmp(path, "/block") == 0) {
        keep_text(t, "blocked");
    } else if (strcmp(path, "/close") == 0) {
        keep_text(t, "hello");
        t->flags |= NB_RESPONSE_CLOSE;
    } else if (strcmp(path, "/short") == 0) {
        keep_text(t, "12345");
        t->announced = 10;
    } else if (strcmp(path, "/long") == 0) {
        keep_text(t, "1234567890");
        t->announced = 5;
    } else if (number_behind(path, "/status/", &number)) {
        t->status = (uint16_t)number;
        t->announced = 0;
    } else if (number_behind(path, "/fields/", &number)) {
        keep_text(t, "hello");
        t->field_bytes = (size_t)number;
    } else {
        return false;
    }
    return true;
}

static bool plan_hijack(task *t, const char *path) {
    if (strncmp(path, "/hijack", 7) != 0) return false;
    t->kind = HIJACK;
    t->announced = NB_CONTENT_LENGTH_UNKNOWN;
    t->flags |= NB_RESPONSE_HANDOVER;
    if (strcmp(path, "/hijackhead") == 0) t->status = 101;
    return true;
}

static bool plan_route(task *t, const char *path, const nb_request_message *request) {
    char number[8];
    if (strncmp(path, "/route", 6) != 0) return false;
    snprintf(number, sizeof number, "%u", request->route);
    keep_text(t, number);
    return true;
}

static void plan_echo(task *t, const nb_request_message *request) {
    if (request->message.flags & NB_REQUEST_STREAMS) {
        t->kind = READ;
        t->reads = true;
        return;
    }
    t->announced = t->total = request->body_bytes;
    t->body_fd = (int)request->body_fd;
    if (t->body_fd >= 0 || request->body_bytes == 0) return;
    t->memory = malloc(request->body_bytes);
    memcpy(t->memory, (const char *)request + request->body.offset, request->body_bytes);
}

static void plan(task *t, const nb_request_message *request) {
    char path[256];
    snprintf(path, sizeof path, "%.*s", (int)request->path.size, (const char *)request + request->path.offset);
    t->flags = NB_RESPONSE_HAS_LENGTH;
    bool known = plan_reader(t, path, request) || plan_route(t, path, request) || plan_text(t, path) ||
                 plan_stream(t, path) || plan_abort(t, path) || plan_file(t, path, request) || plan_hijack(t, path);
    if (!known) {
        plan_echo(t, request);
    } else if (request->body_fd >= 0) {
        close((int)request->body_fd);
    }
    if (t->announced == NB_CONTENT_LENGTH_UNKNOWN) t->flags &= (uint16_t)~NB_RESPONSE_HAS_LENGTH;
}

/* False: the loop has requeued it. Between processes its file has come all the same. */
static bool claim(nb_test_executor *self, nb_request_message *request) {
    bool mine = nb_request_claim(request, NB_CLAIM_TAKEN), shared = nb_channel_is_shared(self->port->channel);
    self->passed++;
    int fd = request->body_fd >= 0 && (mine || shared) ? nb_channel_receive_fd(self->port->channel, request->body_fd)
                                                       : -1;
    if (mine) {
        if (fd < 0 && request->body_fd >= 0) atomic_fetch_add(&self->faults, 1);
        request->body_fd = fd;
        nb_request_begin(request);
        return true;
    }
    if (fd >= 0) close(fd);
    count(self, NB_TEST_PASSED_OVER);
    return false;
}

static void receive_request(nb_test_executor *self, nb_request_message *request) {
    if (!claim(self, request)) return;
    task *t = calloc(1, sizeof *t);
    t->exchange = request->message.exchange;
    t->port = self->port;
    t->number = ++self->begun;
    t->taken_ns = nb_clock_monotonic_ns();
    stamp(self, t->taken_ns);
    atomic_store_explicit(&self->link->board->figures.taken, self->begun, memory_order_relaxed);
    atomic_fetch_add_explicit(&self->link->board->figures.running, 1, memory_order_relaxed);
    t->status = 200;
    t->abort_at = UINT64_MAX;
    t->body_fd = t->file_fd = -1;
    t->parks = true;
    plan(t, request);
    task **link = &self->tasks;
    while (*link)
        link = &(*link)->next;
    *link = t;
    for (unsigned i = 0; i < t->hints; i++)
        send_hints(self, t);
    if (request->message.flags & NB_REQUEST_UPGRADES) count(self, NB_TEST_UPGRADES);
    count(self, NB_TEST_RECEIVED);
    if (request->path.size != 6 || memcmp((const char *)request + request->path.offset, "/block", 6) != 0) return;
    count(self, NB_TEST_BLOCKED);
    nb_test_gate_wait(&self->go, ++self->blocks);
}

static task *find(nb_test_executor *self, nb_exchange_id exchange) {
    for (task *t = self->tasks; t; t = t->next) {
        if (t->exchange == exchange) return t;
    }
    return NULL;
}

static void take(nb_test_executor *self, task *t, const nb_hijacked_message *message) {
    bool expected = t && t->kind == HIJACK && t->hijack_asked && !t->hijacked && message->size <= sizeof self->taken;
    int fd = nb_channel_receive_fd(self->port->channel, message->fd);
    if (!expected || fd < 0) {
        atomic_fetch_add(&self->faults, 1);
        if (fd >= 0) close(fd);
        return;
    }
    self->taken_fd = fd;
    self->taken_bytes = (size_t)message->size;
    memcpy(self->taken, message + 1, self->taken_bytes);
    t->hijacked = true;
    count(self, NB_TEST_HIJACKED);
}

int nb_test_executor_taken(nb_test_executor *self, char *bytes, size_t *size) {
    memcpy(bytes, self->taken, self->taken_bytes);
    *size = self->taken_bytes;
    return self->taken_fd;
}

static void receive(nb_test_executor *self, nb_message *message) {
    task *t = find(self, message->exchange);
    switch (message->type) {
    case NB_MESSAGE_REQUEST:
        if (t) atomic_fetch_add(&self->faults, 1);
        receive_request(self, (nb_request_message *)(void *)message);
        break;
    case NB_MESSAGE_DRAINED:
        if (t && !t->waits_drained) atomic_fetch_add(&self->faults, 1);
        if (t) {
            t->waits_drained = false;
            t->unacknowledged = 0;
        }
        count(self, NB_TEST_DRAINED);
        break;
    case NB_MESSAGE_GONE:
        if (t && t->gone) atomic_fetch_add(&self->faults, 1);
        if (t) t->gone = true;
        atomic_store(&self->gone_reason, message->flags);
        count(self, NB_TEST_GONE);
        break;
    case NB_MESSAGE_HIJACKED:
        take(self, t, (const nb_hijacked_message *)(const void *)message);
        break;
    case NB_MESSAGE_LEFT:
        if (t && t->gone) atomic_fetch_add(&self->faults, 1);
        count(self, NB_TEST_LEFT);
        break;
    case NB_MESSAGE_INPUT:
        receive_input(self, t, message);
        break;
    case NB_MESSAGE_STOP:
        self->port->ends = true;
        count(self, NB_TEST_STOPPED);
        break;
    case NB_MESSAGE_RETIRE:
        self->port->ends = true;
        count(self, NB_TEST_RETIRED);
        break;
    default:
        atomic_fetch_add(&self->faults, 1);
    }
}

static bool take_messages(nb_test_executor *self) {
    const nb_message *message;
    size_t bytes;
    bool taken = false;
    EACH_PORT(self) {
        while ((message = nb_ring_peek(&self->port->requests, &bytes))) {
            receive(self, (nb_message *)(uintptr_t)message);
            nb_ring_advance(&self->port->requests);
            nb_ring_release(&self->port->requests);
            taken = true;
        }
    }
    return taken;
}

static void take_releases(nb_test_executor *self) {
    unsigned releases = atomic_load(&self->releases);
    if (releases == self->released) return;
    self->released = releases;
    for (task *t = self->tasks; t; t = t->next) {
        if (t->kind == HOLD) t->kind = SEND;
        if (t->kind == READ) t->reads = true;
    }
}

/* --- the turn --- */

static void ask_for_more(nb_test_executor *self) {
    nb_board *board = self->link->board;
    uint64_t wanted = self->passed + self->options.credit;
    if (wanted > atomic_load_explicit(&board->asked, memory_order_relaxed)) {
        atomic_store_explicit(&board->asked, wanted, memory_order_release);
    }
}

static void ring_if_starved(nb_test_executor *self) {
    EACH_PORT(self) {
        if (atomic_load_explicit(&self->port->channel->memory->loop_starved, memory_order_relaxed))
            nb_channel_ring_loop(self->port->channel);
    }
}

static void ring_if_published(nb_test_executor *self) {
    EACH_PORT(self) {
        if (self->port->published) nb_channel_ring_loop(self->port->channel);
        self->port->published = false;
    }
}

static void ring_all(nb_test_executor *self) {
    EACH_PORT(self)
    nb_channel_ring_loop(self->port->channel);
}

static bool all_end(nb_test_executor *self) {
    EACH_PORT(self) {
        if (!self->port->ends) return false;
    }
    return true;
}

static bool has_something(nb_test_executor *self) {
    EACH_PORT(self) {
        bool blocked = atomic_load_explicit(&self->port->channel->memory->executor_blocked, memory_order_acquire) != 0;
        if (nb_ring_readable(&self->port->requests) || (self->port->room && !blocked)) return true;
    }
    return false;
}

static void wait_in_poller(nb_test_executor *self, int64_t timeout_ns) {
    nb_poll_event events[4];
    size_t found = 0;
    (void)nb_poll_wait(self->poll, events, 4, timeout_ns, &found);
    for (size_t i = 0; i < found; i++)
        nb_wake_clear(events[i].cookie ? &self->control : &self->link->executor_wake);
}

/* Nothing is taken, asked for or announced meanwhile. */
static void sit_out(nb_test_executor *self) {
    stamp(self, nb_clock_monotonic_ns());
    while (atomic_load(&self->stalled) && !atomic_load(&self->killed)) {
        unsigned stalls = atomic_load(&self->stalls);
        /* A new one may begin before the end of the last was seen. */
        if (stalls != self->stalls_seen) count(self, NB_TEST_BLOCKED);
        self->stalls_seen = stalls;
        nb_wake_wait(&self->control, -1);
    }
}

/* In place of sleeping, where other threads want a lock that this one has. */
static void attend_locked(nb_test_executor *self) {
    nb_guest_outcome outcome = nb_server_guest_turn(self->server, &self->ports->requests);
    count(self, outcome == NB_GUEST_REFUSED ? NB_TEST_REFUSED : NB_TEST_GUEST);
    if (outcome == NB_GUEST_REFUSED) {
        ring_all(self);
        sched_yield();
    }
    self->ports->published = false;
    wait_in_poller(self, 0);
}

static void sleep_until_something(nb_test_executor *self) {
    nb_doorbell *bell = &self->link->board->executor_bell;
    int64_t timeout_ns = -1;
    stamp(self, 0);
    nb_doorbell_announce(bell);
    ring_if_starved(self);
    if (has_something(self)) {
        nb_doorbell_cancel(bell);
        return;
    }
    nb_guest_outcome outcome = self->guest ? nb_server_guest_wait(self->server, &self->ports->requests, -1)
                                           : NB_GUEST_REFUSED;
    if (self->guest) count(self, outcome == NB_GUEST_REFUSED ? NB_TEST_REFUSED : NB_TEST_GUEST);
    if (outcome == NB_GUEST_CALLED) timeout_ns = 0;
    if (outcome == NB_GUEST_REFUSED) ring_if_published(self);
    if (outcome != NB_GUEST_REFUSED) self->ports->published = false;
    if (outcome != NB_GUEST_SERVED) wait_in_poller(self, timeout_ns);
    nb_doorbell_cancel(bell);
}

static void *run(void *argument) {
    nb_test_executor *self = argument;
    nb_board *board = self->link->board;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL); /* as a guest it calls sendfile(2) */
    ask_for_more(self);
    ring_all(self);
    while (!atomic_load(&self->killed)) {
        if (atomic_load(&self->stalled)) {
            sit_out(self);
            continue;
        }
        bool moved = take_messages(self);
        take_releases(self);
        if (run_tasks(self)) moved = true;
        ask_for_more(self);
        if (!self->guest) ring_if_published(self);
        atomic_fetch_add_explicit(&board->pulse.turns, 1, memory_order_release);
        ring_if_starved(self);
        if (!self->tasks && all_end(self)) break;
        if (moved) continue;
        if (self->guest && self->options.locked) {
            attend_locked(self);
        } else {
            sleep_until_something(self);
        }
    }
    if (atomic_load(&self->killed) && nb_channel_is_shared(self->ports->channel)) return NULL;
    atomic_store_explicit(&board->executor_gone, 1, memory_order_release);
    if (self->guest) nb_server_guest_end(self->server);
    ring_all(self);
    return NULL;
}

/* --- for the test --- */

static nb_test_executor *create(nb_server *server, nb_channel *channel, const nb_test_executor_options *options) {
    static const nb_test_gate gate = NB_TEST_GATE;
    nb_test_executor *self = calloc(1, sizeof *self);
    self->server = server;
    self->link = channel->link;
    self->ports = calloc(self->link->count, sizeof *self->ports);
    if (options) self->options = *options;
    if (self->options.credit == 0) self->options.credit = channel->board->credit_slow;
    for (int i = 0; i < NB_TEST_EVENTS; i++)
        self->events[i] = gate;
    self->go = gate;
    EACH_PORT(self) {
        self->port->channel = &self->link->channels[self->port - self->ports];
        nb_ring_consumer_attach(&self->port->requests, nb_channel_requests(self->port->channel));
        nb_ring_producer_attach(&self->port->responses, nb_channel_responses(self->port->channel));
    }
    if (nb_wake_init(&self->control) != NB_OK || nb_poll_create(NULL, &self->poll) != NB_OK) abort();
    if (nb_poll_add(self->poll, channel->link->executor_wake.read_fd, NB_POLL_READ, 0) != NB_OK) abort();
    if (nb_poll_add(self->poll, self->control.read_fd, NB_POLL_READ, 1) != NB_OK) abort();
    self->guest = self->options.guest && nb_server_guest_begin(server, nb_poll_descriptor(self->poll));
    return self;
}

nb_test_executor *nb_test_executor_start(nb_server *server, nb_channel *channel,
                                         const nb_test_executor_options *options) {
    nb_test_executor *self = create(server, channel, options);
    self->thread = nb_test_thread(run, self);
    return self;
}

static void destroy(nb_test_executor *self) {
    while (self->tasks) {
        task *t = self->tasks;
        self->tasks = t->next;
        task_free(t);
    }
    nb_poll_destroy(self->poll);
    nb_wake_deinit(&self->control);
    free(self->ports);
    free(self);
}

void nb_test_executor_run(nb_channel *channel, const nb_test_executor_options *options) {
    nb_test_executor *self = create(NULL, channel, options);
    run(self);
    destroy(self);
}

void nb_test_executor_stall(nb_test_executor *self, bool stalled) {
    unsigned before = nb_test_gate_count(&self->events[NB_TEST_BLOCKED]);
    if (stalled) atomic_fetch_add(&self->stalls, 1);
    atomic_store(&self->stalled, stalled);
    nb_wake_signal(&self->control);
    if (stalled) nb_test_gate_wait(&self->events[NB_TEST_BLOCKED], before + 1);
}

void nb_test_executor_release(nb_test_executor *self) {
    atomic_fetch_add(&self->releases, 1);
    nb_wake_signal(&self->control);
}

void nb_test_executor_unblock(nb_test_executor *self) { nb_test_gate_open(&self->go); }

void nb_test_executor_kill(nb_test_executor *self) {
    atomic_store(&self->killed, true);
    nb_wake_signal(&self->control);
}

void nb_test_executor_join(nb_test_executor *self) {
    nb_test_join(self->thread);
    destroy(self);
}

unsigned nb_test_executor_count(nb_test_executor *self, nb_test_event event) {
    return nb_test_gate_count(&self->events[event]);
}

void nb_test_executor_await(nb_test_executor *self, nb_test_event event, unsigned wanted) {
    nb_test_gate_wait(&self->events[event], wanted);
}

uint64_t nb_test_executor_input(nb_test_executor *self) { return atomic_load(&self->input); }

unsigned nb_test_executor_gone_reason(nb_test_executor *self) { return atomic_load(&self->gone_reason); }

unsigned nb_test_executor_faults(nb_test_executor *self) { return atomic_load(&self->faults); }
