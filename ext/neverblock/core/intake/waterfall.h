/*
 * waterfall.h - the first waits of one request, one after the other: what for, when, how long, and
 * the application's line where a trace of it was taken (intake/fiber_table.h). Those of fibers that
 * the request has started are among them, and marked.
 *
 * Memory of one size, which is used again for the next request. Waits without a place are counted.
 * Pure functions. Times are monotonic nanoseconds.
 */
#ifndef NB_INTAKE_WATERFALL_H
#define NB_INTAKE_WATERFALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "intake/fiber_table.h"

#define NB_WATERFALL_WAITS_MAX 64u
/* Traces are taken of long waits only, and few of one request. */
#define NB_WATERFALL_LINES_MAX 8u
#define NB_WATERFALL_LINE_BYTES 96u
/* No place. */
#define NB_WATERFALL_NONE UINT32_MAX

typedef struct nb_waited {
    int64_t began_ns;
    int64_t ready_ns; /* when it was over; 0: that is not known */
    int64_t ended_ns; /* when its fiber ran again; 0: it has not ended */
    uint8_t kind;     /* nb_fiber_wait_kind */
    uint8_t direction;
    uint8_t text_bytes;
    uint8_t line; /* number of its line, + 1; 0: none */
    uint32_t own; /* 1: of the request's own fiber */
    char text[NB_FIBER_TEXT_BYTES];
} nb_waited;

typedef struct nb_waterfall {
    uint32_t count, left_out;
    uint32_t line_count;
    uint32_t pad;
    char lines[NB_WATERFALL_LINES_MAX][NB_WATERFALL_LINE_BYTES]; /* with a NUL each */
    nb_waited waits[NB_WATERFALL_WAITS_MAX];
} nb_waterfall;

/* Empties it. */
void nb_waterfall_begin(nb_waterfall *waterfall);
/* A wait begins. Returns its place. facts: text, traces, and what names a fiber are not read. */
uint32_t nb_waterfall_add(nb_waterfall *waterfall, const nb_fiber_wait *facts, nb_slice text);
/* It ends. line: the application's, or empty; it is cut off. NB_WATERFALL_NONE is fine. */
void nb_waterfall_end(nb_waterfall *waterfall, uint32_t place, int64_t ready_ns, int64_t ended_ns, nb_slice line);

#endif
