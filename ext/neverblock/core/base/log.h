/*
 * log.h - writes lines to a descriptor without ever blocking the caller: a bounded buffer, and one
 * native thread that writes.
 *
 * When the reader of the descriptor has stopped (a full pipe), lines are dropped and counted. The
 * count is written as soon as there is room ("neverblock: TIME warning: 17 log lines dropped: the
 * reader of this log is too slow").
 *
 * Threads: any, with or without Ruby's lock.
 */
#ifndef NB_BASE_LOG_H
#define NB_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

#define NB_LOG_TIME_BYTES 40u
#define NB_LOG_BUFFER_BYTES (1u << 20) /* about 5000 lines; beyond it lines are dropped */

typedef struct nb_log nb_log;

/* fd is borrowed. The thread starts with the first line. */
nb_status nb_log_create(int fd, nb_log **log);
/* Writes one or more whole lines, all or none. NULL is fine: nothing is written. */
void nb_log_write(nb_log *log, const char *bytes, size_t size);
/* printf for the core's own lines, in the form of lib/neverblock/log/text.rb: "neverblock:
   2026-11-21T18:03:26.000Z LEVEL: " before, a newline after. At most 500 bytes; control characters
   but tabs become '?'. NULL is fine. nb_log_line writes at level warning. */
void nb_log_line(nb_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nb_log_info(nb_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True: a warning that could come with every request is to be written now: the first time, then
   once in NB_LOG_AGAIN_NS. *told_ns: 0 before the first. */
#define NB_LOG_AGAIN_NS INT64_C(60000000000)
bool nb_log_due(int64_t *told_ns, int64_t now_ns);
/* The time as entries have it: "2026-11-21T18:03:26.000Z". wall_ns: nb_clock_wall_ns. */
void nb_log_time(char out[NB_LOG_TIME_BYTES], int64_t wall_ns);
/* Makes bytes from outside fit for a line: printable ASCII stays, all else becomes \\xNN, and the
   rest is cut off. `out` gets a NUL. */
#define NB_LOG_NAME_BYTES 256u
void nb_log_name(char out[NB_LOG_NAME_BYTES], nb_slice bytes);
uint64_t nb_log_dropped(const nb_log *log);
/* Lines dropped by all logs of this process. */
uint64_t nb_log_dropped_by_all(void);
/* Waits until all is written, at most timeout_ms. */
void nb_log_flush(nb_log *log, unsigned timeout_ms);
/* Flushes (at most 1 s) and ends the thread. A thread stuck in write(2) is left behind. NULL is
   fine. */
void nb_log_destroy(nb_log *log);

/* Writes what every line begins with ("neverblock: TIME LEVEL: "), ended by NUL. Returns its
   length. */
size_t nb_log_begin_line(char *line, size_t room, const char *level);

#endif
