/*
 * exchange.c - see exchange.h.
 */
#include "dispatch/exchange.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "os/net.h"

void nb_exchanges_init(nb_exchanges *exchanges) { *exchanges = (nb_exchanges){0}; }

void nb_exchange_drop_handover(nb_exchange *exchange) {
    if (!exchange->handover) return;
    nb_net_close(exchange->handover->fd, true);
    nb_free(exchange->handover);
    exchange->handover = NULL;
}

void nb_exchanges_deinit(nb_exchanges *exchanges) {
    for (uint32_t i = 0; i < exchanges->count; i++) {
        nb_exchange_drop_handover(exchanges->slots[i]);
        nb_free(exchanges->slots[i]);
    }
    nb_free(exchanges->slots);
    nb_exchanges_init(exchanges);
}

static nb_status grow(nb_exchanges *exchanges) {
    uint32_t capacity = exchanges->capacity ? exchanges->capacity * 2 : 64;
    nb_exchange **slots = nb_realloc(exchanges->slots, capacity * sizeof(*slots));
    if (!slots) return NB_NO_MEMORY;
    exchanges->slots = slots;
    exchanges->capacity = capacity;
    return NB_OK;
}

static nb_exchange *new_slot(nb_exchanges *exchanges) {
    if (exchanges->count == 1u << NB_EXCHANGE_SLOT_BITS) return NULL;
    if (exchanges->count == exchanges->capacity && grow(exchanges) != NB_OK) return NULL;
    nb_exchange *exchange = nb_alloc(sizeof(*exchange));
    if (!exchange) return NULL;
    exchange->index = (uint32_t)exchanges->loop << NB_EXCHANGE_SLOT_BITS | exchanges->count;
    exchange->generation = 1; /* so that no id is 0 */
    exchange->body_fd = -1;
    exchanges->slots[exchanges->count++] = exchange;
    return exchange;
}

nb_exchange *nb_exchange_create(nb_exchanges *exchanges) {
    nb_exchange *exchange = exchanges->free;
    if (exchange) {
        exchanges->free = exchange->next;
    } else {
        exchange = new_slot(exchanges);
        if (!exchange) return NULL;
    }
    *exchange = (nb_exchange){
        .index = exchange->index, .generation = exchange->generation, .channel = NB_CHANNEL_NONE, .body_fd = -1};
    exchanges->live++;
    return exchange;
}

void nb_exchange_destroy(nb_exchanges *exchanges, nb_exchange *exchange) {
    NB_ASSERT(nb_send_queue_empty(&exchange->send_queue) && !exchange->in_notices && !exchange->record);
    NB_ASSERT(!exchange->compression && !exchange->weak_tags);
    nb_exchange_drop_handover(exchange);
    exchange->connection = NULL;
    exchange->channel = NB_CHANNEL_NONE;
    exchanges->unspooled += exchange->spooled;
    exchange->spooled = 0;
    exchange->generation++;
    exchange->next = exchanges->free;
    exchanges->free = exchange;
    exchanges->live--;
}

nb_exchange *nb_exchange_find(const nb_exchanges *exchanges, nb_exchange_id id) {
    uint32_t slot = nb_exchange_id_slot(id);
    if (nb_exchange_id_loop(id) != exchanges->loop || slot >= exchanges->count) return NULL;
    nb_exchange *exchange = exchanges->slots[slot];
    return exchange->generation == (uint32_t)(id >> 32) ? exchange : NULL;
}
