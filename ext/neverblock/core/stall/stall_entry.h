/*
 * stall_entry.h - a stall as entries of the log, in the shapes of lib/neverblock/log/. Written
 * here, because no Ruby code can run while a C call holds Ruby's lock.
 */
#ifndef NB_STALL_STALL_ENTRY_H
#define NB_STALL_STALL_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "stall/stall.h"
#include "stall/stall_places.h"

/* Lines of the application that an entry shows where it does not show the whole trace. */
#define NB_STALL_ENTRY_LINES_MAX 5u
/* The largest entry: a trace in JSON with every byte escaped. */
#define NB_STALL_ENTRY_BYTES_MAX (8u * NB_STALL_TRACE_BYTES)

typedef struct nb_stall_voice {
    bool json;
    int worker; /* number of the worker process; -1: none */
    long pid;
    int64_t wall_ns;   /* now */
    const char *route; /* the pattern; NULL: none */
    int64_t lasted_ns; /* so far, or in all */
    /* of that, for how long the thread had no processor; told where it is half or more */
    int64_t starved_ns;
    /* whose lines are the application's, which alone are shown; NULL: the whole trace is shown */
    const nb_stall_places *places;
    uint64_t untold; /* stalls of this culprit without an entry, since its last entry */
} nb_stall_voice;

/* The stall lasts: a warning with lines of its trace, and how many it leaves out. */
void nb_stall_entry_begun(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                          const nb_stall_culprit *culprit);
/* The stall is over: a line of information. */
void nb_stall_entry_over(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                         const nb_stall_culprit *culprit);

#endif
