/*
 * resolver.h - resolves host names without blocking the caller: getaddrinfo(3) on bounded workers,
 * with a cache, and one lookup for all who ask the same name at once.
 *
 * getaddrinfo rather than a DNS client, so that /etc/hosts, nsswitch, search domains and mDNS
 * answer as for every other program of the machine. It tells no TTL: an answer is kept 30 s, a
 * definite "no such host" 5 s. When a lookup fails for the moment (EAI_AGAIN, EAI_SYSTEM...), an
 * answer of up to 10 minutes ago is used again. A dead name server occupies only the workers that
 * ask it: one worker per name, and `threads` in all. A question that finds the queue full fails
 * with EAI_AGAIN.
 *
 * Threads: any. A lock protects cache and questions. `done` is called on a worker thread, or
 * inside nb_resolver_ask when the cache has the answer. It must be short and only pass the answer
 * on. A caller that can use an answer at once tries nb_resolver_known first, which needs no query.
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
    void (*done)(nb_resolver_query *query); /* the answer is set; the query is the caller's again */
    void *owner;                            /* the caller's */
    nb_resolver_answer answer;
    nb_resolver_query *next; /* of the resolver */
};

/* Since the start: lookups begun, questions answered by the cache, lookups without an address. Now:
   lookups under way. */
typedef struct nb_resolver_figures {
    uint64_t lookups, cached, failed, pending;
} nb_resolver_figures;

typedef struct nb_resolver nb_resolver;

/* lookup: NULL: getaddrinfo. clock: NULL: the real one. Tests pass their own. */
typedef void (*nb_resolver_lookup)(const char *name, nb_resolver_answer *answer);
typedef int64_t (*nb_resolver_clock)(void);
nb_status nb_resolver_create(unsigned threads, nb_resolver_lookup lookup, nb_resolver_clock clock,
                             nb_resolver **resolver);
/* NB_OK: *answer is known without a lookup: a fresh answer, or the name cannot exist. NB_NOT_FOUND:
   ask for it. NB_OVER_LIMIT: the name is too long. */
nb_status nb_resolver_known(nb_resolver *resolver, const char *name, size_t bytes, nb_resolver_answer *answer);
/* Copies the addresses that there are; the rest of *to stays as it is. */
void nb_resolver_answer_copy(nb_resolver_answer *to, const nb_resolver_answer *from);
/* Asks for a name. NB_OK: `done` was or will be called, exactly once. NB_OVER_LIMIT: the name is
   too long. NB_NO_MEMORY. After a failure `done` is not called. */
nb_status nb_resolver_ask(nb_resolver *resolver, const char *name, size_t bytes, nb_resolver_query *query);
/* Withdraws a question. True: `done` will not be called. False: it was or is being called. */
int nb_resolver_withdraw(nb_resolver *resolver, nb_resolver_query *query);
nb_resolver_figures nb_resolver_figures_read(nb_resolver *resolver);
/* Answers what still waits with EAI_AGAIN, then waits for the running lookups, as long as
   getaddrinfo takes. */
void nb_resolver_destroy(nb_resolver *resolver);

#endif
