/*
 * neverblock.c - the extension's entry: defines the module and the classes written in C.
 */
#include "binding/base/module.h"

#include <ruby/encoding.h>

#include "binding/stalls/blockers.h"
#include "binding/engine/engine.h"
#include "binding/ports/executor.h"
#include "binding/rack/hints.h"
#include "binding/rack/input.h"
#include "binding/engine/link.h"
#include "binding/mysql/mysql.h"
#include "os/subreaper.h"
#include "os/syscalls.h"
#include "binding/base/ruby_log.h"
#include "binding/scheduler/scheduler.h"
#include "binding/base/ticker.h"

VALUE nb_module;
VALUE nb_error_class;
VALUE nb_client_gone_class;

VALUE nb_constant_string(const char *bytes, size_t size) {
    VALUE string = rb_enc_interned_str(bytes, (long)size, rb_usascii_encoding());
    rb_gc_register_mark_object(string);
    return string;
}

static VALUE error_class(const char *name, VALUE parent) {
    ID id = rb_intern(name);
    if (rb_const_defined_at(nb_module, id)) return rb_const_get_at(nb_module, id);
    return rb_define_class_under(nb_module, name, parent);
}

/* subreaper -> true: orphans among the descendants are children of this process from now on; false: the system does not have that. */
static VALUE subreaper(VALUE self) { return nb_subreaper_become() ? Qtrue : Qfalse; }

/* end_with_parent(true or false) -> whether the system has that: this process is killed when its parent ends. */
static VALUE end_with_parent(VALUE self, VALUE wanted) {
    return nb_subreaper_end_with_parent(RTEST(wanted)) ? Qtrue : Qfalse;
}

/* calls_refused -> names of system calls that this kernel does not have, or a filter refuses. */
static VALUE calls_refused(VALUE self) {
    const char *names[NB_SYSCALLS_MAX];
    size_t count = nb_syscalls_refused(names);
    VALUE list = rb_ary_new_capa((long)count);
    for (size_t i = 0; i < count; i++)
        rb_ary_push(list, rb_str_new_cstr(names[i]));
    return list;
}

static void found(VALUE built, const char *name, bool there) {
    rb_hash_aset(built, ID2SYM(rb_intern(name)), there ? Qtrue : Qfalse);
}

#ifdef HAVE_PREADV2
#define BUILT_PREADV2 true
#else
#define BUILT_PREADV2 false
#endif
#ifdef HAVE_SYS_EPOLL_H
#define BUILT_EPOLL true
#else
#define BUILT_EPOLL false
#endif
#ifdef HAVE_SYS_EVENT_H
#define BUILT_KQUEUE true
#else
#define BUILT_KQUEUE false
#endif

/* built -> {feature: whether the extension was compiled with it}. */
static VALUE built(VALUE self) {
    VALUE hash = rb_hash_new();
    found(hash, "preadv2", BUILT_PREADV2);
    found(hash, "poller", BUILT_EPOLL || BUILT_KQUEUE);
    return hash;
}

void Init_neverblock(void);

RUBY_FUNC_EXPORTED void Init_neverblock(void) {
    nb_module = rb_define_module("NeverBlock");
    nb_error_class = error_class("Error", rb_eStandardError);
    nb_client_gone_class = error_class("ClientGone", nb_error_class);
    rb_gc_register_mark_object(nb_error_class);
    rb_gc_register_mark_object(nb_client_gone_class);
    rb_gc_register_mark_object(error_class("InputError", nb_error_class));
    rb_define_singleton_method(nb_module, "subreaper", subreaper, 0);
    rb_define_singleton_method(nb_module, "end_with_parent", end_with_parent, 1);
    rb_define_singleton_method(nb_module, "calls_refused", calls_refused, 0);
    rb_define_singleton_method(nb_module, "built", built, 0);
    nb_blockers_define(nb_module);
    nb_input_define(nb_module);
    nb_engine_define(nb_module);
    nb_link_define(nb_module);
    nb_log_define(nb_module);
    nb_ticker_define();
    nb_scheduler_define(nb_module);
    nb_executor_define(nb_module);
    nb_hints_define(nb_module);
    nb_mysql_define(nb_module);
}
