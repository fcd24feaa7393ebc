/*
 * blockers.c - see blockers.h. A call site is the method that asks, the line of its caller, and the
 * line of the caller's caller: three frames, by rb_profile_frames, which makes no object. The
 * frames' addresses are compared and never followed. Where code is freed and other code gets its
 * address, that code is taken for the old call site until it has been learned anew.
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
#include "binding/timeslices/timeslice.h"

enum { FRAMES = 3, SELF = 1, KEY_SPARE_BITS = 3 };

static nb_call_sites call_sites;
static ID id_elsewhere;

/* The key of the call site that asks; small enough for a Fixnum, which is no object. */
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

/* The time in which a call that has ended waits for the GVL does not count: beside a thread that
   computes every call would be slow, wherever it is made. From Ruby 3.3 on Ruby tells of these
   waits. */
#if RUBY_API_VERSION_MAJOR > 3 || RUBY_API_VERSION_MINOR >= 3
static _Thread_local unsigned timed_here; /* calls that this thread is timing */
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

/* What the call took, in ns. If the kernel has preempted the thread meanwhile, the time that it ran
   may say that the call was slow; nothing then says that it was quick. A thread that is given the
   GVL is often woken on the processor of the thread that gave it. */
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
    nb_call_site_ended(nb_call_sites_find(&call_sites, call->key), call->here, time_of(call));
    end_timing();
    return Qnil;
}

static VALUE timed_yield(uint64_t key, bool here) {
    timed_call call = {.key = key, .here = here, .used = nb_thread_used()};
    begin_timing();
    call.began_ns = clock_ns();
    return rb_ensure(rb_yield, Qnil, timed_end, (VALUE)&call);
}

/* at_call_site { } -> what the block returns; it is called here, or by Blockers.elsewhere(key) {
   }. */
static VALUE at_call_site(VALUE self) {
    uint64_t key = key_here();
    if (nb_call_site_is_trusted(nb_call_sites_find(&call_sites, key)) || nb_resume_pins()) {
        VALUE result = timed_yield(key, true);
        nb_timeslice_call_ends();
        return result;
    }
    VALUE number = ULL2NUM(key);
    return rb_funcall_with_block(self, id_elsewhere, 1, &number, rb_block_proc());
}

/* call_site -> the key of the call site that asks: for methods that call in ways of their own. */
static VALUE call_site(VALUE self) { return ULL2NUM(key_here()); }

/* here?(key) -> whether calls of this call site are made here. */
static VALUE here_p(VALUE self, VALUE key) {
    return nb_call_site_is_trusted(nb_call_sites_find(&call_sites, NUM2ULL(key))) || nb_resume_pins() ? Qtrue : Qfalse;
}

/* timed(key, here) { } -> what the block returns. The call site learns how long it took, here or on
   another thread. */
static VALUE timed(VALUE self, VALUE key, VALUE here) { return timed_yield(NUM2ULL(key), RTEST(here)); }

/* forget -> nil: no call site is trusted any more. */
static VALUE forget(VALUE self) {
    call_sites = (nb_call_sites){0};
    return Qnil;
}

void nb_blockers_define(VALUE module) {
    VALUE blockers = rb_define_module_under(module, "Blockers");
    id_elsewhere = rb_intern("elsewhere");
    hear_of_the_lock();
    rb_define_singleton_method(blockers, "at_call_site", at_call_site, 0);
    rb_define_singleton_method(blockers, "call_site", call_site, 0);
    rb_define_singleton_method(blockers, "here?", here_p, 1);
    rb_define_singleton_method(blockers, "timed", timed, 2);
    rb_define_singleton_method(blockers, "forget", forget, 0);
}
