/*
 * interrupt.c - see interrupt.h.
 */
#include "binding/base/protect.h"
#include "binding/timeslices/interrupt.h"

#include <pthread.h>
#include <ruby.h>
#include <ruby/thread.h>

#include "binding/base/forks.h"

typedef enum question_state {
    QUESTION_NONE,
    QUESTION_ASKED,  /* the helper has not taken it, and the job may take it back */
    QUESTION_TAKEN,  /* the helper calls Thread#raise, and the job waits for the end of that */
    QUESTION_RAISED, /* Thread#raise has returned */
} question_state;

/* One question at a time. Changed with the GVL; `state` is guarded by `lock`. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    VALUE thread; /* the helper, or nil */
    VALUE target; /* the thread to raise in, or nil */
    VALUE raises; /* an array of raise's arguments; nil: the thread is killed */
    question_state state;
} helper = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, Qnil, Qnil, Qnil, QUESTION_NONE};

static unsigned helper_generation;
static ID id_raise;

/* Changes the state if it is `from`. True: it was. */
static bool change(question_state from, question_state to) {
    pthread_mutex_lock(&helper.lock);
    bool changes = helper.state == from;
    if (changes) helper.state = to;
    pthread_cond_broadcast(&helper.changed);
    pthread_mutex_unlock(&helper.lock);
    return changes;
}

/* --- The helper --- */

/* wanted: Ruby wants this helper to leave its wait. Each helper has a flag of its own, guarded by
   `lock`: one that is being ended may wait beside its successor. */
static void *await_question(void *wanted) {
    pthread_mutex_lock(&helper.lock);
    while (helper.state != QUESTION_ASKED && !*(bool *)wanted)
        pthread_cond_wait(&helper.changed, &helper.lock);
    *(bool *)wanted = false;
    pthread_mutex_unlock(&helper.lock);
    return NULL;
}

/* Ruby calls this once, maybe before the wait has begun. */
static void wake_helper(void *wanted) {
    pthread_mutex_lock(&helper.lock);
    *(bool *)wanted = true;
    pthread_cond_broadcast(&helper.changed);
    pthread_mutex_unlock(&helper.lock);
}

static VALUE raise_in_target(VALUE unused) {
    (void)unused;
    if (NIL_P(helper.raises)) return rb_thread_kill(helper.target);
    return rb_funcallv(helper.target, id_raise, (int)RARRAY_LEN(helper.raises), RARRAY_CONST_PTR(helper.raises));
}

static void answer(void) {
    int tag = 0;
    if (!change(QUESTION_ASKED, QUESTION_TAKEN)) return;
    rb_protect(raise_in_target, Qnil, &tag);
    if (tag) rb_set_errinfo(Qnil);
    change(QUESTION_TAKEN, QUESTION_RAISED);
}

static VALUE helper_main(void *unused) {
    (void)unused;
    bool wanted = false;
    for (;;) {
        rb_nogvl(await_question, &wanted, wake_helper, &wanted, 0);
        answer();
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
        helper.state = QUESTION_NONE;
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
    while (helper.state == QUESTION_ASKED || helper.state == QUESTION_TAKEN)
        pthread_cond_wait(&helper.changed, &helper.lock);
    pthread_mutex_unlock(&helper.lock);
    return NULL;
}

/* Ruby calls this when anything wants the thread: the helper that raises into it, and others. */
static void take_back(void *unused) {
    (void)unused;
    change(QUESTION_ASKED, QUESTION_NONE);
}

bool nb_interrupt_ready(void) {
    return NIL_P(helper.target) && helper_generation == nb_fork_generation && !NIL_P(helper.thread);
}

bool nb_interrupt_self(VALUE raises) {
    if (!nb_interrupt_ready()) return false;
    helper.target = rb_thread_current();
    helper.raises = raises;
    change(QUESTION_NONE, QUESTION_ASKED);
    /* Returns at once where another interrupt is pending, which comes first. */
    rb_nogvl(await_answer, NULL, take_back, NULL, RB_NOGVL_INTR_FAIL);
    change(QUESTION_ASKED, QUESTION_NONE);
    bool raised = change(QUESTION_RAISED, QUESTION_NONE);
    helper.target = helper.raises = Qnil;
    RB_GC_GUARD(raises);
    return raised;
}

/* Sends again what has ended the call. False: it cannot be sent. */
static bool send_again(VALUE error) {
    if (nb_protect_marks(error)) return true;
    bool raised = RTEST(rb_obj_is_kind_of(error, rb_eException));
    return nb_interrupt_self(raised ? rb_ary_new_from_args(1, error) : Qnil) || !raised;
}

VALUE nb_interrupt_call(VALUE (*function)(VALUE), VALUE argument, VALUE *unsent) {
    int tag = 0;
    VALUE before = rb_errinfo(), result = rb_protect(function, argument, &tag);
    if (unsent) *unsent = Qnil;
    if (tag == 0) return result;
    VALUE error = rb_errinfo();
    nb_protect_drop(before);
    if (!send_again(error) && unsent) *unsent = error;
    return Qundef;
}

void nb_interrupt_define(void) {
    id_raise = rb_intern("raise");
    rb_gc_register_address(&helper.thread);
    rb_gc_register_address(&helper.target);
    rb_gc_register_address(&helper.raises);
}
