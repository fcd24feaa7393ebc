/*
 * own_chunks.h - a body that the application has put into chunks itself (Transfer-Encoding:
 * chunked). How a body is framed is the server's affair, so its content is taken out of the chunks
 * while it is written. What was never in chunks is sent as it is.
 *
 * All functions run in the task's fiber, and do not park it.
 */
#ifndef NB_BINDING_OWN_CHUNKS_H
#define NB_BINDING_OWN_CHUNKS_H

#include <ruby.h>
#include <stdbool.h>

#include "base/slice.h"
#include "http1/chunked.h"

/* In which state a body's text is. Zeroed memory: it is sent as it is. */
typedef enum nb_own_chunks_state {
    NB_OWN_CHUNKS_NONE,
    NB_OWN_CHUNKS_HEAD, /* the head of its first chunk is not whole, if it is one */
    NB_OWN_CHUNKS_INSIDE,
    NB_OWN_CHUNKS_WHOLE,
    NB_OWN_CHUNKS_BROKEN
} nb_own_chunks_state;

typedef struct nb_own_chunks {
    nb_chunked chunked;
    nb_own_chunks_state state;
    VALUE held;         /* the text so far, in state HEAD; marked by the owner. 0: none */
    const char *reason; /* in state BROKEN */
} nb_own_chunks;

/* The body's text is in chunks, as its response says. */
void nb_own_chunks_open(nb_own_chunks *own);
/* The content of the next piece of the text, as a String of its own. The text is not kept. owner:
   the object that `own` lies in. Raises NeverBlock::Error where what began as chunks goes on as
   something else. */
VALUE nb_own_chunks_content(VALUE owner, nb_own_chunks *own, nb_slice text);
/* The text is over: what was held of it, and is content after all; Qnil: nothing. */
VALUE nb_own_chunks_rest(nb_own_chunks *own);
/* Is the last chunk there, where there are chunks? */
bool nb_own_chunks_whole(const nb_own_chunks *own);
/* Raises NeverBlock::Error for a body that is not whole. */
NORETURN(void nb_own_chunks_refuse(const nb_own_chunks *own));

#endif
