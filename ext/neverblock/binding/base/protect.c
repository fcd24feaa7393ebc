/*
 * protect.c - see protect.h.
 */
#include "binding/base/protect.h"

#include <stdbool.h>

/* With nil it raises $! again, calls no method for that, and takes the mark away (eval.c,
   rb_longjmp). */
static VALUE raise_again(VALUE unused) {
    (void)unused;
    rb_exc_raise(Qnil);
    return Qnil;
}

/* What ends a thread or goes to a `catch` is no exception. */
static bool marks(VALUE error) {
    if (!RB_TYPE_P(error, T_OBJECT)) return false;
    return RTEST(rb_obj_is_kind_of(error, rb_eSysStackError)) || RTEST(rb_obj_is_kind_of(error, rb_eNoMemError));
}

void nb_protect_drop(VALUE before) {
    VALUE error = rb_errinfo();
    int tag = 0;
    if (marks(error)) rb_protect(raise_again, Qnil, &tag);
    rb_set_errinfo(before);
}
