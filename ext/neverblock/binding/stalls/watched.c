/*
 * watched.c - see watched.h.
 */
#include "binding/stalls/watched.h"

#include <string.h>

#include "base/alloc.h"
#include "binding/base/ruby_log.h"
#include "binding/ports/running.h"
#include "os/clock.h"

static nb_watched *_Atomic all_watched;

nb_watched *nb_watched_first(void) { return atomic_load(&all_watched); }

/* The record is taken before anything that may let another executor's thread run, which looks for a
   free one too. */
nb_watched *nb_watched_take(nb_executor *executor) {
    nb_watched *one = atomic_load(&all_watched);
    while (one && (one->executor || atomic_load(&one->state) != NB_ANSWER_IDLE))
        one = one->next;
    if (!one) {
        one = nb_alloc_zero(1, sizeof(*one));
        if (!one) rb_memerror();
        one->next = atomic_load(&all_watched);
        atomic_store(&all_watched, one);
    }
    one->executor = executor;
    executor->watched = one;
    return one;
}

/* --- Settings --- */

static VALUE option(VALUE options, const char *name) { return rb_hash_lookup(options, ID2SYM(rb_intern(name))); }

static void forget_settings(nb_watched *one) {
    for (long i = 0; i < one->route_count; i++)
        nb_free(one->routes[i]);
    nb_free(one->routes);
    one->routes = NULL;
    one->places = NULL;
    one->route_count = 0;
}

static void copy_routes(nb_watched *one, VALUE patterns) {
    one->routes = nb_alloc_zero((size_t)RARRAY_LEN(patterns) + 1, sizeof(*one->routes));
    if (!one->routes) rb_memerror();
    for (long i = 0; i < RARRAY_LEN(patterns); i++) {
        VALUE pattern = rb_ary_entry(patterns, i);
        size_t size = strlen(StringValueCStr(pattern)) + 1;
        if (!(one->routes[i] = nb_alloc(size))) rb_memerror();
        memcpy(one->routes[i], RSTRING_PTR(pattern), size);
        one->route_count = i + 1;
    }
}

void nb_watched_prepare(nb_watched *one, VALUE options) {
    forget_settings(one);
    VALUE worker = option(options, "worker");
    one->log = nb_ruby_log_of(one->executor->log);
    one->json = RTEST(option(options, "json"));
    one->whole_trace = RTEST(option(options, "whole_trace"));
    one->worker = NIL_P(worker) ? -1 : NUM2INT(worker);
    copy_routes(one, option(options, "routes"));
    one->places = one->executor->places;
    nb_stall_watch_init(&one->watch, NUM2LL(option(options, "ms")) * NB_NS_PER_MS);
    memset(one->told_ns, 0, sizeof(one->told_ns));
    memset(one->untold, 0, sizeof(one->untold));
    one->told = one->counted = one->unheard = false;
    one->lane = one->executor->lane > 0;
    atomic_store(&one->served_ran_ns, 0);
    one->waits_in = NULL;
    one->thread = pthread_self();
    one->thread_number = nb_thread_number();
    one->clocked = nb_thread_clock(one->thread, &one->clock);
    one->starved_seen_ns = one->starved_from_ns = nb_thread_starved_ns(one->thread_number);
    one->starved_ns = 0;
}

void nb_watched_release(nb_watched *one) {
    nb_executor *executor = one->executor;
    one->begun = false;
    one->places = NULL;
    bool written = atomic_load(&one->state) == NB_ANSWER_WRITING && !nb_executor_in_child(executor);
    if (!written) atomic_store(&one->state, NB_ANSWER_IDLE);
    atomic_store(&one->signalled, false);
    one->executor = NULL;
    executor->watched = NULL;
}

/* --- What is known of it --- */

int64_t nb_watched_unserved_ns(const nb_watched *one) {
    int64_t served_ns = atomic_load(&one->served_ran_ns), asked_ns = atomic_load(&one->asked_ran_ns);
    return nb_watched_ran_ns(one) - (served_ns > asked_ns ? served_ns : asked_ns);
}

bool nb_watched_still_there(const nb_watched *one) {
    return nb_executor_switched_ns(one->executor) == atomic_load(&one->asked_burst);
}

bool nb_watched_in_call(const nb_watched *one, int64_t burst_began_ns) {
    return atomic_load(&one->call_burst) == burst_began_ns;
}

void nb_watched_clear_answer(nb_watched *one) {
    memset(&one->stall.request, 0, sizeof(one->stall.request));
    one->stall.lines = one->stall.trace_bytes = 0;
}
