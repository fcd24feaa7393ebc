/*
 * start.c - see start.h.
 */
#include "binding/fibers/start.h"

#include <string.h>

#include "binding/state/object.h"

static VALUE fiber_class, initialize;
static ID id_bind_call, id_initialize, id_new, id_fiber;

/* --- Fibers of our own --- */

/* Agents (New Relic) put a method of theirs before Fiber#initialize, which takes what the fiber
   runs for a part of the request that makes it. */
static VALUE rubys_own_initialize(void) {
    VALUE method = rb_funcall(fiber_class, rb_intern("instance_method"), 1, ID2SYM(rb_intern("initialize")));
    while (!NIL_P(rb_funcall(method, rb_intern("source_location"), 0))) {
        VALUE next = rb_funcall(method, rb_intern("super_method"), 0);
        if (NIL_P(next)) break;
        method = next;
    }
    return method;
}

/* Is there such a method, which is neither Ruby's nor ours (compat/fiber_new.rb)? */
static bool agents_method_stands_before(void) {
    VALUE method = rb_funcall(fiber_class, rb_intern("instance_method"), 1, ID2SYM(id_initialize));
    VALUE owner = rb_mod_name(rb_funcall(method, rb_intern("owner"), 0));
    bool ours = RB_TYPE_P(owner, T_STRING) &&
                strncmp(StringValueCStr(owner), "NeverBlock::", strlen("NeverBlock::")) == 0;
    return !ours && !NIL_P(rb_funcall(method, rb_intern("source_location"), 0));
}

VALUE nb_fiber_make(VALUE body, VALUE options) {
    if (!agents_method_stands_before())
        return rb_funcall_with_block_kw(fiber_class, id_new, 1, &options, body, RB_PASS_KEYWORDS);
    VALUE fiber = rb_obj_alloc(fiber_class), arguments[] = {fiber, options};
    rb_funcall_with_block_kw(initialize, id_bind_call, 2, arguments, body, RB_PASS_KEYWORDS);
    return fiber;
}

static VALUE transfer_to(VALUE fiber) { return rb_fiber_transfer(fiber, 0, NULL); }

/* Keeps what was raised in the starter: for want of a stack, or by Thread#raise or a signal as it
   was switched to. Thread#kill ends the starter, and goes on in the fiber that Ruby switches to
   then. */
static void keep_error(nb_scheduler *scheduler, int tag) {
    VALUE error = rb_errinfo();
    if (!RTEST(rb_obj_is_kind_of(error, rb_eException))) rb_jump_tag(tag);
    rb_set_errinfo(Qnil);
    scheduler->starter.error = error;
}

/* The starter has the fiber to start as an instance variable. A starter that waits in a trap
   handler still has it when another has taken its place. */
static VALUE starter_body(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, self)) {
    (void)yielded, (void)argc, (void)argv, (void)blockarg;
    nb_scheduler *scheduler = nb_scheduler_get(self);
    VALUE starter = rb_fiber_current();
    for (;;) {
        VALUE fiber = rb_ivar_get(starter, id_fiber);
        int tag = 0;
        rb_ivar_set(starter, id_fiber, Qnil);
        rb_protect(transfer_to, NIL_P(fiber) ? scheduler->loop_fiber : fiber, &tag);
        if (tag != 0) keep_error(scheduler, tag);
    }
    RB_GC_GUARD(self);
    return Qnil;
}

static VALUE starter_create(nb_scheduler *scheduler) {
    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("blocking")), Qfalse);
    VALUE body = rb_proc_new(starter_body, scheduler->self);
    VALUE starter = nb_fiber_make(body, options);
    RB_GC_GUARD(body);
    return starter;
}

static bool starter_usable(const nb_scheduler *scheduler) {
    VALUE starter = scheduler->starter.fiber;
    if (NIL_P(starter) || scheduler->starter.thread != rb_thread_current()) return false;
    return RTEST(rb_fiber_alive_p(starter)) && nb_parked_find(&scheduler->parked, starter) == NULL;
}

VALUE nb_start_by(nb_scheduler *scheduler, VALUE fiber) {
    if (!starter_usable(scheduler)) {
        scheduler->starter.fiber = starter_create(scheduler);
        scheduler->starter.thread = rb_thread_current();
    }
    rb_ivar_set(scheduler->starter.fiber, id_fiber, fiber);
    return scheduler->starter.fiber;
}

void nb_start_check(nb_scheduler *scheduler) {
    VALUE error = scheduler->starter.error;
    if (NIL_P(error)) return;
    scheduler->starter.error = Qnil;
    rb_exc_raise(error);
}

void nb_start_define(void) {
    rb_gc_register_address(&fiber_class);
    fiber_class = rb_path2class("Fiber");
    id_bind_call = rb_intern("bind_call");
    id_initialize = rb_intern("initialize");
    id_new = rb_intern("new");
    rb_gc_register_address(&initialize);
    initialize = rubys_own_initialize();
    id_fiber = rb_intern("__neverblock_start__");
}
