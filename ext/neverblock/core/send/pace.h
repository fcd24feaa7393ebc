/*
 * pace.h - how fast files may leave: by connection, and by the address of the client, whose connections share one bucket whichever loop has
 * them.
 *
 * A bucket holds what its rate gives in NB_PACE_TICK_NS. It is kept as one number, the time at which all that went will have been paid
 * for: bytes may go while that is less than a tick away. Rates are bytes a second, 0 for no limit; time is an argument.
 */
#ifndef NB_SEND_PACE_H
#define NB_SEND_PACE_H

#include <pthread.h>
#include <stdint.h>

#include "base/status.h"

/* Who may send nothing looks again so much later: often enough to be smooth, seldom enough for thousands. */
#define NB_PACE_TICK_NS INT64_C(50000000)

/* More is no limit: 10 GB a second. */
#define NB_PACE_RATE_MAX UINT64_C(10000000000)

/* Bytes that may go now; UINT64_MAX: any number. */
uint64_t nb_pace_allows(int64_t paid_until_ns, uint64_t rate, int64_t now_ns);
/* So many went, or will: the new paid_until_ns. */
int64_t nb_pace_take(int64_t paid_until_ns, uint64_t rate, uint64_t bytes, int64_t now_ns);
/* So many of those taken did not go. */
int64_t nb_pace_give(int64_t paid_until_ns, uint64_t rate, uint64_t bytes);

/* Buckets of addresses: in sets, of which an address has one. One that is paid for is free for the next address; where all of a set are in use,
   two addresses share one, and each is paced the more. */
#define NB_PACE_SETS 512u
#define NB_PACE_WAYS 8u

typedef struct nb_address_pace {
    uint64_t key;
    int64_t paid_until_ns;
} nb_address_pace;

/* Any thread. */
typedef struct nb_address_paces {
    pthread_mutex_t lock;
    uint64_t rate;
    nb_address_pace ways[NB_PACE_SETS][NB_PACE_WAYS];
} nb_address_paces;

nb_status nb_address_paces_create(uint64_t rate, nb_address_paces **paces);
/* NULL is fine. */
void nb_address_paces_destroy(nb_address_paces *paces);
/* What an address is known by: an IPv6 one by its first 64 bits, which are one client's; never 0. 0: no address, which has no limit. */
uint64_t nb_address_pace_key(const char *address);
/* Takes what may go now, `most` at the most: no other loop gets the same bytes. */
uint64_t nb_address_pace_reserve(nb_address_paces *paces, uint64_t key, uint64_t most, int64_t now_ns);
/* So many went that were not reserved. */
void nb_address_pace_take(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns);
/* So many of those taken did not go. */
void nb_address_pace_give(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns);

#endif
