/*
 * downloads.c - see downloads.h.
 */
#include "server/downloads.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "server/connection.h"
#include "server/loop.h"
#include "server/reports.h"

/* Kept for the next downloads; more are given back to the heap. */
#define NOTES_KEPT_MAX 1024u

const char *nb_download_result_name(nb_download_result result) {
    static const char *const names[] = {
#define NAME(name) #name,
        NB_DOWNLOAD_RESULTS(NAME)
#undef NAME
    };
    return names[result];
}

nb_status nb_downloads_measure(nb_downloads *downloads) {
    if (downloads->first_byte) return NB_OK;
    downloads->first_byte = nb_alloc_zero(3, sizeof(nb_histogram));
    if (!downloads->first_byte) return NB_NO_MEMORY;
    downloads->whole = downloads->first_byte + 1;
    downloads->speed = downloads->first_byte + 2;
    return NB_OK;
}

void nb_downloads_deinit(nb_downloads *downloads) {
    while (downloads->free) {
        nb_download_note *note = downloads->free;
        downloads->free = note->next;
        nb_free(note);
    }
    nb_free(downloads->first_byte);
    downloads->first_byte = downloads->whole = downloads->speed = NULL;
}

static nb_download_note *take_note(nb_downloads *downloads) {
    nb_download_note *note = downloads->free;
    if (!note) return nb_alloc(sizeof(*note));
    downloads->free = note->next;
    downloads->free_count--;
    return note;
}

static void give_note(nb_downloads *downloads, nb_download_note *note) {
    if (downloads->free_count >= NOTES_KEPT_MAX) {
        nb_free(note);
        return;
    }
    note->next = downloads->free;
    downloads->free = note;
    downloads->free_count++;
}

static void end(nb_downloads *downloads, uint16_t algorithm, nb_download_result result) {
    nb_count(&downloads->active, (uint64_t)-1);
    nb_count(&downloads->results[algorithm][result], 1);
}

static uint16_t algorithm_of(const nb_loop *loop, const nb_exchange *exchange) {
    uint16_t number = exchange->send_by.algorithm ? exchange->send_by.algorithm : loop->senders.algorithm;
    return number <= NB_ALGORITHMS_MAX ? number : 0;
}

void nb_downloads_begin(nb_loop *loop, nb_exchange *exchange, uint64_t bytes) {
    if (exchange->connection->admin) return;
    exchange->download_bytes = bytes;
    nb_count(&loop->downloads.active, 1);
}

void nb_downloads_answered(nb_loop *loop, nb_download_result result) {
    nb_count(&loop->downloads.results[0][result], 1);
}

/* Of a download that is not to be waited for: by the response where nothing else was said. */
static uint16_t answer_of(const nb_exchange *exchange) {
    if (exchange->report->result != NB_REPORT_OPEN) return exchange->report->result;
    uint16_t status = exchange->facts.status;
    if (status == 304) return NB_DOWNLOAD_not_modified;
    return status == 200 || status == 206 ? NB_DOWNLOAD_complete : NB_DOWNLOAD_refused;
}

/* Without memory for the note it counts as complete: it will be, most likely. */
void nb_downloads_leaving(nb_loop *loop, nb_connection *connection, nb_exchange *exchange) {
    if (exchange->download_bytes == 0) {
        if (exchange->report) nb_reports_end(loop, &exchange->report, answer_of(exchange), 0);
        return;
    }
    uint64_t place = connection->sent + nb_connection_owed(connection);
    uint16_t algorithm = algorithm_of(loop, exchange);
    nb_download_note *note = take_note(&loop->downloads);
    uint64_t bytes = exchange->download_bytes;
    exchange->download_bytes = 0;
    if (!note) {
        end(&loop->downloads, algorithm, NB_DOWNLOAD_complete);
        nb_reports_end(loop, &exchange->report, NB_DOWNLOAD_complete, bytes);
        return;
    }
    *note = (nb_download_note){NULL, place - bytes, place, exchange->began_ns, 0, exchange->report, algorithm};
    exchange->report = NULL;
    *(connection->downloads ? &connection->downloads_last->next : &connection->downloads) = note;
    connection->downloads_last = note;
}

static void measure(nb_downloads *downloads, const nb_download_note *note, int64_t now_ns) {
    if (!downloads->whole || !note->asked_ns) return;
    int64_t took_ns = now_ns > note->asked_ns ? now_ns - note->asked_ns : 1;
    uint64_t bytes = note->end - note->begin;
    nb_histogram_record(downloads->whole, took_ns);
    if (bytes >= NB_DOWNLOAD_SPEED_BYTES_MIN)
        nb_histogram_record(downloads->speed, (int64_t)((double)bytes * 1e9 / (double)took_ns));
}

static void complete(nb_loop *loop, nb_connection *connection, int64_t now_ns) {
    nb_downloads *downloads = &loop->downloads;
    nb_download_note *note = connection->downloads;
    connection->downloads = note->next;
    nb_count(&downloads->bytes, note->end - note->begin);
    measure(downloads, note, now_ns);
    end(downloads, note->algorithm, NB_DOWNLOAD_complete);
    nb_reports_end(loop, &note->report, NB_DOWNLOAD_complete, note->end - note->begin);
    give_note(downloads, note);
}

void nb_downloads_sent(nb_loop *loop, nb_connection *connection) {
    nb_downloads *downloads = &loop->downloads;
    for (nb_download_note *note = connection->downloads; note && note->begin < connection->sent;
         note = connection->downloads) {
        if (note->first_ns == 0 && downloads->first_byte && note->asked_ns)
            nb_histogram_record(downloads->first_byte, loop->now_ns - note->asked_ns);
        if (note->first_ns == 0) note->first_ns = loop->now_ns;
        if (note->end > connection->sent) return;
        complete(loop, connection, loop->now_ns);
    }
}

static nb_download_result reason_of(const nb_loop *loop, const nb_connection *connection) {
    if (connection->download_end) return (nb_download_result)connection->download_end;
    return loop->stopping || (loop->draining && loop->now_ns >= loop->drain_deadline_ns) ? NB_DOWNLOAD_stopped
                                                                                         : NB_DOWNLOAD_aborted;
}

void nb_downloads_dropped(nb_loop *loop, const nb_connection *connection, nb_exchange *exchange) {
    nb_reports_end(loop, &exchange->report, (uint16_t)reason_of(loop, connection), 0);
    if (exchange->download_bytes == 0) return;
    exchange->download_bytes = 0;
    end(&loop->downloads, algorithm_of(loop, exchange), reason_of(loop, connection));
}

static uint64_t left_of(const nb_connection *connection, const nb_download_note *note) {
    if (connection->sent <= note->begin) return 0;
    uint64_t bytes = connection->sent - note->begin;
    return bytes < note->end - note->begin ? bytes : note->end - note->begin;
}

void nb_downloads_connection_end(nb_loop *loop, nb_connection *connection) {
    while (connection->downloads) {
        nb_download_note *note = connection->downloads;
        connection->downloads = note->next;
        end(&loop->downloads, note->algorithm, reason_of(loop, connection));
        nb_reports_end(loop, &note->report, (uint16_t)reason_of(loop, connection), left_of(connection, note));
        give_note(&loop->downloads, note);
    }
}

/* --- what there is to show --- */

uint64_t nb_downloads_sum(const nb_loop *loop, uint16_t algorithm, nb_download_result result) {
    size_t place = offsetof(nb_loop, downloads) + offsetof(nb_downloads, results);
    return nb_loops_sum(loop->all,
                        place + ((size_t)algorithm * NB_DOWNLOAD_RESULT_COUNT + result) * sizeof(_Atomic uint64_t));
}

/* place: of a pointer in nb_downloads. */
static const nb_histogram *together(const nb_loop *loop, nb_histogram *room, size_t place) {
    memset(room, 0, sizeof(*room));
    for (uint16_t i = 0; i < loop->all->count; i++) {
        const char *downloads = (const char *)&loop->all->each[i].downloads;
        const nb_histogram *measured = *(nb_histogram *const *)(const void *)(downloads + place);
        if (measured) nb_histogram_add(room, measured);
    }
    return room;
}

const nb_histogram *nb_downloads_first_byte(const nb_loop *loop, nb_histogram *room) {
    return together(loop, room, offsetof(nb_downloads, first_byte));
}

const nb_histogram *nb_downloads_whole(const nb_loop *loop, nb_histogram *room) {
    return together(loop, room, offsetof(nb_downloads, whole));
}

const nb_histogram *nb_downloads_speed(const nb_loop *loop, nb_histogram *room) {
    return together(loop, room, offsetof(nb_downloads, speed));
}
