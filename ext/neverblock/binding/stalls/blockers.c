/*
 * blockers.c - see blockers.h. A place is the method that asks, its caller's
 * line, and that one's caller's: three frames, by rb_profile_frames(), which
 * makes no object. Their addresses are compared and never followed: where code
 * is gone and other code has its address, that one is taken for it until it has
 * been learned anew.
 */
#include "binding/stalls/blockers.h"

#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/thread.h>
#include <ruby/version.h>

#include "base/hash.h"
#include "base/call_sites.h"
#include "os/clock.h"
#include "os/thread.h"
#include "binding/fibers/resume.h"

enum { FRAMES = 3, SELF = 1, KEY_SPARE_BITS = 3 };

static nb_call_sites sites;
static ID id_elsewhere;

/* A Fixnum, which costs nothing. */
static uint64_t key_here(void) {
    VALUE frames[FRAMES];
    int lines[FRAMES];
    int count = rb_profile_frames(SELF, FRAMES, frames, lines);
    uint64_t key = NB_HASH64_BASIS;
    for (int i = 0; i < count; i++) {
        key = nb_hash64_mix(key, (uint64_t)frames[i]);
        key = nb_hash64_mix(key, (uint64_t)lines[i]);
    }
    return key >> KEY_SPARE_BITS;
}

/* --- How long a call takes --- */

/* Not what it has waited for Ruby's lock when it had ended: beside one that computes every call would be slow, wherever it is made. From 3.3 on Ruby tells of that. */
#if RUBY_API_VERSION_MAJOR > 3 || RUBY_API_VERSION_MINOR >= 3
static _Thread_local unsigned timed_here; /* calls of this thread that are under way */
static _Thread_local int64_t ready_ns, waited_ns;

static void lock_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused) {
    (void)data, (void)unused;
    if (timed_here == 0) return;
    int64_t now_ns = nb_clock_monotonic_ns();
    if (event == RUBY_INTERNAL_THREAD_EVENT_READY) {
        ready_ns = now_ns;
    } else if (ready_ns) {
        waited_ns += now_ns - ready_ns;
        ready_ns = 0;
    }
}

static void begin_timing(void) {
    if (timed_here++ == 0) ready_ns = 0;
}

static void end_timing(void) { timed_here--; }
static int64_t clock_ns(void) { return nb_clock_monotonic_ns() - waited_ns; }

static void hear_of_the_lock(void) {
    rb_internal_thread_add_event_hook(lock_event, RUBY_INTERNAL_THREAD_EVENT_READY | RUBY_INTERNAL_THREAD_EVENT_RESUMED,
                                      NULL);
}
#else
static void begin_timing(void) {}
static void end_timing(void) {}
static int64_t clock_ns(void) { return nb_clock_monotonic_ns(); }
static void hear_of_the_lock(void) {}
#endif

typedef struct timed_call {
    uint64_t key;
    bool here;
    int64_t began_ns;
    nb_thread_use used; /* when it began */
} timed_call;

/* Where the processor was taken from the thread meanwhile (whom the lock is given to likes to run at once, and where the giver does), only what it ran
   says that the call was slow, and nothing that it was quick. */
static int64_t time_of(const timed_call *call) {
    int64_t took_ns = clock_ns() - call->began_ns;
    if (took_ns < NB_CALL_SITES_QUICK_NS) return took_ns;
    nb_thread_use used = nb_thread_used();
    if (used.preempted == call->used.preempted) return took_ns;
    int64_t ran_ns = used.ran_ns - call->used.ran_ns;
    return ran_ns < NB_CALL_SITES_QUICK_NS ? NB_CALL_SITES_QUICK_NS : ran_ns;
}

static VALUE timed_end(VALUE argument) {
    timed_call *call = (timed_call *)argument;
    nb_call_site_ended(nb_call_sites_find(&sites, call->key), call->here, time_of(call));
    end_timing();
    return Qnil;
}

static VALUE timed_yield(uint64_t key, bool here) {
    timed_call call = {.key = key, .here = here, .used = nb_thread_used()};
    begin_timing();
    call.began_ns = clock_ns();
    return rb_ensure(rb_yield, Qnil, timed_end, (VALUE)&call);
}

/* at_site { } -> what the block returns, called here or by
 * Blockers.elsewhere(key) { }. */
static VALUE at_site(VALUE self) {
    uint64_t key = key_here();
    if (nb_call_site_is_trusted(nb_call_sites_find(&sites, key)) || nb_resume_holds()) return timed_yield(key, true);
    VALUE number = ULL2NUM(key);
    return rb_funcall_with_block(self, id_elsewhere, 1, &number, rb_block_proc());
}

/* site -> the key of the place that asks: for those who call in ways of their
 * own. */
static VALUE site(VALUE self) { return ULL2NUM(key_here()); }

/* here?(key) -> whether a call of the place is made here. */
static VALUE here_p(VALUE self, VALUE key) {
    return nb_call_site_is_trusted(nb_call_sites_find(&sites, NUM2ULL(key))) || nb_resume_holds() ? Qtrue : Qfalse;
}

/* timed(key, here) { } -> what the block returns; the place learns how long it took, here or elsewhere. */
static VALUE timed(VALUE self, VALUE key, VALUE here) { return timed_yield(NUM2ULL(key), RTEST(here)); }

/* forget -> nil: no place is trusted any more. */
static VALUE forget(VALUE self) {
    sites = (nb_call_sites){0};
    return Qnil;
}

void nb_blockers_define(VALUE module) {
    VALUE blockers = rb_define_module_under(module, "Blockers");
    id_elsewhere = rb_intern("elsewhere");
    hear_of_the_lock();
    rb_define_singleton_method(blockers, "at_site", at_site, 0);
    rb_define_singleton_method(blockers, "site", site, 0);
    rb_define_singleton_method(blockers, "here?", here_p, 1);
    rb_define_singleton_method(blockers, "timed", timed, 2);
    rb_define_singleton_method(blockers, "forget", forget, 0);
}
