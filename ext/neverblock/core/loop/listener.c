/*
 * listener.c - see listener.h.
 */
#include "loop/listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tls/tls.h"

/* Removes the socket file only while it is still ours: a successor may have put its own there. */
static void remove_path(nb_listener *listener) {
    struct stat found;
    if (!listener->path) return;
    if (stat(listener->path, &found) == 0 && found.st_dev == listener->path_device &&
        found.st_ino == listener->path_inode) {
        unlink(listener->path);
    }
    nb_free(listener->path);
    listener->path = NULL;
}

void nb_listener_keep_path(nb_listener *listener) {
    nb_free(listener->path);
    listener->path = NULL;
}

void nb_listener_close(nb_listener *listener) {
    remove_path(listener);
    nb_tls_context_release(listener->tls);
    listener->tls = NULL;
    nb_net_close(listener->fd, false);
    listener->fd = -1;
}
