/*
 * timeouts.h - the timeouts of a loop. Each class has one length and one queue, so arming is a move
 * to the end of the queue and nothing is sorted: the deadlines of a queue never decrease. Two
 * lengths need two classes. A node is in one queue at most. The front of NB_TIMEOUT_IDLE is also
 * the connection that makes room for another (loop/accepting.c).
 *
 * Units: monotonic nanoseconds; time is an argument. Nodes are owned by the caller.
 * Threads: one.
 */
#ifndef NB_CONNECTION_TIMEOUTS_H
#define NB_CONNECTION_TIMEOUTS_H

#include <stdint.h>

typedef enum nb_timeout_class {
    NB_TIMEOUT_NONE,
    NB_TIMEOUT_HANDSHAKE, /* of TLS: timeouts { handshake } */
    NB_TIMEOUT_HEADER,    /* a head is awaited or received: timeouts { header } */
    /* a body or a response is transferred: timeouts { body }, judged by the bytes that move */
    NB_TIMEOUT_TRANSFER,
    NB_TIMEOUT_IDLE,        /* between requests: timeouts { idle } */
    NB_TIMEOUT_ADMIN,       /* between requests of a connection to an admin listener */
    NB_TIMEOUT_LINGER,      /* all is sent; the client may still be sending */
    NB_TIMEOUT_RATE,        /* the rate limit allows no more bytes now */
    NB_TIMEOUT_STREAM,      /* as TRANSFER, of one stream of a connection (nb_stream_timeout) */
    NB_TIMEOUT_STREAM_RATE, /* as RATE, of one stream */
    NB_TIMEOUT_CLASSES
} nb_timeout_class;

typedef struct nb_timeout nb_timeout;
struct nb_timeout {
    nb_timeout *previous, *next;
    int64_t deadline_ns;
    nb_timeout_class kind; /* NB_TIMEOUT_NONE: in none */
};

typedef struct nb_timeouts {
    nb_timeout heads[NB_TIMEOUT_CLASSES]; /* rings with a sentinel */
    int64_t length_ns[NB_TIMEOUT_CLASSES];
} nb_timeouts;

void nb_timeouts_init(nb_timeouts *timeouts);
void nb_timeout_init(nb_timeout *timeout);
/* Arms for now_ns plus the length of the class. NB_TIMEOUT_NONE disarms. */
void nb_timeouts_set(nb_timeouts *timeouts, nb_timeout *timeout, nb_timeout_class kind, int64_t now_ns);
/* the next deadline; INT64_MAX: there is none */
int64_t nb_timeouts_next_ns(const nb_timeouts *timeouts);
/* Removes and returns a node whose deadline has passed; *kind: its class. NULL: there is none. */
nb_timeout *nb_timeouts_expire(nb_timeouts *timeouts, int64_t now_ns, nb_timeout_class *kind);
/* The node of a class that was armed first; NULL: there is none. */
nb_timeout *nb_timeouts_oldest(const nb_timeouts *timeouts, nb_timeout_class kind);
/* The node of its class that was armed next; NULL: there is none. */
nb_timeout *nb_timeouts_after(const nb_timeouts *timeouts, const nb_timeout *timeout);
/* Nodes of a class, counted by walking the queue. */
uint32_t nb_timeouts_count(const nb_timeouts *timeouts, nb_timeout_class kind);

#endif
