/*
 * fork_locks.c - see fork_locks.h. A fiber can unlock only what it has locked. So the mutex is made
 * the running fiber's first: the first word of Ruby's mutex says who has it (thread_sync.c,
 * rb_mutex_t). Whether that is so is found out with a mutex of our own.
 */
#include "binding/fibers/fork_locks.h"

#include <stdbool.h>
#include <stdint.h>

static VALUE mutex_class;
static bool known;

static uintptr_t *owner_of(VALUE mutex) { return RTYPEDDATA_DATA(mutex); }

/* How a mutex says that the running fiber has it. */
static uintptr_t own_word(void) {
    VALUE mutex = rb_mutex_new();
    rb_mutex_lock(mutex);
    uintptr_t word = *owner_of(mutex);
    rb_mutex_unlock(mutex);
    known = word != 0 && *owner_of(mutex) == 0;
    RB_GC_GUARD(mutex);
    return word;
}

/* unlock_abandoned(mutex): unlocks what a fiber that never runs again has locked. In a child, after
   its scheduler was unset. */
static VALUE scheduler_s_unlock_abandoned(VALUE klass, VALUE mutex) {
    if (!RTEST(rb_obj_is_kind_of(mutex, mutex_class))) rb_raise(rb_eTypeError, "not a Thread::Mutex");
    uintptr_t word = own_word();
    if (!known || *owner_of(mutex) == 0) return klass;
    *owner_of(mutex) = word;
    rb_mutex_unlock(mutex);
    return klass;
}

void nb_fork_locks_define(VALUE klass) {
    rb_gc_register_address(&mutex_class);
    mutex_class = rb_path2class("Thread::Mutex");
    rb_define_singleton_method(klass, "unlock_abandoned", scheduler_s_unlock_abandoned, 1);
}
