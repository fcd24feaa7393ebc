/*
 * account.c - see account.h.
 */
#include "intake/account.h"

#include <string.h>

static int64_t not_negative(int64_t ns) { return ns > 0 ? ns : 0; }

void nb_account_begin(nb_account *account, const nb_account_facts *facts) {
    account->exchange = facts->exchange;
    account->head_ns = not_negative(facts->head_ns);
    account->body_ns = not_negative(facts->body_ns);
    account->queue_ns = not_negative(facts->taken_ns - facts->arrived_ns);
    account->taken_ns = facts->taken_ns;
    account->head_sent_ns = account->ran_ns = account->gc_ns = account->waited_ns = 0;
    account->allocated = 0;
    account->waiting = false;
    account->observed = NB_ACCOUNT_UNDECIDED;
    if (account->has_waited) {
        memset(account->wait_ns, 0, sizeof account->wait_ns);
        memset(account->waits, 0, sizeof account->waits);
        account->has_waited = false;
    }
    if (account->waterfall) nb_waterfall_begin(account->waterfall);
}

void nb_account_waited(nb_account *account, nb_fiber_wait_kind kind, int64_t began_ns, int64_t ready_ns,
                       int64_t ended_ns) {
    if (ended_ns < began_ns) ended_ns = began_ns;
    if (ready_ns == 0 || ready_ns > ended_ns) ready_ns = ended_ns;
    if (ready_ns < began_ns) ready_ns = began_ns;
    account->has_waited = true;
    account->waits[kind]++;
    account->wait_ns[kind] += ready_ns - began_ns;
    account->wait_ns[NB_FIBER_WAIT_turn] += ended_ns - ready_ns;
    account->waited_ns += ended_ns - began_ns;
}
