/*
 * top_names.h - the names at the top of a document root. A path whose first segment is not among
 * them costs no look-up; mostly it is the application's.
 *
 * Once a turn one fstat(2) of the folder tells whether names have changed: a new name is seen in
 * the next turn. Some file systems count time in seconds, so a folder that has just changed is
 * listed only after NB_TOP_NAMES_SETTLED_S. Until then every path is looked up.
 *
 * Threads: one loop's thread.
 */
#ifndef NB_FILES_TOP_NAMES_H
#define NB_FILES_TOP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "os/folder.h"
#include "os/open_beneath.h"

/* A folder with more names is not listed, as it is read on the loop's thread. */
#define NB_TOP_NAMES_MAX 1024u
#define NB_TOP_NAMES_TEXT_BYTES 32768u /* of all names */
#define NB_TOP_NAMES_SETTLED_S 2

typedef struct nb_top_names nb_top_names;

/* NULL: out of memory. NULL may be destroyed, and asked. */
nb_top_names *nb_top_names_create(void);
void nb_top_names_destroy(nb_top_names *names);

/* True: in this turn nothing under the root has that path. False: something may. path: relative.
 * now_ns: time of the turn. Lists the folder here if needed, at most once a second. It has changed
 * lately, so it is in memory. */
bool nb_top_names_lack(nb_top_names *names, const nb_root *root, nb_slice path, int64_t now_ns);
/* The root leads to another folder from now on. */
void nb_top_names_forget(nb_top_names *names);

#endif
