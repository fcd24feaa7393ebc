/*
 * parts.c - see parts.h.
 */
#include "loop/parts.h"

#include <signal.h>
#include <string.h>

#include "os/net.h"
#include "loop/snapshot.h"
#include "connection/responding.h"
#include "connection/connection.h"
#include "connection/delivery.h"
#include "connection/upload.h"
#include "loop/loop_state.h"

/* Parts taken in one turn. The bound keeps them from starving clients. A turn takes no more bytes
   than a ring holds either, as the window of each response is computed once a turn. */
#define PARTS_IN_A_TURN 512

static bool is_of(const nb_dispatch *dispatch, const nb_dispatch_channel *channel, const nb_exchange *exchange) {
    return exchange->channel == channel - dispatch->channels && exchange->lane == dispatch->lane;
}

/* True: the part is valid. A worker with damaged memory must not damage the front: an invalid part
   ends its process. */
static bool possible(const nb_dispatch *dispatch, const nb_dispatch_channel *channel, const nb_exchange *exchange,
                     const nb_message *part, size_t bytes) {
    static const size_t least[] = {
        [NB_MESSAGE_RESPONSE] = sizeof(nb_response_message), [NB_MESSAGE_BODY] = sizeof(nb_message),
        [NB_MESSAGE_TAKEN] = sizeof(nb_taken_message),       [NB_MESSAGE_HIJACK] = sizeof(nb_message),
        [NB_MESSAGE_NAMED] = sizeof(nb_named_message),       [NB_MESSAGE_HINTS] = sizeof(nb_message),
    };
    if (bytes < sizeof(*part) || part->bytes != bytes || part->type < NB_MESSAGE_RESPONSE ||
        part->type > NB_MESSAGE_HINTS || bytes < least[part->type])
        return false;
    if (part->type == NB_MESSAGE_RESPONSE &&
        ((const nb_response_message *)(const void *)part)->fields_bytes > bytes - sizeof(nb_response_message))
        return false;
    if (part->type == NB_MESSAGE_NAMED && !nb_named_message_fits((const nb_named_message *)(const void *)part, bytes))
        return false;
    if (part->type == NB_MESSAGE_HINTS && part->flags) return false;
    if (!exchange) return true;
    if (!is_of(dispatch, channel, exchange) || exchange->ended) return false;
    if (part->type == NB_MESSAGE_RESPONSE || part->type == NB_MESSAGE_NAMED)
        return !exchange->head_sent && !exchange->compression;
    const nb_upload *upload = part->type == NB_MESSAGE_TAKEN ? exchange->upload : NULL;
    return !upload || nb_upload_may_be_taken(upload, ((const nb_taken_message *)(const void *)part)->bytes);
}

/* Takes a part with the descriptor that came beside its record. When that was lost for want of
   descriptors, the client is cut and the executor told. */
static void take_with_descriptor(nb_loop *loop, nb_dispatch_channel *channel, nb_exchange *exchange, nb_message *part,
                                 int64_t *fd, const char *rest) {
    *fd = nb_channel_receive_fd(channel->channel, *fd);
    if (!exchange) {
        if (*fd >= 0) nb_net_close((int)*fd, false);
    } else if (*fd >= 0) {
        nb_respond_part(&loop->connections, exchange, part, rest);
    } else {
        if (exchange->connection) nb_connection_end(&loop->connections, exchange->connection, true);
        nb_message without = {
            .type = NB_MESSAGE_BODY, .flags = NB_PART_LAST, .bytes = sizeof(without), .exchange = part->exchange};
        without.flags &= part->flags;
        nb_respond_part(&loop->connections, exchange, &without, "");
    }
}

static void take_named(nb_loop *loop, nb_dispatch_channel *channel, nb_exchange *exchange, const nb_message *part,
                       const char *rest) {
    nb_named_message named = *(const nb_named_message *)(const void *)part;
    if (named.naming == NB_NAMED_OPEN) {
        take_with_descriptor(loop, channel, exchange, &named.response.message, &named.fd, rest);
    } else if (exchange) {
        nb_respond_part(&loop->connections, exchange, &named.response.message, rest);
    }
}

static void take_part(nb_loop *loop, nb_dispatch_channel *channel, nb_exchange *exchange, const nb_message *part,
                      const nb_message *record) {
    size_t struct_bytes = part->type == NB_MESSAGE_RESPONSE ? sizeof(nb_response_message) : sizeof(nb_message);
    if (exchange && exchange->record) nb_dispatch_begun(nb_dispatch_of(&loop->dispatch, exchange), exchange);
    if (part->type == NB_MESSAGE_NAMED) {
        take_named(loop, channel, exchange, part, (const char *)record + sizeof(nb_named_message));
    } else if (exchange && part->type == NB_MESSAGE_TAKEN) {
        nb_delivery_taken(&loop->connections, exchange, ((const nb_taken_message *)(const void *)part)->bytes);
    } else if (exchange) {
        nb_respond_part(&loop->connections, exchange, part, (const char *)record + struct_bytes);
    }
}

/* The worker's messages are trusted no more. Its process is killed; the supervisor, which waits for
   its end, then ends the channel. */
static void kill_worker(nb_loop *loop, nb_dispatch_channel *channel) {
    channel->responses.broken = channel->damaged = true;
    if (channel->killed || channel->lost || channel->pid <= 0) return;
    channel->killed = true;
    nb_log_line(loop->log, "worker %u (process %d) has sent what no worker sends: its memory is damaged, it is killed",
                channel->number, (int)channel->pid);
    kill(channel->pid, SIGKILL);
}

/* The head of a record, copied once: what was checked must not change before it is used. */
typedef union part_head {
    nb_message message;
    nb_response_message response;
    nb_taken_message taken;
    nb_named_message named;
} part_head;

/* True: some parts were left for the next turn. */
static bool take_parts(nb_loop *loop, const nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    size_t bytes, taken_bytes = 0;
    part_head head = {.message = {0}};
    const nb_message *record = NULL, *part = &head.message;
    int taken = 0;
    bool room = true, shared = nb_channel_is_shared(channel->channel);
    if (channel->damaged) kill_worker(loop, channel);
    while (room && (record = nb_ring_peek(&channel->responses, &bytes))) {
        memcpy(&head, record, bytes < sizeof(head) ? bytes : sizeof(head));
        nb_exchange *exchange = bytes < sizeof(*part) ? NULL
                                                      : nb_exchange_find(&loop->connections.exchanges, part->exchange);
        if (shared && !possible(dispatch, channel, exchange, part, bytes)) {
            kill_worker(loop, channel);
            break;
        }
        /* before what comes next on the connection is looked at */
        if (dispatch->lane && (part->flags & NB_PART_LAST)) nb_link_count_answered(channel->channel->link);
        take_part(loop, channel, exchange, part, record);
        nb_ring_advance(&channel->responses);
        taken_bytes += bytes;
        taken++;
        room = taken < PARTS_IN_A_TURN && taken_bytes < NB_RING_BYTES;
    }
    if (channel->responses.broken) kill_worker(loop, channel);
    if (taken && nb_ring_release(&channel->responses)) {
        nb_doorbell_fence(&channel->channel->board->executor_bell);
        _Atomic uint32_t *blocked = &channel->channel->memory->executor_blocked;
        if (atomic_load_explicit(blocked, memory_order_relaxed)) {
            atomic_store_explicit(blocked, 0, memory_order_relaxed);
            nb_channel_ring_executor(channel->channel);
            if (loop->guest)
                /* The guest cancelled its bell to run this turn, and its writers wait for this
                   room. */
                loop->guest_called = true;
        }
    }
    return record != NULL && !channel->responses.broken;
}

bool nb_parts_take(nb_loop *loop) {
    bool more = false;
    for (nb_dispatch *lane = &loop->dispatch; lane; lane = lane->next_lane) {
        for (uint16_t i = 0; i < lane->count; i++) {
            if (lane->channels[i].channel && take_parts(loop, lane, &lane->channels[i])) more = true;
        }
    }
    return more;
}

/* --- an executor that is no more --- */

static void report_line(nb_channel_report *report, const nb_exchange *exchange) {
    if (report->line_count == NB_CHANNEL_REPORT_LINES || !exchange->line[0]) return;
    memcpy(report->lines[report->line_count++], exchange->line, sizeof(exchange->line));
}

static void end_lost(nb_loop *loop, nb_exchange *exchange, nb_channel_report *report) {
    exchange->channel = NB_CHANNEL_NONE;
    nb_exchange_drop_handover(exchange);
    if (!exchange->connection) {
        nb_exchange_destroy(&loop->connections.exchanges, exchange);
        return;
    }
    report_line(report, exchange);
    if (nb_respond_lost(&loop->connections, exchange)) {
        report->cut++;
    } else {
        report->failed++;
    }
}

void nb_parts_channel_end(nb_loop *loop, nb_dispatch *dispatch, nb_dispatch_channel *channel,
                          nb_channel_report *report) {
    channel->lost = true;
    while (take_parts(loop, dispatch, channel)) {
    }
    report->again += nb_dispatch_requeue_all(dispatch, channel);
    for (uint32_t i = 0; i < loop->connections.exchanges.count; i++) {
        nb_exchange *exchange = loop->connections.exchanges.slots[i];
        if (!is_of(dispatch, channel, exchange)) continue;
        if (exchange->ended) {
            exchange->channel = NB_CHANNEL_NONE; /* its response is complete and is being sent */
        } else {
            end_lost(loop, exchange, report);
        }
    }
    nb_figures_channel_end(loop, channel);
    nb_dispatch_remove(dispatch, channel);
}

void nb_parts_channel_running(nb_loop *loop, const nb_dispatch *dispatch, nb_dispatch_channel *channel,
                              nb_channel_report *report) {
    nb_dispatch_drop_begun(channel);
    for (uint32_t i = 0; i < loop->connections.exchanges.count; i++) {
        const nb_exchange *exchange = loop->connections.exchanges.slots[i];
        bool handed = is_of(dispatch, channel, exchange) && !exchange->ended;
        if (handed && !exchange->record) report_line(report, exchange);
    }
}
