/*
 * channel.c - see channel.h.
 */
#include "intake/channel.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"

#define CACHE_LINE_BYTES 64u

static size_t ring_span(void) {
    return (nb_ring_memory_bytes(NB_RING_BYTES) + CACHE_LINE_BYTES - 1) & ~(size_t)(CACHE_LINE_BYTES - 1);
}

/* Aligned by hand over nb_alloc, so that allocation failures can be tested; the block's start stands just before it. */
static nb_channel_memory *memory_create(void) {
    size_t bytes = sizeof(nb_channel_memory) + 2 * ring_span();
    char *block = nb_alloc(bytes + CACHE_LINE_BYTES + sizeof(void *));
    if (!block) return NULL;
    uintptr_t aligned = ((uintptr_t)block + sizeof(void *) + CACHE_LINE_BYTES - 1) & ~(uintptr_t)(CACHE_LINE_BYTES - 1);
    ((void **)aligned)[-1] = block;
    nb_channel_memory *memory = (nb_channel_memory *)aligned;
    nb_doorbell_init(&memory->executor_bell);
    nb_doorbell_init(&memory->loop_bell);
    atomic_init(&memory->wanted, 0);
    atomic_init(&memory->able, 0);
    atomic_init(&memory->loop_starved, 0);
    atomic_init(&memory->allowance, NB_RESPONSE_FLOOR_BYTES);
    atomic_init(&memory->executor_blocked, 0);
    atomic_init(&memory->executor_gone, 0);
    atomic_init(&memory->pulse.switched_ns, 0);
    atomic_init(&memory->pulse.running, 0);
    atomic_init(&memory->pulse.turns, 0);
    memset(&memory->figures, 0, sizeof(memory->figures));
    return memory;
}

static void memory_destroy(nb_channel_memory *memory) {
    if (memory) nb_free(((void **)memory)[-1]);
}

nb_status nb_channel_create(const nb_wake *loop_wake, nb_channel **result) {
    nb_channel *channel = nb_alloc_zero(1, sizeof(*channel));
    if (!channel) return NB_NO_MEMORY;
    channel->executor_wake = (nb_wake){-1, -1};
    nb_status status = NB_NO_MEMORY;
    channel->memory = memory_create();
    if (!channel->memory) goto fail;
    channel->ring_bytes = NB_RING_BYTES;
    channel->loop_wake = loop_wake;
    status = nb_ring_format(nb_channel_requests(channel), NB_RING_BYTES);
    if (status != NB_OK) goto fail;
    status = nb_ring_format(nb_channel_responses(channel), NB_RING_BYTES);
    if (status != NB_OK) goto fail;
    status = nb_wake_init(&channel->executor_wake);
    if (status != NB_OK) goto fail;
    *result = channel;
    return NB_OK;
fail:
    memory_destroy(channel->memory);
    nb_free(channel);
    return status;
}

void nb_channel_destroy(nb_channel *channel) {
    if (!channel) return;
    nb_wake_deinit(&channel->executor_wake);
    memory_destroy(channel->memory);
    nb_free(channel);
}

void *nb_channel_requests(nb_channel *channel) { return channel->memory->rings; }
void *nb_channel_responses(nb_channel *channel) { return channel->memory->rings + ring_span(); }

void nb_channel_ring_executor(nb_channel *channel) {
    if (nb_doorbell_ring_needed(&channel->memory->executor_bell)) nb_wake_signal(&channel->executor_wake);
}

void nb_channel_ring_loop(nb_channel *channel) {
    if (nb_doorbell_ring_needed(&channel->memory->loop_bell)) nb_wake_signal(channel->loop_wake);
}
