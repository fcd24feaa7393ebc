/*
 * open_beneath.h - roots: folders under which files are served; opens a file there without leaving
 * the folder. Any thread.
 *
 * On Linux by openat2(2). Else by a walk that opens one name after the other without following
 * links, and follows them by hand. EPERM from openat2 (seccomp filters of containers) counts as
 * absent, like ENOSYS.
 */
#ifndef NB_OS_OPEN_BENEATH_H
#define NB_OS_OPEN_BENEATH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "os/symlinks.h"

/* An open folder. It does not change once it is made; the last holder closes it. */
typedef struct nb_root {
    _Atomic uint32_t holders;
    int fd;
    nb_symlinks symlinks;
    uint64_t device, inode;
    uint32_t real_bytes; /* of `real` */
    char *real;          /* its path without links at the time of opening; stored behind `path` */
    char path[];         /* as given */
} nb_root;

/* Opens an absolute path; the caller is the one holder. Blocks for the disk. NB_SYSTEM: errno,
   ENOTDIR for what is no folder. NB_NO_MEMORY. */
nb_status nb_root_open(const char *path, nb_symlinks symlinks, nb_root **root);
nb_root *nb_root_hold(nb_root *root);
/* NULL is fine. */
void nb_root_release(nb_root *root);
/* Checks by one system call that the folder's path still leads to it. NB_NOT_FOUND: it leads to
   another folder. NB_SYSTEM: errno; it leads to none. */
nb_status nb_root_check(const nb_root *root);

/* Identity of a file's content. Two openings with equal facts have the same bytes, as far as the
   file system tells. */
typedef struct nb_file_facts {
    uint64_t size; /* bytes */
    /* Since 1970; changed_ns also moves with the owner, the mode and the name. */
    int64_t modified_ns, changed_ns;
    uint64_t device, inode;
} nb_file_facts;

static inline bool nb_file_facts_equal(const nb_file_facts *a, const nb_file_facts *b) {
    return a->inode == b->inode && a->changed_ns == b->changed_ns && a->modified_ns == b->modified_ns &&
           a->size == b->size && a->device == b->device;
}

/* Reads the facts of an open file. NB_SYSTEM: errno; EISDIR for a folder, ENXIO for a FIFO, a
   device, a socket. */
nb_status nb_file_facts_read(int fd, nb_file_facts *facts);

/*
 * Opens `path` under the root for reading: relative, without empty, "." and ".." segments,
 * NUL-terminated. O_NONBLOCK (a FIFO does not block), O_NOCTTY, O_CLOEXEC.
 *
 * ready_only: for a loop's thread. NB_AGAIN: the disk may be needed, or a link followed by hand;
 * ask again without on a worker. Where openat2 has no RESOLVE_CACHED (before Linux 5.12,
 * nb_openat2_probe), one fstatat(2) tells what is not there, at the risk of the disk. errno with
 * NB_AGAIN: EAGAIN when it is not known whether there is such a file. NB_OK: a regular file; *fd
 * is the caller's, *facts are of this descriptor. NB_SYSTEM, errno: ENOENT, ENOTDIR, ENAMETOOLONG
 * no such file EISDIR a folder; also for the empty path, which is the root itself EACCES the file,
 * or a folder on the way, may not be read EXDEV a link that `symlinks` refuses: log it with that
 * name ELOOP too many links ENXIO a FIFO, a device, a socket EMFILE, ENFILE, ENOMEM, EIO ... what
 * their names say
 */
nb_status nb_open_beneath(const nb_root *root, const char *path, bool ready_only, int *fd, nb_file_facts *facts);

/* Finds by one system call what `path` leads to now, through any links. A holder of a file opened
   under the policy compares its facts. NB_SYSTEM: errno; EISDIR, ENXIO as above. Names that were
   open lately need no disk, except on a network file system. */
nb_status nb_stat_beneath(const nb_root *root, const char *path, nb_file_facts *facts);

#endif
