/*
 * resolver.h - host names to addresses without blocking the asker: getaddrinfo(3) on bounded workers, answers cached
 * and questions merged (one lookup for however many ask the same name at once).
 *
 * getaddrinfo and not a DNS client of our own, so that /etc/hosts, nsswitch, search domains and mDNS answer as they do
 * for every other program of the machine. It tells no TTL: an answer is kept 30 s, a definite "no such host" 5 s; where
 * a lookup fails for the moment (EAI_AGAIN, EAI_SYSTEM...) an older answer, up to 10 minutes old, is given again. A
 * dead name server holds only the workers that ask it: a name holds one worker, and `threads` bounds them all; a
 * question that finds the queue full fails with EAI_AGAIN.
 *
 * The cache and the merging are under a lock; any thread may ask. `done` is called on a worker thread, or inside
 * nb_resolver_ask when the cache knows. It must be short and only hand the answer over. Who can use an answer at once
 * asks nb_resolver_known first, which needs no query.
 */
#ifndef NB_OS_RESOLVER_H
#define NB_OS_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define NB_RESOLVER_ADDRESSES_MAX 32u
#define NB_RESOLVER_NAME_BYTES_MAX 255u
#define NB_RESOLVER_TEXT_BYTES 64u /* numeric IPv4 or IPv6 with %scope */

typedef struct nb_resolver_answer {
    int error;      /* 0, or an EAI_ code of getaddrinfo */
    unsigned count; /* addresses, in getaddrinfo's order, without repetition */
    char addresses[NB_RESOLVER_ADDRESSES_MAX][NB_RESOLVER_TEXT_BYTES];
} nb_resolver_answer;

typedef struct nb_resolver_query nb_resolver_query;
struct nb_resolver_query {
    void (*done)(nb_resolver_query *query); /* answer is filled in; the query is the caller's again */
    void *owner;                            /* the caller's */
    nb_resolver_answer answer;
    nb_resolver_query *next; /* the resolver's */
};

/* Since the start: lookups begun, questions the cache answered, lookups without an address; and lookups under way. */
typedef struct nb_resolver_figures {
    uint64_t lookups, cached, failed, pending;
} nb_resolver_figures;

typedef struct nb_resolver nb_resolver;

/* lookup: NULL for getaddrinfo; tests give their own. now_ns is passed in by tests only through `clock`: NULL for the
 * real one. */
typedef void (*nb_resolver_lookup)(const char *name, nb_resolver_answer *answer);
typedef int64_t (*nb_resolver_clock)(void);
nb_status nb_resolver_create(unsigned threads, nb_resolver_lookup lookup, nb_resolver_clock clock,
                             nb_resolver **resolver);
/* NB_OK: *answer is what is known now without a lookup: a fresh answer, or that such a name cannot exist. NB_NOT_FOUND: it
 * has to be asked for. NB_TOO_LARGE: the name is too long. */
nb_status nb_resolver_known(nb_resolver *resolver, const char *name, size_t bytes, nb_resolver_answer *answer);
/* Copies as many addresses as there are; the rest of *to stays as it is. */
void nb_resolver_answer_copy(nb_resolver_answer *to, const nb_resolver_answer *from);
/* NB_OK: done was or will be called exactly once. NB_TOO_LARGE: the name is too long. NB_NO_MEMORY. (done is not called
 * then.) */
nb_status nb_resolver_ask(nb_resolver *resolver, const char *name, size_t bytes, nb_resolver_query *query);
/* Withdraws a question: true when done will not be called any more; false when it has been or is being called. */
int nb_resolver_withdraw(nb_resolver *resolver, nb_resolver_query *query);
nb_resolver_figures nb_resolver_figures_read(nb_resolver *resolver);
/* Calls done with EAI_AGAIN for what still waits, then waits for the lookups that run: as long as getaddrinfo takes. */
void nb_resolver_destroy(nb_resolver *resolver);

#endif
