/*
 * top_names.h - the names at the top of a served folder, so that a path whose first name is not among them costs no look-up: mostly it is the
 * application's. One loop's thread.
 *
 * Whether they are still all is asked once a turn, by one fstat(2) of the folder: a name that has come is seen by the next turn. A file system may count time
 * in seconds, so a folder that was changed a moment ago is not listed before NB_TOP_NAMES_SETTLED_S: until then every path is looked up.
 */
#ifndef NB_FILES_TOP_NAMES_H
#define NB_FILES_TOP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "os/folder.h"
#include "os/open_beneath.h"

#define NB_TOP_NAMES_MAX 1024u         /* a folder of more is not listed: it is read on the loop's thread */
#define NB_TOP_NAMES_TEXT_BYTES 32768u /* of all names */
#define NB_TOP_NAMES_SETTLED_S 2

typedef struct nb_top_names nb_top_names;

/* NULL: no memory. NULL may be destroyed. */
nb_top_names *nb_top_names_create(void);
void nb_top_names_destroy(nb_top_names *names);

/* True: nothing of that path is under the root, as of this turn. False: it may be. `path` is relative, now_ns that of the turn. Where the list is
   to be read anew (a second after the last time at the soonest) that is done here; it was changed lately, and is in memory. */
bool nb_top_names_lack(nb_top_names *names, const nb_root *root, nb_slice path, int64_t now_ns);
/* The root is another from here on. */
void nb_top_names_forget(nb_top_names *names);

#endif
