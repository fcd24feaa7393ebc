/*
 * pattern_file.c - see pattern_file.h.
 */
#include "support/pattern_file.h"

#include <stdlib.h>

#include "os/file.h"
#include "support/pattern.h"

int nb_test_pattern_file(uint64_t bytes) {
    int fd;
    char block[65536];
    if (nb_file_temporary("/tmp", &fd) != NB_OK) abort();
    for (uint64_t at = 0; at < bytes;) {
        size_t size = bytes - at < sizeof block ? (size_t)(bytes - at) : sizeof block;
        nb_test_pattern_copy(block, at, size);
        if (nb_file_write_all(fd, block, size) != NB_OK) abort();
        at += size;
    }
    return fd;
}
