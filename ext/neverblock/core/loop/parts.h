/*
 * parts.h - what executors send back: parts of responses, taken from their rings and brought to the exchanges they are for; and what becomes of
 * those exchanges when an executor is no more. What comes from another process is looked at before it is believed. Loop's thread.
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
    uint32_t cut;    /* their responses had begun */
    uint32_t again;  /* it had not begun with them: others run them */
    uint32_t line_count;
    char lines[NB_CHANNEL_REPORT_LINES][NB_EXCHANGE_LINE_BYTES]; /* of those failed and cut */
} nb_channel_report;

/* From all executors. True when some were left for the next turn. */
bool nb_parts_take(struct nb_loop *loop);
/* The executor behind the channel is no more: what it sent is used, what it had not begun with goes to others, the rest is
   answered 502 or cut. */
void nb_parts_channel_end(struct nb_loop *loop, nb_dispatch *dispatch, nb_dispatch_channel *channel,
                          nb_channel_report *report);
/* Lines of what it runs now, at most as many as the report has room for. */
void nb_parts_channel_running(struct nb_loop *loop, const nb_dispatch *dispatch, nb_dispatch_channel *channel,
                              nb_channel_report *report);

#endif
