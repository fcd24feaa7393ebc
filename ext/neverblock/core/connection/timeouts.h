/*
 * timeouts.h - the loop's timeouts: one queue for each class, all of one length, so that arming is a move to the
 * queue's end and nothing is ever sorted. Time is an argument (monotonic ns). A node is in one queue at most.
 */
#ifndef NB_CONNECTION_TIMEOUTS_H
#define NB_CONNECTION_TIMEOUTS_H

#include <stdint.h>

typedef enum nb_timeout_class {
    NB_TIMEOUT_NONE,
    NB_TIMEOUT_HEADER,   /* a head is being received */
    NB_TIMEOUT_TRANSFER, /* a body, or a response, moves: judged by its progress */
    NB_TIMEOUT_IDLE,     /* between requests */
    NB_TIMEOUT_ADMIN,    /* the same, of a connection to an admin listener */
    NB_TIMEOUT_LINGER,   /* answered; the client may still be sending */
    NB_TIMEOUT_RATE,     /* its rate allows no more bytes now */
    NB_TIMEOUT_CLASSES
} nb_timeout_class;

typedef struct nb_timeout nb_timeout;
struct nb_timeout {
    nb_timeout *previous, *next;
    int64_t deadline_ns;
    nb_timeout_class queue; /* NB_TIMEOUT_NONE: in none */
};

typedef struct nb_timeouts {
    nb_timeout heads[NB_TIMEOUT_CLASSES]; /* rings with a sentinel */
    int64_t length_ns[NB_TIMEOUT_CLASSES];
} nb_timeouts;

void nb_timeouts_init(nb_timeouts *timeouts);
void nb_timeout_init(nb_timeout *timeout);
/* Arms for now + the class's length; NB_TIMEOUT_NONE disarms. */
void nb_timeouts_set(nb_timeouts *timeouts, nb_timeout *timeout, nb_timeout_class queue, int64_t now_ns);
int64_t nb_timeouts_next_ns(const nb_timeouts *timeouts); /* INT64_MAX: none */
/* Takes out and returns one whose deadline has come, *queue what it waited for; NULL when there is none. */
nb_timeout *nb_timeouts_expire(nb_timeouts *timeouts, int64_t now_ns, nb_timeout_class *queue);
/* The one that has waited longest in a queue, or NULL. */
nb_timeout *nb_timeouts_oldest(const nb_timeouts *timeouts, nb_timeout_class queue);
/* How many wait in a queue: each is walked over. */
uint32_t nb_timeouts_count(const nb_timeouts *timeouts, nb_timeout_class queue);

#endif
