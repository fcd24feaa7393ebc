/*
 * mutex.c - see mutex.h. Where in the thread the list begins is looked up with two mutexes of our
 * own. It is believed only if locking and unlocking them changes exactly that place as it must.
 */
#include "binding/hooks/mutex.h"

#include <ruby.h>
#include <ruby/version.h>
#include <stdbool.h>

#include "binding/base/thread_words.h"
#include "binding/state/serving.h"

static VALUE mutex_class;

/* mutex => how many fibers wait for it. A wait of a loop that was abandoned is never taken out; its
   mutex is kept for good. */
static VALUE awaited;

/* The first word of a mutex says who holds it, and is 0 where nobody does (thread_sync.c,
   rb_mutex_t). Mostly it points to the fiber. Both are tried with a mutex of our own. */
static bool word_known, holder_known;

static uintptr_t *first_word(VALUE mutex) { return RTYPEDDATA_GET_DATA(mutex); }

/* Of a mutex that the running fiber holds. */
static uintptr_t own_word(void) {
    VALUE mutex = rb_mutex_new();
    rb_mutex_lock(mutex);
    uintptr_t word = *first_word(mutex);
    rb_mutex_unlock(mutex);
    RB_GC_GUARD(mutex);
    return word;
}

static void learn_words(void) {
    VALUE mutex = rb_mutex_new();
    uintptr_t before = *first_word(mutex), held = own_word();
    rb_mutex_lock(mutex);
    bool same = *first_word(mutex) == held;
    rb_mutex_unlock(mutex);
    word_known = before == 0 && held != 0 && same && *first_word(mutex) == 0;
    holder_known = word_known && held == nb_fiber_name(rb_fiber_current());
    RB_GC_GUARD(mutex);
}

/* unlock_abandoned(mutex): unlocks what a fiber that never runs again has locked. In a child, after
   its scheduler was unset. A fiber can unlock only what it holds, so the mutex is made its own
   first. */
static VALUE scheduler_s_unlock_abandoned(VALUE klass, VALUE mutex) {
    if (!RTEST(rb_obj_is_kind_of(mutex, mutex_class))) rb_raise(rb_eTypeError, "not a Thread::Mutex");
    if (!word_known || *first_word(mutex) == 0) return klass;
    *first_word(mutex) = own_word();
    rb_mutex_unlock(mutex);
    return klass;
}

static bool is_mutex(VALUE blocker) {
    return RB_TYPE_P(blocker, T_DATA) && RBASIC_CLASS(blocker) != 0 && RTEST(rb_obj_is_kind_of(blocker, mutex_class));
}

void nb_mutex_wait_begin(VALUE blocker) {
    if (!holder_known || !is_mutex(blocker)) return;
    VALUE count = rb_hash_lookup2(awaited, blocker, INT2FIX(0));
    rb_hash_aset(awaited, blocker, LONG2FIX(FIX2LONG(count) + 1));
}

void nb_mutex_wait_end(VALUE blocker) {
    if (RHASH_SIZE(awaited) == 0) return;
    VALUE count = rb_hash_lookup2(awaited, blocker, INT2FIX(0));
    if (FIX2LONG(count) > 1) {
        rb_hash_aset(awaited, blocker, LONG2FIX(FIX2LONG(count) - 1));
    } else {
        rb_hash_delete(awaited, blocker);
    }
}

/* --- The list of the mutexes that a thread holds --- */

/* Where a thread has the first mutex of its list, and a mutex the next one, in words. Ruby 3.4 has
   the thread in between. */
static size_t list_word, next_word;
static bool list_known;

static uintptr_t *first_held(void) { return (uintptr_t *)nb_thread_words()[list_word]; }
static uintptr_t *next_held(const uintptr_t *mutex) { return (uintptr_t *)mutex[next_word]; }

/* With `one` locked before `other`: does that one point to it, and the thread to that one? */
static bool is_linked(const uintptr_t *one, const uintptr_t *other) {
    next_word = other[1] == (uintptr_t)one ? 1 : 2;
    return first_held() == other && next_held(other) == one;
}

static bool look_up(VALUE one_mutex, VALUE other_mutex) {
    const uintptr_t *one = first_word(one_mutex), *other = first_word(other_mutex);
    size_t count = nb_thread_word_count();
    if (nb_thread_word_find((uintptr_t)one) != count) return false;

    rb_mutex_lock(one_mutex);
    list_word = nb_thread_word_find((uintptr_t)one);
    bool right = list_word != count;
    rb_mutex_lock(other_mutex);
    right = right && is_linked(one, other);
    rb_mutex_unlock(other_mutex);
    right = right && first_held() == one && next_held(other) == NULL;
    const uintptr_t *before = right ? next_held(one) : NULL;
    rb_mutex_unlock(one_mutex);
    return right && first_held() == before;
}

static void learn_list(void) {
    VALUE one = rb_mutex_new(), other = rb_mutex_new();
    list_known = holder_known && look_up(one, other);
    RB_GC_GUARD(one);
    RB_GC_GUARD(other);
}

/* --- What is given up --- */

typedef struct held_search {
    uint64_t holder;
    VALUE found;
} held_search;

static int is_held(VALUE mutex, VALUE count, VALUE argument) {
    (void)count;
    held_search *search = (held_search *)argument;
    if (nb_mutex_holder(mutex) != search->holder) return ST_CONTINUE;
    search->found = mutex;
    return ST_STOP;
}

static VALUE held_and_awaited(void) {
    held_search search = {nb_fiber_name(rb_fiber_current()), Qnil};
    rb_hash_foreach(awaited, is_held, (VALUE)&search);
    return search.found;
}

static void give_up_awaited(void) {
    if (RHASH_SIZE(awaited) == 0) return;
    for (VALUE mutex = held_and_awaited(); !NIL_P(mutex); mutex = held_and_awaited())
        rb_mutex_unlock(mutex);
}

/* One that the running fiber holds, or with `sought` that one if it does; or NULL. */
static uintptr_t *held_by_fiber(const uintptr_t *sought) {
    if (!list_known) return NULL;
    uintptr_t *held = first_held(), fiber = (uintptr_t)nb_fiber_name(rb_fiber_current());
    while (held && (*held != fiber || (sought && held != sought)))
        held = next_held(held);
    return held;
}

static VALUE gather_held(RB_BLOCK_CALL_FUNC_ARGLIST(mutex, found)) {
    (void)argc, (void)argv, (void)blockarg;
    if (is_mutex(mutex) && held_by_fiber(first_word(mutex))) rb_ary_push(found, mutex);
    return Qnil;
}

/* A fiber rarely ends so. Only a look at every object finds the mutex of an entry in the list. */
static void give_up_held(void) {
    if (held_by_fiber(NULL) == NULL) return;
    VALUE found = rb_ary_new();
    rb_block_call(rb_path2class("ObjectSpace"), rb_intern("each_object"), 1, &mutex_class, gather_held, found);
    for (long i = 0; i < RARRAY_LEN(found); i++)
        rb_mutex_unlock(rb_ary_entry(found, i));
}

void nb_mutexes_give_up(void) {
    give_up_awaited();
    give_up_held();
}

uint64_t nb_mutex_holder(VALUE mutex) { return holder_known ? *first_word(mutex) : 0; }

#if RUBY_API_VERSION_MAJOR == 3 && RUBY_API_VERSION_MINOR < 3
/* Called on the thread that unlocks, which is the one that had it locked. */
void nb_mutex_unlocking(VALUE blocker) {
    if (!list_known || !is_mutex(blocker) || *first_word(blocker) != 0) return;
    uintptr_t *mutex = first_word(blocker), *link = &nb_thread_words()[list_word];
    while (*link && *link != (uintptr_t)mutex)
        link = &((uintptr_t *)*link)[next_word];
    if (*link == 0) return;
    *link = mutex[next_word];
    mutex[next_word] = 0;
}
#else
void nb_mutex_unlocking(VALUE blocker) { (void)blocker; }
#endif

void nb_mutex_define(VALUE klass) {
    rb_gc_register_address(&mutex_class);
    mutex_class = rb_path2class("Thread::Mutex");
    rb_gc_register_address(&awaited);
    awaited = rb_obj_hide(rb_funcall(rb_hash_new(), rb_intern("compare_by_identity"), 0));
    learn_words();
    learn_list();
    rb_define_singleton_method(klass, "unlock_abandoned", scheduler_s_unlock_abandoned, 1);
}
