/*
 * test_ring_model.c - a model checker for how a front and its workers share requests: records in
 * rings, claims, requeues, sleep and wake, and the death of a worker at any step. Walks every
 * interleaving of one front and two workers for a few requests and small rings.
 *
 * What must hold: a request is begun with at most once; it ends answered exactly once, by a
 * worker, or as lost when it was begun with; an answer that was published is not told as lost;
 * nobody reads a record whose room was used again; nobody sleeps for ever while there is something
 * to do. Each step is one access to shared memory, in one order for all (the fences of the
 * doorbell are test_doorbell_model.c's matter). The front's wait of a millisecond while a worker
 * runs is left out: no wake may depend on it.
 *
 * The test of the test: with each rule of the protocol broken on purpose the checker must find
 * what it is there for.
 */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "support/walk.h"

enum { WORKERS = 2, REQUESTS_MAX = 3, RECORDS_MAX = 3, NOBODY = 255 };

typedef enum fault {
    NO_FAULT,
    CLAIM_IN_TWO_STEPS,    /* a load and a store, for the compare and exchange */
    RELEASE_BEFORE_CLAIM,  /* the room is given back before the record was read */
    REQUEUE_WITHOUT_LOOK,  /* not whether the room was given back */
    REQUEUE_WITHOUT_CLAIM, /* taken for requeued whatever the worker did */
    OVERWRITE,             /* the front does not look at what was released */
    RETURN_BLINDLY,        /* of a dead worker all goes back, begun with or not */
    RETURN_BEFORE_ANSWERS, /* before the dead worker's last parts are taken */
    NO_LOOK_OF_THE_FRONT,  /* between announcing sleep and sleeping */
    NO_LOOK_OF_A_WORKER,
    /* A worker that asks for more does not look whether the front waits for that. */
    NO_RING_WHEN_STARVED,
} fault;

enum { UNCLAIMED, TAKEN, REQUEUED };

typedef struct record {
    uint8_t number, request, claim; /* number: records before it in its ring */
} record;

typedef struct channel {
    record records[RECORDS_MAX];
    uint8_t published, released, wanted;
    uint8_t responses[REQUESTS_MAX], answered; /* published responses */
    uint8_t worker_sleeps, front_sleeps, starved, worker_wake;
} channel;

/* The steps of a worker. */
enum {
    W_PEEK,
    W_EARLY, /* RELEASE_BEFORE_CLAIM */
    W_CLAIM,
    W_STORE_CLAIM,       /* CLAIM_IN_TWO_STEPS */
    W_BEGIN_AND_RELEASE, /* reads the record, as late as it may */
    W_PASS_OVER,
    W_ANSWER,
    W_ASK,
    W_LOOK_STARVED,
    W_RING,
    W_ANNOUNCE,
    W_LOOK_STARVED_AGAIN,
    W_RING_AGAIN,
    W_LOOK,
    W_SLEEP,
    W_DEAD
};

typedef struct worker {
    uint8_t step, position, request, due; /* due: it has published and not rung */
} worker;

/* The steps of the front; `at` is the worker whose channel it looks at. */
enum {
    F_TAKE,
    F_GIVE,
    F_PUBLISH,
    F_RING,
    F_REQUEUE,
    F_REQUEUE_LOOK,
    F_REQUEUE_CLAIM,
    F_REQUEUE_COPY,
    F_ANNOUNCE,
    F_LOOK,
    F_SLEEP,
    F_CANCEL,
    F_END,
    F_END_RETURN,
};

typedef struct front {
    uint8_t step, at, something;
    uint8_t queued, queue[REQUESTS_MAX];
    uint8_t committed[WORKERS], sent[WORKERS], taken[WORKERS], removed[WORKERS], told[WORKERS];
    uint8_t requeues;
} front;

/* What the front knows of a request, and what has become of it in truth. */
typedef struct request {
    uint8_t worker, number, listed; /* listed: not known to be begun with */
    uint8_t answered, begun, published;
} request;

typedef struct machine {
    channel channels[WORKERS];
    worker workers[WORKERS];
    front front;
    request requests[REQUESTS_MAX];
    uint8_t arrived, wake, deaths;
} machine;

typedef struct bounds {
    uint8_t requests, records, credit, requeues, deaths;
    /* Requests come one by one, at any time the front looks; else all are there at first. */
    bool later;
} bounds;

typedef struct checker {
    bounds bounds;
    fault fault;
    nb_test_walk walk;
    bool begun_twice, answered_twice, lost_an_answer, read_after_reuse, stuck, finished, finished_lost,
        finished_requeued;
} checker;

/* --- workers --- */

static record *place(const checker *c, channel *ch, uint8_t number) { return &ch->records[number % c->bounds.records]; }

static void ring(machine *m, channel *ch) {
    if (!ch->front_sleeps) return;
    ch->front_sleeps = 0;
    m->wake = 1;
}

static void visit(checker *c, const machine *m);

static void begin_and_release(checker *c, machine *m, channel *ch, worker *w, const record *r) {
    if (r->number != w->position) c->read_after_reuse = true;
    w->request = r->request;
    if (m->requests[w->request].begun++) c->begun_twice = true;
    ch->released = ++w->position;
    w->step = W_ANSWER;
}

static void claim(const checker *c, worker *w, record *r) {
    bool mine = r->claim == UNCLAIMED;
    w->step = mine ? W_BEGIN_AND_RELEASE : W_PASS_OVER;
    if (!mine) return;
    if (c->fault == CLAIM_IN_TWO_STEPS) {
        w->step = W_STORE_CLAIM;
    } else {
        r->claim = TAKEN;
    }
}

static void answer(machine *m, channel *ch, worker *w) {
    m->requests[w->request].published = 1;
    ch->responses[ch->answered++] = w->request;
    w->request = NOBODY;
    w->due = 1;
}

/* False when it cannot run now. */
static bool step_worker(checker *c, machine *m, unsigned number) {
    worker *w = &m->workers[number];
    channel *ch = &m->channels[number];
    record *r = place(c, ch, w->position);
    switch (w->step) {
    case W_PEEK:
        w->step = ch->published == w->position ? W_ASK : c->fault == RELEASE_BEFORE_CLAIM ? W_EARLY : W_CLAIM;
        return true;
    case W_EARLY:
        ch->released = w->position + 1;
        w->step = W_CLAIM;
        return true;
    case W_CLAIM:
        claim(c, w, r);
        return true;
    case W_STORE_CLAIM:
        r->claim = TAKEN;
        w->step = W_BEGIN_AND_RELEASE;
        return true;
    case W_BEGIN_AND_RELEASE:
        begin_and_release(c, m, ch, w, r);
        return true;
    case W_PASS_OVER:
        ch->released = ++w->position;
        w->step = W_PEEK;
        return true;
    case W_ANSWER:
        answer(m, ch, w);
        w->step = W_PEEK;
        return true;
    case W_ASK:
        ch->wanted = w->position + c->bounds.credit;
        w->step = w->due ? W_RING : W_LOOK_STARVED;
        w->due = 0;
        return true;
    case W_LOOK_STARVED:
    case W_LOOK_STARVED_AGAIN:
        w->step = ch->starved && c->fault != NO_RING_WHEN_STARVED ? w->step + 1
                  : w->step == W_LOOK_STARVED                     ? W_ANNOUNCE
                                                                  : W_LOOK;
        return true;
    case W_RING:
    case W_RING_AGAIN:
        ring(m, ch);
        w->step = w->step == W_RING ? W_ANNOUNCE : W_LOOK;
        return true;
    case W_ANNOUNCE:
        ch->worker_sleeps = 1;
        w->step = W_LOOK_STARVED_AGAIN;
        return true;
    case W_LOOK:
        w->step = W_SLEEP;
        if (ch->published == w->position || c->fault == NO_LOOK_OF_A_WORKER) return true;
        ch->worker_sleeps = 0;
        w->step = W_PEEK;
        return true;
    case W_SLEEP:
        if (!ch->worker_wake) return false;
        ch->worker_wake = ch->worker_sleeps = 0;
        w->step = W_PEEK;
        return true;
    default:
        return false;
    }
}

/* --- the front --- */

static bool readable(const machine *m, unsigned w) { return m->channels[w].answered > m->front.taken[w]; }

static bool may_be_given(const checker *c, const machine *m, unsigned w) {
    const front *f = &m->front;
    const channel *ch = &m->channels[w];
    bool room = c->fault == OVERWRITE || f->committed[w] - ch->released < c->bounds.records;
    return !f->removed[w] && ch->wanted > f->sent[w] && room;
}

static uint8_t chosen(const checker *c, const machine *m, unsigned but) {
    for (uint8_t w = 0; w < WORKERS; w++) {
        if (w != but && may_be_given(c, m, w)) return w;
    }
    return NOBODY;
}

static void settle(checker *c, request *r, bool lost) {
    if (r->answered++) c->answered_twice = true;
    if (lost && r->published) c->lost_an_answer = true;
    if (lost) c->finished_lost = true;
    r->listed = 0;
    r->worker = NOBODY;
}

static void take_answers(checker *c, machine *m, unsigned w) {
    while (readable(m, w))
        settle(c, &m->requests[m->channels[w].responses[m->front.taken[w]++]], false);
}

static void queue_first(front *f, uint8_t number) {
    memmove(f->queue + 1, f->queue, f->queued);
    f->queue[0] = number;
    f->queued++;
}

/* NOBODY: there is none. */
static uint8_t oldest_given(const checker *c, const machine *m, unsigned w) {
    uint8_t oldest = NOBODY;
    for (uint8_t i = 0; i < c->bounds.requests; i++) {
        const request *r = &m->requests[i];
        if (r->listed && r->worker == w && (oldest == NOBODY || r->number < m->requests[oldest].number)) oldest = i;
    }
    return oldest;
}

static void give(const checker *c, machine *m, uint8_t w) {
    front *f = &m->front;
    uint8_t number = f->queue[0];
    memmove(f->queue, f->queue + 1, --f->queued);
    *place(c, &m->channels[w], f->committed[w]) = (record){f->committed[w], number, UNCLAIMED};
    m->requests[number].worker = w;
    m->requests[number].listed = 1;
    m->requests[number].number = f->committed[w]++;
    f->sent[w]++;
}

/* The next worker, or the next step. */
static void go_on(front *f, uint8_t again, uint8_t then) {
    f->step = again;
    if (++f->at < WORKERS) return;
    f->at = 0;
    f->step = then;
}

/* True: the request is the front's again. */
static bool claim_back(const checker *c, machine *m, request *r) {
    record *rec = place(c, &m->channels[r->worker], r->number);
    if (rec->claim != UNCLAIMED && c->fault != REQUEUE_WITHOUT_CLAIM) return false;
    rec->claim = REQUEUED;
    return true;
}

static bool has_released(const machine *m, const request *r) { return m->channels[r->worker].released > r->number; }

static void return_from_the_dead(checker *c, machine *m, unsigned w) {
    if (c->fault != RETURN_BEFORE_ANSWERS) take_answers(c, m, w);
    for (uint8_t i = c->bounds.requests; i-- > 0;) {
        request *r = &m->requests[i];
        if (r->worker != w) continue;
        bool back = r->listed && !has_released(m, r) && claim_back(c, m, r);
        if (back || c->fault == RETURN_BLINDLY) {
            r->listed = 0;
            r->worker = NOBODY;
            queue_first(&m->front, i);
        } else {
            settle(c, r, true);
        }
    }
    m->front.removed[w] = 1;
}

static void look_before_sleep(const checker *c, machine *m, unsigned w) {
    front *f = &m->front;
    if (readable(m, w) || (f->queued && may_be_given(c, m, w))) f->something = 1;
    if (f->at + 1u < WORKERS) {
        f->at++;
        f->step = F_ANNOUNCE;
        return;
    }
    f->step = f->something && c->fault != NO_LOOK_OF_THE_FRONT ? F_CANCEL : F_SLEEP;
    f->at = f->something = 0;
}

static bool step_front(checker *c, machine *m) {
    front *f = &m->front;
    channel *ch = &m->channels[f->at];
    request *r = NULL;
    uint8_t oldest = oldest_given(c, m, f->at), to;
    if (oldest != NOBODY) r = &m->requests[oldest];
    switch (f->step) {
    case F_TAKE:
        if (!f->removed[f->at]) take_answers(c, m, f->at);
        go_on(f, F_TAKE, F_GIVE);
        return true;
    case F_GIVE:
        to = f->queued ? chosen(c, m, NOBODY) : NOBODY;
        if (to == NOBODY) {
            f->step = F_PUBLISH;
        } else {
            give(c, m, to);
        }
        return true;
    case F_PUBLISH:
        f->step = F_RING;
        if (ch->published == f->committed[f->at]) go_on(f, F_PUBLISH, F_REQUEUE);
        ch->published = f->committed[ch - m->channels];
        return true;
    case F_RING:
        if (ch->worker_sleeps) {
            ch->worker_sleeps = 0;
            ch->worker_wake = 1;
        }
        go_on(f, F_PUBLISH, F_REQUEUE);
        return true;
    case F_REQUEUE: /* not to; requeue_some is the other way */
        go_on(f, F_REQUEUE, F_ANNOUNCE);
        return true;
    case F_REQUEUE_LOOK:
        f->step = F_REQUEUE_CLAIM;
        if (c->fault == REQUEUE_WITHOUT_LOOK || !has_released(m, r)) return true;
        r->listed = 0;
        f->step = F_REQUEUE;
        return true;
    case F_REQUEUE_CLAIM:
        f->step = F_REQUEUE_COPY;
        if (claim_back(c, m, r)) return true;
        r->listed = 0;
        f->step = F_REQUEUE;
        return true;
    case F_REQUEUE_COPY:
        if (place(c, ch, r->number)->number != r->number) c->read_after_reuse = true;
        r->listed = 0;
        r->worker = NOBODY;
        queue_first(f, oldest);
        f->at = 0;
        f->step = F_GIVE;
        return true;
    case F_ANNOUNCE:
        ch->starved = f->queued > 0;
        ch->front_sleeps = 1;
        f->step = F_LOOK;
        return true;
    case F_LOOK:
        look_before_sleep(c, m, f->at);
        return true;
    case F_SLEEP:
        if (!m->wake) return false;
        m->wake = 0;
        f->step = F_CANCEL;
        return true;
    case F_CANCEL:
        for (unsigned w = 0; w < WORKERS; w++)
            m->channels[w].front_sleeps = 0;
        f->step = F_END;
        return true;
    case F_END:
        if (f->told[f->at] && !f->removed[f->at]) return_from_the_dead(c, m, f->at);
        go_on(f, F_END, F_TAKE);
        return true;
    default:
        return false;
    }
}

/* The other way at F_REQUEUE: what a worker has not begun with goes to another that may be given
   it. */
static bool requeue_some(const checker *c, machine *m) {
    front *f = &m->front;
    if (f->step != F_REQUEUE || f->removed[f->at] || f->requeues == c->bounds.requeues) return false;
    if (oldest_given(c, m, f->at) == NOBODY || chosen(c, m, f->at) == NOBODY) return false;
    f->requeues++;
    f->step = F_REQUEUE_LOOK;
    return true;
}

/* --- the world around --- */

static bool arrive(const checker *c, machine *m) {
    /* It reads sockets there. */
    bool between = m->front.step == F_SLEEP || m->front.step == F_CANCEL;
    if (m->arrived == c->bounds.requests || !between) return false;
    m->front.queue[m->front.queued++] = m->arrived++;
    m->wake = 1;
    return true;
}

static bool die(const checker *c, machine *m, unsigned w) {
    if (m->workers[w].step == W_DEAD || m->deaths == c->bounds.deaths) return false;
    m->deaths++;
    m->workers[w] = (worker){.step = W_DEAD, .request = NOBODY};
    return true;
}

static bool tell_of_death(machine *m, unsigned w) {
    if (m->workers[w].step != W_DEAD || m->front.told[w]) return false;
    m->front.told[w] = 1;
    m->wake = 1;
    return true;
}

/* Steps of the front that no other can see or change are taken at once, which leaves fewer
   interleavings to walk. */
static bool is_local(const checker *c, const machine *m) {
    const front *f = &m->front;
    switch (f->step) {
    case F_GIVE:
        return f->queued == 0;
    case F_PUBLISH:
        return m->channels[f->at].published == f->committed[f->at];
    case F_REQUEUE:
        return f->removed[f->at] || f->requeues == c->bounds.requeues || oldest_given(c, m, f->at) == NOBODY;
    case F_TAKE:
    case F_END:
        return f->removed[f->at];
    default:
        return false;
    }
}

/* Nothing can move any more. */
static void judge(checker *c, const machine *m) {
    bool all_dead = m->front.removed[0] && m->front.removed[1];
    unsigned unanswered = 0;
    for (unsigned i = 0; i < m->arrived; i++)
        unanswered += !m->requests[i].answered;
    bool waits = all_dead && unanswered == m->front.queued;
    if (m->arrived == c->bounds.requests && (unanswered == 0 || waits)) {
        c->finished = true;
        c->finished_requeued = c->finished_requeued || m->front.requeues > 0;
    } else {
        c->stuck = true;
    }
}

/* --- the walk --- */

static uint64_t hash(const machine *m) {
    uint64_t words[(sizeof *m + 7) / 8] = {0}, key = 0;
    memcpy(words, m, sizeof *m);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        key = (key ^ words[i]) * 0x9e3779b97f4a7c15u;
        key ^= key >> 29;
    }
    key *= 0xbf58476d1ce4e5b9u;
    return (key ^ key >> 32) | 1; /* never 0 */
}

static void visit(checker *c, const machine *m) { nb_test_walk_visit(&c->walk, hash(m), m); }

static void expand(checker *c, const machine *m) {
    bool moved = false;
    machine next;
#define TRY(step)                  \
    next = *m;                     \
    if (step) {                    \
        while (is_local(c, &next)) \
            step_front(c, &next);  \
        visit(c, &next);           \
        moved = true;              \
    }
    TRY(step_front(c, &next))
    TRY(requeue_some(c, &next))
    TRY(arrive(c, &next))
    for (unsigned w = 0; w < WORKERS; w++) {
        TRY(step_worker(c, &next, w))
        TRY(tell_of_death(&next, w))
    }
#undef TRY
    if (!moved) judge(c, m);
    for (unsigned w = 0; w < WORKERS; w++) { /* a death is never needed to go on */
        next = *m;
        if (die(c, &next, w)) visit(c, &next);
    }
}

static bool broken(const checker *c) {
    return c->begun_twice || c->answered_twice || c->lost_an_answer || c->read_after_reuse || c->stuck;
}

/* Stops at the first thing that is wrong. */
static checker check(bounds within, fault injected) {
    checker c = {.bounds = within, .fault = injected, .walk.state_bytes = sizeof(machine)};
    machine first;
    memset(&first, 0, sizeof first);
    for (unsigned w = 0; w < WORKERS; w++)
        first.workers[w].request = NOBODY;
    for (unsigned i = 0; i < REQUESTS_MAX; i++)
        first.requests[i].worker = NOBODY;
    while (!within.later && first.arrived < within.requests)
        first.front.queue[first.front.queued++] = first.arrived++;
    visit(&c, &first);
    for (machine m; !broken(&c) && nb_test_walk_next(&c.walk, &m);)
        expand(&c, &m);
    nb_test_walk_end(&c.walk);
    print_message("    %u requests, rings of %u, credit %u, %u requeues, %u deaths, fault %d: %zu states\n",
                  within.requests, within.records, within.credit, within.requeues, within.deaths, injected,
                  c.walk.seen_count);
    return c;
}

static void assert_right(bounds within) {
    checker c = check(within, NO_FAULT);
    assert_false(c.begun_twice);
    assert_false(c.answered_twice);
    assert_false(c.lost_an_answer);
    assert_false(c.read_after_reuse);
    assert_false(c.stuck);
    assert_true(c.finished);
    assert_true(c.finished_requeued == (within.requeues > 0));
    assert_true(c.finished_lost == (within.deaths > 0));
    assert_true(c.walk.seen_count > 1000);
}

/* NB_TEST_WIDE=1: minutes and gigabytes, for who has changed the protocol. */
static bool wider(void) { return getenv("NB_TEST_WIDE") != NULL; }

static void every_request_is_run_once_and_answered_once(void **state) {
    (void)state;
    assert_right((bounds){.requests = 2, .records = 2, .credit = 1, .later = true});
    assert_right((bounds){.requests = 3, .records = 2, .credit = 2});
}

static void so_it_is_with_requeued_requests(void **state) {
    (void)state;
    assert_right((bounds){.requests = 2, .records = 2, .credit = 2, .requeues = 1});
    if (!wider()) return;
    assert_right((bounds){.requests = 2, .records = 2, .credit = 2, .requeues = 2, .later = true});
    assert_right((bounds){.requests = 3, .records = 2, .credit = 2, .requeues = 1});
}

static void so_it_is_when_workers_die_at_any_step(void **state) {
    (void)state;
    assert_right((bounds){.requests = 2, .records = 2, .credit = 1, .deaths = 1});
    assert_right((bounds){.requests = 2, .records = 2, .credit = 2, .deaths = 2});
    assert_right((bounds){.requests = 2, .records = 2, .credit = 2, .requeues = 1, .deaths = 1});
    if (!wider()) return;
    assert_right((bounds){.requests = 2, .records = 2, .credit = 2, .requeues = 2, .deaths = 1});
    assert_right((bounds){.requests = 3, .records = 3, .credit = 2, .requeues = 1, .deaths = 1});
}

static const bounds wide = {.requests = 3, .records = 2, .credit = 2, .requeues = 2, .deaths = 1};

static void a_claim_that_is_not_one_step_lets_a_request_be_begun_twice(void **state) {
    (void)state;
    assert_true(
        check((bounds){.requests = 2, .records = 2, .credit = 1, .requeues = 1}, CLAIM_IN_TWO_STEPS).begun_twice);
}

static void a_requeue_without_a_claim_lets_a_request_be_begun_twice(void **state) {
    (void)state;
    assert_true(
        check((bounds){.requests = 2, .records = 2, .credit = 1, .requeues = 1}, REQUEUE_WITHOUT_CLAIM).begun_twice);
}

static void room_given_back_too_early_is_used_again_too_early(void **state) {
    (void)state;
    checker c = check((bounds){.requests = 3, .records = 2, .credit = 3}, RELEASE_BEFORE_CLAIM);
    assert_true(broken(&c));
}

static void a_front_that_does_not_look_what_was_released_writes_over_a_record(void **state) {
    (void)state;
    checker c = check((bounds){.requests = 3, .records = 2, .credit = 3}, OVERWRITE);
    assert_true(c.read_after_reuse || c.begun_twice);
}

static void a_requeue_that_does_not_look_takes_another_record_for_its_own(void **state) {
    (void)state;
    checker c = check(wide, REQUEUE_WITHOUT_LOOK);
    assert_true(c.read_after_reuse || c.begun_twice);
}

static void returning_all_of_a_dead_worker_runs_what_it_had_begun_with(void **state) {
    (void)state;
    checker c = check((bounds){.requests = 2, .records = 2, .credit = 1, .deaths = 1}, RETURN_BLINDLY);
    assert_true(c.begun_twice);
}

static void returning_before_its_answers_are_taken_loses_one(void **state) {
    (void)state;
    checker c = check((bounds){.requests = 2, .records = 2, .credit = 1, .deaths = 1}, RETURN_BEFORE_ANSWERS);
    assert_true(c.lost_an_answer);
}

static void without_a_second_look_somebody_sleeps_for_ever(void **state) {
    (void)state;
    assert_true(check((bounds){.requests = 2, .records = 2, .credit = 1}, NO_LOOK_OF_THE_FRONT).stuck);
    assert_true(check((bounds){.requests = 2, .records = 2, .credit = 1}, NO_LOOK_OF_A_WORKER).stuck);
    assert_true(check((bounds){.requests = 3, .records = 2, .credit = 1}, NO_RING_WHEN_STARVED).stuck);
}

int main(void) {
    nb_test_alarm(wider() ? 3000 : 170);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_is_run_once_and_answered_once),
        cmocka_unit_test(so_it_is_with_requeued_requests),
        cmocka_unit_test(so_it_is_when_workers_die_at_any_step),
        cmocka_unit_test(a_claim_that_is_not_one_step_lets_a_request_be_begun_twice),
        cmocka_unit_test(a_requeue_without_a_claim_lets_a_request_be_begun_twice),
        cmocka_unit_test(room_given_back_too_early_is_used_again_too_early),
        cmocka_unit_test(a_front_that_does_not_look_what_was_released_writes_over_a_record),
        cmocka_unit_test(a_requeue_that_does_not_look_takes_another_record_for_its_own),
        cmocka_unit_test(returning_all_of_a_dead_worker_runs_what_it_had_begun_with),
        cmocka_unit_test(returning_before_its_answers_are_taken_loses_one),
        cmocka_unit_test(without_a_second_look_somebody_sleeps_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
