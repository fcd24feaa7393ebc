/*
 * log.h - lines to a descriptor without ever blocking the writer: a bounded buffer and one native thread that writes.
 *
 * A descriptor whose reader has stopped (a full pipe) costs lines, never time: what does not fit is dropped and
 * counted, and the count is written
 * ("neverblock: TIME warning: 17 log lines dropped: the reader of this log is too slow") as soon as there is room. Any thread, with
 * or without Ruby's lock.
 */
#ifndef NB_BASE_LOG_H
#define NB_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

#define NB_LOG_TIME_BYTES 40u
#define NB_LOG_BUFFER_BYTES (1u << 20) /* about 5000 lines; past it lines are dropped */

typedef struct nb_log nb_log;

/* fd is borrowed. The thread starts with the first line. */
nb_status nb_log_create(int fd, nb_log **log);
/* One or more whole lines; written together or dropped together. NULL is fine: nobody reads. */
void nb_log_write(nb_log *log, const char *bytes, size_t size);
/* printf for the core's own lines, as entries of lib/neverblock/log/text.rb: "neverblock: 2026-11-21T18:03:26.000Z
 * LEVEL: " before and a newline after; 500 bytes at most, control characters but tabs shown as '?'. NULL is fine. nb_log_line
 * warns. */
void nb_log_line(nb_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nb_log_info(nb_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether a warning that might come with every request is to be written: the first, then one in NB_LOG_AGAIN_NS. *told_ns: 0 before the first. */
#define NB_LOG_AGAIN_NS INT64_C(60000000000)
bool nb_log_due(int64_t *told_ns, int64_t now_ns);
/* As entries have it: "2026-11-21T18:03:26.000Z". wall_ns: nb_clock_wall_ns. */
void nb_log_time(char out[NB_LOG_TIME_BYTES], int64_t wall_ns);
/* Bytes from outside as a line may have them: printable ASCII as it is, all else as \\xNN, the rest cut off. `out` is NUL-terminated. */
#define NB_LOG_NAME_BYTES 256u
void nb_log_name(char out[NB_LOG_NAME_BYTES], nb_slice bytes);
uint64_t nb_log_dropped(const nb_log *log);
/* By all logs of this process. */
uint64_t nb_log_dropped_by_all(void);
/* Waits until all is written, timeout_ms at most. */
void nb_log_flush(nb_log *log, unsigned timeout_ms);
/* Flushes (1 s at most) and ends the thread; a thread stuck in write(2) is left behind. NULL is fine. */
void nb_log_destroy(nb_log *log);

#endif
