/*
 * listener.h - a listening socket, and a connection accepted from it on its way to its loop. Owned
 * by the thread of loop 0.
 */
#ifndef NB_LOOP_LISTENER_H
#define NB_LOOP_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "connection/connections.h"
#include "os/net.h"

typedef struct nb_listener {
    int fd; /* -1: closed */
    bool polled;
    /* For the admin pages: never paused, not counted, closed last. */
    bool admin;
    char address[NB_ADDRESS_TEXT_BYTES]; /* numeric; "" for a UNIX socket */
    uint16_t port;
    /* The URL as a client would write it, cut where it is too long. */
    char url[NB_ADDRESS_TEXT_BYTES + 96];
    char *path; /* file of a UNIX socket, to be removed; NULL for TCP */
    uint64_t path_device, path_inode;
    struct nb_tls_context *tls; /* NULL: plain. Shared; loop 0's alone. */
    bool secure;                /* it speaks TLS */
    bool proxied;               /* its connections begin with a header of the PROXY protocol */
} nb_listener;

/* A connection on its way to the loop that will own it. */
typedef struct nb_arrival nb_arrival;
struct nb_arrival {
    nb_arrival *next;
    nb_accepted accepted; /* with a share of its TLS context */
};

/* The socket file is another's: it is not removed. */
void nb_listener_keep_path(nb_listener *listener);
/* Closes a listener that is not in the poller, and removes its socket file. */
void nb_listener_close(nb_listener *listener);
#endif
