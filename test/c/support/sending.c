/*
 * sending.c - see sending.h.
 */
#include "support/sending.h"

static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t inbox_changed = PTHREAD_COND_INITIALIZER;
static nb_sending *inbox; /* what workers have returned and nobody has awaited */

static void returned(nb_sending *sending) {
    pthread_mutex_lock(&inbox_lock);
    sending->next = inbox;
    inbox = sending;
    pthread_cond_broadcast(&inbox_changed);
    pthread_mutex_unlock(&inbox_lock);
}

void nb_test_sending_await(nb_sending *wanted) {
    pthread_mutex_lock(&inbox_lock);
    nb_sending **place = &inbox;
    while (*place != wanted) {
        if (*place) {
            place = &(*place)->next;
        } else {
            pthread_cond_wait(&inbox_changed, &inbox_lock);
            place = &inbox;
        }
    }
    *place = wanted->next;
    pthread_mutex_unlock(&inbox_lock);
}

void nb_test_sendings_open(nb_test_sendings *all, uint16_t algorithm, unsigned workers) {
    all->before = nb_test_leaks_begin();
    all->sent = 0;
    nb_pool_init(&all->pool);
    nb_send_queue_init(&all->send_queue);
    assert_status(NB_OK, nb_senders_init(&all->senders, algorithm, workers, NB_TEST_SENDING_BUFFER,
                                         NB_TEST_SENDING_QUEUE, &all->pool, returned));
}

int nb_test_sendings_close(nb_test_sendings *all) {
    nb_send_queue_clear(&all->send_queue, &all->pool);
    nb_senders_stop(&all->senders);
    nb_senders_deinit(&all->senders);
    assert_int_equal(0, all->pool.sending);
    nb_pool_deinit(&all->pool);
    return nb_test_leaks_end(&all->before);
}

void nb_test_sending_memory(nb_test_sendings *all, size_t from, size_t bytes) {
    nb_test_queue_memory(&all->send_queue, &all->pool, from, bytes);
}

void nb_test_sending_file(nb_test_sendings *all, nb_file *file, size_t offset, size_t bytes) {
    nb_test_queue_file(&all->send_queue, file, offset, bytes);
}

nb_sending *nb_test_sending_begin(nb_test_sendings *all, nb_test_sink *sink) {
    nb_sending *sending = nb_sending_begin(&all->senders, &all->send_queue, &sink->transport, sink);
    assert_non_null(sending);
    return sending;
}

nb_step nb_test_sending_step(nb_test_sendings *all, nb_sending *sending, uint64_t most) {
    uint64_t left = sending->left, sent;
    nb_step step = nb_sending_step(sending, most, &sent);
    if (step == NB_STEP_WORKER) {
        nb_test_sending_await(sending);
        step = nb_sending_take_back(sending);
        sent += nb_sending_progress(sending);
    }
    all->sent += sent;
    assert_int_equal(left - sent, sending->left);
    return step;
}

nb_step nb_test_sending_drive(nb_test_sendings *all, nb_sending *sending, nb_test_sink *sink) {
    nb_step step = NB_STEP_OTHERS;
    for (unsigned turns = 0; step != NB_STEP_DONE && step != NB_STEP_FAILED; turns++) {
        step = nb_test_sending_step(all, sending, UINT64_MAX);
        if (step == NB_STEP_WRITABLE) sink->calls_left = sink->calls;
        assert_true(turns < 1000000);
    }
    return step;
}
