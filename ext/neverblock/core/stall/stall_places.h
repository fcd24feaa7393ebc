/*
 * stall_places.h - whose code a line of a trace is: the application's, a gem's, or one that is
 * never to blame (this gem's, Ruby's own library).
 *
 * Places are folders, each with a name. The longest folder that a path begins with counts. A gem in
 * none of them is known by its folder (".../gems/NAME-VERSION/..."). All texts are copied.
 *
 * Threads: any thread may read. The places do not change once all are added.
 */
#ifndef NB_STALL_STALL_PLACES_H
#define NB_STALL_STALL_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"
#include "base/status.h"
#include "stall/stall.h"

#define NB_STALL_PLACES_MAX 1024u
/* A gem's name and version, the path within it, and the line. A longer one loses its beginning. */
#define NB_STALL_CULPRIT_BYTES 160u
#define NB_STALL_METHOD_BYTES 80u

typedef enum nb_stall_owner {
    NB_STALL_OURS,        /* this gem, or Ruby's library: never to blame */
    NB_STALL_APPLICATION, /* shown by its path in the folder */
    NB_STALL_GEM,         /* shown by the gem's name and its path in the folder */
} nb_stall_owner;

typedef struct nb_stall_places nb_stall_places;

nb_status nb_stall_places_create(nb_stall_places **places);
/* Adds a folder. folder: without a slash at its end. NB_FULL, NB_NO_MEMORY. */
nb_status nb_stall_places_add(nb_stall_places *places, nb_stall_owner owner, const char *folder, const char *name);
/* NULL is allowed. */
void nb_stall_places_destroy(nb_stall_places *places);

typedef struct nb_stall_culprit {
    /* "bcrypt-3.1.20 lib/bcrypt/engine.rb:53", "app/models/user.rb:7"; "": there is no trace */
    char at[NB_STALL_CULPRIT_BYTES];
    /* the innermost line of the application: "app/models/user.rb:7"; "": there is none */
    char application[NB_STALL_CULPRIT_BYTES];
    char in[NB_STALL_METHOD_BYTES]; /* the method of the innermost line: "flock" */
    /* a debugger or a console waits for input: no stall */
    bool prompt;
} nb_stall_culprit;

/* Finds the culprit: the innermost line that belongs to the application or a gem. If there is none,
   it is the innermost line. */
void nb_stall_places_blame(const nb_stall_places *places, const nb_stall *stall, nb_stall_culprit *culprit);

/* Writes the line that the culprit is known by and, below it, the trace: for those who look at the
 * server (intake/fiber_table.h). out: NB_STALL_SHOWN_BYTES. */
#define NB_STALL_SHOWN_BYTES (NB_STALL_CULPRIT_BYTES + NB_STALL_TRACE_BYTES + 2u)
nb_slice nb_stall_show(char *out, const nb_stall *stall, const nb_stall_culprit *culprit);

/* Whose file this is: a path as it stands in a trace. */
nb_stall_owner nb_stall_places_owner(const nb_stall_places *places, nb_slice path);
/* Whether a line of a trace, without its newline, belongs to the application. */
bool nb_stall_places_application(const nb_stall_places *places, nb_slice line);

#endif
