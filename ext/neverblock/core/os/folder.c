/*
 * folder.c - see folder.h.
 */
#include "os/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file_times.h"

nb_status nb_folder_mark_read(int fd, nb_folder_mark *mark) {
    struct stat found;
    if (fstat(fd, &found) < 0) return NB_SYSTEM;
    *mark = (nb_folder_mark){nb_file_changed_ns(&found), nb_file_modified_ns(&found)};
    return NB_OK;
}

#if defined(__linux__)
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

/* File systems by statfs(2). Left out: network file systems, FUSE and those of virtual machines,
   whose times may be old, and those that ignore the case of names. */
static bool is_known(int fd) {
    static const unsigned long known[] = {
        0xef53,     /* ext2, ext3, ext4 */
        0x58465342, /* xfs */
        0x9123683e, /* btrfs */
        0xf2f52010, /* f2fs */
        0x01021994, /* tmpfs */
        0x794c7630, /* overlayfs */
    };
    struct statfs found;
    int flags = 0;
    if (fstatfs(fd, &found) < 0) return false;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL)) return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if ((unsigned long)found.f_type == known[i]) return true;
    }
    return false;
}
#else
static bool is_known(int fd) {
    (void)fd;
    return false;
}
#endif

static nb_status read_names(DIR *folder, bool (*take)(void *argument, const char *name), void *argument) {
    const struct dirent *entry;
    errno = 0;
    while ((entry = readdir(folder))) {
        if (!take(argument, entry->d_name)) return NB_FULL;
    }
    return errno == 0 ? NB_OK : NB_SYSTEM;
}

nb_status nb_folder_list(int fd, bool (*take)(void *argument, const char *name), void *argument) {
    int opened = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return NB_SYSTEM;
    DIR *folder = is_known(opened) ? fdopendir(opened) : NULL;
    if (!folder) {
        close(opened);
        return NB_UNSUPPORTED;
    }
    nb_status status = read_names(folder, take, argument);
    int error = errno;
    closedir(folder);
    errno = error;
    return status;
}
