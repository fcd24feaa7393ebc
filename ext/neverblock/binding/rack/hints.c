/*
 * hints.c - see hints.h. Hints are advice: what cannot be sent is left out without an error, as
 * Puma does. An env that is kept too long has only the name of a request that is over.
 */
#include "binding/rack/hints.h"

#include <string.h>

#include "binding/ports/executor_state.h"
#include "binding/ports/port.h"
#include "binding/ports/running.h"
#include "binding/ports/writing.h"
#include "http/head.h"
#include "binding/base/module.h"

/* Of all field lines of one 103. Clients bound a head to some tens of KB, and drop a connection
   that sends more. */
#define HINTS_BYTES_MAX 65536

static VALUE hints_class;
static ID id_each;

static const rb_data_type_t hints_type = NB_REQUEST_NAME_TYPE("NeverBlock::EarlyHints");

VALUE nb_hints_new(nb_request_name name) { return nb_request_name_new(hints_class, &hints_type, name); }

/* Fields of framing and of the connection, which an interim response does not have (RFC 9110
   sections 7.6.1, 8.6), and fields that are meant for the server. */
static bool is_servers(nb_slice name) {
    static const char *const names[] = {"connection", "content-length", "keep-alive",
                                        "trailer",    "upgrade",        "transfer-encoding"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (nb_slice_equal_lower(name, nb_slice_of(names[i], strlen(names[i])))) return true;
    }
    return name.size > 5 && memcmp(name.data, "rack.", 5) == 0;
}

static void add_line(VALUE lines, nb_slice name, nb_slice value) {
    if (value.size == 0 || !nb_is_field_value(value)) return;
    rb_str_cat(lines, name.data, (long)name.size);
    rb_str_cat(lines, ": ", 2);
    rb_str_cat(lines, value.data, (long)value.size);
    rb_str_cat(lines, "\r\n", 2);
}

/* Rails before 7.1 joins several values of one field by newlines. */
static void add_value(VALUE lines, nb_slice name, VALUE value) {
    VALUE text = rb_str_new_frozen(rb_obj_as_string(value));
    const char *bytes = RSTRING_PTR(text), *end;
    size_t size = (size_t)RSTRING_LEN(text);
    while ((end = memchr(bytes, '\n', size))) {
        add_line(lines, name, (nb_slice){bytes, (size_t)(end - bytes)});
        size -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
    }
    add_line(lines, name, (nb_slice){bytes, size});
    RB_GC_GUARD(text);
}

static VALUE add_pair(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, lines)) {
    VALUE pair = argc == 1 ? rb_check_array_type(argv[0]) : rb_ary_new_from_values(argc, argv);
    if (NIL_P(pair) || RARRAY_LEN(pair) < 2) return Qnil;
    VALUE name = rb_str_new_frozen(rb_obj_as_string(rb_ary_entry(pair, 0))), values = rb_ary_entry(pair, 1);
    nb_slice bytes = {RSTRING_PTR(name), (size_t)RSTRING_LEN(name)};
    if (!nb_is_token(bytes) || is_servers(bytes)) return Qnil;
    if (!RB_TYPE_P(values, T_ARRAY)) add_value(lines, bytes, values);
    for (long i = 0; RB_TYPE_P(values, T_ARRAY) && i < RARRAY_LEN(values); i++)
        add_value(lines, bytes, rb_ary_entry(values, i));
    RB_GC_GUARD(name);
    return Qnil;
}

/* The task whose request awaits its response, or NULL. */
static nb_task *awaiting(VALUE self) {
    nb_task *task = nb_executor_find_task_anywhere(rb_check_typeddata(self, &hints_type));
    bool over = !task || task->head_sent || task->ended || task->hijack_asked || task->gone;
    return over || task->executor->over || task->port->stop_received ? NULL : task;
}

/* On any thread of the process. Nothing here lets another thread run, so that no part of the
   executor's own is torn. */
static void send_lines(nb_task *task, VALUE lines) {
    size_t size = (size_t)RSTRING_LEN(lines), bytes = sizeof(nb_message) + size;
    nb_message *message = nb_port_reserve(task->port, bytes);
    if (!message) return; /* the client or the loop is behind: the hints would come too late */
    *message = (nb_message){.type = NB_MESSAGE_HINTS, .bytes = (uint32_t)bytes, .exchange = task->exchange};
    memcpy(message + 1, RSTRING_PTR(lines), size);
    nb_executor_send(task, bytes);
    nb_executor_flush(task);
}

/* call(headers) -> nil. Sends a 103 with these fields at once. Never parks. Sends nothing once the
   response has begun or the client has gone. A name or value that is no header field's is left out.
   Raises what `headers` raises. */
static VALUE hints_call(VALUE self, VALUE headers) {
    if (!awaiting(self)) return Qnil;
    VALUE lines = rb_str_buf_new(256);
    rb_block_call(headers, id_each, 0, NULL, add_pair, lines);
    nb_task *task = awaiting(self); /* `each` may have let the request end */
    long size = RSTRING_LEN(lines);
    if (task && size > 0 && size <= HINTS_BYTES_MAX) send_lines(task, lines);
    RB_GC_GUARD(lines);
    return Qnil;
}

void nb_hints_define(VALUE module) {
    id_each = rb_intern("each");
    hints_class = rb_define_class_under(module, "EarlyHints", rb_cObject);
    rb_gc_register_mark_object(hints_class);
    rb_undef_alloc_func(hints_class);
    rb_define_method(hints_class, "call", hints_call, 1);
}
