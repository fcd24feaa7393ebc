/*
 * transfer.c - see transfer.h.
 */
#include "binding/fibers/transfer.h"

#include <string.h>

#include "binding/base/forks.h"

typedef struct transfer_call {
    VALUE fiber, value;
} transfer_call;

static VALUE transfer(VALUE argument) {
    const transfer_call *call = (const transfer_call *)argument;
    return rb_fiber_transfer(call->fiber, NIL_P(call->value) ? 0 : 1, &call->value);
}

static VALUE raise_there(VALUE argument) {
    const transfer_call *call = (const transfer_call *)argument;
    return rb_fiber_raise(call->fiber, 1, &call->value);
}

/* Ruby tells this only by the fiber's text, and refuses a transfer to such a fiber. */
static bool is_resuming(VALUE fiber) {
    static const char end[] = "(resuming)>";
    VALUE text = rb_inspect(fiber);
    size_t size = (size_t)RSTRING_LEN(text), end_size = sizeof(end) - 1;
    return size > end_size && memcmp(RSTRING_PTR(text) + size - end_size, end, end_size) == 0;
}

/* The root fiber has not parked, no fiber that it has resumed has, and it has not ended. */
static bool root_is_left(const nb_scheduler *scheduler) {
    if (scheduler->parks || NIL_P(scheduler->root) || !NIL_P(scheduler->starter.error)) return false;
    if (scheduler->fork_generation != nb_fork_generation) return false;
    return RTEST(rb_fiber_alive_p(scheduler->root)) && !is_resuming(scheduler->root);
}

static bool is_exception(int tag) { return tag && RTEST(rb_obj_is_kind_of(rb_errinfo(), rb_eException)); }

/* Hands the value or the exception on until the root fiber parks or has ended. Returns the tag that
   it has ended with, or 0. */
static int hand_on(nb_scheduler *scheduler, VALUE value, int tag) {
    while ((tag == 0 || is_exception(tag)) && root_is_left(scheduler)) {
        transfer_call call = {scheduler->root, tag ? rb_errinfo() : value};
        bool raises = tag != 0;
        if (raises) rb_set_errinfo(Qnil);
        value = rb_protect(raises ? raise_there : transfer, (VALUE)&call, &tag);
    }
    return tag;
}

void nb_transfer_to(nb_scheduler *scheduler, VALUE fiber) {
    VALUE value = rb_fiber_transfer(fiber, 0, NULL);
    if (scheduler->parks) return;
    int tag = hand_on(scheduler, value, 0);
    if (tag) rb_jump_tag(tag);
}

int nb_transfer_raised(nb_scheduler *scheduler, int tag) {
    if (!scheduler->switched) return tag;
    return hand_on(scheduler, Qnil, tag);
}
