/*
 * stall_entry.h - a stall as entries of the log, in the shapes of lib/neverblock/log/. Written here,
 * because no Ruby code can run while a C call holds Ruby's lock.
 */
#ifndef NB_STALL_STALL_ENTRY_H
#define NB_STALL_STALL_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "stall/stall.h"
#include "stall/stall_places.h"

/* Of an entry: a trace in JSON, each byte escaped. */
#define NB_STALL_ENTRY_BYTES_MAX (8u * NB_STALL_TRACE_BYTES)

typedef struct nb_stall_voice {
    bool json;
    int worker; /* -1: there is one process */
    long pid;
    int64_t wall_ns;   /* now */
    const char *route; /* the pattern; NULL: none */
    int64_t lasted_ns; /* so far, or in all */
    uint64_t untold;   /* such stalls that were counted and not told since the last entry */
} nb_stall_voice;

/* It lasts. */
void nb_stall_entry_begun(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                          const nb_stall_culprit *culprit);
/* It is over. */
void nb_stall_entry_over(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                         const nb_stall_culprit *culprit);

#endif
