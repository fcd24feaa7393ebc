/*
 * test_resolver.c - the resolver with a lookup and a clock of the test's own, and once with the
 * real ones.
 */
#include "support/test.h"

#include <netdb.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/resolver.h"

enum { QUEUE = 256, CACHED = 1024 }; /* WAITING_MAX and NAMES_MAX of resolver.c */

/* --- the world of the lookups --- */

static _Atomic int64_t now_ns;
static _Atomic int next_error;   /* what lookups answer */
static _Atomic unsigned version; /* the last byte of the address they answer */
static nb_test_gate started = NB_TEST_GATE, answered = NB_TEST_GATE, hold = NB_TEST_GATE;
static _Atomic bool holding; /* lookups wait for `hold` */

static int64_t test_clock(void) { return atomic_load(&now_ns); }

static void test_lookup(const char *name, nb_resolver_answer *answer) {
    /* Before the test can see that this has started and change it. */
    bool held = atomic_load(&holding);
    nb_test_gate_open(&started);
    if (held) nb_test_gate_wait(&hold, 1);
    answer->error = atomic_load(&next_error);
    answer->count = answer->error == 0 ? 1 : 0;
    if (strcmp(name, "empty.test") == 0) answer->count = 0;
    snprintf(answer->addresses[0], NB_RESOLVER_TEXT_BYTES, "192.0.2.%u", atomic_load(&version));
}

static void pass_time(int64_t seconds) { atomic_fetch_add(&now_ns, seconds * NB_NS_PER_S); }

static unsigned lookups(void) { return nb_test_gate_count(&started); }

static nb_resolver *resolver;
static long live;

static void reset(nb_test_gate *gate) {
    pthread_mutex_lock(&gate->lock);
    gate->count = 0;
    pthread_mutex_unlock(&gate->lock);
}

static int setup_with(unsigned threads) {
    live = nb_alloc_live();
    atomic_store(&now_ns, 1000 * NB_NS_PER_S);
    atomic_store(&next_error, 0);
    atomic_store(&version, 1);
    atomic_store(&holding, false);
    reset(&started);
    reset(&answered);
    reset(&hold);
    return nb_resolver_create(threads, test_lookup, test_clock, &resolver) == NB_OK ? 0 : -1;
}

static int setup(void **state) {
    (void)state;
    return setup_with(8);
}

static int setup_one_thread(void **state) {
    (void)state;
    return setup_with(1);
}

static int teardown(void **state) {
    (void)state;
    nb_resolver_destroy(resolver);
    resolver = NULL;
    return nb_alloc_live() == live ? 0 : -1;
}

typedef struct question {
    nb_resolver_query query;
    _Atomic unsigned responses;
    pthread_t answered_by;
} question;

static void on_answer(nb_resolver_query *query) {
    question *q = query->owner;
    q->answered_by = pthread_self();
    atomic_fetch_add(&q->responses, 1);
    nb_test_gate_open(&answered);
}

static void prepare(question *q) {
    memset(q, 0, sizeof *q);
    q->query = (nb_resolver_query){.done = on_answer, .owner = q};
}

static nb_status ask(question *q, const char *name) {
    prepare(q);
    return nb_resolver_ask(resolver, name, strlen(name), &q->query);
}

#define ERROR(code) ((code) < 0 ? (code) : -(code))

/* Asks and waits for the answer: the last byte of the address, or an EAI_ code below 0. */
static int resolve(const char *name) {
    static question q;
    unsigned before = nb_test_gate_count(&answered), last;
    assert_status(NB_OK, ask(&q, name));
    nb_test_gate_wait(&answered, before + 1);
    assert_int_equal(1, atomic_load(&q.responses));
    if (q.query.answer.error != 0) {
        assert_int_equal(0, q.query.answer.count);
        return q.query.answer.error < 0 ? q.query.answer.error : -q.query.answer.error;
    }
    assert_int_equal(1, q.query.answer.count);
    assert_int_equal(1, sscanf(q.query.answer.addresses[0], "192.0.2.%u", &last));
    return (int)last;
}

static void hold_lookups(void) { atomic_store(&holding, true); }

static void let_go(void) {
    atomic_store(&holding, false);
    nb_test_gate_open(&hold);
}

/* --- the cache --- */

static void an_answer_is_kept_30_seconds(void **state) {
    (void)state;
    assert_int_equal(1, resolve("a.test"));
    atomic_store(&version, 2);
    pass_time(29);
    assert_int_equal(1, resolve("a.test"));
    assert_int_equal(1, lookups());
    pass_time(1);
    assert_int_equal(2, resolve("a.test"));
    assert_int_equal(2, lookups());
    pass_time(29);
    assert_int_equal(2, resolve("a.test"));
}

static void a_cached_answer_comes_inside_the_question(void **state) {
    (void)state;
    question q;
    resolve("a.test");
    assert_status(NB_OK, ask(&q, "a.test"));
    assert_int_equal(1, atomic_load(&q.responses));
    assert_true(pthread_equal(q.answered_by, pthread_self()));
    assert_int_equal(0, nb_resolver_withdraw(resolver, &q.query));
}

/* The last byte of the address, an EAI_ code below 0, or 0: it has to be asked for. */
static int known(const char *name) {
    nb_resolver_answer answer;
    unsigned last;
    nb_status status = nb_resolver_known(resolver, name, strlen(name), &answer);
    if (status == NB_NOT_FOUND) return 0;
    assert_status(NB_OK, status);
    if (answer.error != 0) return ERROR(answer.error);
    assert_int_equal(1, answer.count);
    assert_int_equal(1, sscanf(answer.addresses[0], "192.0.2.%u", &last));
    return (int)last;
}

static void what_is_fresh_is_known_without_a_question(void **state) {
    (void)state;
    assert_int_equal(0, known("a.test"));
    assert_int_equal(0, lookups());
    assert_int_equal(1, resolve("a.test"));
    assert_int_equal(0, known("a.tes"));
    pass_time(29);
    assert_int_equal(1, known("a.test"));
    pass_time(1);
    assert_int_equal(0, known("a.test"));
    atomic_store(&next_error, EAI_AGAIN);
    /* An older answer, after a lookup that failed: not fresh for that. */
    assert_int_equal(1, resolve("a.test"));
    assert_int_equal(0, known("a.test"));
    atomic_store(&next_error, EAI_NONAME);
    assert_int_equal(ERROR(EAI_NONAME), resolve("a.test"));
    pass_time(4);
    assert_int_equal(ERROR(EAI_NONAME), known("a.test"));
    pass_time(1);
    assert_int_equal(0, known("a.test"));
    assert_int_equal(3, lookups());
}

static void a_name_being_looked_up_is_not_known_yet(void **state) {
    (void)state;
    question q;
    hold_lookups();
    assert_status(NB_OK, ask(&q, "a.test"));
    nb_test_gate_wait(&started, 1);
    assert_int_equal(0, known("a.test"));
    let_go();
    nb_test_gate_wait(&answered, 1);
    assert_int_equal(1, known("a.test"));
}

static void what_is_known_copies_as_many_addresses_as_there_are(void **state) {
    (void)state;
    nb_resolver_answer answer;
    resolve("a.test");
    memset(&answer, 'x', sizeof answer);
    assert_status(NB_OK, nb_resolver_known(resolver, "a.test", 6, &answer));
    assert_int_equal(0, answer.error);
    assert_int_equal(1, answer.count);
    assert_string_equal("192.0.2.1", answer.addresses[0]);
    assert_int_equal('x', answer.addresses[1][0]);
}

static void no_such_host_is_kept_5_seconds(void **state) {
    (void)state;
    atomic_store(&next_error, EAI_NONAME);
    assert_int_equal(ERROR(EAI_NONAME), resolve("a.test"));
    atomic_store(&next_error, 0);
    pass_time(4);
    assert_int_equal(ERROR(EAI_NONAME), resolve("a.test"));
    assert_int_equal(1, lookups());
    pass_time(1);
    assert_int_equal(1, resolve("a.test"));
}

static void no_addresses_at_all_is_no_such_host(void **state) {
    (void)state;
    assert_int_equal(ERROR(EAI_NONAME), resolve("empty.test"));
    assert_int_equal(ERROR(EAI_NONAME), resolve("empty.test"));
    assert_int_equal(1, lookups());
}

static void names_are_answered_apart(void **state) {
    (void)state;
    assert_int_equal(1, resolve("a.test"));
    atomic_store(&version, 2);
    assert_int_equal(2, resolve("a.tes"));
    assert_int_equal(1, resolve("a.test"));
    assert_int_equal(2, lookups());
}

static void a_failure_of_the_moment_gives_an_answer_up_to_10_minutes_old(void **state) {
    (void)state;
    static const int momentary[] = {EAI_AGAIN, EAI_SYSTEM, EAI_FAIL, EAI_MEMORY};
    assert_int_equal(1, resolve("a.test"));
    pass_time(30);
    for (unsigned i = 0; i < 4; i++) {
        atomic_store(&next_error, momentary[i]);
        assert_int_equal(1, resolve("a.test"));
        assert_int_equal(2 + i, lookups()); /* asked again each time: a failure is not an answer */
    }
    pass_time(569);
    assert_int_equal(1, resolve("a.test"));
    pass_time(1);
    assert_int_equal(ERROR(EAI_MEMORY), resolve("a.test"));
    atomic_store(&next_error, 0);
    atomic_store(&version, 7);
    assert_int_equal(7, resolve("a.test"));
}

static void a_failure_of_the_moment_is_told_when_nothing_older_is_known(void **state) {
    (void)state;
    atomic_store(&next_error, EAI_AGAIN);
    assert_int_equal(ERROR(EAI_AGAIN), resolve("a.test"));
    atomic_store(&next_error, 0);
    assert_int_equal(1, resolve("a.test"));
}

static void a_definite_no_ends_what_was_known(void **state) {
    (void)state;
    assert_int_equal(1, resolve("a.test"));
    pass_time(30);
    atomic_store(&next_error, EAI_NONAME);
    assert_int_equal(ERROR(EAI_NONAME), resolve("a.test"));
    pass_time(5);
    atomic_store(&next_error, EAI_AGAIN);
    assert_int_equal(ERROR(EAI_AGAIN), resolve("a.test"));
}

static void of_too_many_names_the_one_unused_longest_is_forgotten(void **state) {
    (void)state;
    char name[32];
    for (int i = 0; i < CACHED; i++) {
        snprintf(name, sizeof name, "%d.test", i);
        resolve(name);
    }
    resolve("0.test"); /* now the youngest */
    assert_int_equal(CACHED, lookups());
    resolve("one-more.test");
    resolve("0.test");
    resolve("2.test");
    assert_int_equal(CACHED + 1, lookups());
    resolve("1.test");
    assert_int_equal(CACHED + 2, lookups());
    assert_int_equal(1, known("4.test")); /* a use as any other: 5 goes in its place */
    resolve("another.test");
    assert_int_equal(1, known("4.test"));
    assert_int_equal(0, known("5.test"));
}

/* --- merging --- */

static void questions_of_one_name_share_one_lookup(void **state) {
    (void)state;
    static question questions[100];
    hold_lookups();
    for (int i = 0; i < 100; i++)
        assert_status(NB_OK, ask(&questions[i], "a.test"));
    nb_test_gate_wait(&started, 1);
    assert_int_equal(0, nb_test_gate_count(&answered));
    let_go();
    nb_test_gate_wait(&answered, 100);
    assert_int_equal(1, lookups());
    for (int i = 0; i < 100; i++) {
        assert_int_equal(1, atomic_load(&questions[i].responses));
        assert_string_equal("192.0.2.1", questions[i].query.answer.addresses[0]);
    }
}

static void what_was_asked_is_counted(void **state) {
    (void)state;
    static question q;
    assert_int_equal(1, resolve("a.test"));
    assert_int_equal(1, resolve("a.test"));
    nb_resolver_answer known;
    assert_status(NB_OK, nb_resolver_known(resolver, "a.test", 6, &known));
    atomic_store(&next_error, EAI_NONAME);
    assert_int_equal(ERROR(EAI_NONAME), resolve("b.test"));
    hold_lookups();
    assert_status(NB_OK, ask(&q, "c.test"));
    nb_test_gate_wait(&started, 3);
    nb_resolver_figures figures = nb_resolver_figures_read(resolver);
    assert_int_equal(3, figures.lookups);
    assert_int_equal(2, figures.cached);
    assert_int_equal(1, figures.failed);
    assert_int_equal(1, figures.pending);
    let_go();
    nb_test_gate_wait(&answered, 4);
    figures = nb_resolver_figures_read(resolver);
    assert_int_equal(2, figures.failed);
    assert_int_equal(0, figures.pending);
}

static void a_name_holds_one_worker_and_others_are_answered_meanwhile(void **state) {
    (void)state;
    static question stuck[20];
    hold_lookups();
    for (int i = 0; i < 20; i++)
        assert_status(NB_OK, ask(&stuck[i], "stuck.test"));
    nb_test_gate_wait(&started, 1);
    atomic_store(&holding, false); /* for lookups that start from now on */
    assert_int_equal(1, resolve("other.test"));
    let_go();
    nb_test_gate_wait(&answered, 21);
    assert_int_equal(2, lookups());
}

/* --- bounds --- */

static void a_full_queue_is_eai_again_or_the_older_answer(void **state) {
    (void)state;
    static question questions[QUEUE + 1];
    char name[32];
    assert_int_equal(1, resolve("known.test"));
    pass_time(60);
    hold_lookups();
    for (int i = 0; i < QUEUE + 1; i++) {
        snprintf(name, sizeof name, "%d.test", i);
        assert_status(NB_OK, ask(&questions[i], name));
        if (i == 0) nb_test_gate_wait(&started, 2); /* one runs, the others fill the queue */
    }
    assert_int_equal(1, nb_test_gate_count(&answered));
    assert_int_equal(ERROR(EAI_AGAIN), resolve("one-more.test"));
    assert_int_equal(1, resolve("known.test"));
    let_go();
    nb_test_gate_wait(&answered, 3 + QUEUE + 1);
    assert_int_equal(1, resolve("one-more.test"));
}

static void impossible_names_are_refused_or_do_not_exist(void **state) {
    (void)state;
    char name[NB_RESOLVER_NAME_BYTES_MAX + 2];
    question q;
    memset(name, 'a', sizeof name);
    prepare(&q);
    assert_status(NB_OVER_LIMIT, nb_resolver_ask(resolver, name, sizeof name - 1, &q.query));
    assert_int_equal(0, atomic_load(&q.responses));
    assert_status(NB_OK, nb_resolver_ask(resolver, name, sizeof name - 2, &q.query));
    nb_test_gate_wait(&answered, 1);
    assert_int_equal(0, q.query.answer.error);
    prepare(&q);
    assert_status(NB_OK, nb_resolver_ask(resolver, "", 0, &q.query));
    assert_int_equal(EAI_NONAME, q.query.answer.error);
    prepare(&q);
    assert_status(NB_OK, nb_resolver_ask(resolver, "a\0b", 3, &q.query));
    assert_int_equal(EAI_NONAME, q.query.answer.error);
    nb_resolver_answer answer;
    assert_status(NB_OVER_LIMIT, nb_resolver_known(resolver, name, sizeof name - 1, &answer));
    assert_int_equal(ERROR(EAI_NONAME), known(""));
    assert_status(NB_OK, nb_resolver_known(resolver, "a\0b", 3, &answer));
    assert_int_equal(EAI_NONAME, answer.error);
    assert_int_equal(1, lookups());
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    question q;
    unsigned long n = 1;
    for (;; n++) {
        nb_alloc_fail_at(n);
        nb_status status = ask(&q, "a.test");
        nb_alloc_fail_at(0);
        if (status == NB_OK) break;
        assert_status(NB_NO_MEMORY, status);
        assert_int_equal(0, atomic_load(&q.responses));
    }
    assert_true(n >= 3); /* the entry, the question; the thread's start is NB_OK with EAI_AGAIN */
    nb_test_gate_wait(&answered, 1);
    assert_int_equal(1, resolve("a.test"));
    for (n = 1; n <= 2; n++) {
        nb_resolver *none = NULL;
        nb_alloc_fail_at(n);
        assert_status(NB_NO_MEMORY, nb_resolver_create(1, test_lookup, test_clock, &none));
        assert_null(none);
    }
}

/* --- withdrawing and the end --- */

static void a_withdrawn_question_is_not_answered_and_the_others_are(void **state) {
    (void)state;
    static question questions[5];
    hold_lookups();
    for (int i = 0; i < 5; i++)
        assert_status(NB_OK, ask(&questions[i], "a.test"));
    nb_test_gate_wait(&started, 1);
    static const int withdrawn[] = {2, 4, 0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(1, nb_resolver_withdraw(resolver, &questions[withdrawn[i]].query));
        assert_int_equal(0, nb_resolver_withdraw(resolver, &questions[withdrawn[i]].query));
    }
    question late;
    assert_status(NB_OK, ask(&late, "a.test")); /* appended where a withdrawn one was the last */
    let_go();
    nb_test_gate_wait(&answered, 3);
    for (int i = 0; i < 5; i++)
        assert_int_equal(i % 2, atomic_load(&questions[i].responses));
    assert_int_equal(1, atomic_load(&late.responses));
    assert_int_equal(0, nb_resolver_withdraw(resolver, &late.query));
}

static void a_lookup_nobody_waits_for_any_more_still_fills_the_cache(void **state) {
    (void)state;
    question q;
    hold_lookups();
    assert_status(NB_OK, ask(&q, "a.test"));
    nb_test_gate_wait(&started, 1);
    assert_int_equal(1, nb_resolver_withdraw(resolver, &q.query));
    let_go();
    assert_int_equal(1, resolve("a.test")); /* joins it or finds its answer */
    assert_int_equal(1, lookups());
    assert_int_equal(0, atomic_load(&q.responses));
}

static void *destroy(void *unused) {
    nb_resolver_destroy(resolver);
    return unused;
}

static void the_end_answers_whoever_waits_with_eai_again(void **state) {
    (void)state;
    static question questions[12];
    char name[32];
    hold_lookups();
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "%d.test", i / 2);
        assert_status(NB_OK, ask(&questions[i], name));
    }
    nb_test_gate_wait(&started, 1);
    pthread_t destroyer = nb_test_thread(destroy, NULL);
    nb_test_gate_wait(&answered, 12); /* while the lookup that runs is still held */
    for (int i = 0; i < 12; i++) {
        assert_int_equal(EAI_AGAIN, questions[i].query.answer.error);
        assert_int_equal(1, atomic_load(&questions[i].responses));
    }
    let_go();
    nb_test_join(destroyer);
    resolver = NULL;
    assert_int_equal(12, nb_test_gate_count(&answered));
    assert_int_equal(1, lookups());
}

/* Threads ask, withdraw and are answered all at once; every question ends exactly one way. */
static _Atomic unsigned asked_total, withdrawn_total, wrong_total;

static void *ask_and_withdraw(void *seed) {
    nb_test_random random = {*(uint64_t *)seed};
    for (int i = 0; i < 400; i++) {
        question q;
        char name[32];
        snprintf(name, sizeof name, "%u.test", (unsigned)nb_test_random_below(&random, 5));
        if (nb_test_random_below(&random, 20) == 0) pass_time(31);
        if (known(name) < 0) atomic_fetch_add(&wrong_total, 1);
        if (ask(&q, name) != NB_OK) atomic_fetch_add(&wrong_total, 1);
        atomic_fetch_add(&asked_total, 1);
        if (nb_test_random_below(&random, 2) && nb_resolver_withdraw(resolver, &q.query)) {
            atomic_fetch_add(&withdrawn_total, 1);
            if (atomic_load(&q.responses) != 0) atomic_fetch_add(&wrong_total, 1);
            continue;
        }
        while (atomic_load(&q.responses) == 0)
            nb_test_gate_wait(&answered, 0);
        if (q.query.answer.error != 0) atomic_fetch_add(&wrong_total, 1);
    }
    return NULL;
}

static void among_threads_each_question_is_answered_or_withdrawn(void **state) {
    (void)state;
    pthread_t threads[4];
    uint64_t seeds[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        threads[i] = nb_test_thread(ask_and_withdraw, &seeds[i]);
    for (int i = 0; i < 4; i++)
        nb_test_join(threads[i]);
    assert_int_equal(0, atomic_load(&wrong_total));
    assert_int_equal(1600, atomic_load(&asked_total));
    /* on_answer counts after it told the asker: the last ones may still be on their way. */
    nb_test_gate_wait(&answered, 1600 - atomic_load(&withdrawn_total));
    assert_int_equal(1600 - atomic_load(&withdrawn_total), nb_test_gate_count(&answered));
}

/* --- the real one --- */

static void localhost_and_numeric_addresses_resolve_for_real(void **state) {
    (void)state;
    static question q;
    nb_resolver *fake = resolver;
    assert_status(NB_OK, nb_resolver_create(2, NULL, NULL, &resolver));
    assert_status(NB_OK, ask(&q, "localhost"));
    nb_test_gate_wait(&answered, 1);
    assert_int_equal(0, q.query.answer.error);
    assert_true(q.query.answer.count >= 1);
    for (unsigned i = 0; i < q.query.answer.count; i++) {
        const char *text = q.query.answer.addresses[i];
        assert_true(strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(text, q.query.answer.addresses[j]);
    }
    assert_status(NB_OK, ask(&q, "192.0.2.77"));
    nb_test_gate_wait(&answered, 2);
    assert_int_equal(1, q.query.answer.count);
    assert_string_equal("192.0.2.77", q.query.answer.addresses[0]);
    nb_resolver_destroy(resolver);
    resolver = fake;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CASE_ONE_THREAD(name) cmocka_unit_test_setup_teardown(name, setup_one_thread, teardown)

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        CASE(an_answer_is_kept_30_seconds),
        CASE(a_cached_answer_comes_inside_the_question),
        CASE(what_is_fresh_is_known_without_a_question),
        CASE(a_name_being_looked_up_is_not_known_yet),
        CASE(what_is_known_copies_as_many_addresses_as_there_are),
        CASE(no_such_host_is_kept_5_seconds),
        CASE(no_addresses_at_all_is_no_such_host),
        CASE(names_are_answered_apart),
        CASE(a_failure_of_the_moment_gives_an_answer_up_to_10_minutes_old),
        CASE(a_failure_of_the_moment_is_told_when_nothing_older_is_known),
        CASE(a_definite_no_ends_what_was_known),
        CASE(of_too_many_names_the_one_unused_longest_is_forgotten),
        CASE(questions_of_one_name_share_one_lookup),
        CASE(what_was_asked_is_counted),
        CASE(a_name_holds_one_worker_and_others_are_answered_meanwhile),
        CASE_ONE_THREAD(a_full_queue_is_eai_again_or_the_older_answer),
        CASE(impossible_names_are_refused_or_do_not_exist),
        CASE(each_allocation_may_fail),
        CASE(a_withdrawn_question_is_not_answered_and_the_others_are),
        CASE(a_lookup_nobody_waits_for_any_more_still_fills_the_cache),
        CASE_ONE_THREAD(the_end_answers_whoever_waits_with_eai_again),
        CASE(among_threads_each_question_is_answered_or_withdrawn),
        CASE(localhost_and_numeric_addresses_resolve_for_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
