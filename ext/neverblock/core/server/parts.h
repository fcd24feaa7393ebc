/*
 * parts.h - what executors send back: parts of responses, taken from their rings and brought to the exchanges they are for; and what becomes of
 * those exchanges when an executor is no more. What comes from another process is looked at before it is believed. Loop's thread.
 */
#ifndef NB_SERVER_PARTS_H
#define NB_SERVER_PARTS_H

#include <stdbool.h>

#include "dispatch/dispatch.h"
#include "server/server.h"

struct nb_loop;

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
