/*
 * input.c - see input.h.
 */
#include "binding/base/protect.h"
#include "binding/rack/input.h"

#include <string.h>

#include "base/limits.h"
#include "binding/base/module.h"
#include "binding/ports/executor_state.h"
#include "binding/ports/running.h"
#include "binding/ports/writing.h"
#include "binding/scheduler/scheduler.h"

/* After so many bytes the I/O loop is told what was taken, so that the client sends on before the
   window is empty. */
#define TELL_EVERY_BYTES (NB_INPUT_WINDOW_BYTES / 4)

typedef struct nb_input {
    nb_task *task;  /* NULL: the request is over */
    VALUE executor; /* keeps the task's memory */
    VALUE parts;    /* strings that came and were not taken */
    long offset;    /* bytes of the first part that were taken */
    VALUE reader;   /* the fiber that waits */
    bool asked;     /* the loop knows that somebody reads */
    bool whole;     /* the last part came */
    bool lost;      /* no memory for a part */
    bool cut;
    nb_gone_reason reason; /* why, if `cut` */
} nb_input;

static VALUE class, error_class;

static void input_mark(void *pointer) {
    nb_input *input = pointer;
    rb_gc_mark(input->executor);
    rb_gc_mark(input->parts);
    rb_gc_mark(input->reader);
}

/* Not WB_PROTECTED: each message brings a part, and would need a write barrier. */
static const rb_data_type_t input_type = {
    .wrap_struct_name = "NeverBlock::StreamInput",
    .function = {.dmark = input_mark, .dfree = RUBY_TYPED_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static nb_input *get(VALUE self) {
    nb_input *input;
    TypedData_Get_Struct(self, nb_input, &input_type, input);
    return input;
}

bool nb_input_is(VALUE object) { return rb_typeddata_is_kind_of(object, &input_type); }

VALUE nb_input_open(nb_task *task) {
    nb_input *input;
    VALUE self = TypedData_Make_Struct(class, nb_input, &input_type, input);
    input->executor = input->parts = input->reader = Qnil;
    input->parts = rb_ary_new();
    input->executor = task->executor->self;
    input->task = task;
    task->input_taken = task->input_told = 0;
    return self;
}

/* --- from the executor --- */

static void wake(nb_input *input) {
    VALUE reader = input->reader;
    input->reader = Qnil;
    if (!NIL_P(reader)) nb_scheduler_ready(input->task->executor->scheduler, reader);
}

typedef struct push_call {
    nb_input *input;
    const nb_message *message;
} push_call;

static VALUE push(VALUE argument) {
    push_call *call = (push_call *)argument;
    VALUE part = rb_str_new((const char *)(call->message + 1), (long)(call->message->bytes - sizeof(nb_message)));
    return rb_ary_push(call->input->parts, part);
}

void nb_input_push(VALUE self, const nb_message *message) {
    nb_input *input = get(self);
    push_call call = {input, message};
    int tag = 0;
    if (!input->task) return;
    if (message->bytes > sizeof(*message) && !input->lost) rb_protect(push, (VALUE)&call, &tag);
    if (tag) nb_protect_drop(Qnil);
    if (tag) input->lost = true;
    if (message->flags & NB_INPUT_LAST) input->whole = true;
    wake(input);
}

void nb_input_look(VALUE self) { wake(get(self)); }

VALUE nb_input_reader(VALUE object) { return nb_input_is(object) ? get(object)->reader : Qnil; }

void nb_input_end(VALUE self, nb_gone_reason reason) {
    nb_input *input = get(self);
    if (!input->task || input->cut) return;
    input->cut = true;
    input->reason = reason;
    wake(input);
}

void nb_input_close(VALUE self) {
    nb_input *input = get(self);
    if (!input->task) return;
    wake(input);
    nb_executor_forget_taken(input->task);
    input->task = NULL;
    input->parts = Qnil;
}

/* --- for the application --- */

static _Noreturn void raise_cut(nb_gone_reason reason) {
    switch (reason) {
    case NB_GONE_TOO_LARGE:
        rb_raise(error_class, "the request body is larger than limits { body_bytes }; its client is answered 413, "
                              "unless a response had begun");
    case NB_GONE_TOO_SLOW:
        rb_raise(error_class,
                 "the request body came more slowly than timeouts { rate_min } asks for; its client is answered 408, "
                 "unless a response had begun");
    case NB_GONE_INVALID:
        rb_raise(error_class,
                 "the request body broke the rules of HTTP; its client is answered 400, unless a response had begun");
    case NB_GONE_HIJACKED:
        rb_raise(nb_error_class, "the connection was hijacked: the rest of the request body is read from its socket");
    case NB_GONE_CLIENT:
    case NB_GONE_SHORT:
        break;
    }
    rb_raise(nb_client_gone_class, "the client left before its request body was whole");
}

static VALUE clear_reader(VALUE argument) {
    ((nb_input *)argument)->reader = Qnil;
    return Qnil;
}

static void wait_for_part(nb_input *input) {
    nb_executor *executor = input->task->executor;
    if (input->task->ended) rb_raise(nb_error_class, "the response is over: no more is read of the request body");
    if (!NIL_P(input->reader)) rb_raise(nb_error_class, "a request body is read by one fiber at a time");
    if (!input->asked || input->task->input_told != input->task->input_taken) nb_executor_tell_taken(input->task);
    input->asked = true;
    input->reader = rb_fiber_current();
    nb_scheduler_next_wait(executor->scheduler, NB_FIBER_WAIT_client_body);
    rb_ensure(nb_executor_park, executor->scheduler, clear_reader, (VALUE)input);
}

static void check_reader(const nb_input *input) {
    if (!input->task) rb_raise(nb_error_class, "the request whose body this is, is over");
    nb_executor *executor = input->task->executor;
    if (executor->over || nb_executor_in_child(executor))
        rb_raise(nb_client_gone_class, "the executor of this request has ended");
    if (rb_thread_current() != executor->thread)
        rb_raise(nb_error_class, "a streamed request body is read on the thread its request runs on");
}

/* The first part that was not taken whole; nil when the body is over. Parks the fiber while there
   is none. */
static VALUE first_part(nb_input *input) {
    check_reader(input);
    while (RARRAY_LEN(input->parts) == 0) {
        if (input->lost) rb_raise(rb_eNoMemError, "no memory for the request body");
        if (input->whole) return Qnil;
        if (input->cut) {
            nb_executor_tell_gone(input->task);
            raise_cut(input->reason);
        }
        wait_for_part(input);
        check_reader(input);
    }
    return rb_ary_entry(input->parts, 0);
}

/* Bytes that were copied are given back at once: until the next collection an upload would occupy
   tens of megabytes. */
static VALUE copy(nb_input *input, VALUE part, long size, VALUE onto) {
    const char *bytes = RSTRING_PTR(part) + input->offset;
    VALUE result = NIL_P(onto) ? rb_str_new(bytes, size) : rb_str_cat(onto, bytes, size);
    input->offset += size;
    if (input->offset < RSTRING_LEN(part)) return result;
    input->offset = 0;
    rb_ary_shift(input->parts);
    rb_str_resize(part, 0);
    return result;
}

static long line_size(const char *bytes, long size) {
    const char *newline = memchr(bytes, '\n', (size_t)size);
    return newline ? newline + 1 - bytes : size;
}

/* shift(length, onto, line) -> at most so many bytes of one part as a String, or appended to
   `onto`; up to a newline if `line`. nil: the body is over. */
static VALUE input_shift(VALUE self, VALUE length, VALUE onto, VALUE line) {
    nb_input *input = get(self);
    long wanted = NUM2LONG(length);
    VALUE part = first_part(input);
    if (NIL_P(part)) return Qnil;
    long size = RSTRING_LEN(part) - input->offset;
    if (size > wanted) size = wanted;
    if (RTEST(line)) size = line_size(RSTRING_PTR(part) + input->offset, size);
    bool all = NIL_P(onto) && input->offset == 0 && size == RSTRING_LEN(part);
    VALUE result = all ? rb_ary_shift(input->parts) : copy(input, part, size, onto);
    nb_task *task = input->task;
    task->input_taken += (uint64_t)size;
    bool goes_on = !input->whole && !input->cut;
    if (goes_on && task->input_taken - task->input_told >= TELL_EVERY_BYTES) nb_executor_tell_taken(task);
    RB_GC_GUARD(self);
    RB_GC_GUARD(part);
    return result;
}

static VALUE input_over(VALUE self) { return NIL_P(first_part(get(self))) ? Qtrue : Qfalse; }

void nb_input_define(VALUE module) {
    class = rb_define_class_under(module, "StreamInput", rb_cObject);
    rb_gc_register_address(&class);
    error_class = rb_path2class("NeverBlock::InputError");
    rb_gc_register_address(&error_class);
    rb_undef_alloc_func(class);
    rb_define_private_method(class, "shift", input_shift, 3);
    rb_define_private_method(class, "over?", input_over, 0);
}
