/*
 * stall_places.h - whose code a line of a trace is: the application's, a gem's, or nobody's to blame
 * (this gem's own, Ruby's library).
 *
 * Places are folders, each with a name. The longest that a path begins with counts. A gem in none of
 * them is known by its folder (".../gems/NAME-VERSION/..."). All texts are copied.
 *
 * Threads: any may read; none changes the places once they are made.
 */
#ifndef NB_STALL_STALL_PLACES_H
#define NB_STALL_STALL_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "stall/stall.h"

#define NB_STALL_PLACES_MAX 1024u   /* gems of an application; the next are known by their folders */
#define NB_STALL_CULPRIT_BYTES 160u /* a gem's name and version, path within it and line; cut at its beginning */
#define NB_STALL_METHOD_BYTES 80u

typedef enum nb_stall_owner {
    NB_STALL_OURS,        /* this gem, or Ruby's library: never to blame */
    NB_STALL_APPLICATION, /* shown by its path in there */
    NB_STALL_GEM,         /* shown by the gem's name and its path in there */
} nb_stall_owner;

typedef struct nb_stall_places nb_stall_places;

nb_status nb_stall_places_create(nb_stall_places **places);
/* folder: without a slash at its end. NB_FULL, NB_NO_MEMORY. */
nb_status nb_stall_places_add(nb_stall_places *places, nb_stall_owner owner, const char *folder, const char *name);
/* NULL is fine. */
void nb_stall_places_destroy(nb_stall_places *places);

typedef struct nb_stall_culprit {
    char at
        [NB_STALL_CULPRIT_BYTES]; /* "bcrypt-3.1.20 lib/bcrypt/engine.rb:53", "app/models/user.rb:7"; "" when there is no trace */
    char in[NB_STALL_METHOD_BYTES]; /* what ran, by the innermost line: "flock" */
    bool prompt;                    /* somebody sits at a debugger's or a console's prompt: no stall */
} nb_stall_culprit;

/* The innermost line that is of the application or a gem; where there is none, the innermost. */
void nb_stall_places_blame(const nb_stall_places *places, const nb_stall *stall, nb_stall_culprit *culprit);

#endif
