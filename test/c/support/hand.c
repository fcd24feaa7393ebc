/*
 * hand.c - see hand.h.
 */
#include "support/hand.h"

#include <string.h>

nb_test_hand nb_test_hand_serve(nb_test_world *w, unsigned wanted) {
    nb_test_hand h = {.world = w, .worker = nb_test_world_mute(w)};
    h.channel = w->far[h.worker];
    nb_ring_consumer_attach(&h.requests, nb_channel_requests(h.channel));
    nb_ring_producer_attach(&h.responses, nb_channel_responses(h.channel));
    atomic_store(&h.channel->board->asked, wanted);
    nb_test_world_serve(w, h.worker);
    return h;
}

nb_message *nb_test_hand_next(nb_test_hand *h) {
    size_t bytes;
    const nb_message *message;
    while (!(message = nb_ring_peek(&h->requests, &bytes)))
        nb_test_world_settle(h->world);
    nb_ring_advance(&h->requests);
    atomic_fetch_add(&h->channel->board->pulse.turns, 1);
    return (nb_message *)(uintptr_t)message;
}

nb_exchange_id nb_test_hand_begin(nb_test_hand *h) {
    nb_message *message = nb_test_hand_next(h);
    assert_int_equal(NB_MESSAGE_REQUEST, message->type);
    assert_true(nb_request_claim((nb_request_message *)(void *)message, NB_CLAIM_TAKEN));
    nb_request_begin((nb_request_message *)(void *)message);
    atomic_fetch_add(&h->channel->board->pulse.turns, 1);
    return message->exchange;
}

void nb_test_hand_put(nb_test_hand *h, const void *part, size_t bytes) {
    void *place = nb_ring_reserve(&h->responses, bytes);
    assert_non_null(place);
    memcpy(place, part, bytes);
    nb_ring_commit(&h->responses, bytes);
    nb_ring_publish(&h->responses);
}

void nb_test_hand_head(nb_test_hand *h, nb_exchange_id exchange, uint64_t length, uint16_t flags) {
    nb_response_message part = {
        .message = {NB_MESSAGE_RESPONSE, (uint16_t)(flags | NB_RESPONSE_HAS_LENGTH), sizeof part, exchange},
        .content_length = length,
        .status = 200};
    nb_test_hand_put(h, &part, sizeof part);
}
