/*
 * scheduler_interrupt.c - raises into the running fiber from its own postponed job, as Thread#raise from another thread would.
 *
 * Ruby swallows what is raised in a job (vm_trace.c, rb_postponed_job_flush), and Thread#raise at the current thread raises at once. So a helper
 * thread calls Thread#raise while the job waits for that without Ruby's lock. Ruby raises it right after the job, where it looks for interrupts: in
 * the same fiber, as no other runs in between.
 */
#include "scheduler_internal.h"

#include <pthread.h>
#include <ruby/thread.h>

/* One question at a time. Changed with Ruby's lock held; `lock` guards what a thread without it waits for: `asked` and `done`. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    VALUE thread; /* the helper, or nil */
    VALUE target; /* the thread to raise in, or nil */
    VALUE raises; /* an array of raise's arguments */
    bool asked, done;
    bool raised; /* Thread#raise was called for the question */
} helper = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, Qnil, Qnil, Qnil, false, false, false};

static unsigned helper_generation;
static ID id_raise;

/* --- The helper --- */

static void *await_question(void *unused) {
    (void)unused;
    pthread_mutex_lock(&helper.lock);
    if (!helper.asked) pthread_cond_wait(&helper.changed, &helper.lock);
    pthread_mutex_unlock(&helper.lock);
    return NULL;
}

static void wake_helper(void *unused) {
    (void)unused;
    pthread_mutex_lock(&helper.lock);
    pthread_cond_broadcast(&helper.changed);
    pthread_mutex_unlock(&helper.lock);
}

static VALUE raise_in_target(VALUE unused) {
    (void)unused;
    return rb_funcallv(helper.target, id_raise, (int)RARRAY_LEN(helper.raises), RARRAY_CONST_PTR(helper.raises));
}

/* Without a target whoever has asked has given up. */
static void answer(void) {
    int tag = 0;
    pthread_mutex_lock(&helper.lock);
    helper.asked = false;
    pthread_mutex_unlock(&helper.lock);
    if (NIL_P(helper.target)) return;
    helper.raised = true; /* before it, as the target may run before this call returns */
    rb_protect(raise_in_target, Qnil, &tag);
    if (tag) rb_set_errinfo(Qnil);
}

static VALUE helper_main(void *unused) {
    (void)unused;
    for (;;) {
        rb_nogvl(await_question, NULL, wake_helper, NULL, 0);
        if (helper.asked) answer();
    }
    return Qnil;
}

static VALUE start_helper(VALUE unused) {
    (void)unused;
    helper.thread = rb_thread_create(helper_main, NULL);
    rb_funcall(helper.thread, rb_intern("name="), 1, rb_str_new_cstr("nb-interrupts"));
    rb_funcall(helper.thread, rb_intern("thread_variable_set"), 2, ID2SYM(rb_intern("fork_safe")), Qtrue);
    return Qnil;
}

/* A fork's child has none of its parent's threads. */
bool nb_interrupt_prepare(void) {
    if (helper_generation != nb_fork_generation) {
        helper_generation = nb_fork_generation;
        pthread_mutex_init(&helper.lock, NULL);
        pthread_cond_init(&helper.changed, NULL);
        helper.thread = helper.target = helper.raises = Qnil;
        helper.asked = helper.done = helper.raised = false;
    }
    if (!NIL_P(helper.thread) && RTEST(rb_funcall(helper.thread, rb_intern("alive?"), 0))) return true;
    int tag = 0;
    rb_protect(start_helper, Qnil, &tag);
    if (tag) rb_set_errinfo(Qnil);
    return tag == 0;
}

void nb_interrupt_end(void) {
    VALUE thread = helper.thread;
    if (NIL_P(thread) || helper_generation != nb_fork_generation) return;
    helper.thread = Qnil;
    rb_thread_kill(thread);
    rb_funcall(thread, rb_intern("join"), 0);
}

/* --- The job --- */

static void *await_answer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&helper.lock);
    helper.asked = true;
    pthread_cond_broadcast(&helper.changed);
    while (!helper.done)
        pthread_cond_wait(&helper.changed, &helper.lock);
    pthread_mutex_unlock(&helper.lock);
    return NULL;
}

/* Ruby calls this when somebody raises into the thread, the helper among them, or ends it. */
static void stop_waiting(void *unused) {
    (void)unused;
    pthread_mutex_lock(&helper.lock);
    helper.done = true;
    pthread_cond_broadcast(&helper.changed);
    pthread_mutex_unlock(&helper.lock);
}

bool nb_interrupt_self(VALUE raises) {
    if (!NIL_P(helper.target) || helper_generation != nb_fork_generation || NIL_P(helper.thread)) return false;
    helper.target = rb_thread_current();
    helper.raises = raises;
    helper.done = helper.raised = false;
    /* Returns at once where another interrupt is pending, which comes first. */
    rb_nogvl(await_answer, NULL, stop_waiting, NULL, RB_NOGVL_INTR_FAIL);
    bool raised = helper.raised;
    helper.target = helper.raises = Qnil;
    RB_GC_GUARD(raises);
    return raised;
}

void nb_scheduler_interrupt_define(void) {
    id_raise = rb_intern("raise");
    rb_gc_register_address(&helper.thread);
    rb_gc_register_address(&helper.target);
    rb_gc_register_address(&helper.raises);
}
