/*
 * challenges.c - see challenges.h.
 */
#include "responses/challenges.h"

#include <string.h>

#include "base/alloc.h"
#include "responses/compose.h"

#define PREFIX "/.well-known/acme-challenge/"

struct nb_challenge_copy {
    size_t token_bytes, answer_bytes;
    char token[NB_CHALLENGE_TOKEN_BYTES_MAX];
    char answer[NB_CHALLENGE_ANSWER_BYTES_MAX];
};

nb_status nb_challenges_init(nb_challenges *challenges) {
    memset(challenges, 0, sizeof(*challenges));
    return pthread_mutex_init(&challenges->lock, NULL) == 0 ? NB_OK : NB_NO_MEMORY;
}

void nb_challenges_deinit(nb_challenges *challenges) {
    nb_free(challenges->list);
    challenges->list = NULL;
    pthread_mutex_destroy(&challenges->lock);
}

/* --- setting --- */

/* base64url (RFC 4648 section 5), and the dot between token and digest. */
static bool is_text(nb_slice text, size_t bytes_max, bool with_dot) {
    if (text.size == 0 || text.size > bytes_max) return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool known = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!known && !(with_dot && c == '.')) return false;
    }
    return true;
}

static bool is_valid(const nb_challenge *challenge) {
    return is_text(challenge->token, NB_CHALLENGE_TOKEN_BYTES_MAX, false) &&
           is_text(challenge->answer, NB_CHALLENGE_ANSWER_BYTES_MAX, true);
}

static void copy(nb_challenge_copy *place, const nb_challenge *challenge) {
    place->token_bytes = challenge->token.size;
    place->answer_bytes = challenge->answer.size;
    memcpy(place->token, challenge->token.data, challenge->token.size);
    memcpy(place->answer, challenge->answer.data, challenge->answer.size);
}

nb_status nb_challenges_set(nb_challenges *challenges, const nb_challenge *list, size_t count) {
    if (count > NB_CHALLENGES_MAX) return NB_FULL;
    nb_challenge_copy *fresh = count ? nb_alloc_zero(count, sizeof(*fresh)) : NULL;
    if (count && !fresh) return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!is_valid(&list[i])) {
            nb_free(fresh);
            return NB_INVALID;
        }
        copy(&fresh[i], &list[i]);
    }
    pthread_mutex_lock(&challenges->lock);
    nb_challenge_copy *old = challenges->list;
    challenges->list = fresh;
    challenges->count = count;
    atomic_store_explicit(&challenges->any, count > 0, memory_order_relaxed);
    pthread_mutex_unlock(&challenges->lock);
    nb_free(old);
    return NB_OK;
}

/* --- answering --- */

/* Copies the answer to a token. 0: there is none. */
static size_t find(nb_challenges *challenges, nb_slice token, char answer[NB_CHALLENGE_ANSWER_BYTES_MAX]) {
    size_t bytes = 0;
    pthread_mutex_lock(&challenges->lock);
    for (size_t i = 0; bytes == 0 && i < challenges->count; i++) {
        const nb_challenge_copy *known = &challenges->list[i];
        if (!nb_slice_equal(nb_slice_of(known->token, known->token_bytes), token)) continue;
        bytes = known->answer_bytes;
        memcpy(answer, known->answer, bytes);
    }
    pthread_mutex_unlock(&challenges->lock);
    return bytes;
}

nb_static_result nb_challenges_respond(nb_challenges *challenges, nb_responses *responses, nb_exchange *exchange,
                                       const nb_request_facts *facts) {
    char answer[NB_CHALLENGE_ANSWER_BYTES_MAX];
    nb_slice prefix = NB_SLICE(PREFIX), path = facts->head->path;
    nb_method method = facts->head->method;
    if (!atomic_load_explicit(&challenges->any, memory_order_relaxed)) return NB_STATIC_NONE;
    if (method != NB_METHOD_GET && method != NB_METHOD_HEAD) return NB_STATIC_NONE;
    if (path.size <= prefix.size || memcmp(path.data, prefix.data, prefix.size) != 0) return NB_STATIC_NONE;
    nb_slice token = nb_slice_of(path.data + prefix.size, path.size - prefix.size);
    size_t bytes = find(challenges, token, answer);
    if (bytes == 0) return NB_STATIC_NONE;
    nb_slice fields = NB_SLICE("Content-Type: application/octet-stream\r\nCache-Control: no-store\r\n");
    nb_status status = nb_compose_whole(responses, exchange, 200, fields, nb_slice_of(answer, bytes));
    return status == NB_OK ? NB_STATIC_ANSWERED : NB_STATIC_FAILED;
}
