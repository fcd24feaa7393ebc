/*
 * response.c - see response.h.
 */
#include "binding/rack/response.h"

#include <string.h>
#include <unistd.h>

#include "binding/base/module.h"
#include "binding/ports/executor_state.h"
#include "binding/ports/writing.h"
#include "binding/rack/env_keys.h"
#include "binding/rack/hijack.h"
#include "binding/rack/response_file.h"
#include "binding/rack/response_head.h"
#include "binding/rack/response_parts.h"
#include "binding/rack/timing.h"
#include "binding/rack/body_writer.h"
#include "binding/rack/upgrade.h"
#include "binding/scheduler/limit.h"
#include "http1/chunked.h"

static ID id_each, id_call, id_close, id_to_path, id_to_ary, id_left_out;

static VALUE add_pair(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, argument)) {
    VALUE pair = argc == 1 ? rb_check_array_type(argv[0]) : rb_ary_new_from_values(argc, argv);
    if (NIL_P(pair) || RARRAY_LEN(pair) < 2) rb_raise(nb_error_class, "response headers yield names and values");
    nb_body_writer *entered = nb_body_writer_enter(argument);
    nb_response_head_add_field(rb_ary_entry(pair, 0), rb_ary_entry(pair, 1), (VALUE)entered->gathered);
    entered->busy = false;
    return Qnil;
}

typedef struct gather_call {
    nb_task *task;
    nb_response_head *gathered;
    VALUE response;
} gather_call;

static VALUE convert_status(VALUE argument) {
    gather_call *call = (gather_call *)argument;
    call->gathered->status = NUM2INT(rb_Integer(rb_ary_entry(call->response, 0)));
    return Qnil;
}

/* What cannot be converted has a message that does not say what it was for. */
static VALUE refuse_status(VALUE argument, VALUE error) {
    (void)error;
    gather_call *call = (gather_call *)argument;
    VALUE status = rb_ary_entry(call->response, 0);
    VALUE shown = RB_TYPE_P(status, T_STRING) && RSTRING_LEN(status) <= 80 ? rb_inspect(status)
                                                                           : rb_class_name(rb_obj_class(status));
    rb_raise(nb_error_class, "a response's status is 200 to 599, or 101; the application gave %" PRIsVALUE, shown);
}

/* The status as Kernel#Integer makes it. */
static void read_status(gather_call *call) {
    VALUE status = rb_ary_entry(call->response, 0);
    if (FIXNUM_P(status) && FIX2LONG(status) >= 0 && FIX2LONG(status) <= 999) {
        call->gathered->status = FIX2INT(status);
        return;
    }
    rb_rescue2(convert_status, (VALUE)call, refuse_status, (VALUE)call, rb_eArgError, rb_eTypeError, rb_eRangeError,
               (VALUE)0);
}

static void check_status(const nb_response_head *gathered) {
    if ((gathered->status >= 200 && gathered->status <= 599) || gathered->status == 101) return;
    rb_raise(nb_error_class, "a response's status is 200 to 599, or 101; the application gave %d", gathered->status);
}

/* The body is called with the connection: neither its to_ary nor its each is used. */
static void take_upgrade(const nb_task *task, nb_response_head *gathered) {
    if (gathered->status != 101 && !gathered->protocol) return;
    gathered->hijack = nb_upgrade_callee(task, gathered->status, gathered->protocol, gathered->upgrade_named,
                                         gathered->hijack);
    gathered->status = 101;
    if (!gathered->protocol || gathered->upgrade_named) return;
    gathered->name = rb_str_new_cstr("upgrade");
    nb_response_head_add_value(gathered, gathered->protocol);
}

static void tell_left_out(const gather_call *call) {
    VALUE names = call->gathered->left_out;
    for (long i = 0; RTEST(names) && i < RARRAY_LEN(names); i++)
        rb_funcall(call->task->executor->self, id_left_out, 2, rb_ary_entry(names, i), call->task->env);
    RB_GC_GUARD(names);
}

static VALUE gather(VALUE argument) {
    gather_call *call = (gather_call *)argument;
    VALUE headers = rb_ary_entry(call->response, 1);
    read_status(call);
    if (RB_TYPE_P(headers, T_HASH)) {
        rb_hash_foreach(headers, nb_response_head_add_field, (VALUE)call->gathered);
    } else {
        nb_body_writer_open(call->task, call->gathered, rb_cObject);
        rb_block_call(headers, id_each, 0, NULL, add_pair, call->gathered->block);
        nb_body_writer_close(call->gathered);
    }
    tell_left_out(call);
    check_status(call->gathered);
    take_upgrade(call->task, call->gathered);
    call->task->status = INT2FIX(call->gathered->status);
    return Qnil;
}

static bool holds_strings(VALUE body) {
    for (long i = 0; i < RARRAY_LEN(body); i++) {
        if (!RB_TYPE_P(rb_ary_entry(body, i), T_STRING)) return false;
    }
    return true;
}

/* Elements that are no Strings are sent as what `each` yields: by their to_s, which is called once
   and may do anything. */
static VALUE strings_of(VALUE body) {
    if (holds_strings(body)) return body;
    VALUE strings = rb_ary_new_capa(RARRAY_LEN(body));
    for (long i = 0; i < RARRAY_LEN(body); i++)
        rb_ary_push(strings, nb_response_frozen_chunk(rb_ary_entry(body, i)));
    return strings;
}

static uint64_t array_bytes(VALUE body) {
    uint64_t bytes = 0;
    for (long i = 0; i < RARRAY_LEN(body); i++)
        bytes += (uint64_t)RSTRING_LEN(rb_ary_entry(body, i));
    return bytes;
}

/* The usual response is one or a few short strings: head and body are one part. */
static void send_small_array(nb_task *task, nb_response_head *gathered, VALUE body, size_t body_bytes) {
    nb_timing_add_field(task, gathered);
    size_t fields_bytes = gathered->size;
    for (long i = 0; i < RARRAY_LEN(body); i++) {
        VALUE chunk = rb_ary_entry(body, i);
        nb_response_head_add(gathered, RSTRING_PTR(chunk), (size_t)RSTRING_LEN(chunk));
    }
    gathered->size = fields_bytes;
    nb_response_send_head(task, gathered, (nb_slice){gathered->bytes + fields_bytes, body_bytes}, NB_PART_LAST);
}

static void send_large_array(nb_task *task, nb_response_head *gathered, VALUE body) {
    nb_response_send_head(task, gathered, (nb_slice){NULL, 0}, 0);
    for (long i = 0; i < RARRAY_LEN(body); i++) {
        VALUE chunk = nb_response_frozen_chunk(rb_ary_entry(body, i));
        nb_response_send_body(task, chunk, nb_string_slice(chunk), 0);
    }
    nb_response_send_body(task, Qnil, (nb_slice){NULL, 0}, NB_PART_LAST);
}

/* The content of a body that the application has put into chunks itself (Transfer-Encoding:
   chunked), which is the server's business. Qnil: the body is not in chunks. */
static VALUE without_chunks(VALUE body) {
    VALUE joined = rb_str_buf_new(0); /* of bytes, whatever the encodings are */
    for (long i = 0; i < RARRAY_LEN(body); i++) {
        VALUE part = rb_ary_entry(body, i);
        rb_str_cat(joined, RSTRING_PTR(part), RSTRING_LEN(part));
    }
    nb_chunked chunked;
    nb_refusal refusal;
    size_t used, decoded, size = (size_t)RSTRING_LEN(joined);
    nb_chunked_init(&chunked, UINT64_MAX);
    nb_status status = nb_chunked_decode(&chunked, RSTRING_PTR(joined), size, &used, &decoded, &refusal);
    if (status != NB_OK || used != size) return Qnil;
    rb_str_set_len(joined, (long)decoded);
    return rb_ary_new_from_args(1, joined);
}

static void send_array(nb_task *task, nb_response_head *gathered, VALUE body) {
    body = strings_of(body);
    uint64_t bytes = array_bytes(body);
    VALUE content = gathered->chunked && bytes > 0 ? without_chunks(body) : Qnil;
    if (!NIL_P(content)) {
        body = content;
        bytes = array_bytes(body);
    }
    if (!(gathered->flags & NB_RESPONSE_HAS_LENGTH)) gathered->content_length = bytes;
    nb_response_check_length(gathered->content_length, bytes);
    if (bytes <= NB_RESPONSE_SLICE_BYTES && gathered->size + bytes <= NB_RESPONSE_FIELDS_BYTES_MAX) {
        send_small_array(task, gathered, body, (size_t)bytes);
    } else {
        send_large_array(task, gathered, body);
    }
    RB_GC_GUARD(body);
}

/* --- the whole --- */

typedef struct send_call {
    nb_task *task;
    VALUE response;
    nb_response_head gathered;
} send_call;

/* False: the body has no to_ary, or that returned no Array. to_ary closes the body (Rack SPEC 3.1,
   "The Body"). */
static bool send_as_array(nb_task *task, nb_response_head *gathered, VALUE body) {
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

/* Mostly nobody has the socket when the callable raises; one that was given to another is closed
   too. By its method: rb_io_close tells no fiber that waits for it (hooks/closing.c). */
static VALUE close_hijacked(VALUE argument, VALUE error) {
    rb_funcallv(((send_call *)argument)->task->socket, id_close, 0, NULL);
    rb_exc_raise(error);
}

/* Nothing that is written to the socket passes through the server: chunks reach the client as such,
   so it is told (not in HTTP/1.0, which has none; RFC 9112 section 6.1). */
static void add_framing(send_call *call) {
    nb_response_head *gathered = &call->gathered;
    if (!gathered->chunked || (gathered->flags & NB_RESPONSE_HAS_LENGTH) || gathered->status == 101) return;
    VALUE protocol = rb_hash_lookup(call->task->env, nb_env_keys.server_protocol);
    if (!RB_TYPE_P(protocol, T_STRING) || !nb_slice_equal(nb_string_slice(protocol), NB_SLICE("HTTP/1.1"))) return;
    nb_slice line = NB_SLICE("Transfer-Encoding: chunked\r\n");
    nb_response_head_add(gathered, line.data, line.size);
}

/* Sends the head; then the connection is the application's, and the body is ignored. */
static void send_hijacked(send_call *call) {
    if (call->task->http2)
        rb_raise(nb_error_class, "a response with rack.hijack takes its connection, which requests of HTTP/2 share: "
                                 "a body that responds to call can be streamed instead");
    add_framing(call);
    nb_response_send_head(call->task, &call->gathered, (nb_slice){NULL, 0}, NB_RESPONSE_HANDOVER);
    nb_hijack_take(call->task);
    rb_rescue2(call_hijack, (VALUE)call, close_hijacked, (VALUE)call, rb_eException, (VALUE)0);
}

/* A file also answers a HEAD request, as its GET would be answered (RFC 9110 section 9.3.2). */
static bool file_allowed(const nb_response_head *gathered) {
    return gathered->status != 204 && gathered->status != 304;
}

static void send_any(nb_task *task, nb_response_head *gathered, VALUE body) {
    bool file = file_allowed(gathered);
    if (file && RTEST(gathered->path)) {
        nb_response_send_path(task, gathered);
    } else if (file && task->head_request && rb_respond_to(body, id_to_path) &&
               nb_response_send_file(task, gathered, body)) {
        return;
    } else if (!nb_response_body_allowed(task, gathered->status)) {
        nb_response_send_head(task, gathered, (nb_slice){NULL, 0}, NB_PART_LAST);
    } else if (RB_TYPE_P(body, T_ARRAY)) {
        send_array(task, gathered, body);
    } else if (rb_respond_to(body, id_to_path) && nb_response_send_file(task, gathered, body)) {
        return;
    } else if (send_as_array(task, gathered, body)) {
        return;
    } else if (rb_respond_to(body, id_each)) {
        nb_response_send_each(task, gathered, body);
    } else if (rb_respond_to(body, id_call)) {
        nb_response_send_called(task, gathered, body);
    } else {
        rb_raise(nb_error_class, "a response body responds to each or call, the application gave %+" PRIsVALUE,
                 rb_obj_class(body));
    }
}

/* An event stream mostly waits for an event. Its client's leaving ends that wait, or streams of
   clients that have left would pile up. */
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
    if (upgrades || (RTEST(call->gathered.hijack) && nb_response_body_allowed(call->task, call->gathered.status))) {
        send_hijacked(call);
    } else {
        send_any(call->task, &call->gathered, call->task->body);
    }
    return Qnil;
}

static VALUE free_head(VALUE argument) {
    send_call *call = (send_call *)argument;
    nb_body_writer_close(&call->gathered);
    if (call->gathered.fd >= 0) close(call->gathered.fd);
    nb_response_head_give_back(call->task->executor, &call->gathered);
    return Qnil;
}

void nb_response_send(nb_task *task, VALUE response) {
    bool hijacked = task->ended; /* then the response is ignored, but its body is closed */
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
    nb_response_head_take(task->executor, &call.gathered);
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

/* Sends an answer of the server's own in place of the application's. */
static void send_own(nb_task *task, int status, nb_slice fields, nb_slice body, uint16_t flags) {
    task->status = task->gone || task->left ? Qnil : INT2FIX(status);
    task->headers = Qnil;
    nb_response_head gathered = {.bytes = (char *)(uintptr_t)fields.data,
                                 .size = fields.size,
                                 .content_length = body.size,
                                 .timing_added = true,
                                 .flags = NB_RESPONSE_HAS_LENGTH,
                                 .status = status};
    nb_response_send_head(task, &gathered, body, NB_PART_LAST | flags);
}

/* A client is told when to try again where the application has not seen the request. */
void nb_response_fail(nb_task *task) {
    if (task->ended) return;
    if (task->head_sent) {
        nb_response_send_part(task, (nb_slice){NULL, 0}, NB_PART_LAST | NB_PART_ABORTED);
    } else if (task->expired || task->cancelled) {
        nb_slice fields = task->unbegun ? NB_SLICE(TEXT_FIELD RETRY_FIELD) : NB_SLICE(TEXT_FIELD);
        send_own(task, 503, fields, NB_SLICE(UNAVAILABLE), task->expired ? NB_RESPONSE_EXPIRED : 0);
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
    id_close = rb_intern("close");
    id_to_path = rb_intern("to_path");
    id_to_ary = rb_intern("to_ary");
    id_left_out = rb_intern("report_left_out");
    nb_body_writer_define(module);
}
