/*
 * admin_status.c - /status.json: every metric once, as one object. Fields are added, never
 * renamed: `neverblock status`, `top` and other programs read it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin.h"
#include "admin/json.h"
#include "admin/shown.h"
#include "metrics/downloads.h"
#include "loop/slow_clients.h"
#include "loop/snapshot.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "intake/path_pattern.h"
#include "os/clock.h"
#include "stall/stall.h"
#include "tls/tls.h"

static void add_quantiles(nb_text *text, const char *name, const nb_histogram *histogram,
                          void (*write)(nb_text *text, uint64_t value)) {
    static const struct {
        const char *name;
        unsigned permille;
    } quantiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"max", 1000}};
    uint64_t count = nb_histogram_count(histogram);
    nb_json_begin(text, name, '{');
    nb_json_number(text, "count", count);
    nb_json_begin(text, "sum", 0);
    write(text, nb_counted(&histogram->sum_ns));
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
        nb_json_begin(text, quantiles[i].name, 0);
        if (count) {
            write(text, nb_histogram_quantile_ns(histogram, quantiles[i].permille));
        } else {
            nb_text_add(text, "null");
        }
    }
    nb_text_add(text, "}");
}

static void add_histogram(nb_text *text, const char *name, const nb_histogram *histogram) {
    add_quantiles(text, name, histogram, nb_text_seconds);
}

static void add_identity(nb_text *text, const nb_loop *loop, const nb_figures_now *now) {
    static const char *const states[] = {"starting", "running", "draining", "ended"};
    char started[32];
    struct tm parts;
    time_t wall = (time_t)loop->started_wall_s;
    gmtime_r(&wall, &parts);
    strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &parts);
    nb_json_string(text, "neverblock", loop->config.version);
    nb_json_string(text, "ruby", loop->config.ruby_version);
    nb_json_number(text, "pid", (uint64_t)getpid());
    nb_json_string(text, "state", states[nb_figures_state(loop)]);
    nb_json_string(text, "started_at", started);
    nb_json_seconds(text, "uptime_s", now->uptime_ns);
}

static void add_binds(nb_text *text, const nb_loop *loop) {
    nb_json_begin(text, "binds", '[');
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        const nb_listener *listener = &loop->listeners[i];
        if (!listener->admin) nb_json_string(text, NULL, listener->url);
    }
    nb_text_add(text, "]");
}

static void add_connections(nb_text *text, const nb_loop *loop) {
    nb_json_begin(text, "connections", '{');
    nb_json_number(text, "open", nb_loops_connections(loop->all));
    nb_json_number(text, "idle", NB_SUM(loop, counters.phases[NB_PHASE_IDLE]));
    nb_json_number(text, "reading", NB_SUM(loop, counters.phases[NB_PHASE_READING]));
    nb_json_number(text, "answering", NB_SUM(loop, counters.phases[NB_PHASE_ANSWERING]));
    nb_json_number(text, "closing", NB_SUM(loop, counters.phases[NB_PHASE_CLOSING]));
    nb_json_number(text, "handshake", NB_SUM(loop, counters.phases[NB_PHASE_HANDSHAKE]));
    nb_json_number(text, "limit", loop->config.connections_max);
    nb_json_number(text, "accepted_total", NB_SUM(loop, counters.accepted));
    nb_json_number(text, "refused_total", NB_SUM(loop, counters.connections_refused));
    nb_json_number(text, "evicted_total", NB_SUM(loop, counters.evicted));
    nb_json_number(text, "unproxied_total", NB_SUM(loop, counters.unproxied));
    nb_json_number(text, "accept_errors_total", NB_SUM(loop, counters.accept_errors));
    nb_text_add(text, "}");
}

static void add_expiry(nb_text *text, int64_t expires_s, int64_t now_s) {
    char when[32] = "";
    struct tm parts;
    time_t wall = (time_t)expires_s;
    if (gmtime_r(&wall, &parts)) strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
    nb_json_string(text, "expires_at", when);
    nb_json_begin(text, "expires_in_s", 0);
    nb_text_format(text, "%" PRId64, expires_s - now_s);
}

static void add_certificates(nb_text *text, const nb_loop *loop) {
    int64_t now_s = nb_clock_wall_s();
    nb_json_begin(text, "certificates", '[');
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        const nb_listener *listener = &loop->listeners[i];
        size_t count = 0;
        const nb_tls_certificate *each = listener->tls ? nb_tls_context_certificates(listener->tls, &count) : NULL;
        for (size_t j = 0; j < count; j++) {
            nb_json_begin(text, NULL, '{');
            nb_json_string(text, "address", listener->url);
            nb_json_string(text, "name", each[j].name);
            nb_json_string(text, "key", each[j].key);
            add_expiry(text, each[j].expires_s, now_s);
            nb_text_add(text, "}");
        }
    }
    nb_text_add(text, "]");
}

static void add_tls(nb_text *text, const nb_loop *loop) {
    static const char *const results[] = {
#define NB_RESULT(name, words) #name,
        NB_HANDSHAKE_LIST(NB_RESULT)
#undef NB_RESULT
    };
    if (!nb_listeners_secure(loop)) return;
    nb_json_begin(text, "tls", '{');
    nb_json_begin(text, "handshakes", '{');
    for (size_t i = 0; i < NB_HANDSHAKE_OUTCOMES; i++) {
        nb_json_number(
            text, results[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.handshakes) + i * sizeof(loop->counters.handshakes[0])));
    }
    nb_text_add(text, "}");
    nb_json_begin(text, "versions", '{');
    nb_json_number(text, "1.2", NB_SUM(loop, counters.tls_versions[0]));
    nb_json_number(text, "1.3", NB_SUM(loop, counters.tls_versions[1]));
    nb_text_add(text, "}");
    nb_json_number(text, "kernel_total", NB_SUM(loop, counters.tls_kernel));
    add_certificates(text, loop);
    nb_text_add(text, "}");
}

static void add_http2(nb_text *text, const nb_loop *loop) {
    static const char *const codes[] = {
#define NB_CODE(name) #name,
        NB_HTTP2_CODE_LIST(NB_CODE)
#undef NB_CODE
    };
    static const char *const bounds[] = {
#define NB_BOUND(name) #name "_total",
        NB_HTTP2_BOUND_LIST(NB_BOUND)
#undef NB_BOUND
    };
    nb_json_begin(text, "http2", '{');
    nb_json_number(text, "connections", NB_SUM(loop, counters.http2_connections));
    nb_json_number(text, "connections_total", NB_SUM(loop, counters.http2_opened));
    nb_json_number(text, "requests_total", NB_SUM(loop, counters.http2_requests));
    nb_json_number(text, "streams", NB_SUM(loop, counters.http2_streams));
    nb_json_number(text, "reset_by_client_total", NB_SUM(loop, counters.http2_resets_received));
    nb_json_number(text, "reset_by_server_total", NB_SUM(loop, counters.http2_resets_sent));
    nb_json_begin(text, "goaways", '{');
    for (size_t i = 0; i < NB_HTTP2_CODES; i++)
        nb_json_number(
            text, codes[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.http2_goaways) + i * sizeof(_Atomic uint64_t)));
    nb_text_add(text, "}");
    nb_json_begin(text, "bounds", '{');
    for (size_t i = 0; i < NB_HTTP2_BOUNDS; i++)
        nb_json_number(
            text, bounds[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.http2_bounds) + i * sizeof(_Atomic uint64_t)));
    nb_text_add(text, "}}");
}

static void add_compression(nb_text *text, const nb_loop *loop) {
    static const char *const codings[NB_ENCODING_COUNT] = {NULL, "gzip_total", "br_total", "zstd_total"};
    if (!nb_loop_compresses(loop)) return;
    nb_json_begin(text, "compression", '{');
    for (size_t i = NB_ENCODING_GZIP; i < NB_ENCODING_COUNT; i++) {
        nb_json_number(
            text, codings[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.compressed) + i * sizeof(loop->counters.compressed[0])));
    }
    nb_json_number(text, "input_bytes_total", NB_SUM(loop, counters.compress_bytes_in));
    nb_json_number(text, "output_bytes_total", NB_SUM(loop, counters.compress_bytes_out));
    nb_text_add(text, "}");
}

static void add_requests(nb_text *text, const nb_loop *loop, const nb_figures_now *now) {
    static const char *const classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    nb_json_begin(text, "requests", '{');
    nb_json_number(text, "queued", now->queued);
    nb_json_number(text, "running", now->running);
    nb_json_number(text, "writing", now->writing);
    nb_json_number(text, "total", NB_SUM(loop, counters.requests));
    nb_json_number(text, "shed_total", NB_SUM(loop, counters.shed));
    nb_json_number(text, "errors_total", now->errors);
    nb_json_number(text, "refused_total", NB_SUM(loop, counters.requests_refused));
    nb_json_number(text, "timed_out_total", NB_SUM(loop, counters.timed_out));
    nb_json_number(text, "aborted_total", NB_SUM(loop, counters.aborted));
    nb_json_number(text, "lost_total", NB_SUM(loop, counters.lost));
    nb_json_begin(text, "by_class", '{');
    for (size_t i = 0; i < 5; i++) {
        nb_json_number(
            text, classes[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.answered) + i * sizeof(loop->counters.answered[0])));
    }
    nb_text_add(text, "}}");
}

static const char *const stages[NB_STAGES] = {"head", "body", "queue", "run", "write", "total"};

static void add_latency(nb_text *text, const nb_loop *loop) {
    nb_histogram room;
    nb_json_begin(text, "latency_s", '{');
    for (size_t i = 0; i < NB_STAGES; i++) {
        add_histogram(text, stages[i], nb_figures_stage(loop, (nb_stage)i, &room));
    }
    nb_text_add(text, "}");
}

static void add_executors(nb_text *text, const nb_figures_now *now) {
    nb_json_begin(text, "executors", '[');
    for (uint16_t i = 0; i < now->executor_count; i++) {
        const nb_executor_now *executor = &now->executors[i];
        nb_json_begin(text, NULL, '{');
        nb_json_number(text, "id", executor->number);
        if (executor->pid) {
            nb_json_number(text, "pid", (uint64_t)executor->pid);
            nb_json_flag(text, "retiring", executor->retiring);
            nb_json_number(text, "rss_bytes", executor->rss_bytes);
        }
        nb_json_number(text, "fibers_limit", executor->fibers_limit);
        nb_json_number(text, "running", executor->running);
        nb_json_number(text, "parked", executor->parked);
        nb_json_number(text, "ready", executor->ready);
        nb_json_number(text, "turns_total", executor->turns);
        nb_json_number(text, "requests_total", executor->taken);
        nb_json_number(text, "helped_total", executor->helped);
        nb_json_seconds(text, "busy_for_s", executor->busy_ns);
        add_histogram(text, "lag_s", executor->lag);
        nb_text_add(text, "}");
    }
    nb_text_add(text, "]");
}

static void add_pool(void *context, const nb_dispatch_channel *channel, const nb_pool_gauge *gauge) {
    nb_text *text = context;
    nb_pool_minute minute = nb_pool_gauge_minute(gauge);
    nb_json_begin(text, NULL, '{');
    nb_json_number(text, "worker", channel->number);
    if (channel->pid) nb_json_number(text, "pid", (uint64_t)channel->pid);
    nb_json_string(text, "kind", nb_pool_kind_name(gauge->kind));
    nb_json_bytes(text, "name", nb_slice_of(gauge->name, strlen(gauge->name)));
    if (gauge->size) nb_json_number(text, "size", gauge->size);
    nb_json_number(text, "in_use", gauge->in_use);
    nb_json_number(text, "waiting", gauge->waiting);
    nb_json_begin(text, "last_minute", '{');
    nb_json_number(text, "demand_max", minute.demand_max);
    nb_json_number(text, "acquired", minute.acquired);
    nb_json_number(text, "waited", minute.waited);
    nb_json_seconds(text, "waited_s", (int64_t)minute.waited_ns);
    if (minute.held_back) nb_json_flag(text, "held_back", true);
    nb_text_add(text, "}");
    if (minute.would_do) nb_json_number(text, "would_do", minute.would_do);
    nb_json_number(text, "acquired_total", gauge->acquired_total);
    nb_json_number(text, "waited_total", gauge->waited_total);
    nb_json_seconds(text, "waited_s_total", (int64_t)gauge->waited_ns_total);
    nb_text_add(text, "}");
}

static void add_pools(nb_text *text, const nb_loop *loop) {
    nb_json_begin(text, "pools", '[');
    nb_shown_pools(&loop->dispatch, nb_clock_monotonic_ns(), add_pool, text);
    nb_text_add(text, "]");
}

static void add_stalls(nb_text *text, const nb_tally *stalls) {
    char culprit[NB_TALLY_NAME_BYTES];
    uint64_t time_ns = 0;
    uint32_t used = nb_tally_used(stalls);
    nb_json_begin(text, "stalls", '{');
    nb_json_number(text, "total", nb_tally_total(stalls));
    for (uint32_t i = 0; i <= NB_TALLY_ROWS; i++)
        time_ns += nb_counted(&stalls->rows[i].sum_ns);
    nb_json_seconds(text, "time_s", (int64_t)time_ns);
    nb_json_begin(text, "by", '[');
    for (uint32_t i = 0; i < used; i++) {
        const nb_tally_row *row = &stalls->rows[i];
        nb_tally_copy_name(row, culprit);
        nb_json_begin(text, NULL, '{');
        nb_json_string(text, "kind", nb_stall_kind_name((nb_stall_kind)row->kind));
        nb_json_string(text, "culprit", culprit);
        nb_json_number(text, "total", nb_counted(&row->count));
        nb_json_seconds(text, "time_s", (int64_t)nb_counted(&row->sum_ns));
        nb_text_add(text, "}");
    }
    nb_text_add(text, "]}");
}

static void add_learned(void *context, const nb_learned_class *learned_class, int64_t left_ns) {
    nb_text *text = context;
    char path[NB_LEARNED_SHOWN_BYTES];
    nb_slice method = nb_method_name(learned_class->method);
    nb_path_pattern_show((nb_slice){learned_class->pattern, learned_class->bytes}, path, sizeof(path));
    nb_json_begin(text, NULL, '{');
    nb_json_begin(text, "method", 0);
    nb_text_format(text, "\"%.*s\"", (int)method.size, method.data);
    nb_json_string(text, "path", path);
    nb_json_seconds(text, "left_s", left_ns);
    nb_text_add(text, "}");
}

static void add_lanes(nb_text *text, const nb_loop *loop) {
    nb_json_begin(text, "lanes", '{');
    nb_json_begin(text, "learned", '[');
    nb_lanes_now now = nb_lanes_read(&loop->all->lanes, loop->time.now_ns, add_learned, text);
    nb_text_add(text, "]");
    nb_json_number(text, "learned_total", now.learned_total);
    nb_json_number(text, "returned_total", now.returned_total);
    nb_json_number(text, "rules", now.rules);
    nb_text_add(text, "}");
}

static uint64_t all_downloads(const nb_loop *loop, nb_download_result result) {
    uint64_t sum = 0;
    for (uint16_t number = 0; number <= nb_algorithms_count(); number++) {
        sum += nb_figures_downloads(loop, number, result);
    }
    return sum;
}

static void add_algorithms(nb_text *text, const nb_loop *loop) {
    size_t figures = offsetof(nb_loop, connections.senders) + offsetof(nb_senders, figures);
    nb_json_begin(text, "algorithms", '{');
    for (uint16_t number = 1; number <= nb_algorithms_count(); number++) {
        size_t place = figures + (number - 1u) * sizeof(nb_sender_figures);
        nb_json_begin(text, nb_algorithms_get(number)->name, '{');
        nb_json_number(text, "complete_total", nb_figures_downloads(loop, number, NB_DOWNLOAD_complete));
        nb_json_number(text, "bytes_total", nb_loops_sum(loop->all, place + offsetof(nb_sender_figures, bytes)));
        nb_json_number(text, "bursts_total", nb_loops_sum(loop->all, place + offsetof(nb_sender_figures, bursts)));
        nb_text_add(text, "}");
    }
    nb_text_add(text, "}");
}

static void add_downloads(nb_text *text, const nb_loop *loop) {
    nb_histogram room;
    nb_json_begin(text, "downloads", '{');
    nb_json_number(text, "active", NB_SUM(loop, downloads.active));
    nb_json_number(text, "queued", NB_SUM(loop, connections.senders.queued));
    nb_json_number(text, "workers_busy", NB_SUM(loop, connections.senders.running));
    nb_json_number(text, "workers_limit", loop->config.file_send_workers);
    for (int result = 0; result < NB_DOWNLOAD_RESULT_COUNT; result++) {
        char name[32];
        snprintf(name, sizeof(name), "%s_total", nb_download_result_name((nb_download_result)result));
        nb_json_number(text, name, all_downloads(loop, (nb_download_result)result));
    }
    add_algorithms(text, loop);
    nb_json_number(text, "open_files", NB_SUM(loop, files_open));
    add_histogram(text, "first_byte_s", nb_figures_first_byte(loop, &room));
    add_histogram(text, "duration_s", nb_figures_download(loop, &room));
    add_quantiles(text, "bytes_per_second", nb_figures_speed(loop, &room), nb_text_number);
    nb_text_add(text, "}");
}

static void add_slow_client(nb_text *text, const nb_slow_client *client) {
    const char *address = client->peer.address;
    nb_json_begin(text, NULL, '{');
    nb_json_string(text, "address", *address ? address : "unix");
    if (*address) nb_json_number(text, "port", client->peer.port);
    nb_json_string(text, "protocol", client->protocol);
    nb_json_seconds(text, "age_s", client->age_ns);
    nb_json_number(text, "sent_bytes", client->sent);
    nb_json_number(text, "left_bytes", client->left);
    nb_json_number(text, "bytes_per_second", client->rate);
    if (client->limit) nb_json_number(text, "limit_bytes_per_second", client->limit);
    if (client->algorithm) nb_json_string(text, "algorithm", nb_algorithms_get(client->algorithm)->name);
    nb_text_add(text, "}");
}

static void add_slow_clients(nb_text *text, nb_loop *loop) {
    nb_slow_clients_now now;
    nb_slow_clients_read(loop, &now);
    nb_json_begin(text, "slow_clients", '{');
    nb_json_number(text, "count", now.count);
    nb_json_flag(text, "complete", now.complete);
    nb_json_begin(text, "clients", '[');
    for (uint32_t i = 0; i < now.shown; i++)
        add_slow_client(text, &now.clients[i]);
    nb_text_add(text, "]}");
}

static void add_process(nb_text *text, const nb_loop *loop, const nb_figures_now *now) {
    nb_histogram room;
    nb_json_begin(text, "loop", '{');
    nb_json_number(text, "turns_total", NB_SUM(loop, counters.turns));
    add_histogram(text, "lag_s", nb_figures_lag(loop, &room));
    nb_json_number(text, "guest_turns_total", NB_SUM(loop, counters.guest_turns));
    nb_text_add(text, "}");
    nb_json_begin(text, "dns", '{');
    nb_json_number(text, "lookups_total", now->processes.dns_lookups);
    nb_json_number(text, "cached_total", now->processes.dns_cached);
    nb_json_number(text, "failed_total", now->processes.dns_failed);
    nb_json_number(text, "pending", now->dns_pending);
    nb_text_add(text, "}");
    nb_json_begin(text, "memory", '{');
    nb_json_number(text, "rss_bytes", now->memory_rss);
    nb_json_number(text, "spool_bytes", now->memory_spool);
    nb_json_number(text, "response_bytes", now->memory_responses);
    nb_json_number(text, "ruby_heap_live_slots", now->heap_live_slots);
    nb_text_add(text, "}");
    nb_json_begin(text, "gc", '{');
    nb_json_number(text, "count_total", now->processes.gc_count);
    nb_json_number(text, "minor_total", now->processes.gc_minor);
    nb_json_number(text, "major_total", now->processes.gc_major);
    nb_json_seconds(text, "time_s", (int64_t)now->processes.gc_time_ns);
    nb_text_add(text, "}");
    nb_json_begin(text, "bytes", '{');
    nb_json_number(text, "received_total", NB_SUM(loop, counters.bytes_received));
    nb_json_number(text, "sent_total", NB_SUM(loop, counters.bytes_sent));
    nb_text_add(text, "}");
    nb_json_begin(text, "log", '{');
    nb_json_number(text, "dropped_total", now->log_dropped);
    nb_text_add(text, "}");
}

/* What a client with the token may do, and how the last of it has ended. */
static void add_actions(nb_text *text, const nb_loop *loop) {
    const nb_admin_side *admin = &loop->all->admin;
    nb_json_begin(text, "actions", '[');
    if (admin->token) nb_json_string(text, NULL, "cancel");
    if (admin->token && admin->takes_changes) {
        nb_json_string(text, NULL, "reload");
        nb_json_string(text, NULL, "workers");
    }
    nb_text_add(text, "]");
    if (!admin->result.number) return;
    nb_json_begin(text, "last_action", '{');
    nb_json_number(text, "number", admin->result.number);
    nb_json_flag(text, "ok", admin->result.ok);
    nb_json_bytes(text, "words", nb_slice_of(admin->result.words, strlen(admin->result.words)));
    nb_text_add(text, "}");
}

void nb_admin_write_latency(nb_loop *loop, nb_histogram *earlier, nb_text *text) {
    nb_histogram room, since;
    nb_text_add(text, "{");
    for (size_t i = 0; i < NB_STAGES; i++) {
        nb_histogram_advance(&earlier[i], nb_figures_stage(loop, (nb_stage)i, &room), &since);
        add_histogram(text, stages[i], &since);
    }
    nb_text_add(text, "}\n");
}

void nb_admin_write_status(nb_loop *loop, nb_text *text) {
    nb_figures_now now;
    nb_figures_read(loop, &now);
    nb_text_add(text, "{");
    add_identity(text, loop, &now);
    add_binds(text, loop);
    add_connections(text, loop);
    add_tls(text, loop);
    add_http2(text, loop);
    add_requests(text, loop, &now);
    add_compression(text, loop);
    add_latency(text, loop);
    add_executors(text, &now);
    add_pools(text, loop);
    add_stalls(text, &now.stalls);
    add_lanes(text, loop);
    add_downloads(text, loop);
    add_slow_clients(text, loop);
    add_process(text, loop, &now);
    add_actions(text, loop);
    nb_text_add(text, "}\n");
}
