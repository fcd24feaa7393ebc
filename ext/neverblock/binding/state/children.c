/*
 * children.c - see children.h.
 */
#include "binding/state/children.h"

/* The fiber that has scheduled it waits for its first wait, and is the last of the spawners. */
void nb_child_begin(nb_scheduler *scheduler, nb_child *child) {
    bool spawned = scheduler && scheduler->switched && !nb_list_empty(&scheduler->spawners);
    child->parent = spawned ? NB_LIST_ENTRY(scheduler->spawners.previous, nb_wait, link)->root : Qnil;
    child->fiber = rb_fiber_current();
    nb_list_init(&child->link);
    if (!NIL_P(child->parent)) nb_list_append(&scheduler->children, &child->link);
}

bool nb_children_any(const nb_scheduler *scheduler, VALUE parent) {
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
        nb_children_wait *waiter = NB_LIST_ENTRY(link, nb_children_wait, link);
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

static void leave_children(nb_wait *wait) { nb_list_remove(&((nb_children_wait *)wait)->link); }

void nb_children_wait_init(nb_children_wait *waiter, nb_scheduler *scheduler, VALUE parent) {
    nb_wait_init(&waiter->wait, scheduler, NB_WAIT_BLOCK);
    waiter->wait.about.kind = NB_FIBER_WAIT_fibers;
    waiter->parent = parent;
    nb_list_append(&scheduler->awaiting, &waiter->link);
    waiter->wait.leave = leave_children;
}
