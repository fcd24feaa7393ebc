/*
 * descriptor_about.c - see descriptor_about.h.
 */
#include "binding/hooks/descriptor_about.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "binding/base/protect.h"
#include "binding/state/accounting.h"
#include "binding/state/serving.h"

/* Frames that are looked at; a driver is nearer to its wait. */
#define FRAMES_MAX 24

/* Clients by how the names of their classes begin. The innermost frame that matches counts. */
static const struct {
    const char *prefix, *driver;
    nb_fiber_wait_kind kind;
} clients[] = {
    {"PG::", "pg ", NB_FIBER_WAIT_database},
    {"Mysql2::", "mysql2 ", NB_FIBER_WAIT_database},
    {"Trilogy", "trilogy ", NB_FIBER_WAIT_database},
    {"Mysql", "mysql ", NB_FIBER_WAIT_database},
    {"Redis", "redis ", NB_FIBER_WAIT_database},
    {"Mongo::", "mongo ", NB_FIBER_WAIT_database},
    {"Dalli::", "memcached ", NB_FIBER_WAIT_database},
    {"Net::HTTP", "", NB_FIBER_WAIT_http},
    {"HTTPX::", "", NB_FIBER_WAIT_http},
    {"Excon::", "", NB_FIBER_WAIT_http},
    {"HTTP::", "", NB_FIBER_WAIT_http},
    {"HTTPClient", "", NB_FIBER_WAIT_http},
};
#define CLIENTS (sizeof(clients) / sizeof(*clients))

static const char *client_of_class(VALUE name, nb_fiber_wait_kind *kind) {
    for (size_t i = 0; i < CLIENTS; i++) {
        size_t size = strlen(clients[i].prefix);
        if ((size_t)RSTRING_LEN(name) < size || memcmp(RSTRING_PTR(name), clients[i].prefix, size) != 0) continue;
        *kind = clients[i].kind;
        return clients[i].driver;
    }
    return NULL;
}

static VALUE classpath(VALUE frame) { return rb_profile_frame_classpath(frame); }

/* Whose frames lead to this wait; "": nobody's that is known. */
static const char *client_here(nb_fiber_wait_kind *kind) {
    VALUE frames[FRAMES_MAX];
    int lines[FRAMES_MAX], count = rb_profile_frames(0, FRAMES_MAX, frames, lines);
    for (int i = 0; i < count; i++) {
        int tag = 0;
        VALUE name = rb_protect(classpath, frames[i], &tag);
        if (tag) nb_protect_drop(Qnil);
        if (tag || !RB_TYPE_P(name, T_STRING)) continue;
        const char *driver = client_of_class(name, kind);
        if (driver) return driver;
    }
    *kind = NB_FIBER_WAIT_io;
    return "";
}

typedef union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un unix_path;
    struct sockaddr_storage room;
} address;

/* Writes the address with its port, or the path. */
static void show(const address *peer, socklen_t size, char *out, size_t room) {
    char host[INET6_ADDRSTRLEN] = "";
    *out = '\0';
    if (peer->any.sa_family == AF_INET && inet_ntop(AF_INET, &peer->four.sin_addr, host, sizeof(host))) {
        (void)snprintf(out, room, "%s:%u", host, ntohs(peer->four.sin_port));
    } else if (peer->any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &peer->six.sin6_addr, host, sizeof(host))) {
        (void)snprintf(out, room, "[%s]:%u", host, ntohs(peer->six.sin6_port));
    } else if (peer->any.sa_family == AF_UNIX && size > offsetof(struct sockaddr_un, sun_path)) {
        int length = (int)(size - offsetof(struct sockaddr_un, sun_path));
        (void)snprintf(out, room, "%.*s", length, peer->unix_path.sun_path);
    }
}

/* A socket that connects has no peer yet: it is asked again at its next wait. */
static void learn(nb_descriptor *descriptor, int fd) {
    address peer;
    socklen_t size = sizeof(peer);
    char shown[NB_DESCRIPTOR_ABOUT_BYTES] = "", text[2 * NB_DESCRIPTOR_ABOUT_BYTES];
    nb_fiber_wait_kind kind = NB_FIBER_WAIT_io;
    int answer = getpeername(fd, &peer.any, &size), error = answer ? errno : 0;
    if (answer == 0) show(&peer, size, shown, sizeof(shown));
    const char *driver = error == ENOTSOCK || error == EBADF ? "" : client_here(&kind);
    int length = snprintf(text, sizeof(text), "%s%s", driver, shown);
    descriptor->about_bytes = (uint8_t)(length < (int)NB_DESCRIPTOR_ABOUT_BYTES ? length
                                                                                : (int)NB_DESCRIPTOR_ABOUT_BYTES);
    memcpy(descriptor->about, text, descriptor->about_bytes);
    descriptor->about_kind = (uint8_t)kind;
    descriptor->about_whole = error != ENOTCONN;
}

void nb_descriptor_about(nb_wait *wait, const nb_watch *watch) {
    nb_scheduler *scheduler = wait->scheduler;
    if (!nb_accounting(scheduler) || wait->about.kind != 0) return;
    nb_descriptor *descriptor = &scheduler->watches.table[watch->fd];
    int error = errno;
    if (descriptor->about_kind == 0 || !descriptor->about_whole) learn(descriptor, watch->fd);
    errno = error;
    /* Ruby code may have run in `learn`, and the table may lie elsewhere */
    descriptor = &scheduler->watches.table[watch->fd];
    wait->about = (nb_wait_about){.text = nb_slice_of(descriptor->about, descriptor->about_bytes),
                                  .number = watch->fd,
                                  .kind = descriptor->about_kind,
                                  .direction = watch->interest & NB_POLL_READ ? NB_FIBER_READS : NB_FIBER_WRITES};
}
