/*
 * open_file.c - see open_file.h.
 */
#include "files/open_file.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"

nb_status nb_file_wrap(int fd, nb_file **result) {
    nb_file *file = nb_alloc_zero(1, sizeof(*file));
    if (!file) {
        close(fd);
        return NB_NO_MEMORY;
    }
    atomic_init(&file->holders, 1);
    file->fd = fd;
    *result = file;
    return NB_OK;
}

nb_file *nb_file_hold(nb_file *file) {
    uint32_t before = atomic_fetch_add_explicit(&file->holders, 1, memory_order_relaxed);
    NB_ASSERT(before > 0 && before < UINT32_MAX);
    return file;
}

void nb_file_release(nb_file *file) {
    if (!file || atomic_fetch_sub_explicit(&file->holders, 1, memory_order_acq_rel) > 1) return;
    close(file->fd);
    nb_free(file);
}
