/*
 * resume.c - see resume.h.
 */
#include "binding/base/protect.h"
#include "binding/fibers/resume.h"

#include <ruby.h>
#include <ruby/version.h>

#include "binding/fibers/frames.h"
#include "binding/fibers/region.h"
#include "binding/state/object.h"
#include "binding/state/wait.h"

/* Lies on the stack of the fiber that resumes. */
struct nb_resume {
    nb_resume *outer;
    VALUE resumer;
    VALUE child; /* 0: not known, an Enumerator's */
};

bool nb_resume_is_above(const nb_resume *last, VALUE fiber) {
    while (last && last->resumer != fiber)
        last = last->outer;
    return last != NULL;
}

/* --- The fiber that asks --- */

/* Between two fibers the record may be that of a fiber that has just yielded. */
static bool is_resumed(const nb_scheduler *scheduler) {
    VALUE fiber = rb_fiber_current();
    const nb_resume *last = scheduler->resumes;
    if (last && last->resumer == fiber) last = last->outer;
    return last && last->resumer != fiber && (last->child == fiber || last->child == 0);
}

/* Enumerator#peek_values takes whatever it gets for an Array. */
static VALUE nothing;

static VALUE yield_nothing(VALUE unused) {
    (void)unused;
    return rb_fiber_yield(1, &nothing);
}

/* No preemption meanwhile: a question is on its way. Nothing is raised here, as a wait or a
   postponed job asks. */
bool nb_resume_ask(nb_scheduler *scheduler, nb_resume_question question) {
    if (!scheduler->switched || !is_resumed(scheduler)) return false;
    unsigned preempt_disabled = scheduler->preempt_disabled;
    VALUE error = rb_errinfo();
    scheduler->preempt_disabled = preempt_disabled + 1;
    scheduler->question = (uint8_t)question;
    scheduler->answer = false;
    int tag = 0;
    rb_protect(yield_nothing, Qnil, &tag);
    if (tag && scheduler->question == NB_ASKS_NOTHING && RTEST(rb_obj_is_kind_of(rb_errinfo(), rb_eException)))
        nb_wait_defer(scheduler, rb_fiber_current(), rb_errinfo());
    if (tag) nb_protect_drop(error);
    scheduler->question = NB_ASKS_NOTHING;
    scheduler->preempt_disabled = preempt_disabled;
    return scheduler->answer;
}

bool nb_resume_pins(void) {
    if (!nb_frames_watched()) return false;
    if (nb_frames_pin()) return true;
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    return scheduler && nb_resume_ask(scheduler, NB_ASKS_PIN);
}

/* --- The fiber that is asked --- */

typedef struct resume_call {
    nb_scheduler *scheduler;
    nb_resume link;
    unsigned preempt_disabled;
    nb_resumed_in resumed_in;
    VALUE self;
    int argc, keywords;
    const VALUE *argv;
    VALUE (*again)(VALUE self);
} resume_call;

/* In the fiber that was asked: it looks at its own frames, and asks on in the name of the first. */
static void answer(nb_scheduler *scheduler) {
    nb_resume_question question = scheduler->question;
    scheduler->question = NB_ASKS_NOTHING;
    bool found = question == NB_ASKS_PIN ? nb_resume_pins() : nb_frames_below();
    scheduler->answer = found || (question == NB_ASKS_PREEMPT && nb_resume_ask(scheduler, question));
}

static VALUE resume_body(VALUE argument) {
    resume_call *call = (resume_call *)argument;
    VALUE value = call->again ? rb_call_super(0, NULL)
                              : rb_fiber_resume_kw(call->self, call->argc, call->argv, call->keywords);
    while (call->scheduler->question != NB_ASKS_NOTHING) {
        answer(call->scheduler);
        value = call->again ? call->again(call->self) : rb_fiber_resume(call->self, 0, NULL);
    }
    return value;
}

/* An exception may have left a question unanswered. */
static VALUE resume_end(VALUE argument) {
    const resume_call *call = (const resume_call *)argument;
    nb_scheduler *scheduler = call->scheduler;
    scheduler->resumes = call->link.outer;
    scheduler->resumed_in = call->resumed_in;
    if (scheduler->question == NB_ASKS_NOTHING) return Qnil;
    scheduler->question = NB_ASKS_NOTHING;
    scheduler->preempt_disabled = call->preempt_disabled;
    return Qnil;
}

/* What the fiber is in, the one that it resumes is in too (fibers/region.h). */
static void pass_on_regions(resume_call *call) {
    nb_scheduler *scheduler = call->scheduler;
    call->resumed_in = scheduler->resumed_in;
    if (scheduler->regions > 0) scheduler->resumed_in.region = nb_region_now(scheduler);
    if (scheduler->shields > 0) scheduler->resumed_in.shield = nb_region_shields(scheduler);
}

static VALUE resume(resume_call *call, VALUE child) {
    VALUE scheduler = call->scheduler->self;
    call->link = (nb_resume){call->scheduler->resumes, rb_fiber_current(), child};
    call->preempt_disabled = call->scheduler->preempt_disabled;
    pass_on_regions(call);
    call->scheduler->resumes = &call->link;
    VALUE value = rb_ensure(resume_body, (VALUE)call, resume_end, (VALUE)call);
    RB_GC_GUARD(scheduler);
    return value;
}

/* Fiber#resume. In a Ractor that is not the main one there is no scheduler, here and below. */
static VALUE fiber_resume(int argc, VALUE *argv, VALUE self) {
    resume_call call = {nb_scheduler_of_thread(), .self = self, .argc = argc, .argv = argv};
    call.keywords = rb_keyword_given_p();
    if (call.scheduler == NULL || !call.scheduler->switched) return rb_fiber_resume_kw(self, argc, argv, call.keywords);
    return resume(&call, self);
}

/* --- Enumerator, from Ruby 3.3 on (before, lib/neverblock/compat/enumerator.rb resumes) --- */

/* The value that was yielded for the question is no element: `peek` has stored it for the next
   call. */
#if RUBY_API_VERSION_CODE >= 30300
static VALUE enumerator_next_method;

static VALUE super_again(VALUE self) {
    (void)self;
    return rb_call_super(0, NULL);
}

static VALUE super_again_without_it(VALUE self) {
    rb_funcall(enumerator_next_method, rb_intern("bind_call"), 1, self);
    return rb_call_super(0, NULL);
}

static VALUE enumerator_resume(VALUE self, VALUE (*again)(VALUE)) {
    resume_call call = {nb_scheduler_of_thread(), .self = self, .again = again};
    if (call.scheduler == NULL || !call.scheduler->switched) return rb_call_super(0, NULL);
    return resume(&call, 0);
}

/* next, next_values */
static VALUE enumerator_take(VALUE self) { return enumerator_resume(self, super_again); }

/* peek, peek_values */
static VALUE enumerator_peek(VALUE self) { return enumerator_resume(self, super_again_without_it); }

static void define_enumerator(VALUE klass) {
    VALUE wrapper = rb_define_module_under(klass, "EnumeratorResume");
    nb_frames_stand_in((const void *)(uintptr_t)enumerator_take);
    nb_frames_stand_in((const void *)(uintptr_t)enumerator_peek);
    enumerator_next_method = rb_funcall(rb_cEnumerator, rb_intern("instance_method"), 1, ID2SYM(rb_intern("next")));
    rb_gc_register_mark_object(enumerator_next_method);
    rb_ext_ractor_safe(true);
    rb_define_method(wrapper, "next", enumerator_take, 0);
    rb_define_method(wrapper, "next_values", enumerator_take, 0);
    rb_define_method(wrapper, "peek", enumerator_peek, 0);
    rb_define_method(wrapper, "peek_values", enumerator_peek, 0);
    rb_ext_ractor_safe(false);
    rb_prepend_module(rb_cEnumerator, wrapper);
}
#else
static void define_enumerator(VALUE klass) { (void)klass; }
#endif

/* --- Fiber#raise, Fiber#kill --- */

static VALUE yield_block(VALUE unused) {
    (void)unused;
    return rb_yield_values(0);
}

static VALUE passing_end(VALUE argument) {
    const resume_call *call = (const resume_call *)argument;
    call->scheduler->resumed_in = call->resumed_in;
    return Qnil;
}

/* passing_regions { }: the block lets another fiber run in its middle, in a way that has no
   record. */
static VALUE scheduler_passing_regions(VALUE self) {
    rb_need_block();
    resume_call call = {.scheduler = nb_scheduler_get(self)};
    pass_on_regions(&call);
    VALUE value = rb_ensure(yield_block, Qnil, passing_end, (VALUE)&call);
    RB_GC_GUARD(self);
    return value;
}

void nb_resume_define(VALUE klass) {
    nothing = rb_obj_freeze(rb_ary_new());
    rb_gc_register_mark_object(nothing);
    nb_frames_stand_in((const void *)(uintptr_t)fiber_resume);
    rb_ext_ractor_safe(true);
    rb_define_method(rb_path2class("Fiber"), "resume", fiber_resume, -1);
    rb_ext_ractor_safe(false);
    define_enumerator(klass);
    rb_define_method(klass, "passing_regions", scheduler_passing_regions, 0);
}
