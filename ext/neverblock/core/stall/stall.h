/*
 * stall.h - what is known of one stall: an executor that has run one fiber too long.
 *
 * The trace is text, the innermost line first. Each line is as in Ruby's backtraces
 * ("/srv/app.rb:12:in `flock'") and ends with a newline. Nothing in here is a Ruby object, so that
 * a stall can be told while no Ruby code can run.
 */
#ifndef NB_STALL_STALL_H
#define NB_STALL_STALL_H

#include <stdint.h>

/* Lines of a trace, the innermost. The application's own lines are among them in deep frameworks,
   too. */
#define NB_STALL_LINES_MAX 64u
#define NB_STALL_LINE_BYTES_MAX 400u /* of one line, newline included */
#define NB_STALL_TRACE_BYTES (NB_STALL_LINES_MAX * 160u)
#define NB_STALL_PATH_BYTES 200u /* of a request's path; the rest is cut off */

/* name in metrics, and words for people */
#define NB_STALL_KIND_LIST(X)                                               \
    X(ruby, "Ruby code")                                                    \
    X(gc, "garbage collection")                                             \
    X(c_call, "a C call that holds Ruby's lock")                            \
    X(blocking_call, "a blocking call")                                     \
    X(other_thread, "Ruby code of another thread, which keeps Ruby's lock") \
    X(unknown, "nobody says where: Ruby's lock is held, by this thread or another")

typedef enum nb_stall_kind {
#define NB_STALL_KIND(name, words) NB_STALL_##name,
    NB_STALL_KIND_LIST(NB_STALL_KIND)
#undef NB_STALL_KIND
        NB_STALL_KINDS
} nb_stall_kind;

/* For a value that is no kind: those of `unknown`. */
const char *nb_stall_kind_name(nb_stall_kind kind);
const char *nb_stall_kind_words(nb_stall_kind kind);

/* The request that the fiber runs; method "": the fiber runs none. */
typedef struct nb_stall_request {
    char method[24];
    char path[NB_STALL_PATH_BYTES];
    char id[129];
    uint16_t route; /* number in the table of routes; 0: none */
} nb_stall_request;

typedef struct nb_stall {
    nb_stall_kind kind;
    nb_stall_request request;
    uint32_t lines, trace_bytes;
    char trace[NB_STALL_TRACE_BYTES];
} nb_stall;

/* Adds a line; the innermost comes first. What does not fit is cut off or left out. */
void nb_stall_add_line(nb_stall *stall, const char *bytes, uint32_t size);

#endif
