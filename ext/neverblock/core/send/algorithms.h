/*
 * algorithms.h - the algorithms that send files, by name and number: the four of the core and those that gems add
 * (include/neverblock.h). Of the whole process. Added to on one thread before a server starts; any thread may look.
 */
#ifndef NB_SEND_ALGORITHMS_H
#define NB_SEND_ALGORITHMS_H

#include <stdint.h>

#include "base/status.h"
#include "include/neverblock.h"

/* The core's, and as many again and more of gems. Numbers are from 1. */
#define NB_ALGORITHMS_MAX 16u

/* In the place of a number: as the server's settings say. */
#define NB_ALGORITHM_DEFAULT 0u

extern const nb_algorithm nb_algorithm_auto, nb_algorithm_eba, nb_algorithm_enba, nb_algorithm_sba;

/* *number: of the new one. NB_INVALID: another ABI, no step, a name that cannot be, or too much state; NB_EXISTS: the name is
   taken; NB_FULL. */
nb_status nb_algorithms_add(const nb_algorithm *algorithm, uint16_t *number);
/* NB_ALGORITHM_DEFAULT when there is none of that name. */
uint16_t nb_algorithms_find(const char *name);
/* NULL: no such number. */
const nb_algorithm *nb_algorithms_get(uint16_t number);
uint16_t nb_algorithms_count(void);

#endif
