/*
 * open_file.h - an open file with several holders: each range of it in a send queue, the cache of open files, whoever looks at it.
 *
 * Taken and let go of on any thread; the last holder closes the descriptor and frees the struct. What stands in it is
 * not changed once a second holder has it, but for `seen`. Nobody moves the descriptor's position: readers name their offsets.
 */
#ifndef NB_FILES_OPEN_FILE_H
#define NB_FILES_OPEN_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"
#include "os/open_beneath.h"

/* Parts of a file that were found in memory (send/sender_auto.c), one bit each, since then. Of the thread of the loop that sends it. */
typedef struct nb_file_seen {
    int64_t since_ns;
    uint64_t parts;
} nb_file_seen;

typedef struct nb_file {
    _Atomic uint32_t holders;
    int fd;
    /* The rest is set by who opens it by path (open_files.c), and zero in a file around a bare descriptor. */
    nb_file_facts facts;
    nb_slice content_type;  /* of its table, which outlives all files */
    nb_slice cache_control; /* of its rules, which outlive all files; size 0: none */
    uint8_t siblings;       /* 1 << nb_encoding for each precompressed file beside it: its name and .zst, .br, .gz */
    nb_file_seen seen;
} nb_file;

/* A file with one holder, the caller, around a bare descriptor, which it takes also on failure (and closes then). NB_NO_MEMORY. */
nb_status nb_file_wrap(int fd, nb_file **file);
/* One holder more; returns the file. */
nb_file *nb_file_hold(nb_file *file);
/* One less. NULL is fine. */
void nb_file_release(nb_file *file);

#endif
