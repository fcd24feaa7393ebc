/*
 * turn_time.h - the time of a loop's turn. A loop reads its clocks after each poll; everything up
 * to the next poll happens at that time.
 *
 * Threads: the loop's thread.
 */
#ifndef NB_HTTP_TURN_TIME_H
#define NB_HTTP_TURN_TIME_H

#include <stdint.h>

#include "http/date.h"

typedef struct nb_turn_time {
    int64_t now_ns;                     /* monotonic */
    int64_t wall_s;                     /* since 1970; -1: not read yet */
    char date_line[NB_DATE_LINE_BYTES]; /* the Date field of wall_s (RFC 9110 section 6.6.1) */
} nb_turn_time;

#endif
