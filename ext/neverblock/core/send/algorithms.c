/*
 * algorithms.c - see algorithms.h.
 */
#include "send/algorithms.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static const nb_algorithm *algorithms[NB_ALGORITHMS_MAX] = {&nb_algorithm_auto, &nb_algorithm_eba, &nb_algorithm_enba,
                                                            &nb_algorithm_sba};
static _Atomic uint16_t count = 4;

static bool is_name(const char *name) {
    size_t bytes = name ? strnlen(name, NB_ALGORITHM_NAME_BYTES_MAX + 1) : 0;
    if (bytes == 0 || bytes > NB_ALGORITHM_NAME_BYTES_MAX || *name < 'a' || *name > 'z') return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == bytes;
}

static bool is_possible(const nb_algorithm *algorithm) {
    return algorithm->abi == NB_ALGORITHM_ABI && algorithm->bytes >= sizeof(*algorithm) && is_name(algorithm->name) &&
           algorithm->step && algorithm->state_bytes <= NB_ALGORITHM_STATE_BYTES_MAX &&
           algorithm->runs <= NB_RUNS_ON_WORKERS;
}

nb_status nb_algorithms_add(const nb_algorithm *algorithm, uint16_t *number) {
    if (!is_possible(algorithm)) return NB_INVALID;
    if (nb_algorithms_find(algorithm->name) != NB_ALGORITHM_DEFAULT) return NB_EXISTS;
    uint16_t place = nb_algorithms_count();
    if (place == NB_ALGORITHMS_MAX) return NB_FULL;
    algorithms[place] = algorithm;
    atomic_store_explicit(&count, (uint16_t)(place + 1), memory_order_release);
    *number = (uint16_t)(place + 1);
    return NB_OK;
}

uint16_t nb_algorithms_find(const char *name) {
    for (uint16_t number = nb_algorithms_count(); number > 0; number--) {
        if (strcmp(algorithms[number - 1]->name, name) == 0) return number;
    }
    return NB_ALGORITHM_DEFAULT;
}

const nb_algorithm *nb_algorithms_get(uint16_t number) {
    return number > 0 && number <= nb_algorithms_count() ? algorithms[number - 1] : NULL;
}

uint16_t nb_algorithms_count(void) { return atomic_load_explicit(&count, memory_order_acquire); }
