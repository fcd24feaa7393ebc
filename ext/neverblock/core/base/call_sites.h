/*
 * call_sites.h - call sites: places in a program's code whose calls may block. For each site it
 * learns from the length of its calls whether they are better made on this thread or on another.
 * See docs/decisions/0009.
 *
 * A site begins untrusted, and its calls are made elsewhere. After NB_CALL_SITES_TRUST quick calls
 * it is trusted, and its calls are made here, which costs almost nothing. Two slow calls, with
 * fewer than NB_CALL_SITES_NEAR_CALLS quick ones between them, end the trust; one alone may be a
 * thread that got no processor. Each time the way back is twice as long, up to NB_CALL_SITES_TRUST
 * << NB_CALL_SITES_SLIPS_MAX calls. NB_CALL_SITES_FORGIVE quick calls here take one slip back. A
 * call that is neither quick nor slow changes nothing.
 *
 * The table has NB_CALL_SITES_MAX slots. Where there is no room, a new site takes the slot of
 * another, which is learned anew. Threads: one at a time (Ruby's lock).
 */
#ifndef NB_BASE_CALL_SITES_H
#define NB_BASE_CALL_SITES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Sites; a power of two. A large application has some hundred that use files. */
    NB_CALL_SITES_MAX = 1024,
    NB_CALL_SITES_NEAR = 4,        /* slots that are searched for one site */
    NB_CALL_SITES_TRUST = 8,       /* quick calls */
    NB_CALL_SITES_NEAR_CALLS = 64, /* quick calls after which a slow one is forgotten */
    NB_CALL_SITES_SLIPS_MAX = 7,
    NB_CALL_SITES_FORGIVE = 4096 /* quick calls */
};
/* Limits of quick and slow calls, in nanoseconds. A call on another thread costs two hand-overs of
   Ruby's lock; a call here keeps all other fibers waiting. */
#define NB_CALL_SITES_QUICK_NS INT64_C(200000)
#define NB_CALL_SITES_SLOW_NS INT64_C(1000000)

typedef struct nb_call_site {
    uint64_t key;           /* 0: free */
    uint32_t quick_missing; /* quick calls until it is trusted; 0: it is */
    uint16_t slips;
    uint16_t quick; /* quick calls here since the last slip was taken back */
    /* For this many more quick calls, a slow call counts together with the last one. */
    uint16_t near;
} nb_call_site;

typedef struct nb_call_sites {
    nb_call_site slots[NB_CALL_SITES_MAX];
} nb_call_sites;

/* The slot of a site, created where there was none. Valid until the next call. key: any number that
   identifies the site. */
nb_call_site *nb_call_sites_find(nb_call_sites *sites, uint64_t key);
/* True: its calls are made on this thread. */
bool nb_call_site_is_trusted(const nb_call_site *site);
/* A call of the site has ended, here or elsewhere, after took_ns. */
void nb_call_site_ended(nb_call_site *site, bool here, int64_t took_ns);

#endif
