/*
 * ruby_log.c - see ruby_log.h. lib/neverblock/log.rb makes the text; here its bytes are written.
 */
#include "binding/base/ruby_log.h"

#include <limits.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <unistd.h>

#include "base/log.h"
#include "binding/base/module.h"

typedef struct nb_ruby_log {
    nb_log *log;
    int fd;
    pid_t pid;
} nb_ruby_log;

static void log_free(void *pointer) {
    nb_ruby_log *log = pointer;
    if (log->log && log->pid == getpid()) nb_log_destroy(log->log);
    xfree(log);
}

static size_t log_size(const void *pointer) {
    const nb_ruby_log *log = pointer;
    return sizeof(*log) + (log->log ? NB_LOG_BUFFER_BYTES : 0);
}

static const rb_data_type_t log_type = {
    .wrap_struct_name = "NeverBlock::Log",
    .function = {.dfree = log_free, .dsize = log_size},
    .flags = RUBY_TYPED_WB_PROTECTED,
};

static nb_ruby_log *get(VALUE self) {
    nb_ruby_log *log;
    TypedData_Get_Struct(self, nb_ruby_log, &log_type, log);
    return log;
}

static VALUE log_allocate(VALUE class) {
    nb_ruby_log *log;
    VALUE self = TypedData_Make_Struct(class, nb_ruby_log, &log_type, log);
    log->fd = -1;
    return self;
}

/* A forked child has no writer thread: it opens a log of its own, and leaves the parent's memory
   alone. */
static nb_log *writer(VALUE self) {
    nb_ruby_log *log = get(self);
    if (log->log && log->pid == getpid()) return log->log;
    log->log = NULL;
    nb_status status = nb_log_create(log->fd, &log->log);
    if (status != NB_OK) nb_raise_status(status, "the log could not be opened");
    log->pid = getpid();
    return log->log;
}

nb_log *nb_ruby_log_of(VALUE log) { return NIL_P(log) ? NULL : writer(log); }

/* Log.new(fd = 2): writes to this descriptor, which stays the caller's. */
static VALUE log_initialize(int argc, VALUE *argv, VALUE self) {
    VALUE fd;
    rb_scan_args(argc, argv, "01", &fd);
    get(self)->fd = NIL_P(fd) ? STDERR_FILENO : NUM2INT(fd);
    writer(self);
    return self;
}

/* write(text) -> bytes. Never blocks: text that finds no room is dropped and counted. */
static VALUE log_write(VALUE self, VALUE text) {
    StringValue(text);
    nb_log_write(writer(self), RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    return LONG2NUM(RSTRING_LEN(text));
}

static VALUE log_dropped(VALUE self) { return ULL2NUM(nb_log_dropped(writer(self))); }

typedef struct flush_call {
    nb_log *log;
    unsigned timeout_ms;
} flush_call;

static void *flush(void *pointer) {
    flush_call *call = pointer;
    nb_log_flush(call->log, call->timeout_ms);
    return NULL;
}

/* flush(timeout_ms = 1000): waits until all is written. Blocks the thread: for the end of the
   process. */
static VALUE log_flush(int argc, VALUE *argv, VALUE self) {
    VALUE timeout;
    rb_scan_args(argc, argv, "01", &timeout);
    long timeout_ms = NIL_P(timeout) ? 1000 : NUM2LONG(timeout);
    if (timeout_ms < 0 || timeout_ms > INT_MAX) rb_raise(rb_eArgError, "%ld is no number of milliseconds", timeout_ms);
    flush_call call = {writer(self), (unsigned)timeout_ms};
    rb_thread_call_without_gvl(flush, &call, NULL, NULL);
    return self;
}

void nb_log_define(VALUE module) {
    VALUE class = rb_define_class_under(module, "Log", rb_cObject);
    rb_define_alloc_func(class, log_allocate);
    rb_define_method(class, "initialize", log_initialize, -1);
    rb_define_method(class, "write", log_write, 1);
    rb_define_method(class, "dropped", log_dropped, 0);
    rb_define_method(class, "flush", log_flush, -1);
}
