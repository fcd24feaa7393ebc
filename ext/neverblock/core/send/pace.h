/*
 * pace.h - rate limits of files: one for each connection, and one for each client address. All
 * connections of an address share a bucket, whichever loop has them.
 *
 * A bucket is a virtual clock (GCRA): one number, the time at which all bytes sent so far are paid
 * for by the rate. Bytes may be sent that bring it at most NB_PACE_BURST_NS ahead of now.
 *
 * Each permission is for bytes that take the rate NB_PACE_LEAST_NS or longer, or for all that is
 * left. A sender that is refused waits NB_PACE_TICK_NS. A burst is longer than both together, so no
 * byte of the rate is lost to a wait that ends a little late.
 *
 * Units: rates are bytes per second, 0 for no limit. Times are monotonic nanoseconds, always an
 * argument.
 */
#ifndef NB_SEND_PACE_H
#define NB_SEND_PACE_H

#include <pthread.h>
#include <stdint.h>

#include "base/status.h"

#define NB_PACE_BURST_NS INT64_C(50000000)
/* A connection that may send nothing tries again so much later. Shorter: smoother; longer: less
 * work with thousands of connections. */
#define NB_PACE_TICK_NS INT64_C(25000000)
#define NB_PACE_LEAST_NS INT64_C(12500000)

/* A higher rate is no limit: 10 GB per second. */
#define NB_PACE_RATE_MAX UINT64_C(10000000000)

/* How many of `most` (> 0) bytes may be sent now; UINT64_MAX: no limit. A byte whose time is longer
 * than a burst is sent a little early rather than never. */
uint64_t nb_pace_allows(int64_t paid_until_ns, uint64_t rate, uint64_t most, int64_t now_ns);
/* `bytes` were sent, or will be. Returns the new paid_until_ns. */
int64_t nb_pace_take(int64_t paid_until_ns, uint64_t rate, uint64_t bytes, int64_t now_ns);
/* `bytes` that were taken are not sent. Returns the new paid_until_ns. */
int64_t nb_pace_give(int64_t paid_until_ns, uint64_t rate, uint64_t bytes);

/* Buckets of addresses, in sets. An address hashes to one set and has one bucket of it. A bucket
 * that is paid for is free for another address. When all of a set are in use, two addresses share a
 * bucket and its rate. */
#define NB_PACE_SETS 512u
#define NB_PACE_WAYS 8u

typedef struct nb_address_pace {
    uint64_t key;
    int64_t paid_until_ns;
} nb_address_pace;

/* Any thread may use it. */
typedef struct nb_address_paces {
    pthread_mutex_t lock;
    uint64_t rate;
    nb_address_pace ways[NB_PACE_SETS][NB_PACE_WAYS];
} nb_address_paces;

nb_status nb_address_paces_create(uint64_t rate, nb_address_paces **paces);
/* NULL is fine. */
void nb_address_paces_destroy(nb_address_paces *paces);
/* The key of an address. Of an IPv6 address only the first 64 bits count: one client has them all.
 * Of a link-local one the last 64 do. 0: `address` is not an IP address, and has no limit. */
uint64_t nb_address_pace_key(const char *address);
/* Takes the bytes that may be sent now, at most `most` (> 0), and returns their number. No other
 * loop gets the same bytes. */
uint64_t nb_address_pace_reserve(nb_address_paces *paces, uint64_t key, uint64_t most, int64_t now_ns);
/* `bytes` were sent that were not reserved. */
void nb_address_pace_take(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns);
/* `bytes` that were taken are not sent. */
void nb_address_pace_give(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns);

#endif
