/*
 * test_workers.c - the pool of threads: what runs where, its bounds, its end.
 */
#include "support/test.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "os/workers.h"

typedef struct task {
    nb_job job;
    bool ran, ended, signals_blocked;
    pthread_t runner, ender;
    unsigned order, again, runners;
    nb_test_gate *hold; /* run waits for it */
} task;

static nb_test_gate running = NB_TEST_GATE, done = NB_TEST_GATE, open_gate = NB_TEST_GATE;
static _Atomic int at_once, most_at_once;
static _Atomic unsigned order;

static void run_task(nb_job *job) {
    task *t = (task *)job;
    sigset_t blocked;
    int now = atomic_fetch_add(&at_once, 1) + 1, most = atomic_load(&most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) {
    }
    t->order = atomic_fetch_add(&order, 1);
    t->runner = pthread_self();
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    t->signals_blocked = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGPIPE);
    nb_test_gate_open(&running);
    if (t->hold != NULL) nb_test_gate_wait(t->hold, 1);
    t->ran = true;
    atomic_fetch_sub(&at_once, 1);
}

static void end_task(nb_job *job) {
    task *t = (task *)job;
    t->ended = true;
    t->ender = pthread_self();
    nb_test_gate_open(&done);
}

static void reset(nb_test_gate *gate) {
    pthread_mutex_lock(&gate->lock);
    gate->count = 0;
    pthread_mutex_unlock(&gate->lock);
}

static int setup(void **state) {
    (void)state;
    reset(&running);
    reset(&done);
    reset(&open_gate);
    atomic_store(&most_at_once, 0);
    atomic_store(&order, 0);
    return 0;
}

static void prepare(task *tasks, size_t count, nb_test_gate *hold) {
    for (size_t i = 0; i < count; i++)
        tasks[i] = (task){.job = {.run = run_task, .done = end_task}, .hold = hold};
}

static nb_workers *new_workers(unsigned threads, size_t queue_max) {
    nb_workers *workers;
    assert_status(NB_OK, nb_workers_create("nb-test", threads, queue_max, &workers));
    return workers;
}

static void a_job_runs_and_ends_on_one_worker_with_signals_blocked(void **state) {
    (void)state;
    task t;
    prepare(&t, 1, NULL);
    nb_workers *workers = new_workers(2, 4);
    assert_status(NB_OK, nb_workers_submit(workers, &t.job));
    nb_test_gate_wait(&done, 1);
    nb_workers_destroy(workers);
    assert_true(t.ran && t.ended && t.signals_blocked);
    assert_true(pthread_equal(t.runner, t.ender));
    assert_false(pthread_equal(t.runner, pthread_self()));
}

static void one_worker_takes_jobs_in_the_order_they_came(void **state) {
    (void)state;
    task tasks[50];
    prepare(tasks, 50, NULL);
    tasks[0].hold = &open_gate;
    nb_workers *workers = new_workers(1, 64);
    for (int i = 0; i < 50; i++)
        assert_status(NB_OK, nb_workers_submit(workers, &tasks[i].job));
    nb_test_gate_open(&open_gate);
    nb_test_gate_wait(&done, 50);
    nb_workers_destroy(workers);
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(i, tasks[i].order);
}

static void no_more_jobs_run_at_once_than_there_are_threads_and_that_many_do(void **state) {
    (void)state;
    task tasks[9];
    prepare(tasks, 9, &open_gate);
    nb_workers *workers = new_workers(3, 16);
    for (int i = 0; i < 9; i++)
        assert_status(NB_OK, nb_workers_submit(workers, &tasks[i].job));
    nb_test_gate_wait(&running, 3);
    assert_int_equal(3, nb_test_gate_count(&running));
    nb_test_gate_open(&open_gate);
    nb_test_gate_wait(&done, 9);
    nb_workers_destroy(workers);
    assert_int_equal(3, atomic_load(&most_at_once));
}

static void jobs_beyond_the_queue_are_refused_and_never_called(void **state) {
    (void)state;
    task tasks[4];
    prepare(tasks, 4, &open_gate);
    nb_workers *workers = new_workers(1, 2);
    assert_status(NB_OK, nb_workers_submit(workers, &tasks[0].job));
    nb_test_gate_wait(&running, 1);
    assert_status(NB_OK, nb_workers_submit(workers, &tasks[1].job));
    assert_status(NB_OK, nb_workers_submit(workers, &tasks[2].job));
    assert_status(NB_FULL, nb_workers_submit(workers, &tasks[3].job));
    nb_test_gate_open(&open_gate);
    nb_test_gate_wait(&done, 3);
    assert_status(NB_OK, nb_workers_submit(workers, &tasks[3].job));
    nb_test_gate_wait(&done, 4);
    nb_workers_destroy(workers);
    assert_int_equal(4, nb_test_gate_count(&running));
}

static void *destroy(void *workers) {
    nb_workers_destroy(workers);
    return NULL;
}

static void the_end_drops_what_waits_and_waits_for_what_runs(void **state) {
    (void)state;
    task tasks[3];
    prepare(tasks, 3, &open_gate);
    nb_workers *workers = new_workers(1, 8);
    for (int i = 0; i < 3; i++)
        assert_status(NB_OK, nb_workers_submit(workers, &tasks[i].job));
    nb_test_gate_wait(&running, 1);
    pthread_t destroyer = nb_test_thread(destroy, workers);
    nb_test_gate_wait(&done, 2); /* the two that waited, while the first still runs */
    assert_true(tasks[1].ended && tasks[2].ended);
    assert_false(tasks[1].ran || tasks[2].ran);
    nb_test_gate_open(&open_gate);
    nb_test_join(destroyer);
    assert_true(tasks[0].ran && tasks[0].ended);
    assert_int_equal(3, nb_test_gate_count(&done));
}

static void an_unused_pool_starts_and_ends_without_a_thread(void **state) {
    (void)state;
    long live = nb_alloc_live();
    nb_workers *workers = new_workers(4, 4);
    assert_int_equal(live + 1, nb_alloc_live());
    nb_workers_destroy(workers);
    nb_workers_destroy(NULL);
    assert_int_equal(live, nb_alloc_live());
}

static void without_any_thread_a_job_is_refused_and_with_one_it_waits(void **state) {
    (void)state;
    task tasks[3];
    prepare(tasks, 3, &open_gate);
    nb_workers *workers = new_workers(2, 4);
    nb_alloc_fail_at(1);
    assert_status(NB_SYSTEM, nb_workers_submit(workers, &tasks[0].job));
    assert_status(NB_OK, nb_workers_submit(workers, &tasks[1].job));
    nb_test_gate_wait(&running, 1);
    nb_alloc_fail_at(1);
    assert_status(NB_OK, nb_workers_submit(workers, &tasks[2].job));
    nb_alloc_fail_at(0);
    nb_test_gate_open(&open_gate);
    nb_test_gate_wait(&done, 2);
    nb_workers_destroy(workers);
    assert_false(tasks[0].ran || tasks[0].ended);
    assert_true(tasks[1].ran && tasks[2].ran);
    assert_int_equal(1, atomic_load(&most_at_once));
}

static void without_memory_there_is_no_pool(void **state) {
    (void)state;
    nb_workers *workers = NULL;
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_workers_create("x", 1, 1, &workers));
    assert_null(workers);
}

/* --- jobs that come again --- */

static nb_workers *again_in;

static void come_again(nb_job *job) {
    task *t = (task *)job;
    if (t->again-- > 0 && nb_workers_resubmit(again_in, job) == NB_OK) return;
    end_task(job);
}

static void note_runner(nb_job *job) {
    task *t = (task *)job;
    if (!pthread_equal(t->runner, pthread_self())) t->runners++;
    run_task(job);
}

static void a_job_comes_again_behind_those_that_wait(void **state) {
    (void)state;
    task tasks[3];
    prepare(tasks, 3, NULL);
    tasks[0].hold = &open_gate;
    tasks[0].again = 1;
    tasks[0].job.done = come_again;
    again_in = new_workers(1, 2);
    for (int i = 0; i < 3; i++) {
        assert_status(NB_OK, nb_workers_submit(again_in, &tasks[i].job));
        nb_test_gate_wait(&running,
                          /* The first runs: the others fill the queue, which has a place for it all
                             the same. */
                          1);
    }
    nb_test_gate_open(&open_gate);
    nb_test_gate_wait(&done, 3);
    nb_workers_destroy(again_in);
    assert_int_equal(3, tasks[0].order);
    assert_int_equal(1, tasks[1].order);
    assert_int_equal(2, tasks[2].order);
}

static void for_a_job_that_comes_again_nobody_is_woken(void **state) {
    (void)state;
    task t;
    prepare(&t, 1, NULL);
    t.job = (nb_job){.run = note_runner, .done = come_again};
    t.again = 200;
    again_in = new_workers(4, 4);
    assert_status(NB_OK, nb_workers_submit(again_in, &t.job));
    nb_test_gate_wait(&done, 1);
    nb_workers_destroy(again_in);
    assert_int_equal(201, nb_test_gate_count(&running));
    assert_int_equal(1, t.runners);
}

static void a_pool_that_ends_takes_no_job_again(void **state) {
    (void)state;
    task tasks[2];
    prepare(tasks, 2, NULL);
    for (int i = 0; i < 2; i++) {
        tasks[i].job.done = come_again;
        tasks[i].again = 1000;
    }
    tasks[0].hold = &open_gate;
    again_in = new_workers(1, 2);
    for (int i = 0; i < 2; i++)
        assert_status(NB_OK, nb_workers_submit(again_in, &tasks[i].job));
    nb_test_gate_wait(&running, 1);
    pthread_t destroyer = nb_test_thread(destroy, again_in);
    nb_test_gate_wait(&done, 1); /* the one that waited */
    nb_test_gate_open(&open_gate);
    nb_test_join(destroyer);
    assert_true(tasks[0].ended && tasks[1].ended);
    assert_int_equal(1, nb_test_gate_count(&running));
}

/* Jobs submitted by several threads while workers finish others. */
static nb_workers *shared;
static void *submit_many(void *tasks) {
    for (int i = 0; i < 500; i++) {
        while (nb_workers_submit(shared, &((task *)tasks)[i].job) == NB_FULL) {
        }
    }
    return NULL;
}

static void every_accepted_job_runs_once(void **state) {
    (void)state;
    static task tasks[4][500];
    pthread_t threads[4];
    shared = new_workers(3, 16);
    for (int i = 0; i < 4; i++) {
        prepare(tasks[i], 500, NULL);
        threads[i] = nb_test_thread(submit_many, tasks[i]);
    }
    for (int i = 0; i < 4; i++)
        nb_test_join(threads[i]);
    nb_test_gate_wait(&done, 2000);
    nb_workers_destroy(shared);
    assert_int_equal(2000, nb_test_gate_count(&running));
    assert_int_equal(2000, nb_test_gate_count(&done));
    assert_true(atomic_load(&most_at_once) <= 3);
}

int main(void) {
    nb_test_alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_job_runs_and_ends_on_one_worker_with_signals_blocked, setup),
        cmocka_unit_test_setup(one_worker_takes_jobs_in_the_order_they_came, setup),
        cmocka_unit_test_setup(no_more_jobs_run_at_once_than_there_are_threads_and_that_many_do, setup),
        cmocka_unit_test_setup(jobs_beyond_the_queue_are_refused_and_never_called, setup),
        cmocka_unit_test_setup(the_end_drops_what_waits_and_waits_for_what_runs, setup),
        cmocka_unit_test_setup(an_unused_pool_starts_and_ends_without_a_thread, setup),
        cmocka_unit_test_setup(without_any_thread_a_job_is_refused_and_with_one_it_waits, setup),
        cmocka_unit_test_setup(without_memory_there_is_no_pool, setup),
        cmocka_unit_test_setup(a_job_comes_again_behind_those_that_wait, setup),
        cmocka_unit_test_setup(for_a_job_that_comes_again_nobody_is_woken, setup),
        cmocka_unit_test_setup(a_pool_that_ends_takes_no_job_again, setup),
        cmocka_unit_test_setup(every_accepted_job_runs_once, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
