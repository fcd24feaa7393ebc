/*
 * account.c - see account.h.
 */
#include "intake/account.h"

static int64_t not_negative(int64_t ns) { return ns > 0 ? ns : 0; }

void nb_account_begin(nb_account *account, const nb_account_facts *facts) {
    *account = (nb_account){.exchange = facts->exchange,
                            .head_ns = not_negative(facts->head_ns),
                            .body_ns = not_negative(facts->body_ns),
                            .queue_ns = not_negative(facts->taken_ns - facts->arrived_ns),
                            .taken_ns = facts->taken_ns,
                            .waterfall = account->waterfall};
    if (account->waterfall) nb_waterfall_begin(account->waterfall);
}

void nb_account_waited(nb_account *account, nb_fiber_wait_kind kind, int64_t began_ns, int64_t ready_ns,
                       int64_t ended_ns) {
    if (ended_ns < began_ns) ended_ns = began_ns;
    if (ready_ns == 0 || ready_ns > ended_ns) ready_ns = ended_ns;
    if (ready_ns < began_ns) ready_ns = began_ns;
    account->waits[kind]++;
    account->wait_ns[kind] += ready_ns - began_ns;
    account->wait_ns[NB_FIBER_WAIT_turn] += ended_ns - ready_ns;
    account->waited_ns += ended_ns - began_ns;
}
