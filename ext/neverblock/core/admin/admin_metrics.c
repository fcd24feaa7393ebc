/*
 * admin_metrics.c - /metrics: the metrics in the text format of Prometheus (0.0.4).
 * docs/METRICS.md is generated from its output, so each help text says what the metric means.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/openmetrics.h"
#include "admin/shown.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "metrics/downloads.h"
#include "loop/snapshot.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "os/clock.h"
#include "stall/stall.h"
#include "tls/tls.h"

/* How a histogram is written: its bounds as recorded, and the unit. */
typedef struct scale {
    const uint64_t *bounds;
    unsigned count;
    void (*write)(nb_text *text, uint64_t value);
} scale;

/* 10 KB/s to memory speed. */
static const uint64_t bounds_bytes[] = {10000,     25000,     50000,     100000,    250000,   500000,
                                        1000000,   2500000,   5000000,   10000000,  25000000, 50000000,
                                        100000000, 250000000, 500000000, 1000000000};
#define BOUNDS NB_DURATION_BOUNDS

static const scale in_seconds = {nb_duration_bounds_ns, BOUNDS, nb_text_seconds};
static const scale in_bytes = {bounds_bytes, sizeof(bounds_bytes) / sizeof(*bounds_bytes), nb_text_number};

#define PREFIX "neverblock_"

static void family(nb_text *text, const char *name, const char *type, const char *help) {
    nb_text_format(text, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, type);
}

static void add_labels(nb_text *text, const char *name, const char *suffix, const char *labels) {
    nb_text_format(text, PREFIX "%s%s", name, suffix);
    if (*labels) nb_text_format(text, "{%s}", labels);
    nb_text_add(text, " ");
}

static void sample(nb_text *text, const char *name, const char *labels, uint64_t value) {
    add_labels(text, name, "", labels);
    nb_text_format(text, "%" PRIu64 "\n", value);
}

static void seconds(nb_text *text, const char *name, const char *suffix, const char *labels, uint64_t ns) {
    add_labels(text, name, suffix, labels);
    nb_text_seconds(text, ns);
    nb_text_add(text, "\n");
}

static void counter(nb_text *text, const char *name, const char *help, uint64_t value) {
    family(text, name, "counter", help);
    sample(text, name, "", value);
}

static void gauge(nb_text *text, const char *name, const char *help, uint64_t value) {
    family(text, name, "gauge", help);
    sample(text, name, "", value);
}

static void scaled_histogram(nb_text *text, const char *name, const char *labels, const nb_histogram *measured,
                             const scale *in) {
    uint64_t counts[BOUNDS];
    uint64_t count = nb_histogram_at_most(measured, in->bounds, counts, in->count);
    const char *comma = *labels ? "," : "";
    for (unsigned i = 0; i < in->count; i++) {
        nb_text_format(text, PREFIX "%s_bucket{%s%sle=\"", name, labels, comma);
        in->write(text, in->bounds[i]);
        nb_text_format(text, "\"} %" PRIu64 "\n", counts[i]);
    }
    nb_text_format(text, PREFIX "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, count);
    add_labels(text, name, "_sum", labels);
    in->write(text, nb_counted(&measured->sum_ns));
    nb_text_add(text, "\n");
    add_labels(text, name, "_count", labels);
    nb_text_format(text, "%" PRIu64 "\n", count);
}

static void histogram(nb_text *text, const char *name, const char *labels, const nb_histogram *measured) {
    scaled_histogram(text, name, labels, measured, &in_seconds);
}

static void add_server(nb_text *text, const nb_loop *loop) {
    family(text, "build_info", "gauge", "1, with the versions that run as labels.");
    nb_text_add(text, PREFIX "build_info{version=");
    nb_text_label(text, loop->config.version);
    nb_text_add(text, ",ruby=");
    nb_text_label(text, loop->config.ruby_version);
    nb_text_add(text, "} 1\n");
    gauge(text, "start_time_seconds", "When the server began, in seconds since 1970.", (uint64_t)loop->started_wall_s);
    gauge(text, "ready", "1 while requests are taken; 0 while it starts or drains, as /ready says.",
          nb_figures_state(loop) == NB_SERVER_SERVING);
}

static void add_connections(nb_text *text, const nb_loop *loop) {
    family(text, "connections", "gauge",
           "Open client connections by what they do: idle (no request), reading (a head or body comes), "
           "answering (a request is at work or its response leaves), closing, handshake (of TLS).");
    sample(text, "connections", "state=\"idle\"", NB_SUM(loop, counters.phases[NB_PHASE_IDLE]));
    sample(text, "connections", "state=\"reading\"", NB_SUM(loop, counters.phases[NB_PHASE_READING]));
    sample(text, "connections", "state=\"answering\"", NB_SUM(loop, counters.phases[NB_PHASE_ANSWERING]));
    sample(text, "connections", "state=\"closing\"", NB_SUM(loop, counters.phases[NB_PHASE_CLOSING]));
    sample(text, "connections", "state=\"handshake\"", NB_SUM(loop, counters.phases[NB_PHASE_HANDSHAKE]));
    gauge(text, "connections_limit", "The most client connections that may be open (limits connections).",
          loop->config.connections_max);
    counter(text, "connections_accepted_total", "Client connections accepted.", NB_SUM(loop, counters.accepted));
    counter(text, "connections_refused_total", "Clients told 503 because there was no place for their connection.",
            NB_SUM(loop, counters.connections_refused));
    counter(text, "connections_evicted_total", "Idle connections ended to make room for new ones.",
            NB_SUM(loop, counters.evicted));
    counter(text, "connections_unproxied_total", "Connections closed because they began without a PROXY header.",
            NB_SUM(loop, counters.unproxied));
    counter(text, "accept_errors_total",
            "Times there was no descriptor for another connection, or only one of those kept for files and the "
            "application.",
            NB_SUM(loop, counters.accept_errors));
    counter(text, "received_bytes_total", "Bytes read from clients.", NB_SUM(loop, counters.bytes_received));
    counter(text, "sent_bytes_total", "Bytes sent to clients, heads and files included.",
            NB_SUM(loop, counters.bytes_sent));
}

/* Where a listener speaks TLS. */
static void add_handshakes(nb_text *text, const nb_loop *loop) {
    static const char *const results[] = {
#define NB_RESULT(name, words) "result=\"" #name "\"",
        NB_HANDSHAKE_LIST(NB_RESULT)
#undef NB_RESULT
    };
    if (!nb_listeners_secure(loop)) return;
    family(text, "tls_handshakes_total", "counter",
           "TLS handshakes by how they ended: full, resumed (by a ticket), or why not (guides/tls.md).");
    for (size_t i = 0; i < NB_HANDSHAKE_OUTCOMES; i++) {
        sample(
            text, "tls_handshakes_total", results[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.handshakes) + i * sizeof(loop->counters.handshakes[0])));
    }
    family(text, "tls_sessions_total", "counter", "TLS handshakes that were done, by version of TLS.");
    sample(text, "tls_sessions_total", "version=\"1.2\"", NB_SUM(loop, counters.tls_versions[0]));
    sample(text, "tls_sessions_total", "version=\"1.3\"", NB_SUM(loop, counters.tls_versions[1]));
    counter(text, "tls_kernel_sessions_total", "Of these, with records made by the kernel (kTLS).",
            NB_SUM(loop, counters.tls_kernel));
}

static void add_certificate(nb_text *text, const char *address, size_t number, const nb_tls_certificate *certificate) {
    nb_text_add(text, PREFIX "tls_certificate_expiry_seconds{address=");
    nb_text_label(text, address);
    nb_text_format(text, ",number=\"%zu\",name=", number);
    nb_text_label(text, certificate->name);
    nb_text_format(text, ",key=\"%s\"} %" PRId64 "\n", certificate->key, certificate->expires_s);
}

static void add_certificates(nb_text *text, const nb_loop *loop) {
    if (!nb_listeners_secure(loop)) return;
    family(text, "tls_certificate_expiry_seconds", "gauge",
           "When a certificate that an address serves expires, in seconds since 1970; name: the first host name it is "
           "for.");
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        const nb_listener *listener = &loop->listeners[i];
        size_t count = 0;
        const nb_tls_certificate *each = listener->tls ? nb_tls_context_certificates(listener->tls, &count) : NULL;
        for (size_t j = 0; j < count; j++) {
            add_certificate(text, listener->url, j + 1, &each[j]);
        }
    }
}

static void by_protocol(nb_text *text, const char *name, uint64_t http1, uint64_t http2) {
    sample(text, name, "protocol=\"http/1.1\"", http1);
    sample(text, name, "protocol=\"h2\"", http2);
}

static void add_protocols(nb_text *text, const nb_loop *loop) {
    uint64_t open = nb_loops_connections(loop->all), open_http2 = NB_SUM(loop, counters.http2_connections);
    family(text, "protocol_connections", "gauge",
           "Open client connections by what they speak; one that has said nothing yet counts as http/1.1.");
    by_protocol(text, "protocol_connections", open > open_http2 ? open - open_http2 : 0, open_http2);
    family(text, "protocol_connections_total", "counter",
           "Client connections by what they speak; one that has not said it yet counts in neither.");
    by_protocol(text, "protocol_connections_total", NB_SUM(loop, counters.http1_opened),
                NB_SUM(loop, counters.http2_opened));
    family(text, "protocol_requests_total", "counter", "Requests whose head was understood, by protocol.");
    by_protocol(text, "protocol_requests_total", NB_SUM(loop, counters.http1_requests),
                NB_SUM(loop, counters.http2_requests));
}

static void add_http2(nb_text *text, const nb_loop *loop) {
    static const char *const codes[] = {
#define NB_CODE(name) "code=\"" #name "\"",
        NB_HTTP2_CODE_LIST(NB_CODE)
#undef NB_CODE
    };
    static const char *const bounds[] = {
#define NB_BOUND(name) "bound=\"" #name "\"",
        NB_HTTP2_BOUND_LIST(NB_BOUND)
#undef NB_BOUND
    };
    gauge(text, "http2_streams", "Streams of HTTP/2 that are open.", NB_SUM(loop, counters.http2_streams));
    family(text, "http2_resets_total", "counter", "Streams of HTTP/2 that were reset, by who did (RST_STREAM).");
    sample(text, "http2_resets_total", "by=\"client\"", NB_SUM(loop, counters.http2_resets_received));
    sample(text, "http2_resets_total", "by=\"server\"", NB_SUM(loop, counters.http2_resets_sent));
    family(text, "http2_goaways_total", "counter",
           "GOAWAYs sent, by code (RFC 9113 section 7): NO_ERROR of a drain, a reload or an idle connection, else why "
           "the connection ends.");
    for (size_t i = 0; i < NB_HTTP2_CODES; i++)
        sample(text, "http2_goaways_total", codes[i],
               nb_loops_sum(loop->all, offsetof(nb_loop, counters.http2_goaways) + i * sizeof(_Atomic uint64_t)));
    family(text, "http2_bounds_total", "counter", "Times that a client of HTTP/2 met a bound (guides/http2.md).");
    for (size_t i = 0; i < NB_HTTP2_BOUNDS; i++)
        sample(text, "http2_bounds_total", bounds[i],
               nb_loops_sum(loop->all, offsetof(nb_loop, counters.http2_bounds) + i * sizeof(_Atomic uint64_t)));
}

/* Where responses are compressed. */
static void add_compression(nb_text *text, const nb_loop *loop) {
    static const char *const codings[NB_ENCODING_COUNT] = {NULL, "coding=\"gzip\"", "coding=\"br\"", "coding=\"zstd\""};
    if (!nb_loop_compresses(loop)) return;
    family(text, "compressed_responses_total", "counter",
           "Responses of the application that were compressed, by coding.");
    for (size_t i = NB_ENCODING_GZIP; i < NB_ENCODING_COUNT; i++) {
        sample(
            text, "compressed_responses_total", codings[i],
            nb_loops_sum(loop->all, offsetof(nb_loop, counters.compressed) + i * sizeof(loop->counters.compressed[0])));
    }
    counter(text, "compression_input_bytes_total", "Bytes of their bodies as the application wrote them.",
            NB_SUM(loop, counters.compress_bytes_in));
    counter(text, "compression_output_bytes_total", "Bytes of their bodies compressed.",
            NB_SUM(loop, counters.compress_bytes_out));
}

static void add_requests(nb_text *text, const nb_loop *loop, const nb_figures_now *now) {
    static const char *const classes[] = {"class=\"1xx\"", "class=\"2xx\"", "class=\"3xx\"", "class=\"4xx\"",
                                          "class=\"5xx\""};
    counter(text, "requests_total", "Requests whose head was understood.", NB_SUM(loop, counters.requests));
    family(text, "requests_in_progress", "gauge",
           "Requests by where they are: queued (whole, no executor has taken them), running (they have a fiber), "
           "writing (the response has begun and not left whole; a streamed one is running too).");
    sample(text, "requests_in_progress", "state=\"queued\"", now->queued);
    sample(text, "requests_in_progress", "state=\"running\"", now->running);
    sample(text, "requests_in_progress", "state=\"writing\"", now->writing);
    family(text, "responses_total", "counter", "Responses by class of status, the application's and the server's own.");
    for (size_t i = 0; i < 5; i++) {
        sample(text, "responses_total", classes[i],
               nb_loops_sum(loop->all, offsetof(nb_loop, counters.answered) + i * sizeof(loop->counters.answered[0])));
    }
    counter(text, "requests_shed_total", "Requests answered 503 because there was no room for them.",
            NB_SUM(loop, counters.shed));
    counter(text, "requests_refused_total",
            "Requests the server itself answered 4xx or 501: malformed, too large, too slow.",
            NB_SUM(loop, counters.requests_refused));
    counter(text, "requests_timed_out_total", "Requests and responses ended because the client was too slow.",
            NB_SUM(loop, counters.timed_out));
    counter(text, "requests_overdue_total", "Requests answered 503 because their deadline passed (timeouts request).",
            NB_SUM(loop, counters.overdue));
    counter(text, "requests_aborted_total", "Requests whose client left before the response was whole.",
            NB_SUM(loop, counters.aborted));
    counter(text, "requests_lost_total", "Requests answered 502 because the worker that ran them has ended.",
            NB_SUM(loop, counters.lost));
    counter(text, "request_errors_total",
            "Responses of class 5xx but for those shed, and responses broken off by the application.", now->errors);
}

static void add_latencies(nb_text *text, const nb_loop *loop) {
    nb_histogram room;
    static const char *const stages[] = {"stage=\"head\"", "stage=\"body\"", "stage=\"queue\"", "stage=\"run\"",
                                         "stage=\"write\""};
    family(text, "request_stage_seconds", "histogram",
           "How long the stages of requests took: head (first byte to whole head), body (until it is whole), queue "
           "(until an executor takes it), run (until the response's head), write (until its last byte left).");
    for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
        histogram(text, "request_stage_seconds", stages[i], nb_figures_stage(loop, (nb_stage)i, &room));
    }
    family(text, "request_duration_seconds", "histogram",
           "From a request's first byte to its response's last byte, as the server saw them.");
    histogram(text, "request_duration_seconds", "", nb_figures_stage(loop, NB_STAGE_TOTAL, &room));
}

static void add_loop(nb_text *text, const nb_loop *loop) {
    nb_histogram room;
    counter(text, "loop_turns_total", "Turns of the I/O loop.", NB_SUM(loop, counters.turns));
    counter(text, "loop_guest_turns_total", "Of these, turns run by an idle executor's own thread.",
            NB_SUM(loop, counters.guest_turns));
    family(
        text, "loop_lag_seconds", "histogram",
        "From one look of the I/O loop at its sockets to the next, sleep left out: how long an event may have waited.");
    histogram(text, "loop_lag_seconds", "", nb_figures_lag(loop, &room));
}

/* The first from there on that has a label of its own. NULL: there is none. */
static const nb_executor_now *labelled(const nb_figures_now *now, const nb_executor_now *from) {
    const nb_executor_now *end = now->executors + now->executor_count;
    while (from < end && !from->labelled) {
        from++;
    }
    return from < end ? from : NULL;
}

#define EACH_LABELLED(now, executor)                                                          \
    for (const nb_executor_now *executor = labelled(now, (now)->executors); executor != NULL; \
         executor = labelled(now, executor + 1))

/* One sample of a metric for each executor. */
#define EACH_EXECUTOR(text, now, name, format, value)                                                            \
    EACH_LABELLED(now, executor) {                                                                               \
        nb_text_format((text), PREFIX name "{executor=\"%u\"} " format "\n", executor->number, executor->value); \
    }

static void add_executor_fibers(nb_text *text, const nb_figures_now *now) {
    family(text, "executor_fibers", "gauge",
           "Fibers of an executor: running (requests that have one), parked (waiting, of requests or spawned by them), "
           "ready (of the parked ones, those that may go on).");
    EACH_LABELLED(now, executor) {
        nb_text_format(text, PREFIX "executor_fibers{executor=\"%u\",state=\"running\"} %" PRIu32 "\n",
                       executor->number, executor->running);
        nb_text_format(text, PREFIX "executor_fibers{executor=\"%u\",state=\"parked\"} %" PRIu32 "\n", executor->number,
                       executor->parked);
        nb_text_format(text, PREFIX "executor_fibers{executor=\"%u\",state=\"ready\"} %" PRIu32 "\n", executor->number,
                       executor->ready);
    }
}

static void add_executors(nb_text *text, const nb_figures_now *now) {
    char label[32];
    family(text, "executor_fibers_limit", "gauge", "Most requests an executor runs at once.");
    EACH_EXECUTOR(text, now, "executor_fibers_limit", "%" PRIu32, fibers_limit)
    add_executor_fibers(text, now);
    family(text, "executor_requests_total", "counter", "Requests an executor has taken.");
    EACH_EXECUTOR(text, now, "executor_requests_total", "%" PRIu64, taken)
    family(text, "executor_turns_total", "counter", "Turns of an executor's scheduler.");
    EACH_EXECUTOR(text, now, "executor_turns_total", "%" PRIu64, turns)
    family(text, "executor_helped_total", "counter",
           "Times a spare took an executor's requests, as a call without Ruby's lock kept it.");
    EACH_EXECUTOR(text, now, "executor_helped_total", "%" PRIu64, helped)
    family(text, "executor_busy_seconds", "gauge",
           "How long the fiber that runs now has kept the executor; 0 when it waits for work.");
    EACH_LABELLED(now, executor) {
        snprintf(label, sizeof(label), "executor=\"%u\"", executor->number);
        seconds(text, "executor_busy_seconds", "", label, (uint64_t)executor->busy_ns);
    }
    family(text, "executor_lag_seconds", "histogram",
           "Turns of an executor, from waking up to their end: how long a fiber that may go on can have waited.");
    EACH_LABELLED(now, executor) {
        snprintf(label, sizeof(label), "executor=\"%u\"", executor->number);
        histogram(text, "executor_lag_seconds", label, executor->lag);
    }
}

/* Memory of worker processes; nothing without workers. */
static void add_workers(nb_text *text, const nb_figures_now *now) {
    bool any = false;
    EACH_LABELLED(now, executor) {
        if (executor->pid == 0) continue;
        if (!any) family(text, "worker_resident_memory_bytes", "gauge", "Resident memory of a worker process.");
        any = true;
        nb_text_format(text, PREFIX "worker_resident_memory_bytes{executor=\"%u\"} %" PRIu64 "\n", executor->number,
                       executor->rss_bytes);
    }
}

/* One number of each pool. */
typedef struct pool_samples {
    nb_text *text;
    const nb_dispatch *dispatch;
    const char *name;
    void (*write)(nb_text *text, const nb_pool_gauge *gauge);
} pool_samples;

static void pool_size(nb_text *text, const nb_pool_gauge *gauge) { nb_text_number(text, gauge->size); }
static void pool_in_use(nb_text *text, const nb_pool_gauge *gauge) { nb_text_number(text, gauge->in_use); }
static void pool_waiting(nb_text *text, const nb_pool_gauge *gauge) { nb_text_number(text, gauge->waiting); }
static void pool_acquired(nb_text *text, const nb_pool_gauge *gauge) { nb_text_number(text, gauge->acquired_total); }
static void pool_waited(nb_text *text, const nb_pool_gauge *gauge) { nb_text_number(text, gauge->waited_total); }
static void pool_waited_seconds(nb_text *text, const nb_pool_gauge *gauge) {
    nb_text_seconds(text, gauge->waited_ns_total);
}

static void pool_sample(void *context, const nb_dispatch_channel *channel, const nb_pool_gauge *gauge) {
    const pool_samples *samples = context;
    nb_text *text = samples->text;
    if (!nb_dispatch_has_number(samples->dispatch, channel)) return;
    char name[NB_POOL_NAME_BYTES];
    nb_utf8_scrub(name, sizeof(name), gauge->name, strlen(gauge->name));
    nb_text_format(text, PREFIX "%s{pool=", samples->name);
    nb_text_label(text, name);
    nb_text_format(text, ",kind=\"%s\",worker=\"%u\"} ", nb_pool_kind_name(gauge->kind), channel->number);
    samples->write(text, gauge);
    nb_text_add(text, "\n");
}

static void add_pools(nb_text *text, const nb_loop *loop) {
    static const struct {
        const char *name, *type, *help;
        void (*write)(nb_text *text, const nb_pool_gauge *gauge);
    } families[] = {
        {"pool_size", "gauge", "Places of a pool that requests wait at; 0: it has no limit.", pool_size},
        {"pool_in_use", "gauge", "Of these, how many are in use.", pool_in_use},
        {"pool_waiting", "gauge", "How many wait for one.", pool_waiting},
        {"pool_acquired_total", "counter", "Times that somebody got one, at once or after a wait.", pool_acquired},
        {"pool_waits_total", "counter", "Times that somebody had to wait for one.", pool_waited},
        {"pool_wait_seconds_total", "counter", "How long all have waited.", pool_waited_seconds},
    };
    int64_t now_ns = nb_clock_monotonic_ns();
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        pool_samples samples = {text, &loop->dispatch, families[i].name, families[i].write};
        family(text, families[i].name, families[i].type, families[i].help);
        nb_shown_pools(&loop->dispatch, now_ns, pool_sample, &samples);
    }
}

/* One number of each row; the last row is shared by all names without one. */
static void stall_samples(nb_text *text, const nb_tally *stalls, bool time) {
    char culprit[NB_TALLY_NAME_BYTES];
    uint32_t used = nb_tally_used(stalls);
    for (uint32_t i = 0; i <= used; i++) {
        const nb_tally_row *row = &stalls->rows[i < used ? i : NB_TALLY_OTHER];
        nb_tally_copy_name(row, culprit);
        if (i == used) strcpy(culprit, "other");
        nb_text_format(text, PREFIX "%s{kind=\"%s\",culprit=", time ? "stall_seconds_total" : "stalls_total",
                       i < used ? nb_stall_kind_name((nb_stall_kind)row->kind) : "other");
        nb_text_label(text, culprit);
        nb_text_add(text, "} ");
        if (time) {
            nb_text_seconds(text, nb_counted(&row->sum_ns));
        } else {
            nb_text_format(text, "%" PRIu64, nb_counted(&row->count));
        }
        nb_text_add(text, "\n");
    }
}

static void add_stalls(nb_text *text, const nb_figures_now *now) {
    family(
        text, "stalls_total", "counter",
        "Times that one fiber kept its executor for executor { stall_ms }, by kind and by who is to blame: the first "
        "of these by name, all others as other.");
    stall_samples(text, &now->stalls, false);
    family(text, "stall_seconds_total", "counter", "How long those that are over have lasted.");
    stall_samples(text, &now->stalls, true);
}

static void add_lanes(nb_text *text, const nb_loop *loop) {
    nb_lanes_now now = nb_lanes_read(&loop->all->lanes, loop->time.now_ns, NULL, NULL);
    gauge(text, "lanes_learned", "Kinds of requests (method and path) that run in a lane because they have stalled.",
          now.in_lane);
    counter(text, "lanes_learned_total", "Times that a kind of requests went to the lane because it had stalled.",
            now.learned_total);
    counter(text, "lanes_returned_total", "Times that one was back in fibers, on trial.", now.returned_total);
}

static void add_process(nb_text *text, const nb_figures_now *now) {
    counter(text, "dns_lookups_total", "Host names asked of the system's resolver.", now->processes.dns_lookups);
    counter(text, "dns_cached_total", "Host names answered from the cache.", now->processes.dns_cached);
    counter(text, "dns_failed_total", "Lookups that found no address.", now->processes.dns_failed);
    gauge(text, "dns_pending", "Lookups under way.", now->dns_pending);
    gauge(text, "resident_memory_bytes",
          "Resident memory of the process that owns the connections, read once a second at most.", now->memory_rss);
    gauge(text, "spool_bytes", "Request bodies in temporary files.", now->memory_spool);
    gauge(text, "response_buffer_bytes", "Memory of response bytes that have not left.", now->memory_responses);
    gauge(text, "ruby_heap_live_slots", "Live slots of Ruby's heap (GC.stat).", now->heap_live_slots);
    family(text, "gc_runs_total", "counter", "Garbage collections of Ruby.");
    sample(text, "gc_runs_total", "kind=\"minor\"", now->processes.gc_minor);
    sample(text, "gc_runs_total", "kind=\"major\"", now->processes.gc_major);
    family(text, "gc_seconds_total", "counter", "Time spent in garbage collections.");
    seconds(text, "gc_seconds_total", "", "", now->processes.gc_time_ns);
    counter(text, "log_lines_dropped_total", "Log lines dropped because the log's reader was too slow.",
            now->log_dropped);
}

/* --- files --- */

/* One number of an algorithm, summed over all loops. */
static void algorithm_sample(nb_text *text, const nb_loop *loop, const char *name, uint16_t number, size_t offset) {
    char label[48];
    snprintf(label, sizeof(label), "algorithm=\"%s\"", nb_algorithms_get(number)->name);
    size_t place = offsetof(nb_loop, connections.senders) + offsetof(nb_senders, figures) +
                   (number - 1u) * sizeof(nb_sender_figures);
    sample(text, name, label, nb_loops_sum(loop->all, place + offset));
}

static void add_downloads(nb_text *text, const nb_loop *loop) {
    char label[80];
    gauge(text, "downloads_active", "Responses with a file for their body that have begun and not left whole.",
          NB_SUM(loop, downloads.active));
    family(text, "downloads_total", "counter",
           "Downloads by algorithm and result: complete, aborted (the client left), timed_out, shrunk (the file became "
           "shorter), stopped (the server ended first); without an algorithm not_modified (304), and of X-Sendfile and "
           "X-Accel-Redirect refused (by a setting) and missing.");
    for (uint16_t number = 0; number <= nb_algorithms_count(); number++) {
        for (int result = 0; result < NB_DOWNLOAD_RESULT_COUNT; result++) {
            bool sent = result < NB_DOWNLOAD_not_modified || result > NB_DOWNLOAD_missing;
            if (sent != (number > 0)) continue;
            snprintf(label, sizeof(label), "algorithm=\"%s\",result=\"%s\"",
                     number ? nb_algorithms_get(number)->name : "",
                     nb_download_result_name((nb_download_result)result));
            sample(text, "downloads_total", label, nb_figures_downloads(loop, number, (nb_download_result)result));
        }
    }
}

static void add_reports(nb_text *text, const nb_loop *loop) {
    static const char *const fates[] = {
#define NB_NAME(name) "fate=\"" #name "\"",
        NB_REPORT_FATES(NB_NAME)
#undef NB_NAME
    };
    if (!loop->all->reports.open) return;
    counter(text, "download_reports_ended_total", "Downloads with a name (X-Download-Id) that have ended.",
            NB_SUM(loop, reports.queued) + NB_SUM(loop, reports.dropped));
    family(text, "download_reports_total", "counter",
           "Reports of such downloads by what became of them: posted, refused (answered 3xx or 4xx), called "
           "(on_download has come to its end), failed (it has raised), lost (no room, or the server ended first).");
    for (int fate = 0; fate < NB_REPORT_FATE_COUNT; fate++) {
        uint64_t count = nb_counted(&loop->all->reports.fates[fate]);
        if (fate == NB_REPORT_lost) count += NB_SUM(loop, reports.dropped);
        sample(text, "download_reports_total", fates[fate], count);
    }
}

static void add_senders(nb_text *text, const nb_loop *loop) {
    family(text, "download_bytes_total", "counter", "Bytes sent by an algorithm, the heads before its files included.");
    for (uint16_t number = 1; number <= nb_algorithms_count(); number++)
        algorithm_sample(text, loop, "download_bytes_total", number, offsetof(nb_sender_figures, bytes));
    family(text, "download_bursts_total", "counter", "Steps of an algorithm that sent something.");
    for (uint16_t number = 1; number <= nb_algorithms_count(); number++)
        algorithm_sample(text, loop, "download_bursts_total", number, offsetof(nb_sender_figures, bursts));
    family(text, "file_workers", "gauge",
           "Threads that send files or read them ahead (running), and downloads that wait for one (queued).");
    sample(text, "file_workers", "state=\"running\"", NB_SUM(loop, connections.senders.running));
    sample(text, "file_workers", "state=\"queued\"", NB_SUM(loop, connections.senders.queued));
    gauge(text, "file_workers_limit", "The most of these threads (sendfile workers).", loop->config.file_send_workers);
    counter(text, "file_read_ahead_bytes_total", "Bytes of files that auto had read into memory by workers.",
            NB_SUM(loop, connections.senders.read_ahead));
    counter(text, "file_pages_lost_total", "Times that what was in memory was gone when it was to be sent.",
            NB_SUM(loop, connections.senders.pages_lost));
}

static void add_open_files(nb_text *text, const nb_loop *loop) {
    gauge(text, "open_files", "Files kept open for the next request.", NB_SUM(loop, files_open));
    counter(text, "open_files_hits_total", "Look-ups that found a file open, and still what its path leads to.",
            NB_SUM(loop, files_hit));
    counter(text, "open_files_opened_total", "Files opened.", NB_SUM(loop, files_entered));
    counter(text, "open_files_changed_total", "Look-ups that found the path leading to something else.",
            NB_SUM(loop, files_changed));
}

static void add_files(nb_text *text, const nb_loop *loop) {
    add_downloads(text, loop);
    add_reports(text, loop);
    add_senders(text, loop);
    add_open_files(text, loop);
    nb_histogram room;
    family(text, "download_first_byte_seconds", "histogram",
           "From a request's first byte to the first byte of its file.");
    histogram(text, "download_first_byte_seconds", "", nb_figures_first_byte(loop, &room));
    family(text, "download_duration_seconds", "histogram", "From a request's first byte to the last byte of its file.");
    histogram(text, "download_duration_seconds", "", nb_figures_download(loop, &room));
    family(text, "download_bytes_per_second", "histogram",
           "Bytes a second of complete downloads of 1 MiB and more, from the request's first byte to the last of its "
           "file.");
    scaled_histogram(text, "download_bytes_per_second", "", nb_figures_speed(loop, &room), &in_bytes);
}

void nb_admin_write_metrics(nb_loop *loop, nb_text *text) {
    nb_figures_now now;
    nb_figures_read(loop, &now);
    add_server(text, loop);
    add_connections(text, loop);
    add_handshakes(text, loop);
    add_certificates(text, loop);
    add_protocols(text, loop);
    add_http2(text, loop);
    add_requests(text, loop, &now);
    add_compression(text, loop);
    add_latencies(text, loop);
    add_loop(text, loop);
    add_executors(text, &now);
    add_workers(text, &now);
    add_pools(text, loop);
    add_stalls(text, &now);
    add_lanes(text, loop);
    add_files(text, loop);
    add_process(text, &now);
    counter(text, "admin_requests_total", "Requests answered by the admin pages, this one included.",
            NB_SUM(loop, counters.admin_requests));
}

static bool exemplar_of(const void *owner, unsigned bucket, nb_exemplar *exemplar) {
    return nb_figures_exemplar(owner, bucket, exemplar);
}

void nb_admin_write_openmetrics(nb_loop *loop, nb_text *text) {
    nb_text plain;
    nb_text_init(&plain, NB_ADMIN_BODY_BYTES_MAX);
    nb_admin_write_metrics(loop, &plain);
    if (nb_text_failed(&plain)) text->failed = true;
    nb_openmetrics_write(text, nb_text_slice(&plain), PREFIX "request_duration_seconds", exemplar_of, loop);
    nb_text_deinit(&plain);
}
