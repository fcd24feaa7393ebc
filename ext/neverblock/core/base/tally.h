/*
 * tally.h - how often named things happened and how long they took, in fixed memory. The first
 * NB_TALLY_ROWS names have a row each; all others share one row.
 *
 * Threads: one counts; any thread or process reads. No pointer inside, so that it may lie in
 * shared memory. All zero is empty.
 */
#ifndef NB_BASE_TALLY_H
#define NB_BASE_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

#define NB_TALLY_ROWS 32u /* names, as many as a page of metrics and a reader can take in */
#define NB_TALLY_NAME_BYTES 192u
#define NB_TALLY_OTHER NB_TALLY_ROWS /* number of the shared row */

typedef struct nb_tally_row {
    _Atomic uint64_t count, sum_ns;
    uint16_t kind; /* a number of the counting side */
    char name[NB_TALLY_NAME_BYTES];
} nb_tally_row;

typedef struct nb_tally {
    _Atomic uint32_t used; /* rows with a name, all complete */
    nb_tally_row rows[NB_TALLY_ROWS + 1];
} nb_tally;

/* The row of a name and kind, created if there is room. A longer name is cut. */
uint32_t nb_tally_row_of(nb_tally *tally, uint16_t kind, const char *name);
void nb_tally_count(nb_tally *tally, uint32_t row, uint64_t count, uint64_t sum_ns);
/* Adds all that `from` has. */
void nb_tally_add(nb_tally *tally, const nb_tally *from);
/* Gives it a row for each name that has one in `from`, as far as there is room. */
void nb_tally_keep_rows(nb_tally *tally, const nb_tally *from);
uint32_t nb_tally_used(const nb_tally *tally);
/* Copies a row's name as UTF-8; "" for the shared row. */
void nb_tally_copy_name(const nb_tally_row *row, char out[NB_TALLY_NAME_BYTES]);
/* The count of all rows. */
uint64_t nb_tally_total(const nb_tally *tally);

#endif
