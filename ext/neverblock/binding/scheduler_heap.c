/*
 * scheduler_heap.c - room in Ruby's heap for many parked fibers: NeverBlock::Heap.fill and .count_malloc, and when the loop asks for it (lib/neverblock/heap.rb).
 */
#include "scheduler_internal.h"

static VALUE heap_module;
static ID id_make_room;

static VALUE heap_fill(VALUE self, VALUE count, VALUE elements, VALUE every) {
    long wanted = NUM2LONG(count), capacity = NUM2LONG(elements), step = NUM2LONG(every);
    VALUE kept = rb_ary_new();
    (void)self;
    for (long i = 0; i < wanted; i++) {
        VALUE made = rb_ary_new_capa(capacity);
        if (i % step == 0) rb_ary_push(kept, made);
    }
    return kept;
}

static VALUE heap_count_malloc(VALUE self, VALUE bytes) {
    (void)self;
    rb_gc_adjust_memory_usage(NUM2SSIZET(bytes));
    return Qnil;
}

static VALUE make_room(VALUE fibers) { return rb_funcallv(heap_module, id_make_room, 1, &fibers); }

void nb_heap_make_room(nb_scheduler *scheduler) {
    int tag = 0;
    scheduler->room_for *= 2;
    rb_protect(make_room, SIZET2NUM(scheduler->room_for), &tag);
    if (tag) rb_set_errinfo(Qnil);
}

void nb_scheduler_heap_define(VALUE module) {
    rb_gc_register_address(&heap_module);
    heap_module = rb_define_module_under(module, "Heap");
    rb_define_singleton_method(heap_module, "fill", heap_fill, 3);
    rb_define_singleton_method(heap_module, "count_malloc", heap_count_malloc, 1);
    id_make_room = rb_intern("make_room");
}
