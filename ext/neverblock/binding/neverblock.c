/*
 * neverblock.c - the extension's entry: defines the module and the classes written in C.
 */
#include "neverblock.h"

#include <ruby/encoding.h>

#include "engine.h"
#include "executor.h"
#include "input.h"
#include "link.h"
#include "mysql.h"
#include "os/subreaper.h"
#include "ruby_log.h"
#include "scheduler.h"

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
    nb_input_define(nb_module);
    nb_engine_define(nb_module);
    nb_link_define(nb_module);
    nb_log_define(nb_module);
    nb_scheduler_define(nb_module);
    nb_executor_define(nb_module);
    nb_mysql_define(nb_module);
}
