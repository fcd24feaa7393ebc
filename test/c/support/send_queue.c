/*
 * send_queue.c - see send_queue.h.
 */
#include "support/send_queue.h"

#include <stdlib.h>

#include "support/pattern.h"
#include "support/pattern_file.h"
#include "support/test.h"

nb_file *nb_test_queue_new_file(size_t bytes) {
    nb_file *file;
    assert_status(NB_OK, nb_file_wrap(nb_test_pattern_file(bytes), &file));
    return file;
}

void nb_test_queue_memory(nb_send_queue *queue, nb_pool *pool, size_t from, size_t bytes) {
    char *all = malloc(bytes + 1);
    nb_test_pattern_copy(all, from, bytes);
    assert_status(NB_OK, nb_send_queue_add(queue, pool, (nb_slice){all, bytes}));
    free(all);
}

void nb_test_queue_file(nb_send_queue *queue, nb_file *file, size_t offset, size_t bytes) {
    const nb_send_by by_default = {0};
    assert_status(NB_OK, nb_send_queue_add_file(queue, file, offset, bytes, by_default));
}
