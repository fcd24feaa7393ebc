/*
 * children.c - Scheduler#run and #close inside a fiber of the loop. There the loop runs
 * already, and a second one on top of it would end with the server only. So the fiber waits: until
 * those that it has scheduled itself have ended, or, where there are none, until every fiber that
 * is ready has run once.
 */
#include "binding/state/state.h"

typedef struct children_wait {
    nb_wait wait;
    nb_list link; /* in scheduler->awaiting */
    VALUE parent;
} children_wait;

/* Whoever has scheduled it waits for its first wait, as the last that does. */
void nb_child_begin(nb_scheduler *scheduler, nb_child *child) {
    bool spawned = scheduler && scheduler->switched && !nb_list_empty(&scheduler->spawners);
    child->parent = spawned ? NB_LIST_ENTRY(scheduler->spawners.previous, nb_wait, link)->root : Qnil;
    child->fiber = rb_fiber_current();
    nb_list_init(&child->link);
    if (!NIL_P(child->parent)) nb_list_append(&scheduler->children, &child->link);
}

static bool has_children(const nb_scheduler *scheduler, VALUE parent) {
    const nb_list *children = &scheduler->children;
    for (const nb_list *link = children->next; link != children; link = link->next) {
        if (NB_LIST_ENTRY(link, nb_child, link)->parent == parent) return true;
    }
    return false;
}

void nb_child_end(nb_scheduler *scheduler, nb_child *child) {
    nb_list_remove(&child->link);
    if (NIL_P(child->parent)) return;
    const nb_list *awaiting = &scheduler->awaiting;
    for (nb_list *link = awaiting->next; link != awaiting; link = link->next) {
        children_wait *waiter = NB_LIST_ENTRY(link, children_wait, link);
        if (waiter->parent == child->parent) nb_wait_wake(&waiter->wait, NB_WOKEN);
    }
}

/* Both lie on the child's stack, which goes with its fiber. */
void nb_children_mark(const nb_scheduler *scheduler) {
    const nb_list *children = &scheduler->children;
    for (const nb_list *link = children->next; link != children; link = link->next) {
        rb_gc_mark(NB_LIST_ENTRY(link, nb_child, link)->fiber);
        rb_gc_mark(NB_LIST_ENTRY(link, nb_child, link)->parent);
    }
}

void nb_children_forget(nb_scheduler *scheduler) {
    while (!nb_list_empty(&scheduler->awaiting))
        nb_list_remove(scheduler->awaiting.next);
    while (!nb_list_empty(&scheduler->children))
        nb_list_remove(scheduler->children.next);
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
    while (has_children(scheduler, parent))
        await_once(scheduler, parent, INT64_MAX);
}
