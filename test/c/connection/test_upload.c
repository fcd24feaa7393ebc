/*
 * test_upload.c - an upload alone: what its window and its end allow, part by part. Over sockets:
 * test_server_upload.c.
 */
#include "connection/upload.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/limits.h"
#include "support/channel.h"
#include "support/test.h"

typedef struct bench {
    nb_dispatch dispatch;
    nb_exchanges exchanges;
    nb_exchange *exchange;
    nb_uploads uploads;
    nb_upload *upload;
    nb_pool pool;
    nb_buffer input;
    nb_channel *channel;
    nb_wake wake;
    nb_ring_consumer executor;
    uint64_t left; /* bytes of the body */
} bench;

static void bench_open(bench *b, uint64_t bytes) {
    memset(b, 0, sizeof *b);
    nb_pool_init(&b->pool);
    nb_exchanges_init(&b->exchanges);
    nb_dispatch_init(&b->dispatch, &b->exchanges, 10);
    assert_status(NB_OK, nb_wake_init(&b->wake));
    assert_status(NB_OK, nb_test_channel_create(&b->wake, false, &b->channel));
    assert_status(NB_OK, nb_dispatch_channel_add(&b->dispatch, b->channel));
    nb_ring_consumer_attach(&b->executor, nb_channel_requests(b->channel));
    b->exchange = nb_exchange_create(&b->exchanges);
    b->exchange->channel = 0;
    b->left = bytes;
    assert_status(NB_OK, nb_upload_create(b->exchange, &b->upload));
}

static void bench_close(bench *b) {
    nb_upload_destroy(&b->uploads, b->upload);
    assert_null(b->uploads.first);
    nb_buffer_release(&b->input, &b->pool);
    nb_exchange_destroy(&b->exchanges, b->exchange);
    nb_dispatch_deinit(&b->dispatch);
    nb_exchanges_deinit(&b->exchanges);
    nb_wake_deinit(&b->wake);
    nb_pool_deinit(&b->pool);
}

/* Does what a protocol does with bytes that it has read. NB_OK: the body has ended. NB_AGAIN: it
 * cannot go on now. */
static nb_status pass(bench *b) {
    while (b->left > 0 && nb_buffer_size(&b->input) > 0) {
        size_t room, size = nb_buffer_size(&b->input) < b->left ? nb_buffer_size(&b->input) : (size_t)b->left;
        char *place = nb_upload_place(&b->uploads, b->upload, &b->dispatch, &room);
        assert_true(room <= NB_INPUT_PART_BYTES);
        if (!place) return NB_AGAIN;
        if (size > room) size = room;
        memcpy(place, nb_buffer_bytes(&b->input), size);
        nb_buffer_consume(&b->input, &b->pool, size);
        b->left -= size;
        nb_upload_send(b->upload, &b->dispatch, size, b->left == 0);
    }
    return b->left == 0 ? NB_OK : NB_INCOMPLETE;
}

/* Reads `bytes` from the client and passes them on. */
static nb_status give(bench *b, size_t bytes) {
    size_t room = 0;
    assert_status(NB_OK, nb_buffer_room(&b->input, &b->pool, 65536, &room));
    assert_true(bytes <= room);
    memset(b->input.data + b->input.end, 'x', bytes);
    b->input.end += (uint32_t)bytes;
    return pass(b);
}

/* Takes all messages from the ring and returns their bytes. *last: one of them was the end. */
static size_t take(bench *b, bool *last) {
    const nb_message *message;
    size_t bytes, total = 0;
    nb_dispatch_pump(&b->dispatch);
    *last = false;
    while ((message = nb_ring_peek(&b->executor, &bytes))) {
        assert_int_equal(NB_MESSAGE_INPUT, message->type);
        assert_false(*last);
        *last = (message->flags & NB_INPUT_LAST) != 0;
        total += message->bytes - sizeof *message;
        nb_ring_advance(&b->executor);
    }
    nb_ring_release(&b->executor);
    return total;
}

static void the_window_closes_and_opens_with_what_is_taken(void **state) {
    (void)state;
    bench b;
    bool last;
    bench_open(&b, NB_INPUT_WINDOW_BYTES + 5);
    for (size_t at = 0; at < NB_INPUT_WINDOW_BYTES; at += 16384) {
        assert_true(nb_upload_wants_input(b.upload));
        assert_status(NB_INCOMPLETE, give(&b, 16384));
    }
    assert_false(nb_upload_wants_input(b.upload));
    assert_int_equal(NB_INPUT_WINDOW_BYTES, take(&b, &last));
    /* The sixth byte belongs to the next request, and stays. */
    assert_status(NB_AGAIN, give(&b, 6));
    assert_int_equal(0, take(&b, &last));
    nb_upload_taken(b.upload, 2);
    assert_true(nb_upload_wants_input(b.upload));
    assert_status(NB_AGAIN, pass(&b));
    assert_int_equal(2, take(&b, &last));
    assert_false(nb_upload_wants_input(b.upload));
    nb_upload_taken(b.upload, NB_INPUT_WINDOW_BYTES);
    assert_status(NB_OK, pass(&b));
    assert_int_equal(3, take(&b, &last));
    assert_true(last);
    assert_int_equal(1, nb_buffer_size(&b.input));
    bench_close(&b);
}

static void it_waits_for_an_executor_and_for_room(void **state) {
    (void)state;
    bench b;
    bool last;
    bench_open(&b, 100000);
    b.exchange->channel = NB_CHANNEL_NONE;
    assert_status(NB_AGAIN, give(&b, 10));
    assert_status(NB_AGAIN, pass(&b));
    assert_ptr_equal(b.upload, b.uploads.first);
    assert_false(nb_upload_wants_input(b.upload));
    assert_false(nb_dispatch_announce_sleep(&b.dispatch));
    b.exchange->channel = 0;
    nb_ring_producer *ring = &b.dispatch.channels[0].requests;
    while (nb_ring_reserve(ring, 16384))
        nb_ring_commit(ring, 16384);
    nb_ring_publish(ring);
    assert_status(NB_AGAIN, pass(&b));
    assert_false(nb_dispatch_announce_sleep(&b.dispatch));
    /* The executor rings when it makes room. */
    assert_int_equal(1, b.channel->memory->loop_starved);
    while (nb_ring_peek(&b.executor, &(size_t){0}))
        nb_ring_advance(&b.executor);
    nb_ring_release(&b.executor);
    assert_true(nb_dispatch_announce_sleep(&b.dispatch));
    nb_dispatch_input_retry(&b.dispatch);
    assert_status(NB_INCOMPLETE, pass(&b));
    assert_null(b.uploads.first);
    assert_int_equal(10, take(&b, &last));
    assert_false(nb_dispatch_announce_sleep(&b.dispatch));
    assert_int_equal(0, b.channel->memory->loop_starved);
    bench_close(&b);
}

static void the_end_may_come_without_bytes(void **state) {
    (void)state;
    bench b;
    bool last;
    size_t room;
    bench_open(&b, 100);
    assert_status(NB_INCOMPLETE, give(&b, 10));
    assert_non_null(nb_upload_place(&b.uploads, b.upload, &b.dispatch, &room));
    nb_upload_send(b.upload, &b.dispatch, 0, true);
    assert_int_equal(10, take(&b, &last));
    assert_true(last);
    bench_close(&b);
}

static void memory_that_is_out_is_said(void **state) {
    (void)state;
    nb_upload *upload = NULL;
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_upload_create(NULL, &upload));
    nb_alloc_fail_at(0);
    assert_null(upload);
    nb_upload_destroy(&(nb_uploads){0}, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_closes_and_opens_with_what_is_taken),
        cmocka_unit_test(it_waits_for_an_executor_and_for_room),
        cmocka_unit_test(the_end_may_come_without_bytes),
        cmocka_unit_test(memory_that_is_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
