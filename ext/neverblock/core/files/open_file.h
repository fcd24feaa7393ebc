/*
 * open_file.h - an open file, shared by reference count. Holders are ranges of it in send queues,
 * the cache of open files, and whoever reads it.
 *
 * Threads: any thread may hold and release. The last holder closes the descriptor and frees the
 * struct. Nothing but `seen` changes once there is a second holder. Readers pass offsets; nobody
 * moves the descriptor's position.
 */
#ifndef NB_FILES_OPEN_FILE_H
#define NB_FILES_OPEN_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"
#include "os/open_beneath.h"

/* The parts of a file that were found in the page cache (send/sender_auto.c), one bit for each,
 * since a time. Used by the thread of the loop that sends the file. */
typedef struct nb_file_seen {
    int64_t since_ns;
    uint64_t parts;
} nb_file_seen;

typedef struct nb_file {
    _Atomic uint32_t holders;
    int fd;
    /* Set when the file is opened by its path (open_files.c); zero with nb_file_wrap. */
    nb_file_facts facts;
    nb_slice content_type;  /* borrowed from a table that outlives all files */
    nb_slice cache_control; /* borrowed from rules that outlive all files; size 0: none */
    uint8_t siblings;       /* precompressed siblings, 1 << nb_encoding each: name.zst, .br, .gz */
    nb_file_seen seen;
} nb_file;

/* Makes a file of a descriptor, with the caller as its holder. Takes the descriptor, also on
 * failure. NB_NO_MEMORY. */
nb_status nb_file_wrap(int fd, nb_file **file);
/* Adds a holder and returns the file. */
nb_file *nb_file_hold(nb_file *file);
/* Removes a holder. NULL is fine. */
void nb_file_release(nb_file *file);

#endif
