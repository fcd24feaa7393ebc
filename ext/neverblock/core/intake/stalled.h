/*
 * stalled.h - reports of requests whose calls have stalled their executor: from the watchdog's
 * thread of their process to the first I/O loop. A few rows on the board, which may lie in shared
 * memory. A report that finds no room is dropped: such requests stall again.
 *
 * All zero is empty. Threads: one writes (tell), one reads (hear).
 */
#ifndef NB_INTAKE_STALLED_H
#define NB_INTAKE_STALLED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NB_STALLED_ROWS 8u
#define NB_STALLED_METHOD_BYTES 24u
/* One less than a stall knows (stall/stall.h): a path that fits was not cut off there. */
#define NB_STALLED_PATH_BYTES 199u

typedef struct nb_stalled_row {
    char method[NB_STALLED_METHOD_BYTES];
    char path[NB_STALLED_PATH_BYTES];
} nb_stalled_row;

typedef struct nb_stalled {
    _Alignas(64) _Atomic uint32_t written, read;
    nb_stalled_row rows[NB_STALLED_ROWS];
} nb_stalled;

/* One thread. Longer names are left out, as a path that was cut off is another path. */
void nb_stalled_write(nb_stalled *stalled, const char *method, const char *path);
/* One thread. Copies the oldest row, and bounds its strings whatever the other side has written.
   False: there is none. */
bool nb_stalled_read(nb_stalled *stalled, nb_stalled_row *row);

#endif
