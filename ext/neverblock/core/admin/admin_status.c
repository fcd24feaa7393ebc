/*
 * admin_status.c - /status.json: every metric once, as one object. Fields are added, never
 * renamed: `neverblock status`, `top` and other programs read it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin.h"
#include "metrics/downloads.h"
#include "loop/snapshot.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "intake/path_pattern.h"
#include "os/clock.h"
#include "stall/stall.h"
#include "tls/tls.h"

static void begin(nb_text *text, const char *name, char bracket) {
    char last = text->size ? text->bytes[text->size - 1] : '{';
    if (last != '{' && last != '[') nb_text_add(text, ",");
    if (name) nb_text_format(text, "\"%s\":", name);
    if (bracket) nb_text_format(text, "%c", bracket);
}

static void add_number(nb_text *text, const char *name, uint64_t value) {
    begin(text, name, 0);
    nb_text_format(text, "%" PRIu64, value);
}

static void add_seconds(nb_text *text, const char *name, uint64_t ns) {
    begin(text, name, 0);
    nb_text_seconds(text, ns);
}

static void add_string(nb_text *text, const char *name, const char *value) {
    begin(text, name, 0);
    nb_text_json(text, value);
}

static void add_quantiles(nb_text *text, const char *name, const nb_histogram *histogram,
                          void (*write)(nb_text *text, uint64_t value)) {
    static const struct {
        const char *name;
        unsigned permille;
    } quantiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"max", 1000}};
    uint64_t count = nb_histogram_count(histogram);
    begin(text, name, '{');
    add_number(text, "count", count);
    begin(text, "sum", 0);
    write(text, nb_counted(&histogram->sum_ns));
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
        begin(text, quantiles[i].name, 0);
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
    add_string(text, "neverblock", loop->config.version);
    add_string(text, "ruby", loop->config.ruby_version);
    add_number(text, "pid", (uint64_t)getpid());
    add_string(text, "state", states[nb_figures_state(loop)]);
    add_string(text, "started_at", started);
    add_seconds(text, "uptime_s", (uint64_t)now->uptime_ns);
}

static void add_binds(nb_text *text, const nb_loop *loop) {
    begin(text, "binds", '[');
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        const nb_listener *listener = &loop->listeners[i];
        if (!listener->admin) add_string(text, NULL, listener->url);
    }
    nb_text_add(text, "]");
}

static void add_connections(nb_text *text, const nb_loop *loop) {
    begin(text, "connections", '{');
    add_number(text, "open", nb_loops_connections(loop->all));
    add_number(text, "idle", NB_SUM(loop, counters.phases[NB_PHASE_IDLE]));
    add_number(text, "reading", NB_SUM(loop, counters.phases[NB_PHASE_READING]));
    add_number(text, "answering", NB_SUM(loop, counters.phases[NB_PHASE_ANSWERING]));
    add_number(text, "closing", NB_SUM(loop, counters.phases[NB_PHASE_CLOSING]));
    add_number(text, "handshake", NB_SUM(loop, counters.phases[NB_PHASE_HANDSHAKE]));
    add_number(text, "limit", loop->config.connections_max);
    add_number(text, "accepted_total", NB_SUM(loop, counters.accepted));
    add_number(text, "refused_total", NB_SUM(loop, counters.connections_refused));
    add_number(text, "evicted_total", NB_SUM(loop, counters.evicted));
    add_number(text, "accept_errors_total", NB_SUM(loop, counters.accept_errors));
    nb_text_add(text, "}");
}

static void add_expiry(nb_text *text, int64_t expires_s, int64_t now_s) {
    char when[32] = "";
    struct tm parts;
    time_t wall = (time_t)expires_s;
    if (gmtime_r(&wall, &parts)) strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
    add_string(text, "expires_at", when);
    begin(text, "expires_in_s", 0);
    nb_text_format(text, "%" PRId64, expires_s - now_s);
}

static void add_certificates(nb_text *text, const nb_loop *loop) {
    int64_t now_s = nb_clock_wall_s();
    begin(text, "certificates", '[');
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        const nb_listener *listener = &loop->listeners[i];
        size_t count = 0;
        const nb_tls_certificate *each = listener->tls ? nb_tls_context_certificates(listener->tls, &count) : NULL;
        for (size_t j = 0; j < count; j++) {
            begin(text, NULL, '{');
            add_string(text, "address", listener->url);
            add_string(text, "name", each[j].name);
            add_string(text, "key", each[j].key);
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
    begin(text, "tls", '{');
    begin(text, "handshakes", '{');
    for (size_t i = 0; i < NB_HANDSHAKE_OUTCOMES; i++) {
        add_number(
            text, results[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.handshakes) + i * sizeof(loop->counters.handshakes[0])));
    }
    nb_text_add(text, "}");
    begin(text, "versions", '{');
    add_number(text, "1.2", NB_SUM(loop, counters.tls_versions[0]));
    add_number(text, "1.3", NB_SUM(loop, counters.tls_versions[1]));
    nb_text_add(text, "}");
    add_number(text, "kernel_total", NB_SUM(loop, counters.tls_kernel));
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
    begin(text, "http2", '{');
    add_number(text, "connections", NB_SUM(loop, counters.http2_connections));
    add_number(text, "connections_total", NB_SUM(loop, counters.http2_opened));
    add_number(text, "requests_total", NB_SUM(loop, counters.http2_requests));
    add_number(text, "streams", NB_SUM(loop, counters.http2_streams));
    add_number(text, "reset_by_client_total", NB_SUM(loop, counters.http2_resets_received));
    add_number(text, "reset_by_server_total", NB_SUM(loop, counters.http2_resets_sent));
    begin(text, "goaways", '{');
    for (size_t i = 0; i < NB_HTTP2_CODES; i++)
        add_number(text, codes[i],
                   nb_loops_sum(loop->all, offsetof(nb_loop, counters.http2_goaways) + i * sizeof(_Atomic uint64_t)));
    nb_text_add(text, "}");
    begin(text, "bounds", '{');
    for (size_t i = 0; i < NB_HTTP2_BOUNDS; i++)
        add_number(text, bounds[i],
                   nb_loops_sum(loop->all, offsetof(nb_loop, counters.http2_bounds) + i * sizeof(_Atomic uint64_t)));
    nb_text_add(text, "}}");
}

static void add_compression(nb_text *text, const nb_loop *loop) {
    static const char *const codings[NB_ENCODING_COUNT] = {NULL, "gzip_total", "br_total", "zstd_total"};
    if (!nb_loop_compresses(loop)) return;
    begin(text, "compression", '{');
    for (size_t i = NB_ENCODING_GZIP; i < NB_ENCODING_COUNT; i++) {
        add_number(
            text, codings[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.compressed) + i * sizeof(loop->counters.compressed[0])));
    }
    add_number(text, "input_bytes_total", NB_SUM(loop, counters.compress_bytes_in));
    add_number(text, "output_bytes_total", NB_SUM(loop, counters.compress_bytes_out));
    nb_text_add(text, "}");
}

static void add_requests(nb_text *text, const nb_loop *loop, const nb_figures_now *now) {
    static const char *const classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    begin(text, "requests", '{');
    add_number(text, "queued", now->queued);
    add_number(text, "running", now->running);
    add_number(text, "writing", now->writing);
    add_number(text, "total", NB_SUM(loop, counters.requests));
    add_number(text, "shed_total", NB_SUM(loop, counters.shed));
    add_number(text, "errors_total", now->errors);
    add_number(text, "refused_total", NB_SUM(loop, counters.requests_refused));
    add_number(text, "timed_out_total", NB_SUM(loop, counters.timed_out));
    add_number(text, "aborted_total", NB_SUM(loop, counters.aborted));
    add_number(text, "lost_total", NB_SUM(loop, counters.lost));
    begin(text, "by_class", '{');
    for (size_t i = 0; i < 5; i++) {
        add_number(
            text, classes[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.answered) + i * sizeof(loop->counters.answered[0])));
    }
    nb_text_add(text, "}}");
}

static void add_latency(nb_text *text, const nb_loop *loop) {
    static const char *const stages[NB_STAGES] = {"head", "body", "queue", "run", "write", "total"};
    nb_histogram room;
    begin(text, "latency_s", '{');
    for (size_t i = 0; i < NB_STAGES; i++) {
        add_histogram(text, stages[i], nb_figures_stage(loop, (nb_stage)i, &room));
    }
    nb_text_add(text, "}");
}

static void add_executors(nb_text *text, const nb_figures_now *now) {
    begin(text, "executors", '[');
    for (uint16_t i = 0; i < now->executor_count; i++) {
        const nb_executor_now *executor = &now->executors[i];
        begin(text, NULL, '{');
        add_number(text, "id", executor->number);
        if (executor->pid) {
            add_number(text, "pid", (uint64_t)executor->pid);
            add_number(text, "rss_bytes", executor->rss_bytes);
        }
        add_number(text, "fibers_limit", executor->fibers_limit);
        add_number(text, "running", executor->running);
        add_number(text, "parked", executor->parked);
        add_number(text, "ready", executor->ready);
        add_number(text, "turns_total", executor->turns);
        add_number(text, "requests_total", executor->taken);
        add_number(text, "helped_total", executor->helped);
        add_seconds(text, "busy_for_s", (uint64_t)executor->busy_ns);
        add_histogram(text, "lag_s", executor->lag);
        nb_text_add(text, "}");
    }
    nb_text_add(text, "]");
}

static void add_stalls(nb_text *text, const nb_tally *stalls) {
    char culprit[NB_TALLY_NAME_BYTES];
    uint64_t time_ns = 0;
    uint32_t used = nb_tally_used(stalls);
    begin(text, "stalls", '{');
    add_number(text, "total", nb_tally_total(stalls));
    for (uint32_t i = 0; i <= NB_TALLY_ROWS; i++)
        time_ns += nb_counted(&stalls->rows[i].sum_ns);
    add_seconds(text, "time_s", time_ns);
    begin(text, "by", '[');
    for (uint32_t i = 0; i < used; i++) {
        const nb_tally_row *row = &stalls->rows[i];
        nb_tally_copy_name(row, culprit);
        begin(text, NULL, '{');
        add_string(text, "kind", nb_stall_kind_name((nb_stall_kind)row->kind));
        add_string(text, "culprit", culprit);
        add_number(text, "total", nb_counted(&row->count));
        add_seconds(text, "time_s", nb_counted(&row->sum_ns));
        nb_text_add(text, "}");
    }
    nb_text_add(text, "]}");
}

static void add_learned(void *context, const nb_learned_class *learned_class, int64_t left_ns) {
    nb_text *text = context;
    char path[NB_LEARNED_SHOWN_BYTES];
    nb_slice method = nb_method_name(learned_class->method);
    nb_path_pattern_show((nb_slice){learned_class->pattern, learned_class->bytes}, path, sizeof(path));
    begin(text, NULL, '{');
    begin(text, "method", 0);
    nb_text_format(text, "\"%.*s\"", (int)method.size, method.data);
    add_string(text, "path", path);
    add_seconds(text, "left_s", left_ns > 0 ? (uint64_t)left_ns : 0);
    nb_text_add(text, "}");
}

static void add_lanes(nb_text *text, const nb_loop *loop) {
    begin(text, "lanes", '{');
    begin(text, "learned", '[');
    nb_lanes_now now = nb_lanes_read(&loop->all->lanes, loop->time.now_ns, add_learned, text);
    nb_text_add(text, "]");
    add_number(text, "learned_total", now.learned_total);
    add_number(text, "returned_total", now.returned_total);
    add_number(text, "rules", now.rules);
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
    begin(text, "algorithms", '{');
    for (uint16_t number = 1; number <= nb_algorithms_count(); number++) {
        size_t place = figures + (number - 1u) * sizeof(nb_sender_figures);
        begin(text, nb_algorithms_get(number)->name, '{');
        add_number(text, "complete_total", nb_figures_downloads(loop, number, NB_DOWNLOAD_complete));
        add_number(text, "bytes_total", nb_loops_sum(loop->all, place + offsetof(nb_sender_figures, bytes)));
        add_number(text, "bursts_total", nb_loops_sum(loop->all, place + offsetof(nb_sender_figures, bursts)));
        nb_text_add(text, "}");
    }
    nb_text_add(text, "}");
}

static void add_downloads(nb_text *text, const nb_loop *loop) {
    nb_histogram room;
    begin(text, "downloads", '{');
    add_number(text, "active", NB_SUM(loop, downloads.active));
    add_number(text, "queued", NB_SUM(loop, connections.senders.queued));
    add_number(text, "workers_busy", NB_SUM(loop, connections.senders.running));
    add_number(text, "workers_limit", loop->config.file_send_workers);
    for (int result = 0; result < NB_DOWNLOAD_RESULT_COUNT; result++) {
        char name[32];
        snprintf(name, sizeof(name), "%s_total", nb_download_result_name((nb_download_result)result));
        add_number(text, name, all_downloads(loop, (nb_download_result)result));
    }
    add_algorithms(text, loop);
    add_number(text, "open_files", NB_SUM(loop, files_open));
    add_histogram(text, "first_byte_s", nb_figures_first_byte(loop, &room));
    add_histogram(text, "duration_s", nb_figures_download(loop, &room));
    add_quantiles(text, "bytes_per_second", nb_figures_speed(loop, &room), nb_text_number);
    nb_text_add(text, "}");
}

static void add_process(nb_text *text, const nb_loop *loop, const nb_figures_now *now) {
    nb_histogram room;
    begin(text, "loop", '{');
    add_number(text, "turns_total", NB_SUM(loop, counters.turns));
    add_histogram(text, "lag_s", nb_figures_lag(loop, &room));
    add_number(text, "guest_turns_total", NB_SUM(loop, counters.guest_turns));
    nb_text_add(text, "}");
    begin(text, "dns", '{');
    add_number(text, "lookups_total", now->processes.dns_lookups);
    add_number(text, "cached_total", now->processes.dns_cached);
    add_number(text, "failed_total", now->processes.dns_failed);
    add_number(text, "pending", now->dns_pending);
    nb_text_add(text, "}");
    begin(text, "memory", '{');
    add_number(text, "rss_bytes", now->memory_rss);
    add_number(text, "spool_bytes", now->memory_spool);
    add_number(text, "response_bytes", now->memory_responses);
    add_number(text, "ruby_heap_live_slots", now->heap_live_slots);
    nb_text_add(text, "}");
    begin(text, "gc", '{');
    add_number(text, "count_total", now->processes.gc_count);
    add_number(text, "minor_total", now->processes.gc_minor);
    add_number(text, "major_total", now->processes.gc_major);
    add_seconds(text, "time_s", now->processes.gc_time_ns);
    nb_text_add(text, "}");
    begin(text, "bytes", '{');
    add_number(text, "received_total", NB_SUM(loop, counters.bytes_received));
    add_number(text, "sent_total", NB_SUM(loop, counters.bytes_sent));
    nb_text_add(text, "}");
    begin(text, "log", '{');
    add_number(text, "dropped_total", now->log_dropped);
    nb_text_add(text, "}");
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
    add_stalls(text, &now.stalls);
    add_lanes(text, loop);
    add_downloads(text, loop);
    add_process(text, loop, &now);
    nb_text_add(text, "}\n");
}
