/*
 * http2_order.c - whose content comes next (RFC 9218). nghttp2 asks streams in turn for content.
 * One that has to wait for others is told to defer (it is passed over), and is let on when nghttp2
 * has nothing more to send of those.
 *
 * A stream waits for each that has content, a window and more urgency. Of equally urgent streams,
 * those that are not incremental leave in the order of their numbers, and incremental ones take
 * turns (section 10). A client that says nothing has incremental ones, so that a small response
 * passes a large one.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include <string.h>

/* Before the value in PRIORITY_UPDATE: the stream that it is about (RFC 9218 section 7.1). */
#define STREAM_ID_BYTES 4u

static const nb_http2_priority by_default = {NB_HTTP2_URGENCY_DEFAULT, false};

/* --- who waits --- */

/* The first of those that could send now. */
typedef struct front {
    uint8_t urgency; /* NB_HTTP2_URGENCIES: there is none */
    int32_t whole;   /* the first that is not incremental; INT32_MAX: none */
} front;

static bool could_send(const nb_http2_stream *stream) {
    return stream->open && !stream->deferred && stream->exchange && stream->exchange->send_queue.bytes > 0 &&
           nghttp2_session_get_stream_remote_window_size(stream->session->h2, stream->id) > 0;
}

static front find_front(const nb_http2_session *session) {
    front found = {NB_HTTP2_URGENCIES, INT32_MAX};
    for (const nb_http2_stream *stream = session->streams; stream; stream = stream->next) {
        if (stream->priority.urgency > found.urgency || !could_send(stream)) continue;
        if (stream->priority.urgency < found.urgency) found = (front){stream->priority.urgency, INT32_MAX};
        if (!stream->priority.incremental && stream->id < found.whole) found.whole = stream->id;
    }
    return found;
}

static bool is_behind(const nb_http2_stream *stream, front first) {
    if (stream->priority.urgency != first.urgency) return stream->priority.urgency > first.urgency;
    return !stream->priority.incremental && stream->id > first.whole;
}

/* False without a look at the others, mostly: none is more urgent, and this one takes turns. */
static bool may_be_behind(const nb_http2_stream *stream) {
    if (!stream->priority.incremental) return true;
    for (unsigned urgency = 0; urgency < stream->priority.urgency; urgency++)
        if (stream->session->urgencies[urgency] > 0) return true;
    return false;
}

bool nb_http2_pass_over(nb_http2_stream *stream) {
    nb_http2_session *session = stream->session;
    if (!may_be_behind(stream) || !is_behind(stream, find_front(session))) return false;
    if (!stream->passed_over) session->passed_over++;
    stream->passed_over = true;
    return true;
}

static void forget(nb_http2_stream *stream) {
    if (stream->passed_over) stream->session->passed_over--;
    stream->passed_over = false;
}

bool nb_http2_let_on(nb_http2_session *session) {
    bool any = false;
    if (session->passed_over == 0) return false;
    front first = find_front(session);
    for (nb_http2_stream *stream = session->streams; stream; stream = stream->next) {
        if (!stream->passed_over || is_behind(stream, first)) continue;
        forget(stream);
        if (nghttp2_is_fatal(nghttp2_session_resume_data(session->h2, stream->id))) session->failed = true;
        any = true;
    }
    return any;
}

/* --- what is said of it --- */

static void set_priority(nb_http2_stream *stream, nb_http2_priority priority) {
    stream->session->urgencies[stream->priority.urgency]--;
    stream->session->urgencies[priority.urgency]++;
    stream->priority = priority;
}

void nb_http2_begin_priority(nb_http2_stream *stream) {
    nb_http2_session *session = stream->session;
    stream->priority = (nb_http2_priority){NB_HTTP2_URGENCY_DEFAULT, true};
    session->urgencies[stream->priority.urgency]++;
    for (unsigned i = 0; i < NB_HTTP2_UPDATES_MAX; i++) {
        nb_http2_update *update = &session->updates[i];
        if (update->id != stream->id) continue;
        stream->updated = true;
        set_priority(stream, update->priority);
        update->id = 0;
    }
}

void nb_http2_end_priority(nb_http2_stream *stream) {
    stream->session->urgencies[stream->priority.urgency]--;
    forget(stream);
}

/* Later lines of the field add to earlier ones. An update that came before the request is newer. */
void nb_http2_priority_field(nb_http2_stream *stream, nb_slice value) {
    nb_http2_priority priority = stream->signalled ? stream->priority : by_default;
    if (stream->updated || !nb_http2_priority_read(value, &priority)) return;
    stream->signalled = true;
    set_priority(stream, priority);
}

/* What the application says replaces what the client has said (section 8). */
void nb_http2_priority_of_response(nb_http2_stream *stream, nb_slice value) {
    nb_http2_priority priority = stream->priority;
    if (!nb_http2_priority_read(value, &priority)) return;
    stream->decided = true;
    set_priority(stream, priority);
}

/* --- PRIORITY_UPDATE --- */

static void keep_update(nb_http2_session *session, int32_t id, nb_http2_priority priority) {
    unsigned place = session->next_update;
    for (unsigned i = 0; i < NB_HTTP2_UPDATES_MAX; i++)
        if (session->updates[i].id == id) place = i;
    if (place == session->next_update) session->next_update = (place + 1) % NB_HTTP2_UPDATES_MAX;
    session->updates[place] = (nb_http2_update){id, priority};
}

static void update_priority(nb_http2_session *session, int32_t id, nb_slice value) {
    nb_http2_priority priority = by_default;
    if (!nb_http2_priority_read(value, &priority)) return;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(session->h2, id);
    if (stream) {
        if (!stream->decided) set_priority(stream, priority);
    } else if (id > nghttp2_session_get_last_proc_stream_id(session->h2)) {
        keep_update(session, id, priority);
    }
}

int nb_http2_on_extension_bytes(nghttp2_session *h2, const nghttp2_frame_hd *head, const uint8_t *bytes, size_t size,
                                void *argument) {
    (void)h2, (void)head;
    nb_http2_session *session = argument;
    size_t room = sizeof(session->update) - session->update_bytes;
    if (size > room) size = room;
    memcpy(session->update + session->update_bytes, bytes, size);
    session->update_bytes = (uint16_t)(session->update_bytes + size);
    return 0;
}

/* A value that is too long to be kept is ignored, as a malformed one. */
int nb_http2_on_extension_end(nghttp2_session *h2, void **payload, const nghttp2_frame_hd *head, void *argument) {
    (void)h2;
    nb_http2_session *session = argument;
    size_t bytes = session->update_bytes;
    const unsigned char *at = (const unsigned char *)session->update;
    *payload = NULL;
    session->update_bytes = 0;
    if (head->length < STREAM_ID_BYTES) return nb_http2_violated(session, NGHTTP2_FRAME_SIZE_ERROR);
    uint32_t id = ((uint32_t)(at[0] & 0x7f) << 24) | ((uint32_t)at[1] << 16) | ((uint32_t)at[2] << 8) | at[3];
    /* Streams of the server, which begins none, have even numbers. */
    if (head->stream_id != 0 || id % 2 == 0) return nb_http2_violated(session, NGHTTP2_PROTOCOL_ERROR);
    if (head->length <= sizeof(session->update))
        update_priority(session, (int32_t)id, nb_slice_of(session->update + STREAM_ID_BYTES, bytes - STREAM_ID_BYTES));
    return 0;
}

#endif
