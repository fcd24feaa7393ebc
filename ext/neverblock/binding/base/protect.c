/*
 * protect.c - see protect.h.
 */
#include "binding/base/protect.h"

/* Raised in place of the error, whose backtrace may be long: Ruby makes an Array of it. This one
   has an empty backtrace. */
static VALUE short_error;

/* With nil it raises $!, calls no method for that, and takes the mark away (eval.c, rb_longjmp). */
static VALUE raise_short(VALUE unused) {
    (void)unused;
    rb_set_errinfo(short_error);
    rb_exc_raise(Qnil);
    return Qnil;
}

bool nb_protect_marks(VALUE error) {
    if (!RB_TYPE_P(error, T_OBJECT)) return false;
    return RTEST(rb_obj_is_kind_of(error, rb_eSysStackError)) || RTEST(rb_obj_is_kind_of(error, rb_eNoMemError));
}

void nb_protect_drop(VALUE before) {
    VALUE error = rb_errinfo();
    int tag = 0;
    if (nb_protect_marks(error)) rb_protect(raise_short, Qnil, &tag);
    rb_set_errinfo(before);
}

void nb_protect_define(void) {
    rb_gc_register_address(&short_error);
    short_error = rb_exc_new_cstr(rb_eRuntimeError, "NeverBlock drops an error");
    rb_funcall(short_error, rb_intern("set_backtrace"), 1, rb_ary_new());
}
