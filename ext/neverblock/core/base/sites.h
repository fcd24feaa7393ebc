/*
 * sites.h - places in a program's code whose calls may wait, and whether they
 * are better made here or on another thread: learned for each place from how
 * long its calls have taken. docs/decisions/0009.
 *
 * A place begins as not trusted: its calls are made elsewhere. After NB_SITES_TRUST that were quick it is trusted, and
 * its calls are made here, which costs next to nothing. Two that then are slow, with fewer than NB_SITES_NEAR_CALLS quick
 * ones between them, take the trust away (one may be a thread that was not given a processor), and each time the way back
 * is twice as long, to NB_SITES_TRUST << NB_SITES_SLIPS_MAX calls; NB_SITES_FORGIVE quick calls here take one slip back.
 * A call that is neither quick nor slow changes nothing.
 *
 * The table has NB_SITES_MAX places. Where there is no room a new place takes
 * that of another, which is learned anew. One thread at a time (Ruby's lock).
 */
#ifndef NB_BASE_SITES_H
#define NB_BASE_SITES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NB_SITES_MAX = 1024,      /* places; a power of two. A large application has some
                          hundred that deal with files */
    NB_SITES_NEAR = 4,        /* slots that are looked at for one place */
    NB_SITES_TRUST = 8,       /* quick calls */
    NB_SITES_NEAR_CALLS = 64, /* quick calls after which a slow one is forgotten */
    NB_SITES_SLIPS_MAX = 7,
    NB_SITES_FORGIVE = 4096 /* quick calls */
};
/* A call on another thread costs two hand-overs of Ruby's lock; what is done
 * here keeps all other fibers waiting. Nanoseconds. */
#define NB_SITES_QUICK_NS INT64_C(200000)
#define NB_SITES_SLOW_NS INT64_C(1000000)

typedef struct nb_site {
    uint64_t key;    /* 0: free */
    uint32_t wanted; /* quick calls that are missing before it is trusted; 0: it is */
    uint16_t slips;
    uint16_t quick; /* calls here since the last slip was taken back */
    uint16_t near;  /* a slow call counts against the next one for so many quick calls more */
} nb_site;

typedef struct nb_sites {
    nb_site slots[NB_SITES_MAX];
} nb_sites;

/* The slot of a place, made where there was none. Valid until the next call.
 * key: any number, the place's own. */
nb_site *nb_sites_find(nb_sites *sites, uint64_t key);
/* Whether its calls are made here. */
bool nb_site_here(const nb_site *site);
/* A call of it has ended, here or elsewhere, and took so long. */
void nb_site_ended(nb_site *site, bool here, int64_t took_ns);

#endif
