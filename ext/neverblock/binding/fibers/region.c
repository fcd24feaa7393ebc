/*
 * region.c - see region.h. `regions` and `shields` say whether looking for a record is worth while.
 */
#include "binding/fibers/region.h"

#include <ruby.h>

#include "binding/state/object.h"

/* The record of regions: the number of blocks of NB.uninterrupted, and one bit for the innermost
   mask. nil: neither. */
#define MASKED 1L
#define UNINTERRUPTED 2L

static ID id_regions, id_shield;

static VALUE record(void) { return rb_thread_local_aref(rb_thread_current(), id_regions); }

static long own(void) {
    VALUE regions = record();
    return NIL_P(regions) ? 0 : FIX2LONG(regions);
}

bool nb_region_now(const nb_scheduler *scheduler) {
    return scheduler->resumed_in.region || (scheduler->regions > 0 && own() != 0);
}

bool nb_region_masks_only(const nb_scheduler *scheduler) {
    return !scheduler->resumed_in.region && scheduler->regions > 0 && own() == MASKED;
}

bool nb_region_shields(const nb_scheduler *scheduler) {
    return scheduler->shields > 0 && (scheduler->resumed_in.shield || RTEST(nb_region_shield()));
}

VALUE nb_region_shield(void) { return rb_thread_local_aref(rb_thread_current(), id_shield); }

void nb_region_set_shield(VALUE mode) { rb_thread_local_aset(rb_thread_current(), id_shield, mode); }

typedef struct region {
    nb_scheduler *scheduler;
    VALUE outer;
} region;

static VALUE yield_nothing(VALUE argument) {
    (void)argument;
    return rb_yield_values(0);
}

/* A fork in the block has set the count to 0. */
static VALUE region_end(VALUE argument) {
    const region *left = (const region *)argument;
    if (left->scheduler->regions > 0) left->scheduler->regions--;
    rb_thread_local_aset(rb_thread_current(), id_regions, left->outer);
    return Qnil;
}

static VALUE in_region(nb_scheduler *scheduler, long regions) {
    region entered = {scheduler, record()};
    VALUE self = scheduler->self;
    rb_thread_local_aset(rb_thread_current(), id_regions, regions ? LONG2FIX(regions) : Qnil);
    scheduler->regions++;
    VALUE result = rb_ensure(yield_nothing, Qnil, region_end, (VALUE)&entered);
    RB_GC_GUARD(self);
    return result;
}

/* NB.uninterrupted { } */
static VALUE uninterrupted(VALUE module) {
    (void)module;
    rb_need_block();
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler == NULL || scheduler->timeslices == NULL) return rb_yield_values(0);
    return in_region(scheduler, own() + UNINTERRUPTED);
}

/* masked(true or false) { } */
static VALUE scheduler_masked(VALUE self, VALUE masked) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_need_block();
    return in_region(scheduler, (own() & ~MASKED) | (RTEST(masked) ? MASKED : 0));
}

/* masked? -> of the running fiber's own masks */
static VALUE scheduler_is_masked(VALUE self) {
    (void)self;
    return own() & MASKED ? Qtrue : Qfalse;
}

void nb_region_define(VALUE klass, VALUE module) {
    id_regions = rb_intern("__neverblock_regions__");
    id_shield = rb_intern("__neverblock_shield__");
    rb_define_method(klass, "masked", scheduler_masked, 1);
    rb_define_method(klass, "masked?", scheduler_is_masked, 0);
    rb_define_singleton_method(module, "uninterrupted", uninterrupted, 0);
}
