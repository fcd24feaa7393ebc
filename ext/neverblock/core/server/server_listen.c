/*
 * server_listen.c - the listeners of a server: opened, inherited, passed on. See server.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/snapshot.h"
#include "os/net.h"
#include "server/server_internal.h"
#include "tls/tls.h"

static void write_url(nb_listener *listener, const char *address, const char *path) {
    const char *scheme = listener->secure ? "https" : "http";
    if (path) {
        (void)snprintf(listener->url, sizeof(listener->url), "unix://%s", path);
    } else {
        const char *form = strchr(address, ':') ? "%s://[%s]:%u" : "%s://%s:%u";
        (void)snprintf(listener->url, sizeof(listener->url), form, scheme, address, listener->port);
    }
}

void nb_server_drop_inherited(nb_server *server) {
    if (server->inherited_fd >= 0) nb_net_close(server->inherited_fd, false);
    server->inherited_fd = -1;
}

nb_status nb_server_inherit(nb_server *server, int fd, bool keeps_path) {
    if (server->started) return NB_FULL;
    nb_server_drop_inherited(server);
    server->inherited_fd = fd;
    server->keeps_path = keeps_path;
    return NB_OK;
}

/* False: nothing was inherited for the listener. */
static bool take_inherited(nb_server *server, int backlog, int *fd, uint16_t *bound_port, nb_status *status) {
    if (server->inherited_fd < 0) return false;
    *status = nb_net_listen_inherited(server->inherited_fd, backlog, bound_port);
    int error = errno;
    if (*status == NB_OK) {
        *fd = server->inherited_fd;
        server->inherited_fd = -1;
    }
    nb_server_drop_inherited(server);
    errno = error;
    return true;
}

static nb_status add_listener(nb_server *server, int fd, const char *address, uint16_t port, const char *path,
                              bool admin) {
    nb_loop *loop = nb_server_first(server);
    nb_listener listener = {.fd = fd, .port = port, .admin = admin};
    struct stat made;
    for (uint16_t i = 0; admin && i < server->loops.count; i++) {
        if (nb_figures_create(&server->loops.each[i]) != NB_OK) return NB_NO_MEMORY;
    }
    write_url(&listener, address, path);
    if (strlen(address) < sizeof(listener.address)) memcpy(listener.address, address, strlen(address) + 1);
    if (path) {
        listener.path = nb_alloc(strlen(path) + 1);
        if (!listener.path) return NB_NO_MEMORY;
        memcpy(listener.path, path, strlen(path) + 1);
        if (stat(path, &made) == 0) {
            listener.path_device = made.st_dev;
            listener.path_inode = made.st_ino;
        }
    }
    loop->listeners[loop->listener_count++] = listener;
    return NB_OK;
}

static nb_listener *last_listener(nb_server *server) {
    nb_loop *loop = nb_server_first(server);
    return &loop->listeners[loop->listener_count - 1];
}

static nb_status listen_tcp(nb_server *server, const char *address, uint16_t port, int backlog, bool admin,
                            uint16_t *bound_port) {
    if (server->started || nb_server_first(server)->listener_count == NB_LISTENERS_MAX) return NB_FULL;
    int fd;
    nb_status status;
    if (!take_inherited(server, backlog, &fd, bound_port, &status))
        status = nb_net_listen_tcp(address, port, backlog, &fd, bound_port);
    if (status != NB_OK) return status;
    status = add_listener(server, fd, address, *bound_port, NULL, admin);
    if (status != NB_OK) nb_net_close(fd, false);
    return status;
}

static nb_status listen_unix(nb_server *server, const char *path, unsigned mode, int backlog, bool admin) {
    if (server->started || nb_server_first(server)->listener_count == NB_LISTENERS_MAX) return NB_FULL;
    int fd;
    uint16_t none;
    nb_status status;
    bool inherited = take_inherited(server, backlog, &fd, &none, &status);
    if (!inherited) status = nb_net_listen_unix(path, mode, backlog, &fd);
    if (status != NB_OK) return status;
    status = add_listener(server, fd, "", 0, path, admin);
    if (status == NB_OK && inherited && server->keeps_path) nb_listener_keep_path(last_listener(server));
    if (status == NB_OK) return NB_OK;
    if (!inherited) unlink(path);
    nb_net_close(fd, false);
    return status;
}

nb_status nb_server_listen_tcp(nb_server *server, const char *address, uint16_t port, int backlog,
                               uint16_t *bound_port) {
    return listen_tcp(server, address, port, backlog, false, bound_port);
}

nb_status nb_server_listen_unix(nb_server *server, const char *path, unsigned mode, int backlog) {
    return listen_unix(server, path, mode, backlog, false);
}

nb_status nb_server_listen_admin_tcp(nb_server *server, const char *address, uint16_t port, uint16_t *bound_port) {
    return listen_tcp(server, address, port, NB_ADMIN_CONNECTIONS_MAX, true, bound_port);
}

nb_status nb_server_listen_admin_unix(nb_server *server, const char *path, unsigned mode) {
    return listen_unix(server, path, mode, NB_ADMIN_CONNECTIONS_MAX, true);
}

uint16_t nb_server_listeners(const nb_server *server) { return server->loops.each[0].listener_count; }

nb_status nb_server_listener_proxied(nb_server *server, uint16_t listener) {
    nb_loop *loop = nb_server_first(server);
    if (listener >= loop->listener_count) return NB_NOT_FOUND;
    if (server->started || loop->listeners[listener].admin) return NB_FULL;
    loop->listeners[listener].proxied = true;
    return NB_OK;
}

void nb_server_listen_undo(nb_server *server) {
    nb_loop *loop = nb_server_first(server);
    if (server->started || loop->listener_count == 0) return;
    nb_listener_close(last_listener(server));
    loop->listener_count--;
}

typedef struct listeners_call {
    int *fds;
    uint16_t count;
    int error; /* 0: none */
} listeners_call;

/* Runs on loop 0. */
static void copy_listeners(nb_loop *loop, void *argument) {
    listeners_call *found = argument;
    for (uint16_t i = 0; i < loop->listener_count && found->error == 0; i++) {
        if (loop->listeners[i].fd < 0) continue;
        int copy = fcntl(loop->listeners[i].fd, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) {
            found->error = errno;
        } else {
            found->fds[found->count++] = copy;
        }
    }
}

nb_status nb_server_copy_listeners(nb_server *server, int *fds, uint16_t *count) {
    listeners_call found = {.fds = fds};
    nb_server_call(nb_server_first(server), copy_listeners, &found);
    *count = found.count;
    if (found.error == 0) return NB_OK;
    while (*count > 0) {
        close(fds[--*count]);
    }
    errno = found.error;
    return NB_SYSTEM;
}

/* Runs on loop 0. */
static void keep_paths(nb_loop *loop, void *unused) {
    (void)unused;
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        nb_listener_keep_path(&loop->listeners[i]);
    }
}

void nb_server_keep_paths(nb_server *server) { nb_server_call(nb_server_first(server), keep_paths, NULL); }

typedef struct tls_call {
    uint16_t listener;
    nb_tls_context *context;
} tls_call;

/* Runs on loop 0. */
static void set_tls(nb_loop *loop, void *argument) {
    const tls_call *wanted = argument;
    nb_listener *listener = &loop->listeners[wanted->listener];
    nb_tls_context_release(listener->tls);
    listener->tls = nb_tls_context_share(wanted->context);
}

nb_status nb_server_listener_tls(nb_server *server, uint16_t listener, nb_tls_context *context) {
    nb_loop *loop = nb_server_first(server);
    if (listener >= loop->listener_count) return NB_NOT_FOUND;
    nb_listener *found = &loop->listeners[listener];
    if (!found->secure && (server->started || found->path || found->admin)) return NB_FULL;
    tls_call wanted = {listener, context};
    found->secure = true;
    if (!server->started) write_url(found, found->address, NULL);
    nb_server_call(loop, set_tls, &wanted);
    return NB_OK;
}
