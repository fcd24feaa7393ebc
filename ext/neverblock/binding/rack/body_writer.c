/*
 * body_writer.c - see body_writer.h.
 */
#include "binding/rack/body_writer.h"

#include "binding/base/module.h"
#include "binding/ports/running.h"
#include "binding/ports/writing.h"
#include "binding/rack/env_keys.h"
#include "binding/rack/response_parts.h"
#include "binding/rack/timing.h"

static ID id_each, id_call, id_read;
static VALUE stream_class;

static void writer_mark(void *pointer) {
    const nb_body_writer *marked = pointer;
    rb_gc_mark(marked->input);
    rb_gc_mark(marked->executor);
    if (marked->own.held) rb_gc_mark(marked->own.held);
}

static const rb_data_type_t writer_type = {
    .wrap_struct_name = "NeverBlock response writer",
    .function = {.dmark = writer_mark, .dfree = RUBY_TYPED_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

nb_body_writer *nb_body_writer_open(nb_task *task, nb_response_head *gathered, VALUE class) {
    nb_body_writer *opened;
    gathered->block = TypedData_Make_Struct(class, nb_body_writer, &writer_type, opened);
    opened->task = task;
    opened->gathered = gathered;
    RB_OBJ_WRITE(gathered->block, &opened->executor, task->executor->self);
    return opened;
}

void nb_body_writer_close(nb_response_head *gathered) {
    if (gathered->block) ((nb_body_writer *)RTYPEDDATA_DATA(gathered->block))->task = NULL;
    gathered->block = Qfalse;
}

nb_body_writer *nb_body_writer_enter(VALUE block) {
    nb_body_writer *entered = RTYPEDDATA_DATA(block);
    if (!entered->task) rb_raise(nb_error_class, "the response this block belongs to is over");
    if (rb_thread_current() != entered->task->executor->thread) {
        rb_raise(nb_error_class, "a response is written on the thread its request runs on");
    }
    if (entered->task->gone) nb_executor_raise_gone(entered->task);
    if (entered->own.state == NB_OWN_CHUNKS_BROKEN) nb_own_chunks_refuse(&entered->own);
    if (entered->busy) rb_raise(nb_error_class, "a response is written by one fiber, which nothing interrupts");
    entered->busy = true;
    return entered;
}

/* --- each --- */

static void send_content(nb_body_writer *writing, VALUE owner, nb_slice bytes) {
    nb_task *task = writing->task;
    if (bytes.size == 0) return;
    writing->sent += bytes.size;
    if (!task->head_sent) {
        uint64_t high;
        nb_timing_add_field(task, writing->gathered);
        size_t first = nb_response_step(task, sizeof(nb_response_message) + writing->gathered->size, bytes.size, &high);
        nb_response_send_head(task, writing->gathered, (nb_slice){bytes.data, first}, 0);
        bytes = (nb_slice){bytes.data + first, bytes.size - first};
    }
    nb_response_send_body(task, owner, bytes, 0);
}

static void send_string(nb_body_writer *writing, VALUE string) {
    if (!NIL_P(string)) send_content(writing, string, nb_string_slice(string));
}

/* Sends what the application has written. Its own chunks are undone by the slice, so that a long
   string is not in memory twice. */
static void send_chunk(VALUE block, nb_body_writer *writing, VALUE chunk) {
    nb_slice text = nb_string_slice(chunk);
    while (writing->own.state != NB_OWN_CHUNKS_NONE && text.size > 0) {
        size_t step = text.size < NB_RESPONSE_SLICE_BYTES ? text.size : NB_RESPONSE_SLICE_BYTES;
        VALUE content = nb_own_chunks_content(block, &writing->own, (nb_slice){text.data, step});
        send_string(writing, content);
        rb_str_resize(content, 0);
        text = (nb_slice){text.data + step, text.size - step};
    }
    send_content(writing, chunk, text);
}

static VALUE each_chunk(RB_BLOCK_CALL_FUNC_ARGLIST(chunk, argument)) {
    chunk = nb_response_frozen_chunk(chunk);
    nb_body_writer *entered = nb_body_writer_enter(argument);
    send_chunk(argument, entered, chunk);
    entered->busy = false;
    RB_GC_GUARD(argument);
    return Qnil;
}

/* The application has written all. A write that has not come to its end has left a part half sent,
   even if the application has rescued what ended it. */
static void end_writing(nb_task *task, nb_body_writer *writer, const char *method) {
    bool whole = nb_own_chunks_whole(&writer->own);
    if ((writer->busy || !whole) && (task->gone || (!whole && task->left))) nb_executor_raise_gone(task);
    if (!whole) nb_own_chunks_refuse(&writer->own);
    if (writer->busy) rb_raise(nb_error_class, "the body's %s was interrupted while it wrote", method);
    send_string(writer, nb_own_chunks_rest(&writer->own));
}

/* Sends all that `each` yields, and returns how many bytes that was. */
static uint64_t send_yielded(nb_task *task, nb_response_head *gathered, VALUE body) {
    nb_body_writer *opened = nb_body_writer_open(task, gathered, rb_cObject);
    VALUE block = gathered->block;
    if (gathered->chunked) nb_own_chunks_open(&opened->own);
    rb_block_call(body, id_each, 0, NULL, each_chunk, block);
    end_writing(task, opened, "each");
    uint64_t sent = opened->sent;
    nb_body_writer_close(gathered);
    RB_GC_GUARD(block);
    return sent;
}

/* The application has written the whole body: ends it, or raises where its length is wrong. */
static void end_body(nb_task *task, const nb_response_head *gathered, uint64_t sent) {
    if (sent < gathered->content_length) nb_response_check_length(gathered->content_length, sent);
    if (!task->ended) nb_response_send_body(task, Qnil, (nb_slice){NULL, 0}, NB_PART_LAST);
    nb_response_check_length(gathered->content_length, sent);
}

/* For a body that may last: the head is sent before the first bytes are there, and its buffer is
   not kept meanwhile. */
static void send_head_alone(nb_task *task, nb_response_head *gathered) {
    nb_response_send_head(task, gathered, (nb_slice){NULL, 0}, 0);
    nb_response_head_give_back(task->executor, gathered);
}

/* The client of an event stream waits for the head, and the first event may be late. */
void nb_response_send_each(nb_task *task, nb_response_head *gathered, VALUE body) {
    if (gathered->events) send_head_alone(task, gathered);
    uint64_t sent = send_yielded(task, gathered, body);
    if (!task->head_sent) {
        if (!(gathered->flags & NB_RESPONSE_HAS_LENGTH)) gathered->content_length = 0;
        nb_response_check_length(gathered->content_length, 0);
        nb_response_send_head(task, gathered, (nb_slice){NULL, 0}, NB_PART_LAST);
        return;
    }
    end_body(task, gathered, sent);
}

/* --- call --- */

/* An executor that an exception has ended has left its responses open. */
static nb_body_writer *stream_of(VALUE self) {
    nb_body_writer *stream = rb_check_typeddata(self, &writer_type);
    if (stream->task && stream->task->executor->over) stream->task = NULL;
    return stream;
}

static nb_body_writer *stream_open(VALUE self) {
    nb_body_writer *stream = stream_of(self);
    if (!stream->task || stream->write_closed) rb_raise(rb_eIOError, "closed stream");
    return stream;
}

/* write(*objects) -> bytes. Each object is sent to the client at once; parks while the client is
   behind. Raises IOError when the stream is closed, and NeverBlock::ClientGone. */
static VALUE stream_write(int argc, VALUE *argv, VALUE self) {
    size_t bytes = 0;
    for (int i = 0; i < argc; i++) {
        VALUE chunk = nb_response_frozen_chunk(argv[i]);
        stream_open(self);
        nb_body_writer *entered = nb_body_writer_enter(self);
        send_chunk(self, entered, chunk);
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

/* flush: what was written leaves now, and not at the end of the turn. */
static VALUE stream_flush(VALUE self) {
    const nb_task *task = stream_open(self)->task;
    if (!nb_executor_in_child(task->executor) && rb_thread_current() == task->executor->thread)
        nb_executor_flush(stream_open(self)->task);
    return self;
}

/* close_write: does not raise where the body has the wrong length; that is told when the body's
   call has returned. */
static VALUE stream_close_write(VALUE self) {
    nb_body_writer *stream = stream_of(self);
    if (!stream->task || stream->write_closed) return Qnil;
    bool whole = !stream->busy && !stream->task->gone && nb_own_chunks_whole(&stream->own);
    if (whole) nb_body_writer_enter(self);
    stream->write_closed = true;
    if (whole) send_string(stream, nb_own_chunks_rest(&stream->own));
    uint64_t announced = stream->gathered->content_length;
    if (whole && (announced == NB_CONTENT_LENGTH_UNKNOWN || announced == stream->sent))
        nb_response_send_body(stream->task, Qnil, (nb_slice){NULL, 0}, NB_PART_LAST);
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
    const nb_body_writer *stream = stream_of(self);
    bool open = stream->task && !stream->task->gone && !(stream->write_closed && stream->read_closed);
    return open ? Qfalse : Qtrue;
}

/* read(length = nil, buffer = nil): as of rack.input. */
static VALUE stream_read(int argc, VALUE *argv, VALUE self) {
    const nb_body_writer *stream = stream_of(self);
    if (!stream->task || stream->read_closed) rb_raise(rb_eIOError, "closed stream");
    return rb_funcallv(stream->input, id_read, argc, argv);
}

void nb_response_send_called(nb_task *task, nb_response_head *gathered, VALUE body) {
    send_head_alone(task, gathered);
    nb_body_writer *opened = nb_body_writer_open(task, gathered, stream_class);
    VALUE stream = gathered->block;
    if (gathered->chunked) nb_own_chunks_open(&opened->own);
    RB_OBJ_WRITE(stream, &opened->input, rb_hash_lookup(task->env, nb_env_keys.rack_input));
    rb_funcallv(body, id_call, 1, &stream);
    end_writing(task, opened, "call");
    end_body(task, gathered, opened->sent);
    RB_GC_GUARD(stream);
}

void nb_body_writer_define(VALUE module) {
    id_each = rb_intern("each");
    id_call = rb_intern("call");
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
