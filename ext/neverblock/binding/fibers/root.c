/*
 * root.c - see root.h.
 */
#include "binding/fibers/root.h"

#include "binding/base/protect.h"
#include "binding/base/thread_words.h"
#include "binding/state/object.h"

static VALUE kernel_backquote;
static ID id_bind_call, id_pid, id_to_i, id_locals, id_root;

/* --- $? --- */

/* Where Ruby's struct of a thread has $?, in words; a function of Ruby's sets a new one only. */
static size_t status_word;
static bool status_known;

static bool finds_status(int status, size_t *word) {
    rb_last_status_set(status, 1);
    *word = nb_thread_word_find((uintptr_t)rb_last_status_get());
    return *word != nb_thread_word_count();
}

static VALUE *status_here(void) { return (VALUE *)&nb_thread_words()[status_word]; }

/* Kernel#` clears $? before it looks at its command, and refuses one with a NUL byte. */
static VALUE clear_status(VALUE unused) {
    (void)unused;
    return rb_funcall(kernel_backquote, id_bind_call, 2, rb_mKernel, rb_str_new("", 1));
}

static VALUE write_status(VALUE status) {
    rb_last_status_set(NUM2INT(rb_funcall(status, id_to_i, 0)), NUM2PIDT(rb_funcall(status, id_pid, 0)));
    return Qnil;
}

/* A method looks for interrupts when it returns. */
static void set_status_by_methods(VALUE status) {
    VALUE error = rb_errinfo();
    int tag = 0;
    rb_protect(NIL_P(status) ? clear_status : write_status, status, &tag);
    if (tag) nb_protect_drop(error);
    rb_set_errinfo(error);
}

static void learn_status(void) {
    VALUE before = rb_last_status_get();
    size_t again;
    status_known = finds_status(0, &status_word) && finds_status(1, &again) && again == status_word;
    nb_root_set_status(before);
    status_known = status_known && rb_last_status_get() == before;
}

void nb_root_set_status(VALUE status) {
    if (status_known) {
        RB_OBJ_WRITE(rb_thread_current(), status_here(), status);
    } else {
        set_status_by_methods(status);
    }
}

void nb_root_forget_status(void) {
    if (!NIL_P(rb_last_status_get())) nb_root_set_status(Qnil);
}

/* --- Thread variables --- */

/* The root fiber of the running fiber, or nil. */
static VALUE root_here(void) {
    const nb_scheduler *scheduler = nb_scheduler_of_thread();
    return scheduler ? nb_root_now(scheduler) : rb_attr_get(rb_thread_current(), id_root);
}

/* The root fiber that has the thread variables of this thread; nil: they are the thread's own. */
static VALUE root_of(VALUE thread) { return thread == rb_thread_current() ? root_here() : Qnil; }

static VALUE locals_of(VALUE root, bool make) {
    VALUE locals = rb_attr_get(root, id_locals);
    if (!NIL_P(locals) || !make) return locals;
    locals = rb_hash_new();
    rb_ivar_set(root, id_locals, locals);
    return locals;
}

/* root -> what state of "the thread" belongs to here: the root fiber of the running fiber; the
   running fiber itself, where the loop has switched to none; a thread without a loop. */
static VALUE scheduler_s_root(VALUE klass) {
    (void)klass;
    VALUE root = root_here();
    if (!NIL_P(root)) return root;
    return nb_scheduler_of_thread() ? rb_fiber_current() : rb_thread_current();
}

/* locals(thread, make) -> the Hash of thread variables of the running fiber's root fiber; nil:
   there is none yet; false: they are the thread's own. */
static VALUE scheduler_s_locals(VALUE klass, VALUE thread, VALUE make) {
    (void)klass;
    VALUE root = root_of(thread);
    return NIL_P(root) ? Qfalse : locals_of(root, RTEST(make));
}

static VALUE yield_nothing(VALUE unused) {
    (void)unused;
    return rb_yield_values(0);
}

static VALUE act_for_none(VALUE thread) { return rb_ivar_set(thread, id_root, Qnil); }

/* act_for(root) { }: a thread without a loop works for the request of this root fiber, which waits
   for it. nil: only yields. */
static VALUE scheduler_s_act_for(VALUE klass, VALUE root) {
    (void)klass;
    if (NIL_P(root)) return rb_yield_values(0);
    VALUE thread = rb_thread_current();
    rb_ivar_set(thread, id_root, root);
    return rb_ensure(yield_nothing, Qnil, act_for_none, thread);
}

void nb_root_define(VALUE klass) {
    id_bind_call = rb_intern("bind_call");
    id_pid = rb_intern("pid");
    id_to_i = rb_intern("to_i");
    id_locals = rb_intern("__neverblock_locals__");
    id_root = rb_intern("__neverblock_root__");
    kernel_backquote = rb_funcall(rb_mKernel, rb_intern("instance_method"), 1, ID2SYM(rb_intern("`")));
    rb_gc_register_address(&kernel_backquote);
    learn_status();
    rb_define_singleton_method(klass, "root", scheduler_s_root, 0);
    rb_define_singleton_method(klass, "act_for", scheduler_s_act_for, 1);
    rb_ext_ractor_safe(true);
    rb_define_singleton_method(klass, "locals", scheduler_s_locals, 2);
    rb_ext_ractor_safe(false);
}
