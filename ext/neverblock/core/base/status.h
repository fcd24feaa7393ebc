/*
 * status.h - the one list of outcomes that the core returns.
 *
 * Every function that can fail returns nb_status and gives its result through out-pointers, which
 * stay untouched on failure. NB_SYSTEM: see errno, as the system call left it. nb_status_name and
 * nb_status_text are for logs and exceptions. Both return static strings, never NULL.
 */
#ifndef NB_BASE_STATUS_H
#define NB_BASE_STATUS_H

/*        name                 text for people */
#define NB_STATUS_LIST(X)                                         \
    X(NB_OK, "done")                                              \
    X(NB_AGAIN, "would block: wait for readiness and call again") \
    X(NB_INCOMPLETE, "more input bytes are needed")               \
    X(NB_EOF, "the peer ended the stream")                        \
    X(NB_NO_MEMORY, "out of memory")                              \
    X(NB_FULL, "a bounded queue or buffer is full")               \
    X(NB_OVER_LIMIT, "an element is larger than its limit")       \
    X(NB_INVALID, "malformed input")                              \
    X(NB_SYSTEM, "a system call failed, see errno")               \
    X(NB_CLOSED, "already closed")                                \
    X(NB_TIMEOUT, "the deadline passed")                          \
    X(NB_NOT_FOUND, "no such thing")                              \
    X(NB_EXISTS, "already there")                                 \
    X(NB_UNSUPPORTED, "not supported on this system")

typedef enum nb_status {
#define NB_STATUS_ENUM(name, text) name,
    NB_STATUS_LIST(NB_STATUS_ENUM)
#undef NB_STATUS_ENUM
} nb_status;

const char *nb_status_name(nb_status status);
const char *nb_status_text(nb_status status);

#endif
