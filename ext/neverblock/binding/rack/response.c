/*
 * response.c - see response.h.
 */
#include "binding/rack/response.h"

#include <errno.h>
#include <fcntl.h>
#include <ruby.h>
#include <ruby/encoding.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "files/file_request.h"
#include "binding/rack/hijack.h"
#include "http1/chunked.h"
#include "http/head.h"
#include "http1/head_writer.h"
#include "binding/ports/executor_state.h"
#include "binding/ports/port.h"
#include "binding/ports/running.h"
#include "binding/ports/writing.h"
#include "binding/rack/env_keys.h"
#include "binding/rack/input.h"
#include "binding/scheduler/limit.h"
#include "binding/base/module.h"
#include "figures/reports.h"
#include "binding/rack/upgrade.h"

/* Bytes of all field lines of one response. A ring record must hold them; nothing real comes near. */
#define FIELDS_BYTES_MAX (NB_RING_BYTES / 4)

/* A head buffer larger than this is not kept. */
#define SCRATCH_BYTES_MAX 65536

static ID id_each, id_call, id_to_path, id_to_ary, id_read;
static VALUE stream_class;

static nb_slice slice_of(VALUE string) { return (nb_slice){RSTRING_PTR(string), (size_t)RSTRING_LEN(string)}; }

/* A response head being gathered. */
typedef struct head {
    char *bytes; /* field lines */
    size_t size, capacity;
    uint64_t content_length;
    int status;
    uint16_t flags;
    bool rack2;
    bool events;             /* text/event-stream */
    bool named, accelerated; /* it takes X-Sendfile, X-Accel-Redirect */
    bool encoded;            /* the application says Transfer-Encoding */
    bool ranged;             /* it says Content-Range */
    uint16_t naming;         /* nb_naming, with a path */
    VALUE path;              /* of X-Sendfile or X-Accel-Redirect, or Qfalse */
    VALUE id;                /* of X-Download-Id, or Qfalse */
    bool upgrade_named;      /* it has an Upgrade */
    VALUE protocol;          /* of rack.protocol, or Qfalse */
    VALUE hijack; /* what is called with the connection: a partial hijack, the body of an upgrade; or Qfalse */
    VALUE name;   /* of the field being added */
    VALUE block;  /* what the application's each yields to, or its call is given (writer); or Qfalse */
    int fd;       /* of a body's file that was not handed over yet; -1: none */
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
    } else {
        executor->scratch = gathered->bytes;
        executor->scratch_bytes = gathered->capacity;
    }
    gathered->bytes = NULL;
    gathered->size = gathered->capacity = 0;
}

static void add(head *gathered, const char *bytes, size_t size) {
    if (size == 0) return;
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

static bool begins_with(nb_slice value, nb_slice lower) {
    return value.size >= lower.size && nb_slice_equal_lower((nb_slice){value.data, lower.size}, lower);
}

static bool names_close(nb_slice value) {
    for (size_t i = 0; i + 5 <= value.size; i++) {
        if (nb_slice_equal_lower((nb_slice){value.data + i, 5}, NB_SLICE("close"))) return true;
    }
    return false;
}

/* Whatever it names, the client does not see it. */
static void take_name(head *gathered, nb_naming naming, nb_slice value) {
    if (value.size == 0) return;
    gathered->naming = (uint16_t)naming;
    gathered->path = rb_str_new(value.data, (long)value.size);
}

/* The loop judges it: one that is too long arrives as such. */
static void take_id(head *gathered, nb_slice value) {
    size_t size = value.size <= NB_REPORT_ID_BYTES_MAX ? value.size : NB_REPORT_ID_BYTES_MAX + 1;
    gathered->id = size ? rb_str_new(value.data, (long)size) : Qfalse;
}

/* The fields that are the server's business, taken out of the lines. True: `value` was one of them. */
static bool take_own(head *gathered, nb_slice name, nb_slice value) {
    switch (name.size) {
    case 4:
        if (nb_slice_equal_lower(name, NB_SLICE("date"))) gathered->flags |= NB_RESPONSE_HAS_DATE;
        return false;
    case 6: /* Rack 2 applications may name it; it is the first element of the response */
        return nb_slice_equal_lower(name, NB_SLICE("status"));
    case 7:
        if (nb_slice_equal_lower(name, NB_SLICE("upgrade"))) gathered->upgrade_named = true;
        return false;
    case 10:
        if (nb_slice_equal_lower(name, NB_SLICE("keep-alive"))) return true;
        if (gathered->named && nb_slice_equal_lower(name, NB_SLICE("x-sendfile"))) {
            take_name(gathered, NB_NAMED_SENDFILE, value);
            return true;
        }
        if (!nb_slice_equal_lower(name, NB_SLICE("connection"))) return false;
        if (names_close(value)) gathered->flags |= NB_RESPONSE_CLOSE;
        return true;
    case 12:
        if (nb_slice_equal_lower(name, NB_SLICE("content-type")))
            gathered->events = begins_with(value, NB_SLICE("text/event-stream"));
        return false;
    case 13:
        if (nb_slice_equal_lower(name, NB_SLICE("content-range"))) gathered->ranged = true;
        if (!nb_slice_equal_lower(name, NB_SLICE("x-download-id"))) return false;
        take_id(gathered, value);
        return true;
    case 14:
        if (!nb_slice_equal_lower(name, NB_SLICE("content-length"))) return false;
        gathered->content_length = parse_content_length(value);
        gathered->flags |= NB_RESPONSE_HAS_LENGTH;
        return true;
    case 16:
        if (!gathered->accelerated || !nb_slice_equal_lower(name, NB_SLICE("x-accel-redirect"))) return false;
        take_name(gathered, NB_NAMED_ACCEL, value);
        return true;
    case 17:
        if (!nb_slice_equal_lower(name, NB_SLICE("transfer-encoding"))) return false;
        gathered->encoded = true;
        return true;
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

/* Rack 2 joins several values of one field by newlines. In Rack 3 a newline is a control character like any other, but for the cookies of applications that were
   written for Rack 2. */
static bool is_joined(const head *gathered) {
    return gathered->rack2 || nb_slice_equal_lower(slice_of(gathered->name), NB_SLICE("set-cookie"));
}

static void add_text(head *gathered, VALUE value) {
    bool joined = is_joined(gathered);
    const char *bytes = RSTRING_PTR(value);
    size_t size = (size_t)RSTRING_LEN(value);
    const char *end;
    while (joined && (end = memchr(bytes, '\n', size))) {
        add_line(gathered, (nb_slice){bytes, (size_t)(end - bytes)});
        size -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
    }
    add_line(gathered, (nb_slice){bytes, size});
}

static void add_value(head *gathered, VALUE value) {
    if (NIL_P(value)) return;
    VALUE string = rb_obj_as_string(value);
    add_text(gathered, string);
    RB_GC_GUARD(string);
}

static void add_values(head *gathered, VALUE value) {
    if (!RB_TYPE_P(value, T_ARRAY)) {
        add_value(gathered, value);
        return;
    }
    for (long i = 0; i < RARRAY_LEN(value); i++) {
        VALUE element = rb_ary_entry(value, i);
        if (RB_TYPE_P(element, T_ARRAY)) {
            rb_raise(nb_error_class, "the value of the response's header field %+" PRIsVALUE " is an array in an array",
                     gathered->name);
        }
        add_value(gathered, element);
    }
}

static int add_field(VALUE name, VALUE value, VALUE argument) {
    head *gathered = (head *)argument;
    name = rb_str_new_frozen(rb_obj_as_string(name)); /* a value's to_s may change it */
    nb_slice bytes = {RSTRING_PTR(name), (size_t)RSTRING_LEN(name)};
    if (nb_slice_equal(bytes, NB_SLICE("rack.hijack"))) {
        gathered->hijack = value;
        return ST_CONTINUE;
    }
    if (nb_slice_equal(bytes, NB_SLICE("rack.protocol"))) {
        gathered->protocol = RTEST(value) ? value : Qfalse;
        return ST_CONTINUE;
    }
    if (bytes.size > 5 && memcmp(bytes.data, "rack.", 5) == 0) {
        rb_raise(nb_error_class, "the response header %" PRIsVALUE " asks for something this version does not do yet",
                 name);
    }
    if (!nb_is_token(bytes)) rb_raise(nb_error_class, "%+" PRIsVALUE " is not a header field's name", name);
    gathered->name = name;
    add_values(gathered, value);
    RB_GC_GUARD(name);
    return ST_CONTINUE;
}

/*
 * What a body is written by: the blocks that an application's `each` is given, and the stream its `call` is. It may keep one and use it when
 * the response is over, from another fiber or thread: so what it needs lies in an object of its own, and says when it counts no more.
 */
typedef struct writer {
    nb_task *task;  /* NULL: over */
    VALUE executor; /* keeps the task's memory */
    head *gathered;
    uint64_t sent;
    bool busy;                      /* inside a write */
    bool write_closed, read_closed; /* a stream's halves */
    VALUE input;                    /* a stream's other half: rack.input */
} writer;

static void writer_mark(void *pointer) {
    const writer *marked = pointer;
    rb_gc_mark(marked->input);
    rb_gc_mark(marked->executor);
}

static const rb_data_type_t writer_type = {
    .wrap_struct_name = "NeverBlock response writer",
    .function = {.dmark = writer_mark, .dfree = RUBY_TYPED_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static writer *writer_open(nb_task *task, head *gathered, VALUE class) {
    writer *opened;
    gathered->block = TypedData_Make_Struct(class, writer, &writer_type, opened);
    opened->task = task;
    opened->gathered = gathered;
    RB_OBJ_WRITE(gathered->block, &opened->executor, task->executor->self);
    return opened;
}

static void writer_close(head *gathered) {
    if (gathered->block) ((writer *)RTYPEDDATA_DATA(gathered->block))->task = NULL;
    gathered->block = Qfalse;
}

/* The writer of a block that was called. */
static writer *writer_enter(VALUE block) {
    writer *entered = RTYPEDDATA_DATA(block);
    if (!entered->task) rb_raise(nb_error_class, "the response this block belongs to is over");
    if (rb_thread_current() != entered->task->executor->thread) {
        rb_raise(nb_error_class, "a response is written on the thread its request runs on");
    }
    if (entered->task->gone) nb_executor_raise_gone(entered->task);
    if (entered->busy) rb_raise(nb_error_class, "a response is written by one fiber, which nothing interrupts");
    entered->busy = true;
    return entered;
}

static VALUE add_pair(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, argument)) {
    VALUE pair = argc == 1 ? rb_check_array_type(argv[0]) : rb_ary_new_from_values(argc, argv);
    if (NIL_P(pair) || RARRAY_LEN(pair) < 2) rb_raise(nb_error_class, "response headers yield names and values");
    writer *entered = writer_enter(argument);
    add_field(rb_ary_entry(pair, 0), rb_ary_entry(pair, 1), (VALUE)entered->gathered);
    entered->busy = false;
    return Qnil;
}

typedef struct gather_call {
    nb_task *task;
    head *gathered;
    VALUE response;
} gather_call;

static void check_status(const head *gathered) {
    if ((gathered->status >= 200 && gathered->status <= 599) || gathered->status == 101) return;
    rb_raise(nb_error_class, "a response's status is 200 to 599, or 101; the application gave %d", gathered->status);
}

/* The body's to_ary is not asked, nor whether it can be iterated: it is called with the connection. */
static void take_upgrade(const nb_task *task, head *gathered) {
    if (gathered->status != 101 && !gathered->protocol) return;
    gathered->hijack = nb_upgrade_callee(task, gathered->status, gathered->protocol, gathered->upgrade_named,
                                         gathered->hijack);
    gathered->status = 101;
    if (!gathered->protocol || gathered->upgrade_named) return;
    gathered->name = rb_str_new_cstr("upgrade");
    add_value(gathered, gathered->protocol);
}

static VALUE gather(VALUE argument) {
    gather_call *call = (gather_call *)argument;
    VALUE status = rb_ary_entry(call->response, 0), headers = rb_ary_entry(call->response, 1);
    if (!FIXNUM_P(status)) status = rb_Integer(status);
    call->gathered->status = NUM2INT(status);
    if (RB_TYPE_P(headers, T_HASH)) {
        rb_hash_foreach(headers, add_field, (VALUE)call->gathered);
    } else {
        writer_open(call->task, call->gathered, rb_cObject);
        rb_block_call(headers, id_each, 0, NULL, add_pair, call->gathered->block);
        writer_close(call->gathered);
    }
    check_status(call->gathered);
    take_upgrade(call->task, call->gathered);
    call->task->status = INT2FIX(call->gathered->status);
    return Qnil;
}

/* --- parts --- */

static bool body_allowed(const nb_task *task, int status) {
    return !task->head_request && status != 204 && status != 304;
}

/* Nothing more comes of the request's body either: who waits for it is told. */
static void end_response(nb_task *task) {
    task->ended = true;
    if (nb_input_is(task->input)) nb_input_look(task->input);
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
        .taken_ns = task->taken_ns,
        .status = (uint16_t)gathered->status,
        .fields_bytes = (uint32_t)gathered->size,
    };
    char *out = (char *)(part + 1);
    if (gathered->size) memcpy(out, gathered->bytes, gathered->size);
    if (body.size) memcpy(out + gathered->size, body.data, body.size);
    task->head_sent = true;
    if (flags & NB_PART_LAST) end_response(task);
    task->unacknowledged += body.size;
    nb_executor_send(task, bytes);
}

static void send_part(nb_task *task, nb_slice body, uint16_t flags) {
    size_t bytes = sizeof(nb_message) + body.size;
    nb_message *part = nb_executor_reserve(task, bytes);
    *part = (nb_message){.type = NB_MESSAGE_BODY, .flags = flags, .bytes = (uint32_t)bytes, .exchange = task->exchange};
    if (body.size) memcpy(part + 1, body.data, body.size);
    if (flags & NB_PART_LAST) end_response(task);
    task->unacknowledged += body.size;
    nb_executor_send(task, bytes);
}

/* Body bytes of the next part, for which there is room behind its `head` bytes; and what the response may have sent, as it is after the
   wait for that room: by then many others may have begun. */
static size_t next_slice(nb_task *task, size_t head_bytes, size_t left, uint64_t *high) {
    size_t step, most;
    do {
        *high = nb_executor_backlog_high(task);
        most = *high < NB_RESPONSE_SLICE_BYTES ? (size_t)*high : NB_RESPONSE_SLICE_BYTES;
        step = left < most ? left : most ? most : 1;
    } while (!nb_executor_room(task, head_bytes + step));
    return step;
}

/* Any number of body bytes, in slices, the writer parked while the client is behind. The last slice carries `flags`.
 * `owner` keeps the bytes. */
static void send_body(nb_task *task, VALUE owner, nb_slice body, uint16_t flags) {
    while (body.size > 0 || (flags & NB_PART_LAST)) {
        if (task->gone) nb_executor_raise_gone(task);
        uint64_t high;
        size_t step = next_slice(task, sizeof(nb_message), body.size, &high);
        bool last = step == body.size;
        bool full = task->unacknowledged + step >= high && !(last && (flags & NB_PART_LAST));
        send_part(task, (nb_slice){body.data, step},
                  (uint16_t)((last ? flags : 0) | (full ? NB_PART_TELL_DRAINED : 0)));
        if (full) nb_executor_wait_drained(task);
        body.data += step;
        body.size -= step;
        if (last) break;
    }
    RB_GC_GUARD(owner);
}

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

/* The content of a body that an application has put into chunks itself (Transfer-Encoding: chunked), which is the server's business; or Qnil: it has not. */
static VALUE without_chunks(VALUE body) {
    VALUE joined = rb_ary_join(body, Qnil);
    nb_chunked chunked;
    nb_refusal refusal;
    size_t used, decoded, size = (size_t)RSTRING_LEN(joined);
    rb_str_modify(joined);
    nb_chunked_init(&chunked, UINT64_MAX);
    nb_status status = nb_chunked_decode(&chunked, RSTRING_PTR(joined), size, &used, &decoded, &refusal);
    if (status != NB_OK || used != size) return Qnil;
    rb_str_set_len(joined, (long)decoded);
    return rb_ary_new_from_args(1, joined);
}

static void send_array(nb_task *task, head *gathered, VALUE body) {
    uint64_t bytes = array_bytes(body);
    VALUE content = gathered->encoded && bytes > 0 ? without_chunks(body) : Qnil;
    if (!NIL_P(content)) {
        body = content;
        bytes = array_bytes(body);
    }
    if (!(gathered->flags & NB_RESPONSE_HAS_LENGTH)) gathered->content_length = bytes;
    check_length(task, gathered->content_length, bytes);
    if (bytes <= NB_RESPONSE_SLICE_BYTES && gathered->size + bytes <= FIELDS_BYTES_MAX) {
        send_small_array(task, gathered, body, (size_t)bytes);
    } else {
        send_large_array(task, gathered, body);
    }
    RB_GC_GUARD(body);
}

/* --- each --- */

static void send_chunk(writer *writing, VALUE chunk) {
    nb_task *task = writing->task;
    nb_slice bytes = slice_of(chunk);
    if (bytes.size == 0) return;
    writing->sent += bytes.size;
    if (!task->head_sent) {
        uint64_t high;
        size_t first = next_slice(task, sizeof(nb_response_message) + writing->gathered->size, bytes.size, &high);
        send_head(task, writing->gathered, (nb_slice){bytes.data, first}, 0);
        bytes = (nb_slice){bytes.data + first, bytes.size - first};
    }
    send_body(task, chunk, bytes, 0);
}

static VALUE each_chunk(RB_BLOCK_CALL_FUNC_ARGLIST(chunk, argument)) {
    chunk = frozen_chunk(chunk);
    writer *entered = writer_enter(argument);
    send_chunk(entered, chunk);
    entered->busy = false;
    RB_GC_GUARD(argument);
    return Qnil;
}

/* All that `each` yields; returns its bytes. A block that did not come to its end has left a hole, even if the application has taken no
   notice. */
static uint64_t send_yielded(nb_task *task, head *gathered, VALUE body) {
    writer *opened = writer_open(task, gathered, rb_cObject);
    VALUE block = gathered->block;
    rb_block_call(body, id_each, 0, NULL, each_chunk, block);
    if (opened->busy && task->gone) nb_executor_raise_gone(task);
    if (opened->busy) rb_raise(nb_error_class, "the body's each was interrupted while it wrote");
    uint64_t sent = opened->sent;
    writer_close(gathered);
    RB_GC_GUARD(block);
    return sent;
}

/* The body was written as far as it goes: its clean end, or an error. */
static void end_body(nb_task *task, const head *gathered, uint64_t sent) {
    if (sent < gathered->content_length) check_length(task, gathered->content_length, sent);
    if (!task->ended) send_body(task, Qnil, (nb_slice){NULL, 0}, NB_PART_LAST);
    check_length(task, gathered->content_length, sent);
}

/* Before the body has anything to say. A stream may last: nothing is kept for its head meanwhile. */
static void send_head_alone(nb_task *task, head *gathered) {
    send_head(task, gathered, (nb_slice){NULL, 0}, 0);
    head_give_back(task->executor, gathered);
}

/* An event stream's client waits for the head, not for the first event. */
static void send_each(nb_task *task, head *gathered, VALUE body) {
    if (gathered->events) send_head_alone(task, gathered);
    uint64_t sent = send_yielded(task, gathered, body);
    if (!task->head_sent) {
        if (!(gathered->flags & NB_RESPONSE_HAS_LENGTH)) gathered->content_length = 0;
        check_length(task, gathered->content_length, 0);
        send_head(task, gathered, (nb_slice){NULL, 0}, NB_PART_LAST);
        return;
    }
    end_body(task, gathered, sent);
}

/* --- call --- */

/* An executor that was ended by an exception has left its responses where they were. */
static writer *stream_of(VALUE self) {
    writer *stream = rb_check_typeddata(self, &writer_type);
    if (stream->task && stream->task->executor->over) stream->task = NULL;
    return stream;
}

static writer *stream_open(VALUE self) {
    writer *stream = stream_of(self);
    if (!stream->task || stream->write_closed) rb_raise(rb_eIOError, "closed stream");
    return stream;
}

/* write(*objects) -> bytes. Each goes to the client at once; parks while the client is behind. Raises IOError when closed,
 * NeverBlock::ClientGone. */
static VALUE stream_write(int argc, VALUE *argv, VALUE self) {
    size_t bytes = 0;
    for (int i = 0; i < argc; i++) {
        VALUE chunk = frozen_chunk(argv[i]);
        stream_open(self);
        writer *entered = writer_enter(self);
        send_chunk(entered, chunk);
        entered->busy = false;
        bytes += (size_t)RSTRING_LEN(chunk);
    }
    RB_GC_GUARD(self);
    return SIZET2NUM(bytes);
}

static VALUE stream_append(VALUE self, VALUE object) {
    stream_write(1, &object, self);
    return self;
}

/* Nothing is held back here; what is written leaves now and not at the turn's end. */
static VALUE stream_flush(VALUE self) {
    const nb_task *task = stream_open(self)->task;
    if (!nb_executor_in_child(task->executor) && rb_thread_current() == task->executor->thread)
        nb_executor_flush(stream_open(self)->task);
    return self;
}

/* Never the place where a body that went wrong is told of: that is when its call has ended. */
static VALUE stream_close_write(VALUE self) {
    writer *stream = stream_of(self);
    if (!stream->task || stream->write_closed) return Qnil;
    bool whole = !stream->busy && !stream->task->gone;
    if (whole) writer_enter(self);
    stream->write_closed = true;
    uint64_t announced = stream->gathered->content_length;
    if (whole && (announced == NB_CONTENT_LENGTH_UNKNOWN || announced == stream->sent))
        send_body(stream->task, Qnil, (nb_slice){NULL, 0}, NB_PART_LAST);
    if (whole) stream->busy = false;
    return Qnil;
}

static VALUE stream_close_read(VALUE self) {
    stream_of(self)->read_closed = true;
    return Qnil;
}

static VALUE stream_close(VALUE self) {
    stream_close_write(self);
    return stream_close_read(self);
}

static VALUE stream_closed_p(VALUE self) {
    const writer *stream = stream_of(self);
    bool open = stream->task && !stream->task->gone && !(stream->write_closed && stream->read_closed);
    return open ? Qfalse : Qtrue;
}

/* read(length = nil, buffer = nil): of rack.input. */
static VALUE stream_read(int argc, VALUE *argv, VALUE self) {
    const writer *stream = stream_of(self);
    if (!stream->task || stream->read_closed) rb_raise(rb_eIOError, "closed stream");
    return rb_funcallv(stream->input, id_read, argc, argv);
}

static void send_called(nb_task *task, head *gathered, VALUE body) {
    send_head_alone(task, gathered);
    writer *opened = writer_open(task, gathered, stream_class);
    VALUE stream = gathered->block;
    RB_OBJ_WRITE(stream, &opened->input, rb_hash_lookup(task->env, nb_env_keys.rack_input));
    rb_funcallv(body, id_call, 1, &stream);
    if (opened->busy && task->gone) nb_executor_raise_gone(task);
    if (opened->busy) rb_raise(nb_error_class, "the body's call was interrupted while it wrote");
    end_body(task, gathered, opened->sent);
    RB_GC_GUARD(stream);
}

/* --- files --- */

#ifdef __APPLE__
#define MODIFIED(found) (found)->st_mtimespec
#else
#define MODIFIED(found) (found)->st_mtim
#endif

static int64_t modified_ns(const struct stat *found) {
    return (int64_t)MODIFIED(found).tv_sec * 1000000000 + MODIFIED(found).tv_nsec;
}

static int open_regular(const char *path, struct stat *found) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (fstat(fd, found) == 0 && S_ISREG(found->st_mode)) return fd;
    close(fd);
    return -1;
}

/* What the request, as the application and its middleware have left it, says of the file. */
typedef struct conditions {
    nb_file_request request;
    VALUE values[NB_FIELD_COUNT]; /* the strings its slices point into */
    bool hold;
} conditions;

static nb_slice condition(conditions *read, const nb_task *task, nb_field field) {
    VALUE value = read->hold ? rb_hash_lookup(task->env, nb_env_field_keys[field]) : Qnil;
    if (!RB_TYPE_P(value, T_STRING)) return (nb_slice){NULL, 0};
    read->values[field] = rb_str_new_frozen(value);
    return slice_of(read->values[field]);
}

static void read_conditions(conditions *read, const nb_task *task, const head *gathered) {
    VALUE method = rb_hash_lookup(task->env, nb_env_keys.request_method);
    bool get = RB_TYPE_P(method, T_STRING) && nb_slice_equal(slice_of(method), NB_SLICE("GET"));
    memset(read, 0, sizeof(*read));
    read->hold = (get || task->head_request) && gathered->status == 200 && !gathered->ranged && !gathered->encoded;
    read->request = (nb_file_request){
        .method = task->head_request ? NB_METHOD_HEAD : NB_METHOD_GET,
        .if_match = condition(read, task, NB_FIELD_IF_MATCH),
        .if_none_match = condition(read, task, NB_FIELD_IF_NONE_MATCH),
        .if_modified_since = condition(read, task, NB_FIELD_IF_MODIFIED_SINCE),
        .if_unmodified_since = condition(read, task, NB_FIELD_IF_UNMODIFIED_SINCE),
        .if_range = condition(read, task, NB_FIELD_IF_RANGE),
        .range = condition(read, task, NB_FIELD_RANGE),
    };
}

static void put_bytes(char **out, const char *bytes, size_t size) {
    if (size) memcpy(*out, bytes, size);
    *out += size;
}

/* `path`, or the head's descriptor, which is the loop's from here on; then the path is what a report says. */
static void send_named(nb_task *task, head *gathered, VALUE path, const struct stat *found) {
    conditions read;
    read_conditions(&read, task, gathered);
    size_t path_bytes = RTEST(path) ? (size_t)RSTRING_LEN(path) : 0;
    if (path_bytes > NB_NAMED_PATH_BYTES_MAX) path_bytes = NB_NAMED_PATH_BYTES_MAX;
    size_t id_bytes = RTEST(gathered->id) ? (size_t)RSTRING_LEN(gathered->id) : 0;
    size_t request_bytes = nb_file_request_bytes(&read.request);
    size_t bytes = sizeof(nb_named_message) + gathered->size + path_bytes + id_bytes + request_bytes;
    nb_named_message *part = gathered->fd >= 0 ? nb_executor_reserve_with(task, bytes, gathered->fd)
                                               : nb_executor_reserve(task, bytes);
    *part = (nb_named_message){
        .response = {.message = {.type = NB_MESSAGE_NAMED,
                                 .flags = (uint16_t)(gathered->flags | NB_PART_LAST),
                                 .bytes = (uint32_t)bytes,
                                 .exchange = task->exchange},
                     .content_length = gathered->content_length,
                     .taken_ns = task->taken_ns,
                     .status = (uint16_t)gathered->status,
                     .fields_bytes = (uint32_t)gathered->size},
        .fd = gathered->fd,
        .size = found ? (uint64_t)found->st_size : 0,
        .modified_ns = found ? modified_ns(found) : 0,
        .naming = gathered->naming,
        .conditional = read.hold,
        .path_bytes = (uint32_t)path_bytes,
        .id_bytes = (uint32_t)id_bytes,
        .request_bytes = (uint32_t)request_bytes,
    };
    char *out = (char *)(part + 1);
    put_bytes(&out, gathered->bytes, gathered->size);
    if (path_bytes) put_bytes(&out, RSTRING_PTR(path), path_bytes);
    if (id_bytes) put_bytes(&out, RSTRING_PTR(gathered->id), id_bytes);
    if (request_bytes) nb_file_request_write(out, &read.request);
    if (gathered->fd >= 0 && nb_channel_is_shared(task->port->channel)) close(gathered->fd);
    gathered->fd = -1;
    task->head_sent = true;
    end_response(task);
    nb_executor_send(task, bytes);
    RB_GC_GUARD(path);
}

/* X-Sendfile, X-Accel-Redirect: the loop looks whether there is such a file, and answers 404 where not. What length the application gave is that
   of the body it did not send. */
static void send_path(nb_task *task, head *gathered) {
    if (RSTRING_LEN(gathered->path) > NB_NAMED_PATH_BYTES_MAX)
        rb_raise(nb_error_class, "the path of X-Sendfile or X-Accel-Redirect has more than %u bytes",
                 NB_NAMED_PATH_BYTES_MAX);
    gathered->content_length = NB_CONTENT_LENGTH_UNKNOWN;
    gathered->flags &= (uint16_t)~NB_RESPONSE_HAS_LENGTH;
    send_named(task, gathered, gathered->path, NULL);
}

/* to_path: the application chose the file, so it is opened where the application runs. False: it must be read by `each`. */
static bool send_file(nb_task *task, head *gathered, VALUE body) {
    VALUE path = rb_funcall(body, id_to_path, 0);
    if (NIL_P(path)) return false;
    path = rb_get_path(path); /* Rails gives the Pathname that its send_file was given */
    struct stat found;
    gathered->fd = open_regular(StringValueCStr(path), &found);
    if (gathered->fd < 0) return false;
    uint64_t bytes = (uint64_t)found.st_size, announced = gathered->content_length;
    if (announced != NB_CONTENT_LENGTH_UNKNOWN && bytes < announced) check_length(task, announced, bytes);
    gathered->naming = NB_NAMED_OPEN;
    send_named(task, gathered, RTEST(gathered->id) ? path : Qfalse, &found);
    return true;
}

/* --- the whole --- */

typedef struct send_call {
    nb_task *task;
    VALUE response;
    head gathered;
} send_call;

/* The body's to_ary closes it (Rack SPEC 3.1, "The Body"). False: it has none, or nothing came of it. */
static bool send_as_array(nb_task *task, head *gathered, VALUE body) {
    if (gathered->rack2 || !rb_respond_to(body, id_to_ary)) return false;
    VALUE array = rb_check_array_type(body);
    if (NIL_P(array)) return false;
    task->body = Qnil;
    send_array(task, gathered, array);
    RB_GC_GUARD(array);
    return true;
}

/* --- partial hijack --- */

static VALUE call_hijack(VALUE argument) {
    send_call *call = (send_call *)argument;
    return rb_funcallv(call->gathered.hijack, id_call, 1, &call->task->socket);
}

/* The callable may have given the socket to another before it raised; but mostly nobody has it. */
static VALUE close_hijacked(VALUE argument, VALUE error) {
    rb_io_close(((send_call *)argument)->task->socket);
    rb_exc_raise(error);
}

/* The head, and the connection is the application's: the body is ignored. */
static void send_hijacked(send_call *call) {
    send_head(call->task, &call->gathered, (nb_slice){NULL, 0}, NB_RESPONSE_HANDOVER);
    nb_hijack_take(call->task);
    rb_rescue2(call_hijack, (VALUE)call, close_hijacked, (VALUE)call, rb_eException, (VALUE)0);
}

/* A HEAD request is answered as a GET would be, which the file decides (RFC 9110 section 9.3.2). */
static bool file_allowed(const head *gathered) { return gathered->status != 204 && gathered->status != 304; }

static void send_any(nb_task *task, head *gathered, VALUE body) {
    bool file = file_allowed(gathered);
    if (file && RTEST(gathered->path)) {
        send_path(task, gathered);
    } else if (file && task->head_request && rb_respond_to(body, id_to_path) && send_file(task, gathered, body)) {
        return;
    } else if (!body_allowed(task, gathered->status)) {
        send_head(task, gathered, (nb_slice){NULL, 0}, NB_PART_LAST);
    } else if (RB_TYPE_P(body, T_ARRAY)) {
        send_array(task, gathered, body);
    } else if (rb_respond_to(body, id_to_path) && send_file(task, gathered, body)) {
        return;
    } else if (send_as_array(task, gathered, body)) {
        return;
    } else if (rb_respond_to(body, id_each)) {
        send_each(task, gathered, body);
    } else if (rb_respond_to(body, id_call)) {
        send_called(task, gathered, body);
    } else {
        rb_raise(nb_error_class, "a response body responds to each or call, the application gave %+" PRIsVALUE,
                 rb_obj_class(body));
    }
}

/* Most of the time an event stream waits for something to say: its client's leaving ends that, or streams would pile up. */
static void begin_events(nb_task *task) {
    task->events = task->cancellable = true;
    if (task->left) nb_executor_raise_gone(task);
    if (!task->limit.scheduler) nb_limit_open(&task->limit, task->executor->scheduler);
}

static VALUE send_response(VALUE argument) {
    send_call *call = (send_call *)argument;
    gather_call gathering = {call->task, &call->gathered, call->response};
    gather((VALUE)&gathering);
    if (call->gathered.events) begin_events(call->task);
    bool upgrades = call->gathered.status == 101;
    if (upgrades || (RTEST(call->gathered.hijack) && body_allowed(call->task, call->gathered.status))) {
        send_hijacked(call);
    } else {
        send_any(call->task, &call->gathered, call->task->body);
    }
    return Qnil;
}

static VALUE free_head(VALUE argument) {
    send_call *call = (send_call *)argument;
    writer_close(&call->gathered);
    if (call->gathered.fd >= 0) close(call->gathered.fd);
    head_give_back(call->task->executor, &call->gathered);
    return Qnil;
}

void nb_response_send(nb_task *task, VALUE response) {
    bool hijacked = task->ended; /* what it returns is ignored, but for the body's close */
    VALUE array = hijacked && !RB_TYPE_P(response, T_ARRAY) ? Qnil : rb_check_array_type(response);
    if (NIL_P(array) || RARRAY_LEN(array) != 3) {
        if (hijacked) return;
        rb_raise(nb_error_class, "an application returns [status, headers, body], this one returned %+" PRIsVALUE,
                 rb_obj_class(response));
    }
    task->status = rb_ary_entry(array, 0);
    task->headers = rb_ary_entry(array, 1);
    task->body = rb_ary_entry(array, 2);
    if (hijacked) return;
    send_call call = {.task = task, .response = array};
    call.gathered.content_length = NB_CONTENT_LENGTH_UNKNOWN;
    head_take(task->executor, &call.gathered);
    call.gathered.fd = -1;
    call.gathered.rack2 = task->executor->rack2;
    call.gathered.named = task->executor->sendfile;
    call.gathered.accelerated = task->executor->accel;
    rb_ensure(send_response, (VALUE)&call, free_head, (VALUE)&call);
    RB_GC_GUARD(array);
}

#define TEXT_FIELD "content-type: text/plain; charset=utf-8\r\n"
#define RETRY_FIELD "retry-after: 1\r\n"
#define UNAVAILABLE "503 Service Unavailable\n"

/* A whole answer in place of the application's. */
static void send_own(nb_task *task, int status, nb_slice fields, nb_slice body, uint16_t flags) {
    task->status = task->gone || task->left ? Qnil : INT2FIX(status);
    task->headers = Qnil;
    head gathered = {.bytes = (char *)(uintptr_t)fields.data,
                     .size = fields.size,
                     .content_length = body.size,
                     .flags = NB_RESPONSE_HAS_LENGTH,
                     .status = status};
    send_head(task, &gathered, body, NB_PART_LAST | flags);
}

/* Who may try again without harm is told when: the application has not seen the request. */
void nb_response_fail(nb_task *task) {
    if (task->ended) return;
    if (task->head_sent) {
        send_part(task, (nb_slice){NULL, 0}, NB_PART_LAST | NB_PART_ABORTED);
    } else if (task->overdue) {
        nb_slice fields = task->unbegun ? NB_SLICE(TEXT_FIELD RETRY_FIELD) : NB_SLICE(TEXT_FIELD);
        send_own(task, 503, fields, NB_SLICE(UNAVAILABLE), NB_RESPONSE_EXPIRED);
    } else {
        send_own(task, 500, NB_SLICE(TEXT_FIELD), NB_SLICE("500 Internal Server Error\n"), 0);
    }
}

size_t nb_response_write_refusal(void *place, nb_exchange_id exchange) {
    static const char fields[] = TEXT_FIELD RETRY_FIELD, body[] = UNAVAILABLE;
    const size_t fields_bytes = sizeof(fields) - 1, body_bytes = sizeof(body) - 1;
    nb_response_message *part = place;
    size_t bytes = sizeof(*part) + fields_bytes + body_bytes;
    *part = (nb_response_message){
        .message = {.type = NB_MESSAGE_RESPONSE,
                    .flags = NB_RESPONSE_HAS_LENGTH | NB_PART_LAST,
                    .bytes = (uint32_t)bytes,
                    .exchange = exchange},
        .content_length = body_bytes,
        .status = 503,
        .fields_bytes = (uint32_t)fields_bytes,
    };
    memcpy(part + 1, fields, fields_bytes);
    memcpy((char *)(part + 1) + fields_bytes, body, body_bytes);
    return bytes;
}

void nb_response_define(VALUE module) {
    id_each = rb_intern("each");
    id_call = rb_intern("call");
    id_to_path = rb_intern("to_path");
    id_to_ary = rb_intern("to_ary");
    id_read = rb_intern("read");
    stream_class = rb_define_class_under(module, "Stream", rb_cObject);
    rb_gc_register_mark_object(stream_class);
    rb_undef_alloc_func(stream_class);
    rb_define_method(stream_class, "read", stream_read, -1);
    rb_define_method(stream_class, "write", stream_write, -1);
    rb_define_method(stream_class, "<<", stream_append, 1);
    rb_define_method(stream_class, "flush", stream_flush, 0);
    rb_define_method(stream_class, "close", stream_close, 0);
    rb_define_method(stream_class, "close_read", stream_close_read, 0);
    rb_define_method(stream_class, "close_write", stream_close_write, 0);
    rb_define_method(stream_class, "closed?", stream_closed_p, 0);
}
