/*
 * thread_words.h - the words of Ruby's struct of the running thread (vm_core.h, rb_thread_t), for
 * what Ruby exports no function for. Where something lies is looked up when the extension is
 * loaded: by a value that only the running thread has there. GVL.
 */
#ifndef NB_BINDING_THREAD_WORDS_H
#define NB_BINDING_THREAD_WORDS_H

#include <ruby.h>
#include <stddef.h>
#include <stdint.h>
#ifdef HAVE_MALLOC_USABLE_SIZE
#include <malloc.h>
#endif

#ifndef RTYPEDDATA_GET_DATA /* from Ruby 3.3 on */
#define RTYPEDDATA_GET_DATA(value) RTYPEDDATA_DATA(value)
#endif

static inline uintptr_t *nb_thread_words(void) { return (uintptr_t *)RTYPEDDATA_GET_DATA(rb_thread_current()); }

/* How many words may be read; 0: not known. */
static inline size_t nb_thread_word_count(void) {
#ifdef RTYPEDDATA_EMBEDDED_P
    if (RTYPEDDATA_EMBEDDED_P(rb_thread_current())) return 0;
#endif
#ifdef HAVE_MALLOC_USABLE_SIZE
    return malloc_usable_size(nb_thread_words()) / sizeof(uintptr_t);
#else
    return 0;
#endif
}

/* The only word with this value; nb_thread_word_count(): there is none, or another. */
static inline size_t nb_thread_word_find(uintptr_t value) {
    const uintptr_t *words = nb_thread_words();
    size_t count = nb_thread_word_count(), found = count;
    for (size_t i = 0; i < count; i++) {
        if (words[i] != value) continue;
        if (found != count) return count;
        found = i;
    }
    return found;
}

#endif
