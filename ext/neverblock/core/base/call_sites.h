/*
 * call_sites.h - places in a program's code whose calls may wait, and whether they
 * are better made here or on another thread: learned for each place from how
 * long its calls have taken. docs/decisions/0009.
 *
 * A place begins as not trusted: its calls are made elsewhere. After NB_CALL_SITES_TRUST that were quick it is trusted, and
 * its calls are made here, which costs next to nothing. Two that then are slow, with fewer than NB_CALL_SITES_NEAR_CALLS quick
 * ones between them, take the trust away (one may be a thread that was not given a processor), and each time the way back
 * is twice as long, to NB_CALL_SITES_TRUST << NB_CALL_SITES_SLIPS_MAX calls; NB_CALL_SITES_FORGIVE quick calls here take one slip back.
 * A call that is neither quick nor slow changes nothing.
 *
 * The table has NB_CALL_SITES_MAX places. Where there is no room a new place takes
 * that of another, which is learned anew. One thread at a time (Ruby's lock).
 */
#ifndef NB_BASE_CALL_SITES_H
#define NB_BASE_CALL_SITES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NB_CALL_SITES_MAX = 1024,      /* places; a power of two. A large application has some
                          hundred that deal with files */
    NB_CALL_SITES_NEAR = 4,        /* slots that are looked at for one place */
    NB_CALL_SITES_TRUST = 8,       /* quick calls */
    NB_CALL_SITES_NEAR_CALLS = 64, /* quick calls after which a slow one is forgotten */
    NB_CALL_SITES_SLIPS_MAX = 7,
    NB_CALL_SITES_FORGIVE = 4096 /* quick calls */
};
/* A call on another thread costs two hand-overs of Ruby's lock; what is done
 * here keeps all other fibers waiting. Nanoseconds. */
#define NB_CALL_SITES_QUICK_NS INT64_C(200000)
#define NB_CALL_SITES_SLOW_NS INT64_C(1000000)

typedef struct nb_call_site {
    uint64_t key;    /* 0: free */
    uint32_t wanted; /* quick calls that are missing before it is trusted; 0: it is */
    uint16_t slips;
    uint16_t quick; /* calls here since the last slip was taken back */
    uint16_t near;  /* a slow call counts against the next one for so many quick calls more */
} nb_call_site;

typedef struct nb_call_sites {
    nb_call_site slots[NB_CALL_SITES_MAX];
} nb_call_sites;

/* The slot of a place, made where there was none. Valid until the next call.
 * key: any number, the place's own. */
nb_call_site *nb_call_sites_find(nb_call_sites *sites, uint64_t key);
/* Whether its calls are made here. */
bool nb_call_site_here(const nb_call_site *site);
/* A call of it has ended, here or elsewhere, and took so long. */
void nb_call_site_ended(nb_call_site *site, bool here, int64_t took_ns);

#endif
