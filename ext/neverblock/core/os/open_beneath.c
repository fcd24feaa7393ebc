/*
 * open_beneath.c - see open_beneath.h.
 *
 * The walk keeps two texts: what is `done`, names without links below its base, and the `rest`.
 * Every name is opened with O_NOFOLLOW from the folder before it; a link puts its text in front of
 * the rest; ".." takes a name from what is done and opens it again from the base. So nothing is
 * ever reached but by names going down, and no rename beside us can lead the walk out of its base.
 * The base is the root, or "/" while a link leads outside; it is the root again when the walk
 * comes by it.
 */
#include "os/open_beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/file_times.h"
#include "os/openat2.h"

#ifndef O_PATH
#define O_PATH O_RDONLY /* without O_SEARCH a folder must be readable, not only searchable */
#endif

enum {
    LINKS_MAX = 40, /* path_resolution(7) */
    /* Names looked at in one walk, including those of links; a longer path was made to be long. */
    STEPS_MAX = 1024,
    OPENAT2_TRIES = 3, /* EAGAIN here means that something beside it was renamed */
    FILE_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
    FOLDER_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC,
};

static nb_status failed(int error) {
    errno = error;
    return NB_SYSTEM;
}

static nb_status close_failed(int fd, int error) {
    close(fd);
    return failed(error);
}

/* --- facts --- */

static nb_status facts_of(const struct stat *found, nb_file_facts *facts) {
    if (S_ISDIR(found->st_mode)) return failed(EISDIR);
    if (!S_ISREG(found->st_mode)) return failed(ENXIO);
    *facts = (nb_file_facts){
        .size = (uint64_t)found->st_size,
        .modified_ns = nb_file_modified_ns(found),
        .changed_ns = nb_file_changed_ns(found),
        .device = (uint64_t)found->st_dev,
        .inode = (uint64_t)found->st_ino,
    };
    return NB_OK;
}

nb_status nb_file_facts_read(int fd, nb_file_facts *facts) {
    struct stat found;
    return fstat(fd, &found) < 0 ? NB_SYSTEM : facts_of(&found, facts);
}

nb_status nb_stat_beneath(const nb_root *root, const char *path, nb_file_facts *facts) {
    struct stat found;
    if (*path == '\0') return failed(EISDIR);
    return fstatat(root->fd, path, &found, 0) < 0 ? NB_SYSTEM : facts_of(&found, facts);
}

/* --- roots --- */

static bool is_folder(const nb_root *root, const struct stat *found) {
    return root->inode == (uint64_t)found->st_ino && root->device == (uint64_t)found->st_dev;
}

static nb_status root_create(const char *path, const char *real, nb_root **result) {
    size_t path_bytes = strlen(path) + 1, real_bytes = strlen(real);
    nb_root *root = nb_alloc_zero(1, sizeof *root + path_bytes + real_bytes + 1);
    if (!root) return NB_NO_MEMORY;
    atomic_init(&root->holders, 1);
    memcpy(root->path, path, path_bytes);
    root->real = root->path + path_bytes;
    memcpy(root->real, real, real_bytes + 1);
    root->real_bytes = (uint32_t)real_bytes;
    *result = root;
    return NB_OK;
}

nb_status nb_root_open(const char *path, nb_symlinks symlinks, nb_root **result) {
    char real[PATH_MAX];
    struct stat found;
    nb_root *root;
    int fd = open(path, FOLDER_FLAGS);
    if (fd < 0) return NB_SYSTEM;
    if (fstat(fd, &found) < 0 || !realpath(path, real)) return close_failed(fd, errno);
    nb_status status = root_create(path, real, &root);
    if (status != NB_OK) {
        close(fd);
        return status;
    }
    root->fd = fd;
    root->symlinks = symlinks;
    root->device = (uint64_t)found.st_dev;
    root->inode = (uint64_t)found.st_ino;
    *result = root;
    return NB_OK;
}

nb_root *nb_root_hold(nb_root *root) {
    uint32_t before = atomic_fetch_add_explicit(&root->holders, 1, memory_order_relaxed);
    NB_ASSERT(before > 0 && before < UINT32_MAX);
    return root;
}

void nb_root_release(nb_root *root) {
    if (!root || atomic_fetch_sub_explicit(&root->holders, 1, memory_order_acq_rel) > 1) return;
    close(root->fd);
    nb_free(root);
}

nb_status nb_root_check(const nb_root *root) {
    struct stat found;
    if (stat(root->path, &found) < 0) return NB_SYSTEM;
    return is_folder(root, &found) ? NB_OK : NB_NOT_FOUND;
}

/* --- the walk --- */

typedef struct nb_walk {
    const nb_root *root;
    bool outside; /* the base is "/" */
    int folder;   /* folder that `done` leads to; owned by the walk unless it is the root's */
    unsigned links;
    uid_t owners[LINKS_MAX]; /* of the links whose end is not reached yet */
    size_t ends[LINKS_MAX];  /* bytes of the rest when it is */
    unsigned open_links;
    size_t done_bytes, rest_bytes; /* the rest stands at the end of its buffer */
    char done[PATH_MAX], rest[PATH_MAX];
} nb_walk;

static void go_to(nb_walk *walk, int folder) {
    if (walk->folder != walk->root->fd) close(walk->folder);
    walk->folder = folder;
}

/* A root of "/" has no outside. */
static bool holds_all(const nb_root *root) { return root->real_bytes == 1; }

/* Returns to the beginning of `done`: the root, or "/". */
static nb_status go_to_base(nb_walk *walk) {
    int fd = walk->root->fd;
    if (walk->outside && (fd = open("/", FOLDER_FLAGS)) < 0) return NB_SYSTEM;
    go_to(walk, fd);
    return NB_OK;
}

/* Takes the next name, and one slash behind it where there are several. False: no more names, or
   one is too long. */
static bool take_name(nb_walk *walk, char name[NAME_MAX + 1], nb_status *status) {
    const char *end = walk->rest + sizeof walk->rest, *at = end - walk->rest_bytes;
    while (at < end && *at == '/')
        at++;
    const char *stop = memchr(at, '/', (size_t)(end - at));
    if (!stop) stop = end;
    size_t bytes = (size_t)(stop - at);
    *status = bytes > NAME_MAX ? failed(ENAMETOOLONG) : NB_OK;
    if (bytes == 0 || bytes > NAME_MAX) return false;
    memcpy(name, at, bytes);
    name[bytes] = '\0';
    while (end - stop > 1 && stop[1] == '/')
        stop++;
    walk->rest_bytes = (size_t)(end - stop);
    return true;
}

/* Every link whose end is `found` must have the same owner as that end. */
static nb_status check_owners(nb_walk *walk, const struct stat *found) {
    while (walk->open_links > 0 && walk->rest_bytes <= walk->ends[walk->open_links - 1]) {
        if (walk->owners[--walk->open_links] != found->st_uid) return failed(EXDEV);
    }
    return NB_OK;
}

static nb_status step_here(nb_walk *walk) {
    struct stat found;
    return fstat(walk->folder, &found) < 0 ? NB_SYSTEM : check_owners(walk, &found);
}

static nb_status enter_folder(nb_walk *walk, int fd, const char *name) {
    struct stat found;
    size_t bytes = strlen(name);
    nb_status status = fstat(fd, &found) < 0 ? NB_SYSTEM : check_owners(walk, &found);
    if (status == NB_OK && walk->done_bytes + bytes + 2 > sizeof walk->done) status = failed(ENAMETOOLONG);
    if (status != NB_OK) return close_failed(fd, errno);
    go_to(walk, fd);
    walk->done[walk->done_bytes++] = '/';
    memcpy(walk->done + walk->done_bytes, name, bytes + 1);
    walk->done_bytes += bytes;
    if (walk->outside && is_folder(walk->root, &found)) {
        walk->outside = false;
        walk->done_bytes = 0;
    }
    return NB_OK;
}

/* Walks `done` once more from its base: it holds no links. */
static nb_status reopen_done(nb_walk *walk) {
    char names[PATH_MAX], *rest = NULL;
    memcpy(names, walk->done, walk->done_bytes);
    names[walk->done_bytes] = '\0';
    nb_status status = go_to_base(walk);
    for (char *name = strtok_r(names, "/", &rest); name && status == NB_OK; name = strtok_r(NULL, "/", &rest)) {
        int fd = openat(walk->folder, name, FOLDER_FLAGS | O_NOFOLLOW);
        if (fd < 0) return NB_SYSTEM;
        go_to(walk, fd);
    }
    return status;
}

static nb_status step_up(nb_walk *walk) {
    /* Above the root, its own path says what there is. */
    if (!walk->outside && walk->done_bytes == 0) {
        walk->outside = !holds_all(walk->root);
        memcpy(walk->done, walk->root->real, walk->root->real_bytes);
        walk->done_bytes = walk->root->real_bytes;
    }
    while (walk->done_bytes > 0 && walk->done[--walk->done_bytes] != '/') {
    }
    nb_status status = reopen_done(walk);
    return status == NB_OK ? step_here(walk) : status;
}

/* The link must not have changed since its owner was read. */
static nb_status remember_owner(nb_walk *walk, const char *name, const struct stat *link) {
    struct stat again;
    if (fstatat(walk->folder, name, &again, AT_SYMLINK_NOFOLLOW) < 0) return NB_SYSTEM;
    if (link->st_ino != again.st_ino || link->st_uid != again.st_uid) return failed(EXDEV);
    walk->owners[walk->open_links] = link->st_uid;
    walk->ends[walk->open_links++] = walk->rest_bytes;
    return NB_OK;
}

/* Puts the link's text in front of the rest, which is empty or begins with "/". EINVAL: not a
   link. */
static nb_status follow(nb_walk *walk, const char *name) {
    char text[PATH_MAX];
    struct stat link;
    if (fstatat(walk->folder, name, &link, AT_SYMLINK_NOFOLLOW) < 0) return NB_SYSTEM;
    ssize_t bytes = readlinkat(walk->folder, name, text, sizeof text);
    if (bytes < 0) return NB_SYSTEM;
    if (bytes == 0) return failed(ENOENT);
    if ((size_t)bytes + walk->rest_bytes > sizeof walk->rest) return failed(ENAMETOOLONG);
    if (walk->links++ == LINKS_MAX) return failed(ELOOP);
    if (walk->root->symlinks == NB_SYMLINKS_OWNER && remember_owner(walk, name, &link) != NB_OK) return NB_SYSTEM;
    walk->rest_bytes += (size_t)bytes;
    memcpy(walk->rest + sizeof walk->rest - walk->rest_bytes, text, (size_t)bytes);
    if (text[0] != '/') return NB_OK;
    walk->outside = !holds_all(walk->root);
    walk->done_bytes = 0;
    return go_to_base(walk);
}

static bool may_be_link(int error) { return error == ELOOP || error == ENOTDIR || error == EMLINK; }

static nb_status step_folder(nb_walk *walk, const char *name) {
    int fd = openat(walk->folder, name, FOLDER_FLAGS | O_NOFOLLOW);
    if (fd >= 0) return enter_folder(walk, fd, name);
    if (!may_be_link(errno)) return NB_SYSTEM;
    nb_status status = follow(walk, name);
    return status == NB_SYSTEM && errno == EINVAL ? failed(ENOTDIR) : status;
}

/* Outside the root, where only a link that leads back is followed. */
static bool is_forbidden(const nb_walk *walk) { return walk->outside && walk->root->symlinks == NB_SYMLINKS_INSIDE; }

/* Outside the root, a name that is no link may only be the root itself. */
static nb_status refuse_outside(const nb_walk *walk, const char *name) {
    struct stat found;
    if (fstatat(walk->folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0) return NB_SYSTEM;
    return failed(is_folder(walk->root, &found) ? EISDIR : EXDEV);
}

/* NB_INCOMPLETE: it was a link. */
static nb_status step_file(nb_walk *walk, const char *name, int *fd) {
    struct stat found;
    bool forbidden = is_forbidden(walk);
    int opened = forbidden ? -1 : openat(walk->folder, name, FILE_FLAGS | O_NOFOLLOW);
    if (opened < 0) {
        if (!forbidden && !may_be_link(errno)) return NB_SYSTEM;
        nb_status status = follow(walk, name);
        if (status == NB_SYSTEM && errno == EINVAL) return forbidden ? refuse_outside(walk, name) : failed(ENOTDIR);
        return status == NB_OK ? NB_INCOMPLETE : status;
    }
    nb_status status = fstat(opened, &found) < 0 ? NB_SYSTEM : check_owners(walk, &found);
    if (status != NB_OK) return close_failed(opened, errno);
    *fd = opened;
    return NB_OK;
}

/* NB_OK: the file is open. NB_INCOMPLETE: the walk goes on. */
static nb_status walk_step(nb_walk *walk, int *fd) {
    char name[NAME_MAX + 1];
    nb_status status;
    if (!take_name(walk, name, &status)) {
        if (status == NB_OK) status = failed(is_forbidden(walk) ? EXDEV : EISDIR);
        return status;
    }
    if (strcmp(name, ".") == 0) {
        status = step_here(walk);
    } else if (strcmp(name, "..") == 0) {
        status = step_up(walk);
    } else if (walk->rest_bytes == 0) {
        return step_file(walk, name, fd);
    } else {
        status = step_folder(walk, name);
    }
    return status == NB_OK ? NB_INCOMPLETE : status;
}

/* A link that leads out is refused as such: why its walk ended outside must not show. */
static bool is_refused(const nb_walk *walk, int error) {
    return is_forbidden(walk) && (error == ENOENT || error == ENOTDIR || error == EACCES);
}

static nb_status walk_open(const nb_root *root, const char *path, int *fd) {
    nb_walk walk;
    walk.root = root;
    walk.folder = root->fd;
    walk.outside = false;
    walk.links = walk.open_links = 0;
    walk.done_bytes = 0;
    walk.rest_bytes = strlen(path);
    if (walk.rest_bytes > sizeof walk.rest) return failed(ENAMETOOLONG);
    memcpy(walk.rest + sizeof walk.rest - walk.rest_bytes, path, walk.rest_bytes);
    nb_status status = NB_INCOMPLETE;
    for (unsigned steps = 0; status == NB_INCOMPLETE; steps++)
        status = steps < STEPS_MAX ? walk_step(&walk, fd) : failed(ELOOP);
    int error = status == NB_SYSTEM && is_refused(&walk, errno) ? EXDEV : errno;
    go_to(&walk, root->fd);
    errno = error;
    return status;
}

/* --- both ways --- */

/* Cases that openat2 leaves to the walk: a link that leads out and may come back, and any link
   where its owner counts. */
static bool is_for_walk(const nb_root *root, int error) {
    return (error == EXDEV && root->symlinks == NB_SYMLINKS_INSIDE) ||
           (error == ELOOP && root->symlinks == NB_SYMLINKS_OWNER);
}

static nb_status open_ready(const nb_root *root, const char *path, int *fd) {
    nb_file_facts there;
    if (nb_openat2_probe() != NB_OPENAT2_KNOWS_CACHED) {
        if (nb_stat_beneath(root, path, &there) != NB_OK) return NB_SYSTEM;
        errno = EEXIST;
        return NB_AGAIN;
    }
    *fd = nb_openat2(root->fd, path, root->symlinks, true);
    if (*fd >= 0) return NB_OK;
    return errno == EAGAIN || is_for_walk(root, errno) ? NB_AGAIN : NB_SYSTEM;
}

static nb_status open_waiting(const nb_root *root, const char *path, int *fd) {
    if (nb_openat2_probe() != NB_OPENAT2_ABSENT) {
        int tries = 0;
        do {
            *fd = nb_openat2(root->fd, path, root->symlinks, false);
        } while (*fd < 0 && errno == EAGAIN && ++tries < OPENAT2_TRIES);
        if (*fd >= 0) return NB_OK;
        if (errno != EAGAIN && !is_for_walk(root, errno)) return NB_SYSTEM;
    }
    if (root->symlinks != NB_SYMLINKS_FOLLOW) return walk_open(root, path, fd);
    *fd = openat(root->fd, path, FILE_FLAGS);
    return *fd >= 0 ? NB_OK : NB_SYSTEM;
}

nb_status nb_open_beneath(const nb_root *root, const char *path, bool ready_only, int *fd, nb_file_facts *facts) {
    int opened = -1;
    if (*path == '\0') return failed(EISDIR);
    nb_status status = ready_only ? open_ready(root, path, &opened) : open_waiting(root, path, &opened);
    if (status != NB_OK) return status;
    if (nb_file_facts_read(opened, facts) != NB_OK) return close_failed(opened, errno);
    *fd = opened;
    return NB_OK;
}
