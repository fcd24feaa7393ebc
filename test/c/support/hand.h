/*
 * hand.h - a worker that a test plays by hand, at the far end of a channel, so that it is lost at
 * one exact moment. For servers with one I/O loop.
 */
#ifndef NB_TEST_HAND_H
#define NB_TEST_HAND_H

#include "support/world.h"

typedef struct nb_test_hand {
    nb_test_world *world;
    unsigned worker; /* its number; nb_test_world_lose ends it */
    nb_channel *channel;
    nb_ring_consumer requests;
    nb_ring_producer responses;
} nb_test_hand;

/* A worker that has asked for this many requests and is served, so it gets those that wait at once.
   It may get none of later ones while it has some that it has not begun with. */
nb_test_hand nb_test_hand_serve(nb_test_world *world, unsigned wanted);
/* Waits for the next message, which stays in the ring. */
nb_message *nb_test_hand_next(nb_test_hand *hand);
/* The next message is a request, and the worker begins with it. */
nb_exchange_id nb_test_hand_begin(nb_test_hand *hand);
/* Publishes a part of so many bytes, and wakes nobody. */
void nb_test_hand_put(nb_test_hand *hand, const void *part, size_t bytes);
/* Such a part: a head of status 200, with no byte of its body. length: its Content-Length. flags:
   NB_PART_*. */
void nb_test_hand_head(nb_test_hand *hand, nb_exchange_id exchange, uint64_t length, uint16_t flags);

#endif
