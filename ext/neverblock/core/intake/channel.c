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

static size_t rounded(size_t bytes) { return (bytes + CACHE_LINE_BYTES - 1) & ~(size_t)(CACHE_LINE_BYTES - 1); }

static size_t channel_bytes(void) { return sizeof(nb_channel_memory) + 2 * ring_span(); }

static size_t memory_bytes(unsigned count) { return rounded(sizeof(nb_board)) + count * channel_bytes(); }

/* The records of fibers, requests and pools come last. They are touched as far as they are used. */
static size_t shared_bytes(unsigned count) {
    return memory_bytes(count) + rounded(sizeof(nb_fiber_memory)) + rounded(sizeof(nb_slowest)) +
           rounded(sizeof(nb_observed)) + sizeof(nb_pool_gauges);
}

static uint64_t layout(void) {
    return ((uint64_t)NB_CHANNEL_LAYOUT << 56) ^ ((uint64_t)sizeof(nb_board) << 32) ^
           ((uint64_t)sizeof(nb_request_message) << 16) ^ sizeof(nb_response_message) ^ NB_RING_BYTES ^
           ((uint64_t)sizeof(nb_fiber_memory) << 24) ^ ((uint64_t)sizeof(nb_slowest) << 8) ^
           ((uint64_t)sizeof(nb_observed) << 12) ^ ((uint64_t)sizeof(nb_pool_gauges) << 36);
}

static void place(nb_link *link, void *memory) {
    link->board = memory;
    for (uint16_t i = 0; i < link->count; i++) {
        link->channels[i].board = memory;
        link->channels[i].memory = (void *)((char *)memory + rounded(sizeof(nb_board)) + i * channel_bytes());
    }
}

static void place_shared(nb_link *link) {
    place(link, link->shared.address);
    link->fibers = (void *)((char *)link->shared.address + memory_bytes(link->count));
    link->slowest = (void *)((char *)link->fibers + rounded(sizeof(nb_fiber_memory)));
    link->observed = (void *)((char *)link->slowest + rounded(sizeof(nb_slowest)));
    link->pools = (void *)((char *)link->observed + rounded(sizeof(nb_observed)));
}

/* The memory is zeroed, which is the initial state of atomics, doorbells and metrics. */
static nb_status format(nb_link *link) {
    nb_status status = NB_OK;
    link->board->layout = layout();
    link->board->channels = link->count;
    for (uint16_t i = 0; i < link->count && status == NB_OK; i++) {
        nb_channel *channel = &link->channels[i];
        atomic_store_explicit(&channel->memory->response_window_bytes, NB_RESPONSE_FLOOR_BYTES, memory_order_relaxed);
        status = nb_ring_format(nb_channel_requests(channel), NB_RING_BYTES);
        if (status == NB_OK) status = nb_ring_format(nb_channel_responses(channel), NB_RING_BYTES);
    }
    return status;
}

/* Aligned by hand over nb_alloc, so that tests can let the allocation fail. The start of the block
   is stored just before it. Rings need not be zeroed. */
static void *memory_create(unsigned count) {
    size_t room = CACHE_LINE_BYTES + sizeof(void *);
    char *block = nb_alloc(memory_bytes(count) + room);
    if (!block) return NULL;
    uintptr_t aligned = ((uintptr_t)block + sizeof(void *) + CACHE_LINE_BYTES - 1) & ~(uintptr_t)(CACHE_LINE_BYTES - 1);
    ((void **)aligned)[-1] = block;
    memset((void *)aligned, 0, rounded(sizeof(nb_board)));
    for (unsigned i = 0; i < count; i++) {
        memset((char *)aligned + rounded(sizeof(nb_board)) + i * channel_bytes(), 0, sizeof(nb_channel_memory));
    }
    return (void *)aligned;
}

static nb_link *link_create(uint16_t count) {
    nb_link *link = nb_alloc_zero(1, sizeof(*link) + count * sizeof(link->channels[0]));
    if (!link) return NULL;
    link->count = count;
    link->executor_wake = (nb_wake){-1, -1};
    link->shared.fd = -1;
    atomic_init(&link->held, count);
    for (uint16_t i = 0; i < count; i++) {
        nb_channel *channel = &link->channels[i];
        channel->link = link;
        channel->far_wake = (nb_wake){-1, -1};
        channel->descriptors = channel->descriptors_far = -1;
    }
    return link;
}

/* Closing descriptors may change errno. */
static nb_status made(nb_link *link, nb_status status, nb_link **result) {
    int error = errno;
    if (status == NB_OK) {
        *result = link;
    } else {
        nb_link_destroy(link);
    }
    errno = error;
    return status;
}

nb_status nb_link_create(const nb_wake *const *loop_wakes, uint16_t count, nb_link **result) {
    nb_link *link = link_create(count);
    if (!link) return NB_NO_MEMORY;
    void *memory = memory_create(count);
    if (memory) place(link, memory);
    link->fibers = nb_alloc_zero(1, sizeof(*link->fibers));
    link->slowest = nb_alloc_zero(1, sizeof(*link->slowest));
    link->observed = nb_alloc_zero(1, sizeof(*link->observed));
    link->pools = nb_alloc_zero(1, sizeof(*link->pools));
    for (uint16_t i = 0; i < count; i++) {
        link->channels[i].loop_wake = loop_wakes[i];
    }
    bool complete = memory && link->fibers && link->slowest && link->observed && link->pools;
    nb_status status = complete ? format(link) : NB_NO_MEMORY;
    if (status == NB_OK) status = nb_wake_init(&link->executor_wake);
    return made(link, status, result);
}

static nb_status add_pipe(nb_channel *channel) {
    int ends[2];
    nb_status status = nb_descriptor_pipe_create(ends);
    if (status != NB_OK) return status;
    channel->descriptors = ends[0];
    channel->descriptors_far = ends[1];
    return NB_OK;
}

nb_status nb_link_create_shared(const nb_wake *const *loop_wakes, uint16_t count, nb_link **result) {
    nb_link *link = link_create(count);
    if (!link) return NB_NO_MEMORY;
    nb_status status = nb_shared_memory_create(shared_bytes(count), &link->shared);
    if (status == NB_OK) {
        place_shared(link);
        status = format(link);
    }
    if (status == NB_OK) status = nb_wake_init(&link->executor_wake);
    for (uint16_t i = 0; i < count && status == NB_OK; i++) {
        link->channels[i].loop_wake = loop_wakes[i];
        status = add_pipe(&link->channels[i]);
    }
    return made(link, status, result);
}

void nb_link_descriptors(const nb_link *link, int *descriptors) {
    *descriptors++ = link->shared.fd;
    *descriptors++ = link->executor_wake.read_fd;
    for (uint16_t i = 0; i < link->count; i++) {
        *descriptors++ = link->channels[i].loop_wake->write_fd;
        *descriptors++ = link->channels[i].descriptors_far;
    }
}

static void close_once(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

void nb_link_handed_over(nb_link *link) {
    nb_shared_memory_close_fd(&link->shared);
    for (uint16_t i = 0; i < link->count; i++) {
        close_once(&link->channels[i].descriptors_far);
    }
}

static void close_all(const int *descriptors, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        close(descriptors[i]);
    }
}

nb_status nb_link_attach(const int *descriptors, unsigned count, nb_link **result) {
    bool possible = count >= NB_LINK_DESCRIPTORS(1) && count <= NB_LINK_DESCRIPTORS_MAX && count % 2 == 0;
    nb_link *link = possible ? link_create((uint16_t)(count / 2 - 1)) : NULL;
    if (!link) {
        close_all(descriptors, count);
        return possible ? NB_NO_MEMORY : NB_INVALID;
    }
    link->executor_wake = (nb_wake){descriptors[1], descriptors[1]};
    for (uint16_t i = 0; i < link->count; i++) {
        nb_channel *channel = &link->channels[i];
        channel->far_wake = (nb_wake){descriptors[2 + 2 * i], descriptors[2 + 2 * i]};
        channel->loop_wake = &channel->far_wake;
        channel->descriptors = descriptors[3 + 2 * i];
    }
    nb_status status = nb_shared_memory_attach(descriptors[0], shared_bytes(link->count), &link->shared);
    if (status == NB_OK) {
        place_shared(link);
        if (link->board->layout != layout() || link->board->channels != link->count) status = NB_INVALID;
    }
    if (status == NB_OK) nb_shared_memory_close_fd(&link->shared);
    return made(link, status, result);
}

void nb_link_abandon(nb_link *link) {
    nb_wake_deinit(&link->executor_wake);
    for (uint16_t i = 0; i < link->count; i++) {
        nb_channel *channel = &link->channels[i];
        nb_wake_deinit(&channel->far_wake);
        close_once(&channel->descriptors);
        close_once(&channel->descriptors_far);
    }
    nb_shared_memory_close_fd(&link->shared);
}

void nb_link_destroy(nb_link *link) {
    if (!link) return;
    bool shared = link->shared.address != NULL;
    nb_link_abandon(link);
    if (shared) {
        nb_shared_memory_destroy(&link->shared);
    } else if (link->board) {
        nb_free(((void **)(void *)link->board)[-1]);
    }
    if (!shared) nb_free(link->fibers);
    if (!shared) nb_free(link->slowest);
    if (!shared) nb_free(link->observed);
    if (!shared) nb_free(link->pools);
    nb_free(link);
}

nb_link *nb_link_next(const nb_link *first, const nb_link *link) {
    if (link->spare) return link->spare;
    return link->lane == 0 ? first->lanes : link->lanes;
}

void nb_link_destroy_all(nb_link *link) {
    nb_link *lanes = link ? link->lanes : NULL;
    while (link) {
        nb_link *next = link->spare;
        nb_link_destroy(link);
        link = next;
    }
    while (lanes) {
        nb_link *next = lanes->lanes;
        nb_link_destroy(lanes);
        lanes = next;
    }
}

nb_channel *nb_channel_spare(const nb_channel *channel) {
    nb_link *spare = channel->link->spare;
    return spare ? &spare->channels[channel - channel->link->channels] : NULL;
}

void nb_channel_destroy_all(nb_channel *channel) {
    while (channel) {
        nb_channel *spare = nb_channel_spare(channel);
        nb_channel_destroy(channel);
        channel = spare;
    }
}

void nb_channel_destroy(nb_channel *channel) {
    if (!channel) return;
    if (atomic_fetch_sub_explicit(&channel->link->held, 1, memory_order_acq_rel) == 1) nb_link_destroy(channel->link);
}

nb_status nb_channel_send_fd(nb_channel *channel, int fd) {
    return nb_channel_is_shared(channel) ? nb_descriptor_pipe_send(channel->descriptors, fd) : NB_OK;
}

int nb_channel_receive_fd(nb_channel *channel, int64_t fd) {
    return nb_channel_is_shared(channel) ? nb_descriptor_pipe_receive(channel->descriptors) : (int)fd;
}

void *nb_channel_requests(nb_channel *channel) { return channel->memory->rings; }
void *nb_channel_responses(nb_channel *channel) { return channel->memory->rings + ring_span(); }

/* --- credit --- */

static uint64_t get(const _Atomic uint64_t *number) { return atomic_load_explicit(number, memory_order_relaxed); }

/* A single loop needs no locked instruction. */
static void add(const nb_link *link, _Atomic uint64_t *number, uint64_t by) {
    if (link->count == 1) {
        atomic_store_explicit(number, get(number) + by, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(number, by, memory_order_relaxed);
    }
}

uint64_t nb_link_credit(nb_link *link) {
    uint64_t asked = atomic_load_explicit(&link->board->asked, memory_order_acquire), handed = get(&link->handed);
    return asked > handed ? asked - handed : 0;
}

bool nb_link_take_credit(nb_link *link) {
    uint64_t handed = get(&link->handed), asked = atomic_load_explicit(&link->board->asked, memory_order_acquire);
    if (link->count == 1) {
        if (handed < asked) atomic_store_explicit(&link->handed, handed + 1, memory_order_relaxed);
        return handed < asked;
    }
    while (handed < asked) {
        if (atomic_compare_exchange_weak_explicit(&link->handed, &handed, handed + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

void nb_link_return_credit(nb_link *link) { add(link, &link->handed, (uint64_t)-1); }

void nb_link_count_requeued(nb_link *link) { add(link, &link->requeued, 1); }

void nb_link_count_answered(nb_link *link) { add(link, &link->answered, 1); }

bool nb_link_has_answered(const nb_link *link) {
    return get(&link->answered) + get(&link->requeued) >= get(&link->handed);
}

uint64_t nb_link_pending(const nb_link *link) {
    uint64_t handed = get(&link->handed) - get(&link->requeued), taken = get(&link->board->figures.taken);
    return handed > taken ? handed - taken : 0;
}

/* --- wakes --- */

void nb_channel_ring_executor(nb_channel *channel) {
    nb_board *board = channel->board;
    if (nb_doorbell_ring_needed(&board->executor_bell) || nb_doorbell_ring_needed(&board->busy_bell))
        nb_wake_signal(&channel->link->executor_wake);
}

void nb_channel_ring_busy_executor(nb_channel *channel) {
    if (nb_doorbell_ring_needed(&channel->board->busy_bell)) nb_wake_signal(&channel->link->executor_wake);
}

void nb_channel_ring_loop(nb_channel *channel) {
    if (nb_doorbell_ring_needed(&channel->memory->loop_bell)) nb_wake_signal(channel->loop_wake);
}
