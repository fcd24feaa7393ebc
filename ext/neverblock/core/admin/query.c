/*
 * query.c - see query.h.
 */
#include "admin/query.h"

#include <string.h>

bool nb_query_parameter(nb_slice query, const char *name, nb_slice *value) {
    size_t length = strlen(name);
    while (query.size) {
        const char *end = memchr(query.data, '&', query.size);
        size_t size = end ? (size_t)(end - query.data) : query.size;
        if (size >= length && memcmp(query.data, name, length) == 0 && (size == length || query.data[length] == '=')) {
            *value = size == length ? nb_slice_of("", 0) : nb_slice_of(query.data + length + 1, size - length - 1);
            return true;
        }
        size_t step = end ? size + 1 : size;
        query = nb_slice_of(query.data + step, query.size - step);
    }
    return false;
}
