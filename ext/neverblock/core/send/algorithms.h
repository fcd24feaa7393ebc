/*
 * algorithms.h - the algorithms that send files, by name and by number: four of the core, and those
 * that gems add (include/neverblock.h).
 *
 * One table for the process. One thread adds, before a server starts. Any thread may read.
 */
#ifndef NB_SEND_ALGORITHMS_H
#define NB_SEND_ALGORITHMS_H

#include <stdint.h>

#include "base/status.h"
#include "include/neverblock.h"

/* The core's and those of gems. Numbers begin at 1. */
#define NB_ALGORITHMS_MAX 16u

/* In place of a number: the server's setting decides. */
#define NB_ALGORITHM_DEFAULT 0u

extern const nb_algorithm nb_algorithm_auto, nb_algorithm_eba, nb_algorithm_enba, nb_algorithm_sba;

/* *number: of the new algorithm. The table is borrowed until the process ends. NB_INVALID: another
 * ABI, no `step`, an invalid name, or too much state. NB_EXISTS: the name is taken. NB_FULL. */
nb_status nb_algorithms_add(const nb_algorithm *algorithm, uint16_t *number);
/* NB_ALGORITHM_DEFAULT: there is none of that name. */
uint16_t nb_algorithms_find(const char *name);
/* NULL: no such number. */
const nb_algorithm *nb_algorithms_get(uint16_t number);
uint16_t nb_algorithms_count(void);

#endif
