/*
 * counters.h - the counters of a loop, which are always kept. shed: requests refused with 503, as
 * there was no room for them. overdue: requests that have expired.
 *
 * Threads: the loop's thread writes, any thread reads (base/counter.h).
 */
#ifndef NB_METRICS_COUNTERS_H
#define NB_METRICS_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "files/accept_encoding.h"
#include "transport/transport.h"

/* Since the start, but for those that say "now". Connections and requests of admin listeners count
 * in admin_requests alone.
 *
 *   accepted, connections (now), connections_refused (503, no place), evicted (an idle one made
 *   room), unproxied (closed, without a PROXY header), accept_errors, hijacked, timed_out (while a
 *   head or a body was awaited)
 *   requests, responses (complete), requests_refused (400 to 431, 505...: connection/responding.h),
 *   shed (503, too much to do), overdue (its limit has expired), lost (502, its worker died),
 *   aborted (its client left), queue (now)
 *   bytes_received, bytes_sent, spool_bytes (now), response_bytes (now), downloads,
 *   reports_dropped; compress_bytes_in, compress_bytes_out (contents that were compressed, before
 *   and after)
 *   turns, guest_turns (of an executor's thread)
 *   errors (answers of class 5xx, but for those shed)
 *   http1_opened, http1_requests; http2_connections (now), http2_opened, http2_requests,
 *   http2_streams (now). A connection is opened with its first request, or HTTP/2's preface.
 *   http2_resets_received, http2_resets_sent (RST_STREAM; some clients get one for a response that
 *   has come before their request was whole)
 */
/* clang-format off */
#define NB_COUNTER_LIST(X) \
    X(accepted) X(connections) X(requests) X(responses) X(requests_refused) X(shed) X(timed_out) X(overdue) X(queue) X(aborted) \
    X(accept_errors) X(spool_bytes) X(response_bytes) X(connections_refused) X(evicted) X(unproxied) X(bytes_received) X(bytes_sent) \
    X(turns) X(guest_turns) X(admin_requests) X(hijacked) X(lost) X(downloads) X(reports_dropped) \
    X(errors) X(http1_opened) X(http1_requests) X(http2_connections) X(http2_opened) X(http2_requests) X(http2_streams) X(http2_resets_received) X(http2_resets_sent) \
    X(compress_bytes_in) X(compress_bytes_out)
/* clang-format on */

/* What a connection does now. */
typedef enum nb_phase {
    NB_PHASE_NONE,
    NB_PHASE_IDLE,      /* no request has begun, and no response is owed */
    NB_PHASE_READING,   /* a head or a body is being received */
    NB_PHASE_ANSWERING, /* a request runs, or its response is being sent */
    NB_PHASE_CLOSING,
    NB_PHASE_HANDSHAKE, /* of TLS */
    NB_PHASES
} nb_phase;

/* Codes of GOAWAY, in the order of their numbers (RFC 9113 section 7). */
/* clang-format off */
#define NB_HTTP2_CODE_LIST(X) \
    X(NO_ERROR) X(PROTOCOL_ERROR) X(INTERNAL_ERROR) X(FLOW_CONTROL_ERROR) X(SETTINGS_TIMEOUT) X(STREAM_CLOSED) \
    X(FRAME_SIZE_ERROR) X(REFUSED_STREAM) X(CANCEL) X(COMPRESSION_ERROR) X(CONNECT_ERROR) X(ENHANCE_YOUR_CALM) \
    X(INADEQUATE_SECURITY) X(HTTP_1_1_REQUIRED)
/* clang-format on */

#define NB_HTTP2_CODE(name) NB_HTTP2_CODE_##name,
typedef enum nb_http2_code { NB_HTTP2_CODE_LIST(NB_HTTP2_CODE) NB_HTTP2_CODES } nb_http2_code;
#undef NB_HTTP2_CODE

/* Bounds of HTTP/2 (docs/guides/http2.md), each counted when a client has met it: a stream or a
 * request is refused or reset, or (resets, control_frames, continuations) its connection ends.
 * unread_frames: nothing more is read of it for now. */
#define NB_HTTP2_BOUND_LIST(X) \
    X(streams)                 \
    X(head)                    \
    X(body)                    \
    X(slow_body)               \
    X(slow_response)           \
    X(resets)                  \
    X(control_frames)          \
    X(unread_frames)           \
    X(continuations)

#define NB_HTTP2_BOUND(name) NB_HTTP2_BOUND_##name,
typedef enum nb_http2_bound { NB_HTTP2_BOUND_LIST(NB_HTTP2_BOUND) NB_HTTP2_BOUNDS } nb_http2_bound;
#undef NB_HTTP2_BOUND

typedef struct nb_counters {
#define NB_COUNTER(name) _Atomic uint64_t name;
    NB_COUNTER_LIST(NB_COUNTER)
#undef NB_COUNTER
    _Atomic uint64_t answered[5];       /* responses by class of status, 1xx first */
    _Atomic uint64_t broken;            /* responses that were cut off */
    _Atomic uint64_t phases[NB_PHASES]; /* connections by phase */
    _Atomic uint64_t handshakes[NB_HANDSHAKE_OUTCOMES];
    _Atomic uint64_t tls_versions[2];               /* handshakes that were done: TLS 1.2, 1.3 */
    _Atomic uint64_t tls_kernel;                    /* of these, with records made by the kernel */
    _Atomic uint64_t http2_goaways[NB_HTTP2_CODES]; /* sent, by code */
    _Atomic uint64_t http2_bounds[NB_HTTP2_BOUNDS];
    _Atomic uint64_t compressed[NB_ENCODING_COUNT]; /* responses by coding */
} nb_counters;

#define NB_COUNT(counters, name, by) nb_count(&(counters)->name, (uint64_t)(by))

/* Counts a response that begins with this status. shed: of a request that counts as shed. */
static inline void nb_counters_answer(nb_counters *counters, uint16_t status, bool shed) {
    unsigned class = status / 100u;
    if (class >= 1 && class <= 5) nb_count(&counters->answered[class - 1], 1);
    if (class == 5 && !shed) NB_COUNT(counters, errors, 1);
}

/* Counts the change of a connection's phase. */
static inline void nb_counters_phase(nb_counters *counters, nb_phase was, nb_phase now) {
    if (was != NB_PHASE_NONE) nb_count(&counters->phases[was], (uint64_t)-1);
    if (now != NB_PHASE_NONE) nb_count(&counters->phases[now], 1);
}

#endif
