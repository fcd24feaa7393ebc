/*
 * timeslice_job.c - see timeslice_job.h.
 */
#include "binding/timeslices/timeslice_job.h"

#include <ruby.h>
#include <ruby/debug.h>

#ifdef HAVE_RB_POSTPONED_JOB_PREREGISTER
static rb_postponed_job_handle_t handle;

void nb_timeslice_job_ask(void) { rb_postponed_job_trigger(handle); }

void nb_timeslice_job_prepare(nb_timeslice_job *job) { handle = rb_postponed_job_preregister(0, job, NULL); }

bool nb_timeslice_job_may_follow(void) { return true; }
#else
/* Before Ruby 3.3 a thread that registers a job takes a place in Ruby's list first, and fills it
   then. In between Ruby may run what the place held before (vm_trace.c, postponed_job_register). So
   each place is filled once with a function that may run at any time. */
static void do_nothing(void *unused_data) { (void)unused_data; }

static nb_timeslice_job *asked_for;

void nb_timeslice_job_ask(void) { rb_postponed_job_register_one(0, asked_for, NULL); }

static bool yjit;

bool nb_timeslice_job_may_follow(void) { return !yjit; }

void nb_timeslice_job_prepare(nb_timeslice_job *job) {
    asked_for = job;
    yjit = RTEST(rb_eval_string("defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?"));
    while (rb_postponed_job_register(0, do_nothing, NULL) == 1) {
    }
    rb_thread_check_ints();
}
#endif
