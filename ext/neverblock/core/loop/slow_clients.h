/*
 * slow_clients.h - the clients that take their responses slowest. A client is one of them when a
 * response has been leaving for NB_SLOW_CLIENTS_AGE_NS, and some of it is not with the client. What
 * it has taken is what the kernel has seen acknowledged.
 *
 * A loop looks at its own clients. Loop 0 does so when the admin pages ask. The others do so once a
 * second, while clients are being sent to, and keep what they have found for loop 0. One look takes
 * NB_SLOW_CLIENTS_LOOKED_MAX clients at most, the first by when their timeout was armed.
 *
 * Threads: nb_slow_clients_turn and _next_ns are of the loop's own thread, nb_slow_clients_read of
 * loop 0's.
 */
#ifndef NB_LOOP_SLOW_CLIENTS_H
#define NB_LOOP_SLOW_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/status.h"
#include "os/net.h"

struct nb_loop;

#define NB_SLOW_CLIENTS_AGE_NS INT64_C(1000000000)

typedef struct nb_slow_client {
    nb_peer peer;
    const char *protocol; /* as in ALPN; static */
    int64_t age_ns;       /* since its oldest response began, at the time of the look */
    uint64_t sent;        /* bytes that it has taken since that request came */
    uint64_t left;        /* bytes that the server has for it and it has not taken */
    uint64_t rate;        /* bytes a second that it takes */
    uint64_t limit;       /* bytes a second that the server allows it; 0: any */
    uint16_t algorithm;   /* that sends its file (send/algorithms.h); 0: no file is being sent */
} nb_slow_client;

typedef struct nb_slow_clients_now {
    uint64_t count; /* slow clients, also those that are not shown */
    bool complete;  /* no client was left out of the look */
    uint32_t shown;
    nb_slow_client clients[NB_SLOW_CLIENTS_MAX]; /* slowest first */
} nb_slow_clients_now;

/* The loop looks from now on. NB_NO_MEMORY. */
nb_status nb_slow_clients_create(struct nb_loop *loop);
void nb_slow_clients_destroy(struct nb_loop *loop);

/* Looks, where that is due. */
void nb_slow_clients_turn(struct nb_loop *loop);
/* When it is due again; 0: never, as far as is known. */
int64_t nb_slow_clients_next_ns(const struct nb_loop *loop);
/* Those of all loops. Without admin pages there are none. */
void nb_slow_clients_read(struct nb_loop *loop, nb_slow_clients_now *now);

#endif
