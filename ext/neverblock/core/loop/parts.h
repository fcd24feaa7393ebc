/*
 * parts.h - takes parts of responses from the rings of executors to their exchanges, and ends the
 * exchanges of an executor that is lost. What another process has written is checked before it is
 * used.
 *
 * Threads: the loop's.
 */
#ifndef NB_LOOP_PARTS_H
#define NB_LOOP_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "dispatch/dispatch.h"

struct nb_loop;

/* What became of the requests of a process that has ended. */
#define NB_CHANNEL_REPORT_LINES 10
typedef struct nb_channel_report {
    uint32_t failed; /* answered 502 */
    uint32_t cut;    /* their responses had begun and were cut */
    uint32_t again;  /* requeued: the process had not begun with them */
    uint32_t line_count;
    /* Request lines of failed and cut ones. */
    char lines[NB_CHANNEL_REPORT_LINES][NB_EXCHANGE_LINE_BYTES];
} nb_channel_report;

/* Takes parts from all executors, a bounded number in one turn. True: some were left for the next
   turn. */
bool nb_parts_take(struct nb_loop *loop);
/* Ends a channel whose executor is lost: takes what it sent, requeues what it had not begun with,
   and answers the rest 502 or cuts it. Adds to `report`. */
void nb_parts_channel_end(struct nb_loop *loop, nb_dispatch *dispatch, nb_dispatch_channel *channel,
                          nb_channel_report *report);
/* Adds request lines of what it runs now, as many as the report has room for. */
void nb_parts_channel_running(struct nb_loop *loop, const nb_dispatch *dispatch, nb_dispatch_channel *channel,
                              nb_channel_report *report);

#endif
