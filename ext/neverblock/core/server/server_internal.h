/*
 * server_internal.h - what the files of server/ share.
 */
#ifndef NB_SERVER_SERVER_INTERNAL_H
#define NB_SERVER_SERVER_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "loop/lease.h"
#include "loop/loop.h"
#include "server/server.h"

/* A loop and its thread. */
typedef struct io_thread {
    nb_server *server;
    nb_loop *loop;
    pthread_t thread;
} io_thread;

struct nb_server {
    nb_loops loops;
    nb_lease lease; /* used where there is one loop */
    io_thread threads[NB_IO_THREADS_MAX];
    bool started, joined, abandoned;
    /* of the next listener: a descriptor that was inherited; owned; -1: none */
    int inherited_fd;
    bool keeps_path;
};

static inline nb_loop *nb_server_first(nb_server *server) { return &server->loops.each[0]; }

/* Runs `work` between two turns of the loop and waits for it. Runs it here when the loop does not
   run. */
void nb_server_call(nb_loop *loop, void (*work)(nb_loop *, void *), void *argument);
/* Closes the descriptor that no listener has taken. */
void nb_server_drop_inherited(nb_server *server);

#endif
