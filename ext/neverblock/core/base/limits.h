/*
 * limits.h - every bound of the core that is not a setting: value, unit, reason.
 */
#ifndef NB_BASE_LIMITS_H
#define NB_BASE_LIMITS_H

/* Bytes read from a socket at once: a page of pipelined requests. An ordinary request head fits. */
#define NB_READ_BUFFER_BYTES 16384u

/* Header fields of one head that the parser has room for. The `headers` setting can only lower
   it. */
#define NB_HEADERS_MAX 256u

/* Bytes of a head (request line and fields). The `header_bytes` setting can only lower it. */
#define NB_HEAD_BYTES_MAX 262144u

/* Bytes of one request target; RFC 9112 section 3 asks for 8000 at least. Longer: 414. */
#define NB_TARGET_BYTES_MAX 16384u

/* Bytes of a method token; the longest registered one, UPDATEREDIRECTREF, has 17. Longer: 501. */
#define NB_METHOD_BYTES_MAX 32u

/* Bytes of all chunk extensions of one message (RFC 9112 section 7.1.1 asks for a limit). */
#define NB_CHUNK_EXTENSION_BYTES_MAX 4096u

/* Bytes of all trailer fields of one message; they are checked and dropped. */
#define NB_TRAILER_BYTES_MAX 8192u

/* Bytes of framing that a chunked body may spend for each byte of data, beside the allowance below:
   a million one-byte chunks would be wasted work. A one-byte chunk costs 5 bytes beside its
   datum. */
#define NB_CHUNK_OVERHEAD_RATIO 8u
#define NB_CHUNK_OVERHEAD_ALLOWANCE_BYTES 16384u

/* Request body bytes kept in memory; a larger body goes to an unlinked file. */
#define NB_BODY_MEMORY_BYTES 65536u

/* Bytes of a streamed request body that an executor has and its application has not taken: enough
   that a quick reader never waits for the loop, few enough that a thousand uploads fit in
   memory. */
#define NB_INPUT_WINDOW_BYTES 131072u

/* Bytes of a streamed request body in one message: what one read of a socket brings. */
#define NB_INPUT_PART_BYTES NB_READ_BUFFER_BYTES

/* Bytes of a request body that are read and dropped after its answer, so that the connection can be
   used again. Beyond that a new connection is cheaper (RFC 9112 section 9.3). */
#define NB_INPUT_DROP_BYTES 262144u

/* Requests of one connection that executors may have at once (pipelining; only safe ones
   overlap). */
#define NB_PIPELINE_MAX 16u

/* Bytes of a request body that a client of HTTP/2 may send before the first were taken: of one
   stream, and of a connection. The second bounds the memory of its bodies. */
#define NB_HTTP2_STREAM_WINDOW_BYTES 262144u
#define NB_HTTP2_WINDOW_BYTES 1048576u

/* Bytes of responses that are made into frames ahead of the client: enough for a full socket, few
   enough that a response that begins has its turn soon. */
#define NB_HTTP2_AHEAD_BYTES 65536u
/* Bytes of a connection that the kernel holds back besides those under way: a response that begins
   is behind them. */
#define NB_HTTP2_UNSENT_BYTES 65536

/* Seconds in which resets of an HTTP/2 connection are counted (http2_resets_max). */
#define NB_HTTP2_RESETS_WINDOW_S 10

/* A head of so many times the limit is not read to its end, nor answered with a status: thousands
   of fields may be a byte each (CVE-2016-6581). */
#define NB_HTTP2_HEAD_EXCESS_MAX 4u

/* CONTINUATION frames of one head (CVE-2024-27316): with HEADERS, in frames of the default size,
   more bytes than NB_HEAD_BYTES_MAX. nghttp2 has such a bound from 1.61 on, 8 unless it is told. */
#define NB_HTTP2_CONTINUATIONS_MAX 16u

/* Names, serial number and PEM of a client's certificate: a longer text fails the handshake. It
   goes with each request, in one record of a ring, beside at most NB_HEAD_BYTES_MAX of head. */
#define NB_TLS_CLIENT_BYTES_MAX 65536u

/* Bytes of one ring, each way, between an I/O loop and an executor. A power of two; a record may
   take half of it. */
#define NB_RING_BYTES (1u << 20)

/* Body bytes in one record of a response: large bodies go in slices, so that one response never
   fills the ring. */
#define NB_RESPONSE_SLICE_BYTES 65536u

/* Bytes each response may hold however many others there are: enough to make progress, few enough
   for ten thousand. */
#define NB_RESPONSE_FLOOR_BYTES 32768u

/* Listeners of one server, the admin ones included. */
#define NB_LISTENERS_MAX 32u

/* Channels of one I/O loop: those of workers, as many again while new workers take over from old
   ones, and those of called spares. Spares never take the places of workers. A lane has no spares:
   all of its channels are threads of workers. */
#define NB_PLACES_MAX 256u
#define NB_SPARES_MAX 256u
#define NB_CHANNELS_MAX (NB_PLACES_MAX + NB_SPARES_MAX)

/* Lanes of one server. Each has a queue in each I/O loop, and threads in each process. */
#define NB_LANES_MAX 32u

/* I/O loops of one server, each with a thread. An exchange's id has 6 bits for the loop's
   number. */
#define NB_IO_THREADS_MAX 64u

/* Bytes of a request line that are kept to say what a lost worker was running. */
#define NB_EXCHANGE_LINE_BYTES 96u

/* Connections to the admin listeners, which the `connections` setting does not count. */
#define NB_ADMIN_CONNECTIONS_MAX 64u

/* Requests that may be cancelled at the admin listeners in one turn of a loop. */
#define NB_CANCELS_MAX 64u

/* Event streams of the admin listeners. Fewer than connections, so that probes are answered. */
#define NB_ADMIN_STREAMS_MAX 32u

/* Slow clients that the admin pages show one by one. */
#define NB_SLOW_CLIENTS_MAX 20u
/* Clients that a loop looks at for them, once a second. */
#define NB_SLOW_CLIENTS_LOOKED_MAX 1024u

/* Bytes of one answer of the admin pages. 256 executors make 600 KB. */
#define NB_ADMIN_BODY_BYTES_MAX (1u << 20)

#endif
