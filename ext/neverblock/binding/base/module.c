/*
 * module.c - see module.h.
 */
#include "binding/base/module.h"

#include <errno.h>
#include <ruby.h>
#include <ruby/encoding.h>

VALUE nb_module;
VALUE nb_error_class;
VALUE nb_client_gone_class;
VALUE nb_request_cancelled_class;

VALUE nb_constant_string(const char *bytes, size_t size) {
    VALUE string = rb_enc_interned_str(bytes, (long)size, rb_usascii_encoding());
    rb_gc_register_mark_object(string);
    return string;
}

void nb_raise_status(nb_status status, const char *what) {
    if (status == NB_SYSTEM && errno) rb_sys_fail(what);
    if (status == NB_NO_MEMORY) rb_memerror();
    if (status == NB_EXISTS) rb_syserr_fail(EADDRINUSE, what);
    rb_raise(nb_error_class, "%s: %s", what, nb_status_text(status));
}

static VALUE error_class(const char *name, VALUE parent) {
    ID id = rb_intern(name);
    if (rb_const_defined_at(nb_module, id)) return rb_const_get_at(nb_module, id);
    return rb_define_class_under(nb_module, name, parent);
}

void nb_module_define(void) {
    nb_module = rb_define_module("NeverBlock");
    nb_error_class = error_class("Error", rb_eStandardError);
    nb_client_gone_class = error_class("ClientGone", nb_error_class);
    nb_request_cancelled_class = error_class("RequestCancelled", nb_error_class);
    rb_gc_register_mark_object(nb_error_class);
    rb_gc_register_mark_object(nb_request_cancelled_class);
    rb_gc_register_mark_object(nb_client_gone_class);
    rb_gc_register_mark_object(error_class("InputError", nb_error_class));
}
