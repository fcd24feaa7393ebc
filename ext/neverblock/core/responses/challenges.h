/*
 * challenges.h - answers to an ACME server that asks whether a host name is this server's, by
 * HTTP-01 (RFC 8555 section 8.3). They come before a redirect to https and before the application.
 *
 * Cost for other requests: one load while there is no answer.
 *
 * Ownership: answers are copied. Threads: set: any thread; respond: each loop's own.
 */
#ifndef NB_RESPONSES_CHALLENGES_H
#define NB_RESPONSES_CHALLENGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"
#include "base/status.h"
#include "intake/request.h"
#include "responses/responses.h"
#include "dispatch/exchange.h"

/* One for each name of a certificate. Let's Encrypt takes at most 100 names. */
#define NB_CHALLENGES_MAX 128u
/* Let's Encrypt's tokens have 43 bytes; RFC 8555 has no bound. */
#define NB_CHALLENGE_TOKEN_BYTES_MAX 128u
/* A token, a dot and the digest of the account's key (RFC 8555 section 8.1). */
#define NB_CHALLENGE_ANSWER_BYTES_MAX 256u

typedef struct nb_challenge {
    nb_slice token;  /* letters, digits, "-" and "_" */
    nb_slice answer; /* the body of the response */
} nb_challenge;

typedef struct nb_challenge_copy nb_challenge_copy;

typedef struct nb_challenges {
    _Atomic bool any;
    pthread_mutex_t lock; /* of all below */
    nb_challenge_copy *list;
    size_t count;
} nb_challenges;

nb_status nb_challenges_init(nb_challenges *challenges);
void nb_challenges_deinit(nb_challenges *challenges);
/* Sets the answers, in place of those before. NB_INVALID: a token or an answer is empty, too long,
 * or of other characters. NB_FULL: too many. NB_NO_MEMORY. After a failure all is as before. */
nb_status nb_challenges_set(nb_challenges *challenges, const nb_challenge *list, size_t count);
/* Answers a GET or HEAD for a token that is set. The exchange has ended then. */
nb_static_result nb_challenges_respond(nb_challenges *challenges, nb_responses *responses, nb_exchange *exchange,
                                       const nb_request_facts *facts);

#endif
