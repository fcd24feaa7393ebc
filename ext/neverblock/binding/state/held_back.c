/*
 * held_back.c - see held_back.h.
 */
#include "binding/state/held_back.h"

static ID id_masks(void) {
    static ID id;
    if (id == 0) id = rb_intern("__neverblock_masks__");
    return id;
}

VALUE nb_masks_get(void) { return rb_attr_get(rb_fiber_current(), id_masks()); }

void nb_masks_set(VALUE masks) { rb_ivar_set(rb_fiber_current(), id_masks(), masks); }

VALUE nb_masks_now(const nb_scheduler *scheduler) {
    if (scheduler->shields == 0) return Qnil;
    VALUE root = nb_root_now(scheduler), masks = nb_masks_get();
    VALUE outer = NIL_P(root) || root == rb_fiber_current() ? Qnil : rb_attr_get(root, id_masks());
    if (NIL_P(masks) || NIL_P(outer)) return NIL_P(masks) ? outer : masks;
    return rb_ary_plus(masks, outer);
}

VALUE nb_class_of_raised(VALUE raises) {
    VALUE first = RB_TYPE_P(raises, T_ARRAY) && RARRAY_LEN(raises) > 0 ? RARRAY_AREF(raises, 0) : Qnil;
    if (RB_TYPE_P(first, T_CLASS)) return first;
    return RB_TYPE_P(first, T_STRING) || NIL_P(first) ? rb_eRuntimeError : rb_obj_class(first);
}

/* The timing that a mask has for the first of these, or nil. */
static VALUE timing_in(VALUE mask, VALUE ancestors) {
    for (long i = 0; i < RARRAY_LEN(ancestors); i++) {
        VALUE timing = rb_hash_lookup(mask, RARRAY_AREF(ancestors, i));
        if (!NIL_P(timing)) return timing;
    }
    return Qnil;
}

bool nb_held_back(VALUE masks, VALUE raises, bool waits) {
    if (NIL_P(masks)) return false;
    VALUE ancestors = rb_mod_ancestors(nb_class_of_raised(raises));
    for (long i = 0; i < RARRAY_LEN(masks); i++) {
        VALUE timing = timing_in(RARRAY_AREF(masks, i), ancestors);
        if (NIL_P(timing)) continue;
        return waits ? timing == ID2SYM(rb_intern("never")) : timing != ID2SYM(rb_intern("immediate"));
    }
    return false;
}
