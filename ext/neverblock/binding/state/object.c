/*
 * object.c - see object.h.
 */
#include "binding/state/object.h"

#include <errno.h>
#include <ruby.h>
#include <ruby/fiber/scheduler.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "binding/base/forks.h"
#include "binding/state/children.h"
#include "binding/state/late.h"
#include "binding/state/timeslice_state.h"
#include "binding/state/wait.h"
#include "binding/state/watches.h"

VALUE nb_scheduler_class;

static nb_list all_schedulers = {&all_schedulers, &all_schedulers};
/* How many of them have one above them. */
static size_t beneath_count;

static void scheduler_mark(void *data) {
    nb_scheduler *scheduler = data;
    scheduler->marked_in = rb_gc_count();
    rb_gc_mark(scheduler->self); /* so that GC.compact does not move it */
    nb_parked_mark(&scheduler->parked);
    /* A fiber that another has resumed is in no wait, but an alarm may be on its stack. */
    for (const nb_list *link = scheduler->blocks.next; link != &scheduler->blocks; link = link->next)
        rb_gc_mark(NB_LIST_ENTRY(link, nb_late, block)->fiber);
    rb_gc_mark(scheduler->loop_fiber);
    rb_gc_mark(scheduler->above);
    rb_gc_mark(scheduler->relay);
    rb_gc_mark(scheduler->root); /* it may have ended, and is asked whether it has */
    rb_gc_mark(scheduler->deferred);
    rb_gc_mark(scheduler->last_socket.io);
    rb_gc_mark(scheduler->expecting);
    nb_children_mark(scheduler);
    rb_gc_mark(scheduler->starter.fiber);
    rb_gc_mark(scheduler->starter.thread);
    rb_gc_mark(scheduler->starter.error);
}

/* --- Garbage --- */

#ifdef HAVE_RB_OBJSPACE_GARBAGE_OBJECT_P
bool rb_objspace_garbage_object_p(VALUE object); /* exported, and in no header */

static bool is_garbage(const nb_scheduler *scheduler) { return rb_objspace_garbage_object_p(scheduler->self); }
static void begin_marks(nb_scheduler *scheduler) { scheduler->marked_in = 0; }
#else
static ID id_state, id_marking, id_sweeping;

static bool collector_is(ID state) { return rb_gc_latest_gc_info(ID2SYM(id_state)) == ID2SYM(state); }

/* Each collection marks every scheduler that is used, as none is WB_PROTECTED. What it has not
   marked it sweeps bit by bit, while Ruby code runs. */
static bool is_garbage(const nb_scheduler *scheduler) {
    return scheduler->marked_in != rb_gc_count() && collector_is(id_sweeping);
}

/* A collection that marks now has to mark the new one too. */
static void begin_marks(nb_scheduler *scheduler) {
    scheduler->marked_in = rb_gc_count() - (collector_is(id_marking) ? 1 : 0);
}
#endif

/* The waits lie on stacks that may be gone by now: they are not looked at. */
static void scheduler_free(void *data) {
    nb_scheduler *scheduler = data;
    nb_list_remove(&scheduler->all);
    nb_scheduler_set_above(scheduler, Qnil);
    nb_timeslices_close(scheduler);
    if (scheduler->fork_generation == nb_fork_generation) nb_inbox_close(scheduler->inbox);
    scheduler->inbox = NULL;
    nb_scheduler_release(scheduler);
    nb_watches_deinit(scheduler);
    nb_timers_deinit(&scheduler->timers);
    nb_parked_deinit(&scheduler->parked);
    nb_free(scheduler);
}

static size_t scheduler_size(const void *data) {
    const nb_scheduler *scheduler = data;
    return sizeof *scheduler + scheduler->parked.capacity * sizeof(nb_parked) +
           scheduler->timers.capacity * sizeof(nb_timer_slot) + scheduler->watches.table_count * sizeof(nb_descriptor);
}

static const rb_data_type_t scheduler_type = {
    .wrap_struct_name = "NeverBlock::Scheduler",
    .function = {.dmark = scheduler_mark, .dfree = scheduler_free, .dsize = scheduler_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static void init_lists(nb_scheduler *scheduler) {
    nb_list_init(&scheduler->ready);
    nb_list_init(&scheduler->pass);
    nb_list_init(&scheduler->preempted);
    nb_list_init(&scheduler->spawners);
    nb_list_init(&scheduler->files);
    nb_list_init(&scheduler->watches.unproven);
    nb_list_init(&scheduler->expired);
    nb_list_init(&scheduler->blocks);
    nb_list_init(&scheduler->awaiting);
    nb_list_init(&scheduler->children);
    nb_timers_init(&scheduler->timers);
}

static VALUE scheduler_alloc(VALUE klass) {
    nb_scheduler *scheduler = nb_alloc_zero(1, sizeof *scheduler);
    if (scheduler == NULL) rb_memerror();
    scheduler->loop_fiber = scheduler->root = scheduler->above = scheduler->relay = Qnil;
    scheduler->deferred = Qnil;
    scheduler->expecting = Qnil;
    scheduler->serving.record = NB_FIBER_NONE;
    scheduler->starter = (nb_starter){Qnil, Qnil, Qnil};
    scheduler->sleeper.wake = (nb_wake){-1, -1};
    scheduler->fork_generation = nb_fork_generation;
    scheduler->heap.room_for = NB_ROOM_FOR_MIN;
    scheduler->watches.dry_fd = -1;
    init_lists(scheduler);
    nb_list_init(&scheduler->all);
    VALUE self = TypedData_Wrap_Struct(klass, &scheduler_type, scheduler);
    scheduler->self = self;
    begin_marks(scheduler);
    nb_list_append(&all_schedulers, &scheduler->all);
    return self;
}

nb_scheduler *nb_scheduler_get(VALUE self) {
    nb_scheduler *scheduler = rb_check_typeddata(self, &scheduler_type);
    if (scheduler->fork_generation != nb_fork_generation) nb_scheduler_forget(scheduler);
    return scheduler;
}

static nb_scheduler *beneath(VALUE above) {
    if (beneath_count == 0) return NULL;
    for (nb_list *link = all_schedulers.next; link != &all_schedulers; link = link->next) {
        nb_scheduler *scheduler = NB_LIST_ENTRY(link, nb_scheduler, all);
        if (scheduler->above == above && !is_garbage(scheduler)) return scheduler;
    }
    return NULL;
}

void nb_scheduler_set_above(nb_scheduler *scheduler, VALUE above) {
    beneath_count -= !NIL_P(scheduler->above);
    beneath_count += !NIL_P(above);
    scheduler->above = above;
}

nb_scheduler *nb_scheduler_of_thread(void) {
    VALUE self = rb_fiber_scheduler_get();
    if (NIL_P(self)) return NULL;
    bool ours = rb_typeddata_is_kind_of(self, &scheduler_type);
    nb_scheduler *scheduler = ours ? RTYPEDDATA_DATA(self) : beneath(self);
    if (scheduler == NULL) return NULL;
    return scheduler->fork_generation == nb_fork_generation ? scheduler : NULL;
}

nb_status nb_scheduler_watch_source(nb_scheduler *scheduler) {
    return nb_poll_add(scheduler->watches.poll, scheduler->source.wake_fd, NB_POLL_READ | NB_POLL_EDGE,
                       NB_COOKIE_SOURCE);
}

static nb_status open_poller(nb_scheduler *scheduler) {
    nb_status status = nb_wake_init(&scheduler->sleeper.wake);
    if (status != NB_OK) return status;
    status = nb_poll_create(NULL, &scheduler->watches.poll);
    if (status != NB_OK) return status;
    status = nb_poll_add(scheduler->watches.poll, scheduler->sleeper.wake.read_fd, NB_POLL_READ, NB_COOKIE_WAKE);
    return status == NB_OK && scheduler->attached ? nb_scheduler_watch_source(scheduler) : status;
}

void nb_scheduler_open(nb_scheduler *scheduler) {
    if (scheduler->watches.poll) return;
    nb_status status = open_poller(scheduler);
    if (status == NB_OK) return;
    int error = errno;
    nb_scheduler_release(scheduler);
    if (status == NB_SYSTEM) rb_syserr_fail(error, "NeverBlock::Scheduler");
    rb_memerror();
}

void nb_scheduler_release(nb_scheduler *scheduler) {
    scheduler->starter.fiber = scheduler->starter.thread = Qnil;
    if (scheduler->fork_generation == nb_fork_generation) nb_inbox_mute(scheduler->inbox);
    nb_watches_unregister(scheduler);
    nb_poll_destroy(scheduler->watches.poll);
    scheduler->watches.poll = NULL;
    if (scheduler->sleeper.wake.read_fd >= 0) nb_wake_deinit(&scheduler->sleeper.wake);
    scheduler->sleeper.wake = (nb_wake){-1, -1};
}

void nb_scheduler_drop(nb_scheduler *scheduler) {
    if (NIL_P(scheduler->loop_fiber)) nb_watches_forget(scheduler);
    nb_scheduler_release(scheduler);
}

/* --- Fork --- */

/* In a child only the fiber that has forked lives on. The waits of the others are unlinked, in case
   something still ends them. The parent's epoll is closed unchanged, as its registrations belong to
   both processes. */
void nb_scheduler_forget(nb_scheduler *scheduler) {
    for (size_t i = 0; i < scheduler->parked.capacity; i++) {
        for (nb_wait *wait = scheduler->parked.slots[i].wait; wait; wait = wait->outer) {
            nb_list_init(&wait->link);
        }
    }
    for (size_t i = 1; i <= scheduler->timers.count; i++)
        scheduler->timers.slots[i].timer->index = 0;
    while (!nb_list_empty(&scheduler->expired))
        nb_list_remove(scheduler->expired.next);
    while (!nb_list_empty(&scheduler->blocks))
        nb_list_remove(scheduler->blocks.next);
    nb_children_forget(scheduler);
    while (!nb_list_empty(&scheduler->files))
        nb_list_remove(scheduler->files.next);
    /* there is no other loop */
    atomic_store_explicit(&nb_sleepers_want_gvl, 0, memory_order_relaxed);
    scheduler->fork_generation = nb_fork_generation;
    scheduler->deferred = Qnil;
    scheduler->expecting = Qnil;
    scheduler->starter = (nb_starter){Qnil, Qnil, Qnil};
    nb_scheduler_set_above(scheduler, Qnil);
    scheduler->relay = Qnil;
    scheduler->relayed = NULL;
    scheduler->attached = false;
    scheduler->sleeper.sleeping = false;
    atomic_store_explicit(&scheduler->sleeper.asleep, false, memory_order_relaxed);
    scheduler->pending_tag = 0;
    scheduler->preempt_disabled = scheduler->heap.long_requests = 0;
    scheduler->resumes = NULL;
    scheduler->question = NB_ASKS_NOTHING;
    scheduler->resumed_in = (nb_resumed_in){0};
    nb_timeslices_close(scheduler);
    scheduler->lock_yielders = scheduler->shields = scheduler->regions = scheduler->ready_count = 0;
    nb_parked_deinit(&scheduler->parked);
    nb_timers_deinit(&scheduler->timers);
    init_lists(scheduler);
    nb_watches_forget(scheduler);
    nb_watches_deinit(scheduler);
    scheduler->inbox = NULL; /* left as it is: a thread of the parent may have locked it */
    nb_scheduler_release(scheduler);
}

/* --- All of the process --- */

nb_scheduler *nb_scheduler_next(const nb_scheduler *scheduler, volatile VALUE *held) {
    nb_list *link = scheduler ? scheduler->all.next : all_schedulers.next;
    for (; link != &all_schedulers; link = link->next) {
        nb_scheduler *next = NB_LIST_ENTRY(link, nb_scheduler, all);
        if (is_garbage(next)) continue;
        *held = next->self;
        return next;
    }
    return NULL;
}

VALUE nb_object_define(VALUE module) {
    rb_gc_register_address(&nb_scheduler_class);
    nb_scheduler_class = rb_define_class_under(module, "Scheduler", rb_cObject);
    rb_define_alloc_func(nb_scheduler_class, scheduler_alloc);
#ifndef HAVE_RB_OBJSPACE_GARBAGE_OBJECT_P
    id_state = rb_intern("state");
    id_marking = rb_intern("marking");
    id_sweeping = rb_intern("sweeping");
#endif
    return nb_scheduler_class;
}
