/*
 * mutex.c - see mutex.h. Where in the thread the list begins is looked up with two mutexes of our
 * own. It is believed only if locking and unlocking them changes exactly that place as it must.
 */
#include "binding/hooks/mutex.h"

#include <ruby.h>
#include <ruby/version.h>
#include <stdbool.h>

#include "binding/state/serving.h"

static VALUE mutex_class;

/* mutex => how many fibers wait for it. A wait of a loop that was abandoned is never taken out; its
   mutex is kept for good. */
static VALUE awaited;

/* The first word of a mutex says who holds it, and is 0 where nobody does (thread_sync.c,
   rb_mutex_t). Mostly it points to the fiber. Both are tried with a mutex of our own. */
static bool word_known, holder_known;

#ifdef RTYPEDDATA_GET_DATA
static uintptr_t *first_word(VALUE mutex) { return RTYPEDDATA_GET_DATA(mutex); }
#else
static uintptr_t *first_word(VALUE mutex) { return RTYPEDDATA_DATA(mutex); }
#endif

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

void nb_mutexes_give_up(void) {
    if (RHASH_SIZE(awaited) == 0) return;
    for (VALUE mutex = held_and_awaited(); !NIL_P(mutex); mutex = held_and_awaited())
        rb_mutex_unlock(mutex);
}

static void define_every_ruby(VALUE klass) {
    rb_gc_register_address(&mutex_class);
    mutex_class = rb_path2class("Thread::Mutex");
    rb_gc_register_address(&awaited);
    awaited = rb_obj_hide(rb_funcall(rb_hash_new(), rb_intern("compare_by_identity"), 0));
    learn_words();
    rb_define_singleton_method(klass, "unlock_abandoned", scheduler_s_unlock_abandoned, 1);
}

uint64_t nb_mutex_holder(VALUE mutex) { return holder_known ? *first_word(mutex) : 0; }

#if RUBY_API_VERSION_MAJOR == 3 && RUBY_API_VERSION_MINOR < 3
#include <malloc.h>

/* thread_sync.c: rb_mutex_t, as far as it is looked at. */
typedef struct held_mutex held_mutex;
struct held_mutex {
    void *fiber;
    held_mutex *next;
};

static size_t list_word; /* words into rb_thread_t */
static bool known;

static void **words_of_thread(VALUE thread) { return RTYPEDDATA_DATA(thread); }

static held_mutex *mutex_of(VALUE mutex) { return RTYPEDDATA_DATA(mutex); }

/* The only word of the thread that points to the mutex, or `count`. */
static size_t find_word(void **words, size_t count, const held_mutex *mutex) {
    size_t found = count;
    for (size_t i = 0; i < count; i++) {
        if (words[i] != (const void *)mutex) continue;
        if (found != count) return count;
        found = i;
    }
    return found;
}

static bool look_up(VALUE one, VALUE other, void **words, size_t count) {
    if (find_word(words, count, mutex_of(one)) != count) return false;
    const void *before_words = NULL;

    rb_mutex_lock(one);
    list_word = find_word(words, count, mutex_of(one));
    bool right = list_word != count && mutex_of(one)->fiber == RTYPEDDATA_DATA(rb_fiber_current());
    before_words = mutex_of(one)->next;
    rb_mutex_lock(other);
    right = right && words[list_word] == (void *)mutex_of(other) && mutex_of(other)->next == mutex_of(one);
    rb_mutex_unlock(other);
    right = right && words[list_word] == (void *)mutex_of(one) && mutex_of(other)->next == NULL;
    rb_mutex_unlock(one);
    return right && words[list_word] == before_words && mutex_of(one)->fiber == NULL;
}

void nb_mutex_define(VALUE klass) {
    define_every_ruby(klass);
    VALUE one = rb_mutex_new(), other = rb_mutex_new();
    void **words = words_of_thread(rb_thread_current());
    known = look_up(one, other, words, malloc_usable_size(words) / sizeof *words);
    RB_GC_GUARD(one);
    RB_GC_GUARD(other);
}

/* Called on the thread that unlocks, which is the one that had it locked. */
void nb_mutex_unlocking(VALUE blocker) {
    if (!known || !is_mutex(blocker) || mutex_of(blocker)->fiber != NULL) return;
    held_mutex *mutex = mutex_of(blocker);
    held_mutex **link = (held_mutex **)&words_of_thread(rb_thread_current())[list_word];
    while (*link && *link != mutex)
        link = &(*link)->next;
    if (*link == NULL) return;
    *link = mutex->next;
    mutex->next = NULL;
}

#else
void nb_mutex_define(VALUE klass) { define_every_ruby(klass); }

void nb_mutex_unlocking(VALUE blocker) { (void)blocker; }
#endif
