/*
 * cursor.c - see cursor.h.
 */
#include "binding/fibers/cursor.h"

#include <ruby/version.h>
#include <string.h>

#if RUBY_API_VERSION_CODE < 30300
/* With what lies above, the two pages that such a fiber uses in any case. */
#define CLEARED_BYTES (7 << 10)

__attribute__((noinline)) static void clear_below(void) {
    char area[CLEARED_BYTES];
    memset(area, 0, sizeof area);
    __asm__ volatile("" : : "r"(area) : "memory");
}

/* In C, so that few frames lie above what is cleared. What a fiber returns stays in one of them
   (cont.c, rb_fiber_start). */
static VALUE body(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, block)) {
    (void)yielded, (void)argc, (void)argv, (void)blockarg;
    clear_below();
    rb_funcallv(block, rb_intern("call"), 0, NULL);
    return Qnil;
}

static VALUE scheduler_s_on_clean_stack(VALUE klass) {
    (void)klass;
    return rb_proc_new(body, rb_block_proc());
}

/* As next_i of enumerator.c does. */
static VALUE scheduler_s_stop_iteration(VALUE klass, VALUE result) {
    VALUE error = rb_exc_new_cstr(rb_eStopIteration, "iteration reached an end");
    (void)klass;
    rb_ivar_set(error, rb_intern("result"), result);
    return error;
}

void nb_cursor_define(VALUE klass) {
    rb_ext_ractor_safe(true);
    rb_define_singleton_method(klass, "on_clean_stack", scheduler_s_on_clean_stack, 0);
    rb_define_singleton_method(klass, "stop_iteration", scheduler_s_stop_iteration, 1);
    rb_ext_ractor_safe(false);
}
#else
void nb_cursor_define(VALUE klass) { (void)klass; }
#endif
