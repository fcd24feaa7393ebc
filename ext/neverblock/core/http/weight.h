/*
 * weight.h - weights of Accept and its like (RFC 9110 section 12.4.2).
 */
#ifndef NB_HTTP_WEIGHT_H
#define NB_HTTP_WEIGHT_H

#include "base/slice.h"

/* Thousandths. */
#define NB_WEIGHT_MAX 1000
#define NB_WEIGHT_NONE (-1)

/* What stands behind "q=", in thousandths. NB_WEIGHT_NONE: it is no weight. */
static inline int nb_weight_read(nb_slice text) {
    if (text.size == 0 || text.size > 5 || (text.data[0] != '0' && text.data[0] != '1')) return NB_WEIGHT_NONE;
    if (text.size > 1 && text.data[1] != '.') return NB_WEIGHT_NONE;
    int weight = (text.data[0] - '0') * NB_WEIGHT_MAX;
    int unit = NB_WEIGHT_MAX / 10;
    for (size_t i = 2; i < text.size; i++, unit /= 10) {
        if (text.data[i] < '0' || text.data[i] > '9') return NB_WEIGHT_NONE;
        weight += (text.data[i] - '0') * unit;
    }
    return weight > NB_WEIGHT_MAX ? NB_WEIGHT_NONE : weight;
}

#endif
