/*
 * response_head.h - the head of a response while it is gathered: its field lines, and what the
 * server takes for itself out of the application's fields.
 *
 * Names and values are checked here, so that no application puts a line of its own into a response
 * (header injection). All functions run in the task's fiber and do not park it. Those that add
 * raise NeverBlock::Error for a field that breaks the rules of HTTP, and NoMemoryError.
 */
#ifndef NB_BINDING_RESPONSE_HEAD_H
#define NB_BINDING_RESPONSE_HEAD_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "binding/ports/executor_state.h"

/* Bytes of all field lines of one response. A ring record holds them; no real response comes
   near. */
#define NB_RESPONSE_FIELDS_BYTES_MAX (NB_RING_BYTES / 4)

/* Lies on the stack of the fiber that sends the response. */
typedef struct nb_response_head {
    char *bytes; /* field lines: "name: value\r\n", one after the other */
    size_t size, capacity;
    uint64_t content_length; /* NB_CONTENT_LENGTH_UNKNOWN: none was given */
    int status;
    uint16_t flags;     /* NB_RESPONSE_ */
    bool rack2;         /* the application follows Rack 2 */
    bool events;        /* its type is text/event-stream */
    bool named;         /* X-Sendfile is the server's */
    bool accelerated;   /* X-Accel-Redirect is the server's */
    bool encoded;       /* the application gave Transfer-Encoding */
    bool chunked;       /* ... which names chunked */
    bool ranged;        /* the application gave Content-Range */
    bool unranged;      /* the application gave Accept-Ranges: none */
    bool upgrade_named; /* the application gave Upgrade */
    bool timing_added;  /* Server-Timing was added, or is not to be */
    uint16_t naming;    /* nb_naming of `path` */
    VALUE path;         /* of X-Sendfile or X-Accel-Redirect, or Qfalse */
    VALUE id;           /* of X-Download-Id, or Qfalse */
    VALUE protocol;     /* of rack.protocol, or Qfalse */
    /* called with the connection: rack.hijack, the body of an upgrade, or Qfalse */
    VALUE hijack;
    VALUE name;     /* of the field that is being added */
    VALUE left_out; /* Array of names that begin with "rack." and mean nothing, or Qfalse */
    /* the writer that the application has (rack/body_writer.h), or Qfalse */
    VALUE block;
    int fd; /* of a body's file; the head's until it is sent; -1: none */
} nb_response_head;

/* The bytes of a String; valid while nobody changes it. */
static inline nb_slice nb_string_slice(VALUE string) {
    return (nb_slice){RSTRING_PTR(string), (size_t)RSTRING_LEN(string)};
}

/* Takes the executor's buffer for the field lines. A task that parks keeps it, and another task
   makes its own meanwhile. */
void nb_response_head_take(nb_executor *executor, nb_response_head *gathered);
/* Gives the buffer back to the executor, or frees it. */
void nb_response_head_give_back(nb_executor *executor, nb_response_head *gathered);

/* Appends bytes as they are. */
void nb_response_head_add(nb_response_head *gathered, const char *bytes, size_t size);
/* Removes all lines of the field of this name, which is lower-case. */
void nb_response_head_remove(nb_response_head *gathered, nb_slice lower);
/* Adds the lines of the field `gathered->name` with this value: any object but an Array; nil: an
   empty value, or no line where the field means something to the server. */
void nb_response_head_add_value(nb_response_head *gathered, VALUE value);
/* Adds a field as the application gave it: the function of rb_hash_foreach. argument: an
   nb_response_head. Returns ST_CONTINUE. */
int nb_response_head_add_field(VALUE name, VALUE value, VALUE argument);

#endif
