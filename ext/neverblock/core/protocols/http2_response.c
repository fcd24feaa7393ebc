/*
 * http2_response.c - writes responses as HTTP/2 (RFC 9113 sections 6.1, 8.1). The head is handed
 * to nghttp2, which compresses it. Content waits in the exchange's send queue until nghttp2 asks
 * for it, a frame at a time.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include "base/alloc.h"
#include "base/decimal.h"
#include "http1/head_writer.h"

/* Fields of a head that need no allocation. */
#define FIELDS_ON_STACK 48u

/* Bytes of content in a frame at most: every client takes such frames (RFC 9113 section 4.2), and a
 * larger one would keep other streams waiting. */
#define FRAME_BYTES_MAX 16384u

#define FRAME_HEAD_BYTES 9u

/* A head as nghttp2 takes it. */
typedef struct fields {
    nghttp2_nv *list; /* room for as many as there are */
    size_t count;
    nb_slice priority; /* the value of Priority */
    char status[4], length[NB_DECIMAL_BYTES_MAX];
} fields;

static nb_status status_of(int result) { return result == 0 || !nghttp2_is_fatal(result) ? NB_OK : NB_NO_MEMORY; }

/* --- field lines of HTTP/1.1 as fields --- */

static void add(fields *to, nb_slice name, nb_slice value) {
    to->list[to->count++] = (nghttp2_nv){(uint8_t *)(uintptr_t)name.data, (uint8_t *)(uintptr_t)value.data, name.size,
                                         value.size, NGHTTP2_NV_FLAG_NONE};
}

/* Fields of one connection have no meaning here (RFC 9113 section 8.2.2). */
static bool is_of_connection(nb_slice name) {
    switch (nb_field_lookup(name)) {
    case NB_FIELD_CONNECTION:
    case NB_FIELD_KEEP_ALIVE:
    case NB_FIELD_TRANSFER_ENCODING:
    case NB_FIELD_UPGRADE:
        return true;
    default:
        return nb_slice_equal_lower(name, NB_SLICE("proxy-connection"));
    }
}

static size_t count_lines(nb_slice lines) {
    size_t count = 0;
    for (const char *at = lines.data, *end = at + lines.size; lines.size && (at = memchr(at, '\n', (size_t)(end - at)));
         at++)
        count++;
    return count;
}

static void add_lines(fields *to, nb_slice lines) {
    while (lines.size > 0) {
        const char *end = memchr(lines.data, '\n', lines.size);
        size_t size = end ? (size_t)(end - lines.data) : lines.size;
        nb_slice line = nb_slice_of(lines.data, size > 0 && lines.data[size - 1] == '\r' ? size - 1 : size);
        const char *colon = line.size ? memchr(line.data, ':', line.size) : NULL;
        nb_slice name = nb_slice_of(line.data, colon ? (size_t)(colon - line.data) : 0);
        nb_slice value = nb_slice_trim(nb_slice_of(colon ? colon + 1 : "", colon ? line.size - name.size - 1 : 0));
        if (name.size > 0 && !is_of_connection(name)) add(to, name, value);
        if (nb_slice_equal_lower(name, NB_SLICE("priority"))) to->priority = value;
        size_t used = end ? size + 1 : size;
        lines = nb_slice_of(lines.data + used, lines.size - used);
    }
}

static void add_status(fields *to, uint16_t status) {
    char *end = nb_decimal_put(to->status, status % 1000u);
    add(to, NB_SLICE(":status"), nb_slice_of(to->status, (size_t)(end - to->status)));
}

/* NULL: out of memory. stack: FIELDS_ON_STACK of them. */
static bool begin(fields *to, nghttp2_nv *stack, size_t count) {
    *to = (fields){.list = stack};
    if (count <= FIELDS_ON_STACK) return true;
    to->list = nb_alloc(count * sizeof(*to->list));
    return to->list != NULL;
}

static void end_fields(const fields *of, const nghttp2_nv *stack) {
    if (of->list != stack) nb_free(of->list);
}

/* --- content --- */

/* The rates of files hold for each stream, as a download over HTTP/1.1 has a connection of its own:
 * one that is held back keeps no other waiting. Returns how many of `size` bytes they allow now. */
static uint64_t pace(nb_http2_stream *stream, uint64_t size) {
    nb_connections *connections = stream->session->connections;
    const nb_send_queue *queue = &stream->exchange->send_queue;
    if (queue->files == 0) return size;
    uint64_t rate = nb_send_queue_sent_by(queue).rate;
    if (rate == 0) rate = connections->settings.send_rate;
    uint64_t allowed = nb_connection_reserve(connections, stream->session->connection, &stream->paid_until_ns, rate,
                                             size);
    return allowed < size ? allowed : size;
}

static ssize_t defer(nb_http2_stream *stream, bool paced) {
    stream->deferred = true;
    stream->paced = paced;
    if (paced) nb_http2_unsettled(stream);
    return NGHTTP2_ERR_DEFERRED;
}

void nb_http2_break_off(nb_http2_stream *stream, nb_download_result result) {
    nb_connection *connection = stream->session->connection;
    nb_exchange *exchange = stream->exchange;
    stream->exchange = NULL;
    stream->end_sent = true;
    uint8_t end = connection->downloads.end;
    connection->downloads.end = (uint8_t)result;
    nb_connection_abort_exchange(stream->session->connections, exchange);
    connection->downloads.end = end;
}

/* The file of the response has become shorter: its stream ends alone. Returns what tells nghttp2 to
 * reset it with INTERNAL_ERROR. */
static ssize_t end_shrunk(nb_http2_stream *stream, const nb_file *file) {
    nb_connection_tell_shrunk(stream->session->connections, file);
    nb_http2_break_off(stream, NB_DOWNLOAD_shrunk);
    nb_http2_unsettled(stream);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* nghttp2 makes a frame for the stream: how much content may it have? */
static ssize_t read_content(nghttp2_session *h2, int32_t id, uint8_t *bytes, size_t most, uint32_t *flags,
                            nghttp2_data_source *source, void *argument) {
    (void)h2, (void)id, (void)bytes, (void)argument;
    nb_http2_stream *stream = source->ptr;
    nb_exchange *exchange = stream->exchange;
    if (!exchange) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    uint64_t size = exchange->send_queue.bytes;
    if (size > most) size = most;
    if (size > FRAME_BYTES_MAX) size = FRAME_BYTES_MAX;
    if (size == 0 && !exchange->ended) return defer(stream, false);
    if (size > 0 && nb_http2_pass_over(stream)) return NGHTTP2_ERR_DEFERRED;
    const nb_file *shrunk = nb_send_queue_shrunk(&exchange->send_queue, size);
    if (shrunk) return end_shrunk(stream, shrunk);
    if (size > 0 && (size = pace(stream, size)) == 0) return defer(stream, true);
    bool last = exchange->ended && size == exchange->send_queue.bytes;
    if (size == 0 && exchange->truncated) { /* nghttp2 resets the stream with INTERNAL_ERROR */
        stream->end_sent = true;
        nb_http2_unsettled(stream);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (last && !exchange->truncated) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)size;
}

int nb_http2_on_send_data(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *head, size_t bytes,
                          nghttp2_data_source *source, void *argument) {
    (void)h2;
    nb_http2_session *session = argument;
    nb_http2_stream *stream = source->ptr;
    nb_connections *connections = session->connections;
    nb_connection *connection = session->connection;
    nb_exchange *exchange = stream->exchange;
    if (!exchange || frame->data.padlen > 0) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nb_status status = nb_send_queue_add(&connection->send_queue, connections->pool,
                                         nb_slice_of((const char *)head, FRAME_HEAD_BYTES));
    if (status == NB_OK)
        status = nb_send_queue_move(&connection->send_queue, &exchange->send_queue, connections->pool, bytes);
    if (status != NB_OK) return NGHTTP2_ERR_CALLBACK_FAILURE;
    session->moved += bytes;
    stream->moved += bytes;
    nb_http2_unsettled(stream);
    nb_connection_tell_drained(connections, exchange, exchange->send_queue.bytes);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) { /* now, as its end is where the queue ends */
        stream->exchange = NULL;
        stream->end_sent = true;
        nb_connection_drop_exchange(connections, exchange);
    }
    return nb_connection_owed(connection) >= NB_HTTP2_AHEAD_BYTES ? NGHTTP2_ERR_PAUSE : 0;
}

nb_status nb_http2_resume(nb_http2_stream *stream) {
    if (!stream->deferred || stream->paced || !stream->open) return NB_OK;
    stream->deferred = false;
    return status_of(nghttp2_session_resume_data(stream->session->h2, stream->id));
}

/* --- the writer --- */

static nb_status submit(nb_http2_stream *stream, const nb_exchange *exchange, const fields *of) {
    const nb_response *response = &exchange->response;
    bool empty = !response->has_content || (response->whole && response->content_length == 0);
    nghttp2_data_provider content = {.source.ptr = stream, .read_callback = read_content};
    int result = nghttp2_submit_response(stream->session->h2, stream->id, of->list, of->count, empty ? NULL : &content);
    return status_of(result);
}

static nb_status head(nb_responses *responses, nb_exchange *exchange, nb_slice date_line, nb_slice field_lines) {
    (void)responses;
    nb_http2_stream *stream = nb_http2_stream_of(exchange);
    if (!stream->open || exchange->response.handover) return NB_OK;
    nb_response_facts facts = {.response = exchange->response, .minor_version = 1, .keep_alive = true};
    nghttp2_nv stack[FIELDS_ON_STACK];
    fields list;
    if (!begin(&list, stack, count_lines(field_lines) + 3)) return NB_NO_MEMORY;
    add_status(&list, exchange->response.status);
    add_lines(&list, date_line);
    add_lines(&list, field_lines);
    if (nb_response_plan_decide(&facts).send_content_length) {
        uint64_t length = exchange->response.status == 205 ? 0 : exchange->response.content_length;
        char *end = nb_decimal_put(list.length, length);
        add(&list, NB_SLICE("content-length"), nb_slice_of(list.length, (size_t)(end - list.length)));
    }
    if (list.priority.size > 0) nb_http2_priority_of_response(stream, list.priority);
    nb_status status = submit(stream, exchange, &list);
    end_fields(&list, stack);
    return status;
}

static nb_status content(nb_responses *responses, nb_exchange *exchange, nb_slice bytes) {
    nb_status status = nb_send_queue_add(exchange->out, responses->pool, bytes);
    nb_http2_unsettled(nb_http2_stream_of(exchange));
    return status == NB_OK ? nb_http2_resume(nb_http2_stream_of(exchange)) : status;
}

static nb_status end(nb_responses *responses, nb_exchange *exchange) {
    (void)responses, (void)exchange; /* END_STREAM says it */
    return NB_OK;
}

static nb_status submit_interim(nb_http2_stream *stream, uint16_t status, nb_slice field_lines) {
    nghttp2_nv stack[FIELDS_ON_STACK];
    fields list;
    if (!begin(&list, stack, count_lines(field_lines) + 2)) return NB_NO_MEMORY;
    add_status(&list, status);
    add_lines(&list, field_lines);
    int result = nghttp2_submit_headers(stream->session->h2, NGHTTP2_FLAG_NONE, stream->id, NULL, list.list, list.count,
                                        NULL);
    end_fields(&list, stack);
    return result < 0 ? status_of(result) : NB_OK;
}

static nb_status interim(nb_responses *responses, nb_exchange *exchange, uint16_t status, nb_slice field_lines) {
    (void)responses;
    nb_http2_stream *stream = nb_http2_stream_of(exchange);
    return stream->open ? submit_interim(stream, status, field_lines) : NB_OK;
}

nb_status nb_http2_send_continue(nb_http2_stream *stream) {
    if (!stream->expects || !stream->open) return NB_OK;
    stream->expects = false;
    return submit_interim(stream, 100, nb_slice_of("", 0));
}

const nb_response_writer nb_http2_writer = {.head = head, .content = content, .end = end, .interim = interim};

#endif
