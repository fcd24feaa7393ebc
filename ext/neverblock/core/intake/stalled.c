/*
 * stalled.c - see stalled.h.
 */
#include "intake/stalled.h"

#include <string.h>

void nb_stalled_write(nb_stalled *stalled, const char *method, const char *path) {
    uint32_t written = atomic_load_explicit(&stalled->written, memory_order_relaxed);
    uint32_t read = atomic_load_explicit(&stalled->read, memory_order_acquire);
    if (written - read >= NB_STALLED_ROWS) return;
    size_t method_bytes = strlen(method) + 1, path_bytes = strlen(path) + 1;
    nb_stalled_row *row = &stalled->rows[written % NB_STALLED_ROWS];
    if (method_bytes > sizeof(row->method) || path_bytes > sizeof(row->path)) return;
    memcpy(row->method, method, method_bytes);
    memcpy(row->path, path, path_bytes);
    atomic_store_explicit(&stalled->written, written + 1, memory_order_release);
}

bool nb_stalled_read(nb_stalled *stalled, nb_stalled_row *row) {
    uint32_t read = atomic_load_explicit(&stalled->read, memory_order_relaxed);
    if (read == atomic_load_explicit(&stalled->written, memory_order_acquire)) return false;
    *row = stalled->rows[read % NB_STALLED_ROWS];
    row->method[sizeof(row->method) - 1] = row->path[sizeof(row->path) - 1] = '\0';
    atomic_store_explicit(&stalled->read, read + 1, memory_order_release);
    return true;
}
