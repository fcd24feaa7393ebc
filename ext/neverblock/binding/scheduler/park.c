/*
 * park.c - see park.h.
 */
#include "binding/base/protect.h"
#include "binding/scheduler/park.h"

#include "binding/fibers/ffi_state.h"
#include "binding/fibers/pin.h"
#include "binding/fibers/region.h"
#include "binding/fibers/root.h"
#include "binding/scheduler/event_loop.h"
#include "binding/scheduler/limit.h"
#include "binding/state/fiber_record.h"
#include "binding/state/held_back.h"
#include "binding/state/loop_time.h"
#include "binding/state/object.h"
#include "binding/state/watches.h"

#include "os/clock.h"

static ID id_killed;

/* NB_WAIT_SPAWN */
typedef struct spawn_wait {
    nb_wait wait;    /* first */
    nb_wait *target; /* of the fiber that is gone to; NULL: it is new */
} spawn_wait;

static void go_to_spawned(const nb_wait *wait) {
    nb_scheduler *scheduler = wait->scheduler;
    nb_wait *target = ((const spawn_wait *)wait)->target;
    scheduler->went_on = false;
    if (target) nb_event_loop_take(target);
    scheduler->root = target ? target->root : wait->spawned;
    scheduler->resumes = NULL;
    scheduler->serving.own = false;
    scheduler->last_socket = (nb_socket_use){0};
    scheduler->parks = false;
    rb_fiber_transfer(wait->spawned, 0, NULL);
}

/* Beneath another scheduler: something that is not the loop may have transferred to the fiber. That
   is a wake. The fiber goes on in its turn, and the one that has transferred goes on now. */
static void go_back(nb_wait *wait, VALUE value) {
    nb_scheduler *scheduler = wait->scheduler;
    while (wait->state != NB_RESUMED) {
        VALUE back = NIL_P(scheduler->relay) ? scheduler->loop_fiber : scheduler->relay;
        scheduler->relay = Qnil;
        if (wait->kind == NB_WAIT_TRANSFER) scheduler->relayed = wait;
        if (wait->kind == NB_WAIT_TRANSFER && wait->state == NB_WAITING) {
            ((nb_transfer_wait *)wait)->value = value;
            nb_wait_wake(wait, NB_WOKEN);
        }
        scheduler->parks = false;
        value = rb_fiber_transfer(back, 0, NULL);
    }
    if (scheduler->relayed == wait) scheduler->relayed = NULL;
}

/* A fiber without a loop fiber to go to, because it is that one or has resumed it, runs the loop
   itself. A transfer to this fiber by another (an application's own Fiber#transfer) does not end
   the wait. */
static VALUE park_body(VALUE argument) {
    nb_wait *wait = (nb_wait *)argument;
    nb_scheduler *scheduler = wait->scheduler;

    if (wait->pinned) {
        nb_event_loop_pinned(scheduler, wait);
        return Qnil;
    }
    if (!scheduler->switched) {
        nb_event_loop_run(scheduler, wait);
        return Qnil;
    }
    if (wait->spawned) go_to_spawned(wait);
    while (wait->state != NB_RESUMED) {
        scheduler->parks = true;
        VALUE value = rb_fiber_transfer(scheduler->loop_fiber, 0, NULL);
        if (!NIL_P(scheduler->above)) go_back(wait, value);
    }
    return Qnil;
}

static VALUE park_end(VALUE argument) {
    nb_wait *wait = (nb_wait *)argument;
    if (wait->leave) wait->leave(wait);
    nb_fiber_record_end(wait);
    nb_list_remove(&wait->link);
    nb_wait_uncount(wait);
    nb_timers_disarm(&wait->scheduler->timers, &wait->alarm.timer);
    nb_parked_pop(&wait->scheduler->parked, wait->fiber, wait, wait->outer);
    wait->scheduler->preempt_disabled = wait->preempt_disabled;
    wait->scheduler->resumes = wait->resumes;
    wait->scheduler->question = wait->question;
    wait->scheduler->resumed_in = wait->resumed_in;
    wait->scheduler->last_socket = wait->last_socket;
    /* no stack for it: it was not switched to */
    if (wait->spawned) wait->scheduler->root = wait->root;
    wait->state = NB_RESUMED;
    if (rb_last_status_get() != wait->status) nb_root_set_status(wait->status);
    nb_ffi_state_give(wait->ffi);
    return Qnil;
}

static bool park_enter(nb_wait *wait, int64_t deadline_ns) {
    nb_scheduler *scheduler = wait->scheduler;
    if (!nb_parked_push(&scheduler->parked, wait->fiber, wait, &wait->outer)) return false;
    if (deadline_ns == INT64_MAX || wait->state != NB_WAITING) return true;
    if (deadline_ns <= scheduler->now_ns) {
        nb_wait_wake(wait, NB_TIMED_OUT);
        /* The fiber's turn may come before the alarms': a timeout that is over raises in this
           wait. */
        nb_event_loop_expire(scheduler);
        return true;
    }
    return nb_timers_arm(&scheduler->timers, &wait->alarm.timer, deadline_ns) == NB_OK;
}

/* rb_make_exception makes nothing of no arguments; `raise` makes this. */
static _Noreturn void raise_now(VALUE exception) {
    if (RB_TYPE_P(exception, T_ARRAY)) {
        VALUE arguments = exception;
        exception = rb_make_exception((int)RARRAY_LEN(arguments), RARRAY_CONST_PTR(arguments));
        RB_GC_GUARD(arguments);
        if (NIL_P(exception)) rb_raise(rb_eRuntimeError, "unhandled exception");
    }
    rb_exc_raise(exception);
}

static _Noreturn void raise_into(const nb_wait *wait, VALUE exception) {
    if (wait->kind == NB_WAIT_IO) nb_watches_cut(wait, exception);
    raise_now(exception);
}

/* What was to be raised in this fiber since before it began to wait, or nil. */
static VALUE raised_before(const nb_wait *wait) {
    nb_scheduler *scheduler = wait->scheduler;
    if (!nb_list_empty(&scheduler->expired)) {
        nb_late *late = nb_late_expired(scheduler, true);
        if (late) {
            nb_list_remove(&late->link);
            return late->raises;
        }
    }
    return NIL_P(scheduler->deferred) ? Qnil : nb_wait_take_deferred(scheduler, wait->fiber);
}

/* The wait has been entered: a thread that runs meanwhile may end it. */
static void take_ffi_state(nb_wait *wait) {
    int tag;
    wait->scheduler->preempt_disabled++; /* a wait on top of this one would hide it */
    wait->ffi = nb_ffi_state_take(&tag);
    if (tag == 0) return;
    park_end((VALUE)wait);
    rb_jump_tag(tag);
}

nb_wait_outcome nb_wait_park(nb_wait *wait, int64_t deadline_ns) {
    wait->pinned = nb_pin_covers(wait);
    wait->shielded = nb_region_shields(wait->scheduler);
    wait->masks = nb_masks_now(wait->scheduler);
    VALUE exception = wait->shielded ? Qnil : raised_before(wait);
    if (!NIL_P(exception)) {
        park_end((VALUE)wait);
        raise_into(wait, exception);
    }
    if (!park_enter(wait, deadline_ns)) {
        park_end((VALUE)wait);
        rb_memerror();
    }
    take_ffi_state(wait);
    nb_fiber_record_park(wait, deadline_ns);
    wait->scheduler->preempt_disabled = 0;
    wait->scheduler->question = NB_ASKS_NOTHING;
    wait->scheduler->resumed_in = (nb_resumed_in){0};
    rb_ensure(park_body, (VALUE)wait, park_end, (VALUE)wait);
    if (wait->outcome == NB_RAISES) raise_into(wait, wait->exception);
    if (!NIL_P(wait->exception)) nb_wait_defer(wait->scheduler, rb_fiber_current(), wait->exception);
    return wait->outcome;
}

/* Nothing may leave the postponed job that this runs in: what is raised in the switch back, though
   nothing should be, is deferred as well. */
void nb_wait_preempt(nb_scheduler *scheduler, int ffi_errno) {
    nb_wait wait;
    nb_wait_init(&wait, scheduler, NB_WAIT_PREEMPTED);
    if (!nb_parked_push(&scheduler->parked, wait.fiber, &wait, &wait.outer)) return;
    wait.ffi = nb_ffi_state_leave(ffi_errno);
    wait.state = NB_READY;
    wait.counted = true;
    nb_list_append(&scheduler->preempted, &wait.link);
    scheduler->ready_count++;
    nb_fiber_record_park(&wait, INT64_MAX);
    scheduler->watches.dry_fd = -1;
    scheduler->resumed_in = (nb_resumed_in){0};
    int tag = 0;
    rb_protect(park_body, (VALUE)&wait, &tag);
    if (tag && NIL_P(wait.exception) && RTEST(rb_obj_is_kind_of(rb_errinfo(), rb_eException)))
        wait.exception = rb_errinfo();
    if (tag) nb_protect_drop(Qnil);
    park_end((VALUE)&wait);
    if (!NIL_P(wait.exception)) nb_wait_defer(scheduler, rb_fiber_current(), wait.exception);
}

typedef struct spawn_call {
    nb_scheduler *scheduler;
    VALUE fiber, outer_loop;
    nb_wait *target;
    unsigned preempt_disabled;
    nb_ffi_state ffi;
    nb_resumed_in resumed_in;
} spawn_call;

static VALUE spawn_body(VALUE argument) {
    spawn_call *call = (spawn_call *)argument;
    nb_event_loop_switch(call->scheduler, call->fiber, call->target);
    return Qnil;
}

static VALUE spawn_end(VALUE argument) {
    spawn_call *call = (spawn_call *)argument;
    call->scheduler->loop_fiber = call->outer_loop;
    call->scheduler->switched = false;
    call->scheduler->preempt_disabled = call->preempt_disabled;
    call->scheduler->resumed_in = call->resumed_in;
    nb_ffi_state_give(call->ffi);
    return Qnil;
}

void nb_wait_go_to(nb_scheduler *scheduler, VALUE fiber, nb_wait *target) {
    if (!scheduler->switched) {
        int tag;
        nb_ffi_state ffi = nb_ffi_state_take(&tag);
        if (tag) rb_jump_tag(tag);
        spawn_call call = {.scheduler = scheduler,
                           .fiber = fiber,
                           .outer_loop = scheduler->loop_fiber,
                           .target = target,
                           .preempt_disabled = scheduler->preempt_disabled,
                           .ffi = ffi,
                           .resumed_in = scheduler->resumed_in};
        scheduler->loop_fiber = rb_fiber_current();
        scheduler->preempt_disabled = 0;
        scheduler->resumed_in = (nb_resumed_in){0};
        rb_ensure(spawn_body, (VALUE)&call, spawn_end, (VALUE)&call);
        return;
    }

    spawn_wait spawn;
    spawn.target = target;
    nb_wait_init(&spawn.wait, scheduler, NB_WAIT_SPAWN);
    spawn.wait.spawned = fiber;
    nb_list_append(&scheduler->spawners, &spawn.wait.link);
    spawn.wait.state = NB_READY;
    nb_wait_park(&spawn.wait, INT64_MAX);
}

void nb_wait_spawn(nb_scheduler *scheduler, VALUE fiber) { nb_wait_go_to(scheduler, fiber, NULL); }

/* --- shield --- */

typedef struct shield_call {
    nb_scheduler *scheduler;
    VALUE mode, outer; /* true, a Symbol or nil */
} shield_call;

static VALUE shield_body(VALUE argument) {
    nb_region_set_shield(((const shield_call *)argument)->mode);
    return rb_yield_values(0);
}

/* shield_mode -> of the running fiber: true, :mask or nil */
static VALUE scheduler_shield_mode(VALUE self) {
    (void)self;
    return nb_region_shield();
}

/* A fork in the block has set the count to 0. */
static VALUE shield_end(VALUE argument) {
    shield_call *call = (shield_call *)argument;
    if (call->scheduler->shields > 0) call->scheduler->shields--;
    nb_region_set_shield(call->outer);
    return Qnil;
}

/* shield(mode = true) { }; :mask is Thread.handle_interrupt's. */
static VALUE scheduler_shield(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 0, 1);
    rb_need_block();
    shield_call call = {.scheduler = nb_scheduler_get(self),
                        .mode = argc == 0        ? Qtrue
                                : RTEST(argv[0]) ? argv[0]
                                                 : Qnil,
                        .outer = nb_region_shield()};
    call.scheduler->shields++;
    VALUE result = rb_ensure(shield_body, (VALUE)&call, shield_end, (VALUE)&call);
    RB_GC_GUARD(self);
    return result;
}

/* --- hold_back --- */

/* The alarms of a fiber that has computed may be due and not have gone off. False: there is nothing
   of any fiber. */
static bool let_expire(nb_scheduler *scheduler) {
    if (nb_list_empty(&scheduler->blocks)) return false;
    nb_event_loop_clock(scheduler);
    nb_event_loop_expire(scheduler);
    return !nb_list_empty(&scheduler->expired);
}

/* What a limit raises in the running fiber, or nil. It counts as raised from here on. */
static VALUE take_expired(nb_scheduler *scheduler) {
    if (nb_list_empty(&scheduler->expired) || nb_region_shields(scheduler)) return Qnil;
    nb_late *late = nb_late_expired(scheduler, false);
    if (!late || late->at_waits) return Qnil;
    nb_list_remove(&late->link);
    return late->raises;
}

typedef struct hold_call {
    nb_scheduler *scheduler;
    VALUE outer, lets_in;
} hold_call;

static VALUE hold_body(VALUE argument) {
    const hold_call *call = (const hold_call *)argument;
    VALUE raises = RTEST(call->lets_in) ? take_expired(call->scheduler) : Qnil;
    if (!NIL_P(raises)) raise_now(raises);
    return rb_yield(Qnil);
}

/* A fork in the block has set the count to 0. */
static VALUE hold_end(VALUE argument) {
    hold_call *call = (hold_call *)argument;
    if (call->scheduler->shields > 0) call->scheduler->shields--;
    nb_masks_set(call->outer);
    return Qnil;
}

/* hold_back(mask, lets_in) { }: limits of the classes for which the mask says :never end no wait in
   it, and those for which it says that or :on_blocking no computation. lets_in: what has expired
   before, and the mask lets in, is raised in place of the block. */
static VALUE scheduler_hold_back(VALUE self, VALUE mask, VALUE lets_in) {
    rb_need_block();
    Check_Type(mask, T_HASH);
    hold_call call = {nb_scheduler_get(self), nb_masks_get(), lets_in};
    VALUE masks = rb_ary_new_from_values(1, &mask);
    if (!NIL_P(call.outer)) rb_ary_concat(masks, call.outer);
    call.scheduler->shields++;
    nb_masks_set(masks);
    VALUE result = rb_ensure(hold_body, (VALUE)&call, hold_end, (VALUE)&call);
    RB_GC_GUARD(self);
    return result;
}

/* Is the block left by what may not be replaced: the end of a thread or fiber, or an error that
   marks the fiber (base/protect.h)? */
static bool ends_all(VALUE error) {
    return FIXNUM_P(error) || nb_protect_marks(error) || RTEST(rb_ivar_defined(rb_fiber_current(), id_killed));
}

/* A mask that takes less, and does not wait, holds nothing back. Libraries that mask a few
   instructions expect nothing at their end. */
#define MASK_LONG_NS NB_NS_PER_MS

/* The same for what was due before the mask. */
static void leave_to_waits(nb_scheduler *scheduler) {
    nb_late *late = let_expire(scheduler) ? nb_late_expired(scheduler, true) : NULL;
    if (late) late->at_waits = true;
}

/* after_mask { }: then raises what was held back in the block, however that was left, as Ruby does
   (thread.c, rb_thread_s_handle_interrupt). What else has left the block is its cause; a `break` or
   `throw` can be none. */
static VALUE scheduler_after_mask(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    int tag = 0;
    rb_need_block();
    int64_t began_ns = nb_clock_monotonic_ns();
    leave_to_waits(scheduler);
    VALUE result = rb_protect(rb_yield, Qnil, &tag);
    if (tag && ends_all(rb_errinfo())) rb_jump_tag(tag);
    if (nb_clock_monotonic_ns() - began_ns >= MASK_LONG_NS) let_expire(scheduler);
    VALUE raises = take_expired(scheduler);
    RB_GC_GUARD(self);
    if (NIL_P(raises)) {
        if (tag) rb_jump_tag(tag);
        return result;
    }
    if (tag && RB_TYPE_P(rb_errinfo(), RUBY_T_IMEMO)) rb_set_errinfo(Qnil);
    raise_now(raises);
}

/* pending_classes -> of what limits have to raise in the running fiber */
static VALUE scheduler_pending_classes(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    return let_expire(scheduler) ? nb_late_classes(scheduler) : rb_ary_new();
}

void nb_park_define(VALUE klass) {
    rb_define_method(klass, "shield", scheduler_shield, -1);
    rb_define_method(klass, "shield_mode", scheduler_shield_mode, 0);
    id_killed = rb_intern("@neverblock_killed"); /* compat/fiber_kill.rb */
    rb_define_method(klass, "hold_back", scheduler_hold_back, 2);
    rb_define_method(klass, "after_mask", scheduler_after_mask, 0);
    rb_define_method(klass, "pending_classes", scheduler_pending_classes, 0);
}
