/*
 * stalled.c - see stalled.h.
 */
#include "intake/stalled.h"

#include <string.h>

void nb_stalled_tell(nb_stalled *stalled, const char *method, const char *path) {
    uint32_t told = atomic_load_explicit(&stalled->told, memory_order_relaxed);
    uint32_t heard = atomic_load_explicit(&stalled->heard, memory_order_acquire);
    if (told - heard >= NB_STALLED_ROWS) return;
    size_t method_bytes = strlen(method) + 1, path_bytes = strlen(path) + 1;
    nb_stalled_row *row = &stalled->rows[told % NB_STALLED_ROWS];
    if (method_bytes > sizeof(row->method) || path_bytes > sizeof(row->path)) return;
    memcpy(row->method, method, method_bytes);
    memcpy(row->path, path, path_bytes);
    atomic_store_explicit(&stalled->told, told + 1, memory_order_release);
}

bool nb_stalled_hear(nb_stalled *stalled, nb_stalled_row *row) {
    uint32_t heard = atomic_load_explicit(&stalled->heard, memory_order_relaxed);
    if (heard == atomic_load_explicit(&stalled->told, memory_order_acquire)) return false;
    *row = stalled->rows[heard % NB_STALLED_ROWS];
    row->method[sizeof(row->method) - 1] = row->path[sizeof(row->path) - 1] = '\0';
    atomic_store_explicit(&stalled->heard, heard + 1, memory_order_release);
    return true;
}
