/*
 * limit.c - see limit.h.
 */
#include "binding/scheduler/limit.h"

#include "binding/fibers/resume.h"
#include "binding/state/held_back.h"
#include "binding/state/object.h"
#include "binding/state/timeslice_state.h"
#include "binding/state/wait.h"
#include "binding/state/watches.h"

void nb_late_enter(nb_scheduler *scheduler, nb_late *late) {
    late->fiber = rb_fiber_current();
    late->since = nb_socket_uses();
    nb_list_init(&late->link);
    nb_list_append(&scheduler->blocks, &late->block);
}

void nb_late_arm(nb_scheduler *scheduler, nb_alarm *alarm, int64_t deadline_ns) {
    if (nb_timers_arm(&scheduler->timers, &alarm->timer, deadline_ns) != NB_OK) rb_memerror();
    if (scheduler->timeslices) nb_timeslices_work_comes(scheduler->timeslices);
}

void nb_late_leave(nb_late *late) {
    nb_list_remove(&late->link);
    nb_list_remove(&late->block);
}

static bool is_below(const nb_wait *wait, VALUE fiber) {
    if (wait->fiber == fiber || wait->state == NB_RESUMED) return false;
    return wait->root == fiber || nb_resume_is_above(wait->resumes, fiber);
}

/* A wait of a fiber that this one has resumed, directly or not, or NULL. Looks at all parked
   fibers. */
static nb_wait *parked_below(const nb_parked_table *table, VALUE fiber) {
    for (size_t i = 0; i < table->capacity; i++) {
        nb_wait *wait = table->slots[i].fiber == 0 ? NULL : table->slots[i].wait;
        if (wait && is_below(wait, fiber)) return wait;
    }
    return NULL;
}

/* Is it the running fiber, or has it resumed that one, directly or not? */
static bool is_above_running(const nb_scheduler *scheduler, VALUE fiber) {
    if (fiber == rb_fiber_current()) return true;
    return scheduler->switched && (fiber == scheduler->root || nb_resume_is_above(scheduler->resumes, fiber));
}

/* A wait that keeps the thread is in the table while its fiber runs. */
static bool waits_running(const nb_scheduler *scheduler) {
    return nb_parked_find(&scheduler->parked, rb_fiber_current()) != NULL;
}

/* Its own, or that of a fiber it has resumed, where what is raised comes back to it. NULL: it
   runs. */
static nb_wait *wait_of(nb_scheduler *scheduler, VALUE fiber) {
    nb_wait *wait = nb_parked_find(&scheduler->parked, fiber);
    if (wait || (is_above_running(scheduler, fiber) && !waits_running(scheduler))) return wait;
    return parked_below(&scheduler->parked, fiber);
}

void nb_late_raise(nb_scheduler *scheduler, nb_late *late) {
    nb_list_remove(&late->link);
    nb_wait *wait = wait_of(scheduler, late->fiber);
    if (wait && nb_wait_raise(wait, late->raises, &late->link)) return;
    if (wait && wait->state == NB_READY && wait->outcome == NB_RAISES && wait->late_link == &late->link) {
        wait->exception = late->raises; /* again, before the fiber's turn has come */
        return;
    }
    nb_list_append(&scheduler->expired, &late->link);
}

/* What a limit raises may have come to its fiber out of one that it had resumed, and the fiber
   deals with it now. While a block of C is left by `throw` or `break`, $! is an object of Ruby's
   own. */
static bool was_raised(const nb_late *late) {
    VALUE error = late->once ? rb_gv_get("$!") : Qnil;
    return !NIL_P(error) && !RB_TYPE_P(error, RUBY_T_IMEMO) && rb_obj_class(error) == nb_class_of_raised(late->raises);
}

nb_late *nb_late_expired(nb_scheduler *scheduler, bool waits) {
    VALUE masks = nb_masks_now(scheduler);
    for (nb_list *link = scheduler->expired.next, *next; link != &scheduler->expired; link = next) {
        next = link->next;
        nb_late *late = NB_LIST_ENTRY(link, nb_late, link);
        if (!is_above_running(scheduler, late->fiber)) continue;
        if (nb_held_back(masks, late->raises, waits)) continue;
        if (!was_raised(late)) return late;
        nb_list_remove(&late->link);
    }
    return NULL;
}

VALUE nb_late_classes(nb_scheduler *scheduler) {
    VALUE classes = rb_ary_new();
    for (nb_list *link = scheduler->expired.next; link != &scheduler->expired; link = link->next) {
        nb_late *late = NB_LIST_ENTRY(link, nb_late, link);
        if (!is_above_running(scheduler, late->fiber) || was_raised(late)) continue;
        rb_ary_push(classes, nb_class_of_raised(late->raises));
    }
    return classes;
}

/* --- limits --- */

static void limit_fire(nb_scheduler *scheduler, nb_alarm *alarm) {
    nb_limit *limit = NB_LIST_ENTRY(alarm, nb_limit, alarm);
    if (limit->raised) return;
    limit->raised = true;
    nb_late_raise(scheduler, &limit->late);
}

void nb_limit_open(nb_limit *limit, VALUE scheduler) { nb_limit_open_for(limit, scheduler, rb_fiber_current()); }

void nb_limit_open_for(nb_limit *limit, VALUE scheduler, VALUE fiber) {
    *limit = (nb_limit){.alarm = {.fire = limit_fire},
                        .late = {.raises = Qnil, .once = true},
                        .scheduler = nb_scheduler_get(scheduler)};
    nb_late_enter(limit->scheduler, &limit->late);
    limit->late.fiber = fiber;
    limit->late.since = 0;
}

void nb_limit_arm(nb_limit *limit, int64_t deadline_ns, VALUE raises) {
    limit->late.raises = raises;
    nb_late_arm(limit->scheduler, &limit->alarm, deadline_ns);
}

/* After a fork the child's timers are others: forget has set the index to 0. */
void nb_limit_disarm(nb_limit *limit) {
    if (!limit->scheduler) return;
    nb_timers_disarm(&limit->scheduler->timers, &limit->alarm.timer);
    nb_list_remove(&limit->late.link);
    limit->raised = false;
}

bool nb_limit_raise(nb_limit *limit, VALUE raises) {
    if (!limit->scheduler || limit->raised) return false;
    nb_timers_disarm(&limit->scheduler->timers, &limit->alarm.timer);
    limit->raised = true;
    limit->late.raises = raises;
    nb_late_raise(limit->scheduler, &limit->late);
    return true;
}

void nb_limit_spend(nb_limit *limit) {
    if (!limit->scheduler) return;
    nb_limit_disarm(limit);
    limit->raised = true;
}

void nb_limit_close(nb_limit *limit) {
    if (!limit->scheduler) return;
    nb_limit_disarm(limit);
    nb_late_leave(&limit->late);
    limit->scheduler = NULL;
    limit->late.raises = Qnil;
}
