/*
 * resolve.c - see resolve.h.
 */
#include "binding/hooks/resolve.h"

#include <netdb.h>

#include "base/alloc.h"
#include "binding/base/forks.h"
#include "binding/scheduler/park.h"
#include "binding/state/inbox.h"
#include "binding/state/object.h"
#include "binding/state/wait.h"

#define NB_RESOLVER_THREADS 8

typedef struct nb_question {
    nb_parcel parcel; /* first */
    nb_resolver_query query;
    nb_resolver *resolver;
} nb_question;

typedef struct nb_resolve_wait {
    nb_wait wait; /* first */
    nb_question *question;
    nb_resolver_answer answer;
} nb_resolve_wait;

static nb_resolver *shared;
static unsigned shared_generation;
static bool asked; /* since the figures were taken, or the answer may have come since */

nb_resolver_figures nb_resolve_figures(void) {
    nb_resolver_figures figures = {0, 0, 0, 0};
    if (shared && shared_generation == nb_fork_generation) figures = nb_resolver_figures_read(shared);
    asked = figures.pending > 0;
    return figures;
}

bool nb_resolve_asked(void) { return asked; }

/* Of this process; one of the parent's is left as it is, its threads are not here. */
static nb_resolver *shared_resolver(void) {
    if (shared && shared_generation == nb_fork_generation) return shared;

    nb_resolver *fresh = NULL;
    if (nb_resolver_create(NB_RESOLVER_THREADS, NULL, NULL, &fresh) != NB_OK) rb_memerror();
    shared = fresh;
    shared_generation = nb_fork_generation;
    return shared;
}

static void question_free(nb_parcel *parcel) { nb_free(parcel); }

static void question_answered(nb_resolver_query *query) {
    nb_question *question = query->owner;
    nb_inbox_post(&question->parcel);
}

/* With the answer, or interrupted. A question that cannot be withdrawn any more is on its way to
   the inbox, which frees it. */
static void leave_question(nb_wait *wait) {
    nb_resolve_wait *resolve = (nb_resolve_wait *)wait;
    nb_question *question = resolve->question;
    if (question->parcel.arrived) {
        nb_resolver_answer_copy(&resolve->answer, &question->query.answer);
    } else {
        question->parcel.wait = NULL;
        if (!nb_resolver_withdraw(question->resolver, &question->query)) return;
        nb_inbox_unexpect(&question->parcel);
    }
    nb_free(question);
}

static VALUE addresses_of(const nb_resolver_answer *answer) {
    VALUE addresses = rb_ary_new_capa((long)answer->count);
    for (unsigned i = 0; i < answer->count; i++)
        rb_ary_push(addresses, rb_str_new_cstr(answer->addresses[i]));
    return addresses;
}

/* A host that does not exist is an empty list, of which Ruby makes the SocketError it always
   raises. */
static VALUE answer_value(const nb_resolver_answer *answer) {
    if (answer->error == 0) return addresses_of(answer);
#ifdef EAI_NODATA
    if (answer->error == EAI_NODATA) return rb_ary_new();
#endif
    if (answer->error == EAI_NONAME) return rb_ary_new();
    rb_raise(rb_path2class("SocketError"), "getaddrinfo: %s", gai_strerror(answer->error));
}

NORETURN(static void raise_too_long(void));
static void raise_too_long(void) { rb_raise(rb_path2class("SocketError"), "getaddrinfo: host name too long"); }

static nb_question *ask(nb_scheduler *scheduler, nb_resolver *resolver, VALUE name, nb_wait *wait) {
    nb_scheduler_open(scheduler);
    nb_question *question = nb_alloc_zero(1, sizeof *question);
    if (question == NULL) rb_memerror();
    question->parcel.wait = wait;
    question->parcel.abandoned = question_free;
    question->query.done = question_answered;
    question->query.owner = question;
    question->resolver = resolver;
    nb_inbox_expect(&scheduler->inbox, &scheduler->sleeper, &question->parcel);

    nb_status status = nb_resolver_ask(resolver, RSTRING_PTR(name), (size_t)RSTRING_LEN(name), &question->query);
    if (status == NB_OK) return question;
    nb_inbox_unexpect(&question->parcel);
    nb_free(question);
    if (status == NB_OVER_LIMIT) raise_too_long();
    rb_memerror();
}

static VALUE ask_and_wait(nb_scheduler *scheduler, nb_resolver *resolver, VALUE name) {
    nb_resolve_wait resolve;
    nb_wait_init(&resolve.wait, scheduler, NB_WAIT_ASK);
    resolve.wait.leave = leave_question;
    resolve.wait.about = (nb_wait_about){
        .text = nb_slice_of(RSTRING_PTR(name), (size_t)RSTRING_LEN(name)), .number = -1, .kind = NB_FIBER_WAIT_dns};
    resolve.question = ask(scheduler, resolver, name, &resolve.wait);
    nb_wait_park(&resolve.wait, INT64_MAX);

    return answer_value(&resolve.answer);
}

static VALUE scheduler_address_resolve(VALUE self, VALUE hostname) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    VALUE name = StringValue(hostname);
    nb_resolver *resolver = shared_resolver();
    nb_resolver_answer known;
    asked = true;
    nb_status status = nb_resolver_known(resolver, RSTRING_PTR(name), (size_t)RSTRING_LEN(name), &known);
    if (status == NB_OK) return answer_value(&known);
    if (status == NB_OVER_LIMIT) raise_too_long();
    return ask_and_wait(scheduler, resolver, name);
}

void nb_resolve_define(VALUE klass) { rb_define_method(klass, "address_resolve", scheduler_address_resolve, 1); }
