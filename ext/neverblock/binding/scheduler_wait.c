/*
 * scheduler_wait.c - how a fiber parks and is made ready again. Every park of the scheduler is nb_wait_park; the table that finds a
 * parked fiber's wait, and keeps the fiber alive, is here too.
 */
#include "scheduler_internal.h"

#include "base/alloc.h"
#include "os/clock.h"

#include <ruby/thread.h>

#define NB_PARKED_CAPACITY_MIN 64

/* --- The table of parked fibers --- */

/* Fibonacci hashing of the slot address: its low bits are always the same. */
static size_t parked_home(const nb_parked_table *table, VALUE fiber) {
    return (size_t)(((uint64_t)fiber * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (table->capacity - 1);
}

static nb_parked *parked_slot(const nb_parked_table *table, VALUE fiber) {
    size_t i = parked_home(table, fiber);
    while (table->slots[i].fiber != 0 && table->slots[i].fiber != fiber)
        i = (i + 1) & (table->capacity - 1);
    return &table->slots[i];
}

static bool parked_reserve(nb_parked_table *table) {
    if ((table->count + 1) * 2 <= table->capacity) return true;

    nb_parked_table larger = {.capacity = table->capacity ? table->capacity * 2 : NB_PARKED_CAPACITY_MIN};
    larger.slots = nb_alloc_zero(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL) return false;
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].fiber != 0) *parked_slot(&larger, table->slots[i].fiber) = table->slots[i];
    }
    larger.count = table->count;
    nb_free(table->slots);
    *table = larger;
    return true;
}

/* A fiber may be in a wait already: a trap handler or finalizer that waits runs on top of one. */
static bool parked_push(nb_parked_table *table, nb_wait *wait) {
    if (!parked_reserve(table)) return false;
    nb_parked *slot = parked_slot(table, wait->fiber);
    wait->outer = slot->fiber == 0 ? NULL : slot->wait;
    table->count += slot->fiber == 0;
    *slot = (nb_parked){wait->fiber, wait};
    return true;
}

/* Closes the gap so that every entry stays reachable from its home without tombstones. */
static void parked_delete(nb_parked_table *table, nb_parked *slot) {
    size_t mask = table->capacity - 1, hole = (size_t)(slot - table->slots);
    for (size_t i = (hole + 1) & mask; table->slots[i].fiber != 0; i = (i + 1) & mask) {
        size_t home = parked_home(table, table->slots[i].fiber);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        table->slots[hole] = table->slots[i];
        hole = i;
    }
    table->slots[hole] = (nb_parked){0, NULL};
    table->count--;
}

static void parked_pop(nb_parked_table *table, nb_wait *wait) {
    if (table->capacity == 0) return;
    nb_parked *slot = parked_slot(table, wait->fiber);
    if (slot->fiber == 0 || slot->wait != wait) return;
    if (wait->outer) {
        slot->wait = wait->outer;
    } else {
        parked_delete(table, slot);
    }
}

nb_wait *nb_parked_find(const nb_parked_table *table, VALUE fiber) {
    if (table->capacity == 0) return NULL;
    return parked_slot(table, fiber)->wait;
}

static bool is_below(const nb_wait *wait, VALUE fiber) {
    if (wait->fiber == fiber || wait->state == NB_RESUMED) return false;
    return wait->root == fiber || nb_resume_is_above(wait->resumes, fiber);
}

nb_wait *nb_parked_below(const nb_parked_table *table, VALUE fiber) {
    for (size_t i = 0; i < table->capacity; i++) {
        nb_wait *wait = table->slots[i].fiber == 0 ? NULL : table->slots[i].wait;
        if (wait && is_below(wait, fiber)) return wait;
    }
    return NULL;
}

void nb_parked_table_deinit(nb_parked_table *table) {
    nb_free(table->slots);
    *table = (nb_parked_table){0};
}

/* --- Waits --- */

static ID id_shield;

static void wait_expired(nb_scheduler *scheduler, nb_alarm *alarm) {
    (void)scheduler;
    nb_wait_wake(NB_LIST_ENTRY(alarm, nb_wait, alarm), NB_TIMED_OUT);
}

void nb_wait_init(nb_wait *wait, nb_scheduler *scheduler, nb_wait_kind kind) {
    *wait = (nb_wait){.scheduler = scheduler,
                      .self = scheduler->self,
                      .fiber = rb_fiber_current(),
                      .root = nb_root_now(scheduler),
                      .status = rb_last_status_get(),
                      .exception = Qnil,
                      .kind = kind,
                      .state = NB_WAITING,
                      .outcome = NB_WOKEN,
                      .masked = scheduler->masked,
                      .root_shielded = scheduler->root_shielded,
                      .question = scheduler->question,
                      .uncut = scheduler->uncut,
                      .resumes = scheduler->resumes,
                      .alarm = {.fire = wait_expired}};
    nb_list_init(&wait->link);
}

/* Without a loop fiber to go to, because it is this one or has resumed this one, the fiber runs the loop itself. Whoever else
   transfers here (an application's own Fiber#transfer) does not end the wait. */
static VALUE park_body(VALUE argument) {
    nb_wait *wait = (nb_wait *)argument;
    nb_scheduler *scheduler = wait->scheduler;

    if (wait->held) {
        nb_loop_hold(scheduler, wait);
        return Qnil;
    }
    if (!scheduler->switched) {
        nb_loop_run(scheduler, wait);
        return Qnil;
    }
    if (wait->spawned) {
        wait->scheduler->went_on = false;
        wait->scheduler->root = wait->spawned;
        scheduler->resumes = NULL;
        scheduler->parks = false;
        rb_fiber_transfer(wait->spawned, 0, NULL);
    }
    while (wait->state != NB_RESUMED) {
        scheduler->parks = true;
        rb_fiber_transfer(scheduler->loop, 0, NULL);
    }
    return Qnil;
}

/* In a forked child the count begins again from 0. */
void nb_wait_uncount(nb_wait *wait) {
    if (wait->counted && wait->scheduler->ready_count > 0) wait->scheduler->ready_count--;
    wait->counted = false;
}

static VALUE park_end(VALUE argument) {
    nb_wait *wait = (nb_wait *)argument;
    if (wait->leave) wait->leave(wait);
    nb_list_remove(&wait->link);
    nb_wait_uncount(wait);
    nb_timers_disarm(&wait->scheduler->timers, &wait->alarm.timer);
    parked_pop(&wait->scheduler->parked, wait);
    wait->scheduler->uncut = wait->uncut;
    wait->scheduler->resumes = wait->resumes;
    wait->scheduler->question = wait->question;
    wait->scheduler->masked = wait->masked;
    wait->scheduler->root_shielded = wait->root_shielded;
    if (wait->spawned) wait->scheduler->root = wait->root; /* no stack for it: it was not switched to */
    wait->state = NB_RESUMED;
    if (rb_last_status_get() != wait->status) nb_root_set_status(wait->status);
    return Qnil;
}

static bool park_enter(nb_wait *wait, int64_t deadline_ns) {
    nb_scheduler *scheduler = wait->scheduler;
    if (!parked_push(&scheduler->parked, wait)) return false;
    if (deadline_ns == INT64_MAX || wait->state != NB_WAITING) return true;
    if (deadline_ns <= scheduler->now_ns) {
        nb_wait_wake(wait, NB_TIMED_OUT);
        nb_loop_expire(
            scheduler); /* the fiber's turn may come before the alarms': a timeout that is over raises in this wait */
        return true;
    }
    return nb_timers_arm(&scheduler->timers, &wait->alarm.timer, deadline_ns) == NB_OK;
}

/* rb_make_exception makes nothing of no arguments; `raise` makes this. */
static _Noreturn void raise_into(const nb_wait *wait, VALUE exception) {
    if (wait->kind == NB_WAIT_IO) nb_descriptors_cut(wait, exception);
    if (RB_TYPE_P(exception, T_ARRAY)) {
        exception = rb_make_exception((int)RARRAY_LEN(exception), RARRAY_CONST_PTR(exception));
        if (NIL_P(exception)) rb_raise(rb_eRuntimeError, "unhandled exception");
    }
    rb_exc_raise(exception);
}

void nb_wait_defer(nb_scheduler *scheduler, VALUE exception) {
    if (NIL_P(scheduler->deferred)) scheduler->deferred = rb_ary_new();
    rb_ary_push(scheduler->deferred, rb_assoc_new(rb_fiber_current(), exception));
}

/* The oldest of this fiber's, or nil; forgets those of fibers that have ended. */
static VALUE take_deferred(nb_scheduler *scheduler, VALUE fiber) {
    VALUE all = scheduler->deferred, left = rb_ary_new(), taken = Qnil;
    for (long i = 0; i < RARRAY_LEN(all); i++) {
        VALUE entry = RARRAY_AREF(all, i);
        if (NIL_P(taken) && RARRAY_AREF(entry, 0) == fiber) {
            taken = RARRAY_AREF(entry, 1);
        } else if (RTEST(rb_fiber_alive_p(RARRAY_AREF(entry, 0)))) {
            rb_ary_push(left, entry);
        }
    }
    scheduler->deferred = RARRAY_LEN(left) > 0 ? left : Qnil;
    return taken;
}

/* What was to be raised in this fiber since before it began to wait, or nil. */
static VALUE raised_before(const nb_wait *wait) {
    nb_scheduler *scheduler = wait->scheduler;
    if (!nb_list_empty(&scheduler->overdue)) {
        nb_late *late = nb_timeout_overdue(scheduler);
        if (late) {
            nb_list_remove(&late->link);
            return late->raises;
        }
    }
    return NIL_P(scheduler->deferred) ? Qnil : take_deferred(scheduler, wait->fiber);
}

/* In a shield block of its own, or resumed from one of its root's. */
static bool is_shielded(const nb_wait *wait) {
    if (wait->scheduler->shields == 0) return false;
    if (wait->root_shielded && wait->fiber != wait->root) return true;
    return RTEST(rb_thread_local_aref(rb_thread_current(), id_shield));
}

nb_wait_outcome nb_wait_park(nb_wait *wait, int64_t deadline_ns) {
    wait->held = nb_hold_covers(wait);
    wait->shielded = is_shielded(wait);
    VALUE exception = wait->shielded ? Qnil : raised_before(wait);
    if (!NIL_P(exception)) {
        park_end((VALUE)wait);
        raise_into(wait, exception);
    }
    if (!park_enter(wait, deadline_ns)) {
        park_end((VALUE)wait);
        rb_memerror();
    }
    wait->scheduler->uncut = 0;
    wait->scheduler->question = NB_ASKS_NOTHING;
    wait->scheduler->masked = false;
    wait->scheduler->root_shielded = false;
    rb_ensure(park_body, (VALUE)wait, park_end, (VALUE)wait);
    if (wait->outcome == NB_RAISES) raise_into(wait, wait->exception);
    if (!NIL_P(wait->exception)) nb_wait_defer(wait->scheduler, wait->exception);
    return wait->outcome;
}

/* Nothing may leave the postponed job this runs in: what is raised in the switch back, as nothing should be, is put off as well. */
void nb_wait_cut(nb_scheduler *scheduler) {
    nb_wait wait;
    nb_wait_init(&wait, scheduler, NB_WAIT_CUT);
    if (!parked_push(&scheduler->parked, &wait)) return;
    wait.state = NB_READY;
    wait.counted = true;
    nb_list_append(&scheduler->cut, &wait.link);
    scheduler->ready_count++;
    scheduler->dry_fd = -1;
    scheduler->root_shielded = false;
    int tag = 0;
    rb_protect(park_body, (VALUE)&wait, &tag);
    if (tag && NIL_P(wait.exception) && RTEST(rb_obj_is_kind_of(rb_errinfo(), rb_eException)))
        wait.exception = rb_errinfo();
    if (tag) rb_set_errinfo(Qnil);
    park_end((VALUE)&wait);
    if (!NIL_P(wait.exception)) nb_wait_defer(scheduler, wait.exception);
}

/* Woken by a Mutex, a Queue or a ConditionVariable after something was raised into the wait: the wake was meant for this fiber and for no
   other, so it comes first. */
static void wake_before_raise(nb_wait *wait) {
    if (wait->kind != NB_WAIT_BLOCK && wait->kind != NB_WAIT_SLEEP) return;
    wait->outcome = NB_WOKEN;
    if (wait->overdue == NULL) return;
    nb_list_remove(wait->overdue);
    nb_list_append(&wait->scheduler->overdue, wait->overdue);
    wait->exception = Qnil;
}

bool nb_wait_wake(nb_wait *wait, nb_wait_outcome outcome) {
    if (wait->state != NB_WAITING) {
        /* What came after the deadline but before the fiber ran has still come. */
        if (wait->state == NB_READY && wait->outcome == NB_TIMED_OUT) wait->outcome = outcome;
        if (wait->state == NB_READY && wait->outcome == NB_RAISES && outcome == NB_WOKEN) wake_before_raise(wait);
        return false;
    }
    nb_scheduler *scheduler = wait->scheduler;
    wait->state = NB_READY;
    wait->outcome = outcome;
    nb_timers_disarm(&scheduler->timers, &wait->alarm.timer);
    nb_list_append(&scheduler->ready, &wait->link);
    wait->counted = true;
    scheduler->ready_count++;
    if (scheduler->sleeping) nb_loop_wake(scheduler);
    if (scheduler->slices) nb_slices_work_comes(scheduler->slices);
    return true;
}

bool nb_wait_raise(nb_wait *wait, VALUE exception, nb_list *overdue) {
    if (wait->kind == NB_WAIT_CUT) {
        if (overdue || !NIL_P(wait->exception)) return false;
        wait->exception = exception;
        return true;
    }
    if (wait->state == NB_RESUMED || (wait->state == NB_READY && wait->outcome != NB_TIMED_OUT)) return false;
    if (wait->shielded && (overdue || !NIL_P(wait->exception))) return false;
    wait->exception = exception;
    if (wait->shielded) return true;
    wait->overdue = overdue;
    nb_wait_wake(wait, NB_RAISES);
    return true;
}

typedef struct spawn_call {
    nb_scheduler *scheduler;
    VALUE fiber, outer_loop;
    unsigned uncut;
    bool masked, root_shielded;
} spawn_call;

static VALUE spawn_body(VALUE argument) {
    spawn_call *call = (spawn_call *)argument;
    nb_loop_switch(call->scheduler, call->fiber, NULL);
    return Qnil;
}

static VALUE spawn_end(VALUE argument) {
    spawn_call *call = (spawn_call *)argument;
    call->scheduler->loop = call->outer_loop;
    call->scheduler->switched = false;
    call->scheduler->uncut = call->uncut;
    call->scheduler->masked = call->masked;
    call->scheduler->root_shielded = call->root_shielded;
    return Qnil;
}

void nb_wait_spawn(nb_scheduler *scheduler, VALUE fiber) {
    if (!scheduler->switched) {
        spawn_call call = {.scheduler = scheduler,
                           .fiber = fiber,
                           .outer_loop = scheduler->loop,
                           .uncut = scheduler->uncut,
                           .masked = scheduler->masked,
                           .root_shielded = scheduler->root_shielded};
        scheduler->loop = rb_fiber_current();
        scheduler->uncut = 0;
        scheduler->masked = false;
        scheduler->root_shielded = false;
        rb_ensure(spawn_body, (VALUE)&call, spawn_end, (VALUE)&call);
        return;
    }

    nb_wait wait;
    nb_wait_init(&wait, scheduler, NB_WAIT_SPAWN);
    wait.spawned = fiber;
    nb_list_append(&scheduler->spawners, &wait.link);
    wait.state = NB_READY;
    nb_wait_park(&wait, INT64_MAX);
}

int64_t nb_wait_deadline(nb_scheduler *scheduler, VALUE interval) {
    const double seconds_max = 9e9; /* 285 years: what is longer has no deadline */
    if (NIL_P(interval)) return INT64_MAX;

    double seconds = -1;
    if (FIXNUM_P(interval)) seconds = (double)FIX2LONG(interval);
    if (RB_FLOAT_TYPE_P(interval)) seconds = RFLOAT_VALUE(interval);
    if (seconds == 0) return nb_loop_clock(scheduler);
    if (seconds > 0 && seconds < seconds_max)
        return nb_loop_clock(scheduler) + (int64_t)(seconds * (double)NB_NS_PER_S);

    struct timespec time = rb_time_timespec_interval(interval);
    if ((double)time.tv_sec >= seconds_max) return INT64_MAX;
    return nb_loop_clock(scheduler) + (int64_t)time.tv_sec * NB_NS_PER_S + (int64_t)time.tv_nsec;
}

/* --- shield --- */

typedef struct shield_call {
    nb_scheduler *scheduler;
    VALUE mode, outer; /* true or nil */
    bool outer_root;
} shield_call;

static VALUE shield_body(VALUE argument) {
    const shield_call *call = (const shield_call *)argument;
    nb_scheduler *scheduler = call->scheduler;
    if (rb_fiber_current() == nb_root_now(scheduler)) scheduler->root_shielded = RTEST(call->mode);
    rb_thread_local_aset(rb_thread_current(), id_shield, call->mode);
    return rb_yield_values(0);
}

/* A fork in the block has set the count to 0. */
static VALUE shield_end(VALUE argument) {
    shield_call *call = (shield_call *)argument;
    if (call->scheduler->shields > 0) call->scheduler->shields--;
    call->scheduler->root_shielded = call->outer_root;
    rb_thread_local_aset(rb_thread_current(), id_shield, call->outer);
    return Qnil;
}

/* shield(mode = true) { } */
static VALUE scheduler_shield(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 0, 1);
    rb_need_block();
    shield_call call = {.scheduler = nb_scheduler_get(self),
                        .mode = argc == 0 || RTEST(argv[0]) ? Qtrue : Qnil,
                        .outer = rb_thread_local_aref(rb_thread_current(), id_shield)};
    call.outer_root = call.scheduler->root_shielded;
    call.scheduler->shields++;
    VALUE result = rb_ensure(shield_body, (VALUE)&call, shield_end, (VALUE)&call);
    RB_GC_GUARD(self);
    return result;
}

void nb_scheduler_wait_define(VALUE klass) {
    id_shield = rb_intern("__neverblock_shield__");
    rb_define_method(klass, "shield", scheduler_shield, -1);
}
