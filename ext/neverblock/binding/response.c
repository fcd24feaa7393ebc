/*
 * response.c - see response.h.
 */
#include "response.h"

#include <errno.h>
#include <fcntl.h>
#include <ruby/encoding.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "http1/head_parser.h"
#include "http1/head_writer.h"
#include "neverblock.h"

/* Bytes of all field lines of one response. A ring record must hold them; nothing real comes near. */
#define FIELDS_BYTES_MAX (NB_RING_BYTES / 4)

/* A head buffer larger than this is not kept. */
#define SCRATCH_BYTES_MAX 65536

static ID id_each, id_call, id_to_path, id_to_ary;

/* A response head being gathered. */
typedef struct head {
    char *bytes; /* field lines */
    size_t size, capacity;
    uint64_t content_length;
    int status;
    uint16_t flags;
    bool rack2;
    VALUE name; /* of the field being added */
} head;

/* The executor keeps one buffer for the next head: a task that parks takes it along, and another makes its own. */
static void head_take(nb_executor *executor, head *gathered) {
    gathered->bytes = executor->scratch;
    gathered->capacity = executor->scratch ? executor->scratch_bytes : 0;
    executor->scratch = NULL;
}

static void head_give_back(nb_executor *executor, head *gathered) {
    if (executor->scratch || gathered->capacity > SCRATCH_BYTES_MAX) {
        nb_free(gathered->bytes);
        return;
    }
    executor->scratch = gathered->bytes;
    executor->scratch_bytes = gathered->capacity;
}

static void add(head *gathered, const char *bytes, size_t size) {
    if (gathered->size + size > FIELDS_BYTES_MAX) {
        rb_raise(nb_error_class, "the response's header fields have more than %u bytes", FIELDS_BYTES_MAX);
    }
    if (gathered->size + size > gathered->capacity) {
        size_t capacity = gathered->capacity ? gathered->capacity * 2 : 1024;
        while (capacity < gathered->size + size) {
            capacity *= 2;
        }
        char *larger = nb_realloc(gathered->bytes, capacity);
        if (!larger) rb_memerror();
        gathered->bytes = larger;
        gathered->capacity = capacity;
    }
    memcpy(gathered->bytes + gathered->size, bytes, size);
    gathered->size += size;
}

static uint64_t parse_content_length(nb_slice value) {
    uint64_t number = 0;
    bool valid = value.size > 0 && value.size <= 18;
    for (size_t i = 0; i < value.size && valid; i++) {
        valid = value.data[i] >= '0' && value.data[i] <= '9';
        number = number * 10 + (uint64_t)(value.data[i] - '0');
    }
    if (!valid)
        rb_raise(nb_error_class, "Content-Length must be a decimal number, the application gave %+" PRIsVALUE,
                 rb_str_new(value.data, (long)value.size));
    return number;
}

static bool names_close(nb_slice value) {
    for (size_t i = 0; i + 5 <= value.size; i++) {
        if (nb_slice_equal_lower((nb_slice){value.data + i, 5}, NB_SLICE("close"))) return true;
    }
    return false;
}

/* The fields that are the server's business, taken out of the lines. True: `value` was one of them. */
static bool take_own(head *gathered, nb_slice name, nb_slice value) {
    switch (name.size) {
    case 4:
        if (nb_slice_equal_lower(name, NB_SLICE("date"))) gathered->flags |= NB_RESPONSE_HAS_DATE;
        return false;
    case 6: /* Rack 2 applications may name it; it is the first element of the response */
        return nb_slice_equal_lower(name, NB_SLICE("status"));
    case 10:
        if (nb_slice_equal_lower(name, NB_SLICE("keep-alive"))) return true;
        if (!nb_slice_equal_lower(name, NB_SLICE("connection"))) return false;
        if (names_close(value)) gathered->flags |= NB_RESPONSE_CLOSE;
        return true;
    case 14:
        if (!nb_slice_equal_lower(name, NB_SLICE("content-length"))) return false;
        gathered->content_length = parse_content_length(value);
        gathered->flags |= NB_RESPONSE_HAS_LENGTH;
        return true;
    case 17:
        return nb_slice_equal_lower(name, NB_SLICE("transfer-encoding"));
    default:
        return false;
    }
}

static void add_line(head *gathered, nb_slice value) {
    nb_slice name = {RSTRING_PTR(gathered->name), (size_t)RSTRING_LEN(gathered->name)};
    if (!nb_is_field_value(value)) {
        rb_raise(nb_error_class,
                 "the value of the response's header field %+" PRIsVALUE " has control characters: %+" PRIsVALUE,
                 gathered->name, rb_str_new(value.data, (long)value.size));
    }
    if (take_own(gathered, name, value)) return;
    add(gathered, name.data, name.size);
    add(gathered, ": ", 2);
    add(gathered, value.data, value.size);
    add(gathered, "\r\n", 2);
}

/* Rack 2 joins several values of one field by newlines; in Rack 3 a newline is a control character like any other. */
static void add_text(head *gathered, VALUE value) {
    const char *bytes = RSTRING_PTR(value);
    size_t size = (size_t)RSTRING_LEN(value);
    const char *end;
    while (gathered->rack2 && (end = memchr(bytes, '\n', size))) {
        add_line(gathered, (nb_slice){bytes, (size_t)(end - bytes)});
        size -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
    }
    add_line(gathered, (nb_slice){bytes, size});
}

static void add_value(head *gathered, VALUE value) {
    if (RB_TYPE_P(value, T_ARRAY)) {
        for (long i = 0; i < RARRAY_LEN(value); i++) {
            add_value(gathered, rb_ary_entry(value, i));
        }
        return;
    }
    if (NIL_P(value)) return;
    VALUE string = rb_obj_as_string(value);
    add_text(gathered, string);
    RB_GC_GUARD(string);
}

static int add_field(VALUE name, VALUE value, VALUE argument) {
    head *gathered = (head *)argument;
    name = rb_obj_as_string(name);
    nb_slice bytes = {RSTRING_PTR(name), (size_t)RSTRING_LEN(name)};
    if (bytes.size > 5 && memcmp(bytes.data, "rack.", 5) == 0) {
        rb_raise(nb_error_class, "the response header %" PRIsVALUE " asks for something this version does not do yet",
                 name);
    }
    if (!nb_is_token(bytes)) rb_raise(nb_error_class, "%+" PRIsVALUE " is not a header field's name", name);
    gathered->name = name;
    add_value(gathered, value);
    RB_GC_GUARD(name);
    return ST_CONTINUE;
}

static VALUE add_pair(RB_BLOCK_CALL_FUNC_ARGLIST(pair, argument)) {
    VALUE name = argc > 1 ? argv[0] : rb_ary_entry(pair, 0);
    VALUE value = argc > 1 ? argv[1] : rb_ary_entry(pair, 1);
    add_field(name, value, argument);
    return Qnil;
}

typedef struct gather_call {
    head *gathered;
    VALUE response;
} gather_call;

static VALUE gather(VALUE argument) {
    gather_call *call = (gather_call *)argument;
    VALUE status = rb_ary_entry(call->response, 0), headers = rb_ary_entry(call->response, 1);
    if (!FIXNUM_P(status)) status = rb_Integer(status);
    call->gathered->status = NUM2INT(status);
    if (call->gathered->status < 200 || call->gathered->status > 599) {
        rb_raise(nb_error_class, "a response's status is 200 to 599, the application gave %d", call->gathered->status);
    }
    if (RB_TYPE_P(headers, T_HASH)) {
        rb_hash_foreach(headers, add_field, (VALUE)call->gathered);
    } else {
        rb_block_call(headers, id_each, 0, NULL, add_pair, (VALUE)call->gathered);
    }
    return Qnil;
}

/* --- parts --- */

static bool body_allowed(const nb_task *task, int status) {
    return !task->head_request && status != 204 && status != 304;
}

/* Head and the first `body` bytes in one part. */
static void send_head(nb_task *task, const head *gathered, nb_slice body, uint16_t flags) {
    size_t bytes = sizeof(nb_response_message) + gathered->size + body.size;
    nb_response_message *part = nb_executor_reserve(task, bytes);
    *part = (nb_response_message){
        .message = {.type = NB_MESSAGE_RESPONSE,
                    .flags = (uint16_t)(gathered->flags | flags),
                    .bytes = (uint32_t)bytes,
                    .exchange = task->exchange},
        .content_length = gathered->content_length,
        .status = (uint16_t)gathered->status,
        .fields_bytes = (uint32_t)gathered->size,
    };
    char *out = (char *)(part + 1);
    if (gathered->size) memcpy(out, gathered->bytes, gathered->size);
    if (body.size) memcpy(out + gathered->size, body.data, body.size);
    task->head_sent = true;
    task->ended = (flags & NB_PART_LAST) != 0;
    task->unacknowledged += body.size;
    nb_executor_send(task, bytes);
}

static void send_part(nb_task *task, nb_slice body, uint16_t flags) {
    size_t bytes = sizeof(nb_message) + body.size;
    nb_message *part = nb_executor_reserve(task, bytes);
    *part = (nb_message){.type = NB_MESSAGE_BODY, .flags = flags, .bytes = (uint32_t)bytes, .exchange = task->exchange};
    if (body.size) memcpy(part + 1, body.data, body.size);
    task->ended = (flags & NB_PART_LAST) != 0;
    task->unacknowledged += body.size;
    nb_executor_send(task, bytes);
}

/* Any number of body bytes, in slices, the writer parked while the client is behind. The last slice carries `flags`.
 * `owner` keeps the bytes. */
static void send_body(nb_task *task, VALUE owner, nb_slice body, uint16_t flags) {
    while (body.size > 0 || (flags & NB_PART_LAST)) {
        if (task->gone) rb_raise(nb_client_gone_class, "the client closed the connection");
        size_t step = body.size < NB_RESPONSE_SLICE_BYTES ? body.size : NB_RESPONSE_SLICE_BYTES;
        bool last = step == body.size;
        bool full = task->unacknowledged + step >= task->executor->backlog_high && !(last && (flags & NB_PART_LAST));
        send_part(task, (nb_slice){body.data, step},
                  (uint16_t)((last ? flags : 0) | (full ? NB_PART_TELL_DRAINED : 0)));
        if (full) nb_executor_wait_drained(task);
        body.data += step;
        body.size -= step;
        if (last) break;
    }
    RB_GC_GUARD(owner);
}

static nb_slice slice_of(VALUE string) { return (nb_slice){RSTRING_PTR(string), (size_t)RSTRING_LEN(string)}; }

/* The writer may park while it holds the bytes: nobody may change them meanwhile. */
static VALUE frozen_chunk(VALUE chunk) {
    return rb_str_new_frozen(RB_TYPE_P(chunk, T_STRING) ? chunk : rb_obj_as_string(chunk));
}

static uint64_t array_bytes(VALUE body) {
    uint64_t bytes = 0;
    for (long i = 0; i < RARRAY_LEN(body); i++) {
        VALUE chunk = rb_ary_entry(body, i);
        if (!RB_TYPE_P(chunk, T_STRING)) {
            rb_raise(nb_error_class, "a response body yields strings, the application's array holds %+" PRIsVALUE,
                     rb_obj_class(chunk));
        }
        bytes += (uint64_t)RSTRING_LEN(chunk);
    }
    return bytes;
}

static void check_length(nb_task *task, uint64_t announced, uint64_t sent) {
    if (announced == NB_CONTENT_LENGTH_UNKNOWN || announced == sent) return;
    rb_raise(nb_error_class, "the body has %" PRIu64 " bytes, its Content-Length said %" PRIu64, sent, announced);
}

/* The usual response: one or a few short strings. Head and body leave together. */
static void send_small_array(nb_task *task, head *gathered, VALUE body, size_t body_bytes) {
    size_t fields_bytes = gathered->size;
    for (long i = 0; i < RARRAY_LEN(body); i++) {
        VALUE chunk = rb_ary_entry(body, i);
        add(gathered, RSTRING_PTR(chunk), (size_t)RSTRING_LEN(chunk));
    }
    gathered->size = fields_bytes;
    send_head(task, gathered, (nb_slice){gathered->bytes + fields_bytes, body_bytes}, NB_PART_LAST);
}

static void send_large_array(nb_task *task, const head *gathered, VALUE body) {
    send_head(task, gathered, (nb_slice){NULL, 0}, 0);
    for (long i = 0; i < RARRAY_LEN(body); i++) {
        VALUE chunk = frozen_chunk(rb_ary_entry(body, i));
        send_body(task, chunk, slice_of(chunk), 0);
    }
    send_body(task, Qnil, (nb_slice){NULL, 0}, NB_PART_LAST);
}

static void send_array(nb_task *task, head *gathered, VALUE body) {
    uint64_t bytes = array_bytes(body);
    if (!(gathered->flags & NB_RESPONSE_HAS_LENGTH)) gathered->content_length = bytes;
    check_length(task, gathered->content_length, bytes);
    if (bytes <= NB_RESPONSE_SLICE_BYTES && gathered->size + bytes <= FIELDS_BYTES_MAX) {
        send_small_array(task, gathered, body, (size_t)bytes);
    } else {
        send_large_array(task, gathered, body);
    }
}

/* --- each --- */

typedef struct each_call {
    nb_task *task;
    head *gathered;
    uint64_t sent;
} each_call;

static VALUE each_chunk(RB_BLOCK_CALL_FUNC_ARGLIST(chunk, argument)) {
    each_call *call = (each_call *)argument;
    nb_task *task = call->task;
    chunk = frozen_chunk(chunk);
    nb_slice bytes = slice_of(chunk);
    if (task->gone) rb_raise(nb_client_gone_class, "the client closed the connection");
    if (bytes.size == 0) return Qnil;
    call->sent += bytes.size;
    if (!task->head_sent) {
        size_t first = bytes.size < NB_RESPONSE_SLICE_BYTES ? bytes.size : NB_RESPONSE_SLICE_BYTES;
        send_head(task, call->gathered, (nb_slice){bytes.data, first}, 0);
        bytes = (nb_slice){bytes.data + first, bytes.size - first};
    }
    send_body(task, chunk, bytes, 0);
    return Qnil;
}

static void send_each(nb_task *task, head *gathered, VALUE body) {
    each_call call = {task, gathered, 0};
    rb_block_call(body, id_each, 0, NULL, each_chunk, (VALUE)&call);
    if (!task->head_sent) {
        if (!(gathered->flags & NB_RESPONSE_HAS_LENGTH)) gathered->content_length = 0;
        check_length(task, gathered->content_length, 0);
        send_head(task, gathered, (nb_slice){NULL, 0}, NB_PART_LAST);
        return;
    }
    if (call.sent < gathered->content_length) check_length(task, gathered->content_length, call.sent);
    send_body(task, Qnil, (nb_slice){NULL, 0}, NB_PART_LAST);
    if (task->ended) check_length(task, gathered->content_length, call.sent);
}

/* --- to_path --- */

static int open_regular(const char *path, uint64_t *bytes) {
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -1;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode)) {
        *bytes = (uint64_t)found.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

/* True when the body went as a file range; false: it must be read by `each`. */
static bool send_file(nb_task *task, head *gathered, VALUE body) {
    VALUE path = rb_funcall(body, id_to_path, 0);
    uint64_t bytes = 0;
    if (NIL_P(path)) return false;
    int fd = open_regular(StringValueCStr(path), &bytes);
    if (fd < 0) return false;
    if (!(gathered->flags & NB_RESPONSE_HAS_LENGTH)) gathered->content_length = bytes;
    if (bytes < gathered->content_length) {
        close(fd);
        check_length(task, gathered->content_length, bytes);
    }
    send_head(task, gathered, (nb_slice){NULL, 0}, 0);
    nb_file_message *part = nb_executor_reserve(task, sizeof(*part));
    *part = (nb_file_message){
        .message = {.type = NB_MESSAGE_FILE, .flags = NB_PART_LAST, .bytes = sizeof(*part), .exchange = task->exchange},
        .fd = fd,
        .offset = 0,
        .bytes = gathered->content_length,
    };
    task->ended = true;
    nb_executor_send(task, sizeof(*part));
    return true;
}

/* --- the whole --- */

typedef struct send_call {
    nb_task *task;
    VALUE response;
    head gathered;
} send_call;

static void send_any(nb_task *task, head *gathered, VALUE body) {
    if (!body_allowed(task, gathered->status)) {
        send_head(task, gathered, (nb_slice){NULL, 0}, NB_PART_LAST);
    } else if (RB_TYPE_P(body, T_ARRAY)) {
        send_array(task, gathered, body);
    } else if (rb_respond_to(body, id_to_path) && send_file(task, gathered, body)) {
        return;
    } else if (!gathered->rack2 && rb_respond_to(body, id_to_ary)) {
        VALUE array = rb_check_array_type(body); /* which closes the body (Rack SPEC 3.1, "The Body") */
        task->body = Qnil;
        send_array(task, gathered, array);
        RB_GC_GUARD(array);
    } else if (rb_respond_to(body, id_each)) {
        send_each(task, gathered, body);
    } else if (rb_respond_to(body, id_call)) {
        rb_raise(nb_error_class,
                 "bodies that respond to call (streaming bodies) do not work in this version yet; use each");
    } else {
        rb_raise(nb_error_class, "a response body responds to each, the application gave %+" PRIsVALUE,
                 rb_obj_class(body));
    }
}

static VALUE send_response(VALUE argument) {
    send_call *call = (send_call *)argument;
    gather_call gathering = {&call->gathered, call->response};
    gather((VALUE)&gathering);
    send_any(call->task, &call->gathered, call->task->body);
    return Qnil;
}

static VALUE free_head(VALUE argument) {
    send_call *call = (send_call *)argument;
    head_give_back(call->task->executor, &call->gathered);
    return Qnil;
}

void nb_response_send(nb_task *task, VALUE response) {
    VALUE array = rb_check_array_type(response);
    if (NIL_P(array) || RARRAY_LEN(array) != 3) {
        rb_raise(nb_error_class, "an application returns [status, headers, body], this one returned %+" PRIsVALUE,
                 rb_obj_class(response));
    }
    task->status = rb_ary_entry(array, 0);
    task->headers = rb_ary_entry(array, 1);
    task->body = rb_ary_entry(array, 2);
    send_call call = {.task = task, .response = array};
    call.gathered.content_length = NB_CONTENT_LENGTH_UNKNOWN;
    head_take(task->executor, &call.gathered);
    call.gathered.rack2 = task->executor->rack2;
    rb_ensure(send_response, (VALUE)&call, free_head, (VALUE)&call);
    RB_GC_GUARD(array);
}

static const char failure_fields[] = "content-type: text/plain; charset=utf-8\r\n";
static const char failure_body[] = "500 Internal Server Error\n";

void nb_response_fail(nb_task *task) {
    if (task->ended) return;
    if (task->head_sent) {
        send_part(task, (nb_slice){NULL, 0}, NB_PART_LAST | NB_PART_ABORTED);
        return;
    }
    head gathered = {.bytes = (char *)(uintptr_t)failure_fields,
                     .size = sizeof(failure_fields) - 1,
                     .content_length = sizeof(failure_body) - 1,
                     .flags = NB_RESPONSE_HAS_LENGTH,
                     .status = 500};
    send_head(task, &gathered, (nb_slice){failure_body, sizeof(failure_body) - 1}, NB_PART_LAST);
}

void nb_response_define(void) {
    id_each = rb_intern("each");
    id_call = rb_intern("call");
    id_to_path = rb_intern("to_path");
    id_to_ary = rb_intern("to_ary");
}
