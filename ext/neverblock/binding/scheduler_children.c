/*
 * scheduler_children.c - Scheduler#run and #close inside a fiber of the loop. There the loop runs already, and a second one on top of it would end with the server only. So
 * the fiber waits: until those that it has scheduled itself have ended, or, where there are none, until every fiber that is ready has run once.
 */
#include "scheduler_internal.h"

typedef struct children_wait {
    nb_wait wait;
    nb_list link; /* in scheduler->awaiting */
    VALUE parent;
} children_wait;

static long count_of(const nb_scheduler *scheduler, VALUE parent) {
    if (NIL_P(scheduler->children)) return 0;
    return FIX2LONG(rb_hash_lookup2(scheduler->children, parent, INT2FIX(0)));
}

static void set_count(nb_scheduler *scheduler, VALUE parent, long count) {
    if (count > 0) {
        rb_hash_aset(scheduler->children, parent, LONG2FIX(count));
    } else {
        rb_hash_delete(scheduler->children, parent);
    }
}

VALUE nb_children_begin(nb_scheduler *scheduler) {
    VALUE parent = nb_root_now(scheduler);
    if (NIL_P(parent)) return Qnil;
    if (NIL_P(scheduler->children)) scheduler->children = rb_obj_hide(rb_hash_new());
    set_count(scheduler, parent, count_of(scheduler, parent) + 1);
    return parent;
}

/* In a forked child nothing is counted any more. */
void nb_children_end(nb_scheduler *scheduler, VALUE parent) {
    long count = NIL_P(parent) ? 0 : count_of(scheduler, parent);
    if (count == 0) return;
    set_count(scheduler, parent, --count);
    for (nb_list *link = scheduler->awaiting.next; count == 0 && link != &scheduler->awaiting; link = link->next) {
        children_wait *waiter = NB_LIST_ENTRY(link, children_wait, link);
        if (waiter->parent == parent) nb_wait_wake(&waiter->wait, NB_WOKEN);
    }
}

static void leave_children(nb_wait *wait) { nb_list_remove(&((children_wait *)wait)->link); }

static void await_once(nb_scheduler *scheduler, VALUE parent, int64_t deadline_ns) {
    children_wait waiter = {.parent = parent};
    nb_wait_init(&waiter.wait, scheduler, NB_WAIT_BLOCK);
    nb_list_append(&scheduler->awaiting, &waiter.link);
    waiter.wait.leave = leave_children;
    nb_wait_park(&waiter.wait, deadline_ns);
}

void nb_children_await(nb_scheduler *scheduler) {
    VALUE parent = nb_root_now(scheduler);
    await_once(scheduler, parent, nb_loop_clock(scheduler));
    while (count_of(scheduler, parent) > 0)
        await_once(scheduler, parent, INT64_MAX);
}
