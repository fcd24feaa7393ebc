/*
 * channel.c - see channel.h.
 */
#include "intake/channel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/descriptor_pipe.h"

#define CACHE_LINE_BYTES 64u

static size_t ring_span(void) {
    return (nb_ring_memory_bytes(NB_RING_BYTES) + CACHE_LINE_BYTES - 1) & ~(size_t)(CACHE_LINE_BYTES - 1);
}

static size_t memory_bytes(void) { return sizeof(nb_channel_memory) + 2 * ring_span(); }

static uint64_t layout(void) {
    return ((uint64_t)NB_CHANNEL_LAYOUT << 56) ^ ((uint64_t)sizeof(nb_channel_memory) << 32) ^
           ((uint64_t)sizeof(nb_request_message) << 16) ^ sizeof(nb_response_message) ^ NB_RING_BYTES;
}

/* `memory` is zeroed, which is how atomics, doorbells and figures begin. */
static nb_status format(nb_channel *channel) {
    nb_channel_memory *memory = channel->memory;
    channel->ring_bytes = NB_RING_BYTES;
    memory->layout = layout();
    atomic_store_explicit(&memory->allowance, NB_RESPONSE_FLOOR_BYTES, memory_order_relaxed);
    nb_status status = nb_ring_format(nb_channel_requests(channel), NB_RING_BYTES);
    return status == NB_OK ? nb_ring_format(nb_channel_responses(channel), NB_RING_BYTES) : status;
}

/* Aligned by hand over nb_alloc, so that allocation failures can be tested; the block's start stands just before it. */
static nb_channel_memory *memory_create(void) {
    size_t room = CACHE_LINE_BYTES + sizeof(void *);
    char *block = nb_alloc(memory_bytes() + room);
    if (!block) return NULL;
    uintptr_t aligned = ((uintptr_t)block + sizeof(void *) + CACHE_LINE_BYTES - 1) & ~(uintptr_t)(CACHE_LINE_BYTES - 1);
    ((void **)aligned)[-1] = block;
    memset((void *)aligned, 0, sizeof(nb_channel_memory));
    return (nb_channel_memory *)aligned;
}

static nb_channel *channel_create(void) {
    nb_channel *channel = nb_alloc_zero(1, sizeof(*channel));
    if (!channel) return NULL;
    channel->executor_wake = channel->far_wake = (nb_wake){-1, -1};
    channel->descriptors = channel->descriptors_far = channel->shared.fd = -1;
    return channel;
}

nb_status nb_channel_create(const nb_wake *loop_wake, nb_channel **result) {
    nb_channel *channel = channel_create();
    if (!channel) return NB_NO_MEMORY;
    channel->loop_wake = loop_wake;
    channel->memory = memory_create();
    nb_status status = channel->memory ? format(channel) : NB_NO_MEMORY;
    if (status == NB_OK) status = nb_wake_init(&channel->executor_wake);
    if (status == NB_OK) {
        *result = channel;
    } else {
        nb_channel_destroy(channel);
    }
    return status;
}

nb_status nb_channel_create_shared(const nb_wake *loop_wake, nb_channel **result) {
    int pipe_ends[2];
    nb_channel *channel = channel_create();
    if (!channel) return NB_NO_MEMORY;
    channel->loop_wake = loop_wake;
    nb_status status = nb_shared_memory_create(memory_bytes(), &channel->shared);
    channel->memory = channel->shared.address;
    if (status == NB_OK) status = format(channel);
    if (status == NB_OK) status = nb_wake_init(&channel->executor_wake);
    if (status == NB_OK) status = nb_descriptor_pipe_create(pipe_ends);
    if (status == NB_OK) {
        channel->descriptors = pipe_ends[0];
        channel->descriptors_far = pipe_ends[1];
        *result = channel;
    } else {
        int error = errno;
        nb_channel_destroy(channel);
        errno = error;
    }
    return status;
}

void nb_channel_descriptors(const nb_channel *channel, int descriptors[NB_CHANNEL_DESCRIPTORS]) {
    descriptors[0] = channel->shared.fd;
    descriptors[1] = channel->executor_wake.read_fd;
    descriptors[2] = channel->loop_wake->write_fd;
    descriptors[3] = channel->descriptors_far;
}

static void close_once(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

void nb_channel_handed_over(nb_channel *channel) {
    nb_shared_memory_close_fd(&channel->shared);
    close_once(&channel->descriptors_far);
}

nb_status nb_channel_attach(const int descriptors[NB_CHANNEL_DESCRIPTORS], nb_channel **result) {
    nb_channel *channel = channel_create();
    for (int i = 0; !channel && i < NB_CHANNEL_DESCRIPTORS; i++) {
        close(descriptors[i]);
    }
    if (!channel) return NB_NO_MEMORY;
    channel->executor_wake = (nb_wake){descriptors[1], descriptors[1]};
    channel->far_wake = (nb_wake){descriptors[2], descriptors[2]};
    channel->loop_wake = &channel->far_wake;
    channel->descriptors = descriptors[3];
    channel->ring_bytes = NB_RING_BYTES;
    nb_status status = nb_shared_memory_attach(descriptors[0], memory_bytes(), &channel->shared);
    channel->memory = channel->shared.address;
    if (status == NB_OK && channel->memory->layout != layout()) status = NB_INVALID;
    if (status == NB_OK) {
        nb_shared_memory_close_fd(&channel->shared);
        *result = channel;
    } else {
        int error = errno;
        nb_channel_destroy(channel);
        errno = error;
    }
    return status;
}

void nb_channel_abandon(nb_channel *channel) {
    nb_wake_deinit(&channel->executor_wake);
    nb_wake_deinit(&channel->far_wake);
    close_once(&channel->descriptors);
    close_once(&channel->descriptors_far);
    nb_shared_memory_close_fd(&channel->shared);
}

void nb_channel_destroy(nb_channel *channel) {
    if (!channel) return;
    nb_channel_abandon(channel);
    if (nb_channel_is_shared(channel)) {
        nb_shared_memory_destroy(&channel->shared);
    } else if (channel->memory) {
        nb_free(((void **)channel->memory)[-1]);
    }
    nb_free(channel);
}

nb_status nb_channel_give(nb_channel *channel, int fd) {
    return nb_channel_is_shared(channel) ? nb_descriptor_pipe_send(channel->descriptors, fd) : NB_OK;
}

int nb_channel_take(nb_channel *channel, int64_t fd) {
    return nb_channel_is_shared(channel) ? nb_descriptor_pipe_receive(channel->descriptors) : (int)fd;
}

void *nb_channel_requests(nb_channel *channel) { return channel->memory->rings; }
void *nb_channel_responses(nb_channel *channel) { return channel->memory->rings + ring_span(); }

void nb_channel_ring_executor(nb_channel *channel) {
    if (nb_doorbell_ring_needed(&channel->memory->executor_bell)) nb_wake_signal(&channel->executor_wake);
}

void nb_channel_ring_loop(nb_channel *channel) {
    if (nb_doorbell_ring_needed(&channel->memory->loop_bell)) nb_wake_signal(channel->loop_wake);
}
