/*
 * downloads.c - see downloads.h.
 */
#include "metrics/downloads.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/counter.h"

/* Free notes kept for the next downloads. More are freed. */
#define NOTES_KEPT_MAX 1024u

const char *nb_download_result_name(nb_download_result result) {
    static const char *const names[] = {
#define NAME(name) #name,
        NB_DOWNLOAD_RESULTS(NAME)
#undef NAME
    };
    return names[result];
}

void nb_downloads_init(nb_downloads *downloads, nb_reports *reports, const nb_senders *senders,
                       const nb_turn_time *time) {
    downloads->reports = reports;
    downloads->senders = senders;
    downloads->time = time;
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

static uint16_t algorithm_of(const nb_downloads *downloads, const nb_exchange *exchange) {
    uint16_t number = exchange->send_by.algorithm ? exchange->send_by.algorithm : downloads->senders->algorithm;
    return number <= NB_ALGORITHMS_MAX ? number : 0;
}

void nb_downloads_begin(nb_downloads *downloads, nb_exchange *exchange, uint64_t bytes) {
    if (!exchange->counted) return;
    exchange->download_bytes = bytes;
    nb_count(&downloads->active, 1);
}

void nb_downloads_answered(nb_downloads *downloads, nb_download_result result) {
    nb_count(&downloads->results[0][result], 1);
}

/* The result of a download that is not awaited: from the response, where nothing else was said. */
static uint16_t answer_of(const nb_exchange *exchange) {
    if (exchange->report->result != NB_REPORT_OPEN) return exchange->report->result;
    uint16_t status = exchange->response.status;
    if (status == 304) return NB_DOWNLOAD_not_modified;
    return status == 200 || status == 206 ? NB_DOWNLOAD_complete : NB_DOWNLOAD_refused;
}

/* Without memory for the note it counts as complete, which it most likely will be. */
void nb_downloads_leaving(nb_downloads *downloads, nb_download_list *list, nb_exchange *exchange, uint64_t place) {
    if (exchange->download_bytes == 0) {
        if (exchange->report) nb_reports_end(downloads->reports, &exchange->report, answer_of(exchange), 0);
        return;
    }
    uint16_t algorithm = algorithm_of(downloads, exchange);
    nb_download_note *note = take_note(downloads);
    uint64_t bytes = exchange->download_bytes;
    exchange->download_bytes = 0;
    if (!note) {
        end(downloads, algorithm, NB_DOWNLOAD_complete);
        nb_reports_end(downloads->reports, &exchange->report, NB_DOWNLOAD_complete, bytes);
        return;
    }
    *note = (nb_download_note){NULL, place - bytes, place, exchange->began_ns, 0, exchange->report, algorithm};
    exchange->report = NULL;
    *(list->first ? &list->last->next : &list->first) = note;
    list->last = note;
}

static void measure(nb_downloads *downloads, const nb_download_note *note) {
    if (!downloads->whole) return;
    int64_t took_ns = downloads->time->now_ns > note->asked_ns ? downloads->time->now_ns - note->asked_ns : 1;
    uint64_t bytes = note->end - note->begin;
    nb_histogram_record(downloads->whole, took_ns);
    if (bytes >= NB_DOWNLOAD_SPEED_BYTES_MIN)
        nb_histogram_record(downloads->speed, (int64_t)((double)bytes * 1e9 / (double)took_ns));
}

static void complete(nb_downloads *downloads, nb_download_list *list) {
    nb_download_note *note = list->first;
    list->first = note->next;
    nb_count(&downloads->bytes, note->end - note->begin);
    measure(downloads, note);
    end(downloads, note->algorithm, NB_DOWNLOAD_complete);
    nb_reports_end(downloads->reports, &note->report, NB_DOWNLOAD_complete, note->end - note->begin);
    give_note(downloads, note);
}

void nb_downloads_sent(nb_downloads *downloads, nb_download_list *list, uint64_t sent) {
    for (nb_download_note *note = list->first; note && note->begin < sent; note = list->first) {
        if (note->first_ns == 0 && downloads->first_byte)
            nb_histogram_record(downloads->first_byte, downloads->time->now_ns - note->asked_ns);
        if (note->first_ns == 0) note->first_ns = downloads->time->now_ns;
        if (note->end > sent) return;
        complete(downloads, list);
    }
}

static nb_download_result reason_of(const nb_downloads *downloads, const nb_download_list *list) {
    if (list->end) return (nb_download_result)list->end;
    return downloads->stopped ? NB_DOWNLOAD_stopped : NB_DOWNLOAD_aborted;
}

void nb_downloads_dropped(nb_downloads *downloads, const nb_download_list *list, nb_exchange *exchange, uint64_t owed) {
    uint64_t left = exchange->download_bytes > owed ? exchange->download_bytes - owed : 0;
    nb_reports_end(downloads->reports, &exchange->report, (uint16_t)reason_of(downloads, list), left);
    if (exchange->download_bytes == 0) return;
    exchange->download_bytes = 0;
    end(downloads, algorithm_of(downloads, exchange), reason_of(downloads, list));
}

static uint64_t left_of(const nb_download_note *note, uint64_t sent) {
    if (sent <= note->begin) return 0;
    uint64_t bytes = sent - note->begin;
    return bytes < note->end - note->begin ? bytes : note->end - note->begin;
}

void nb_downloads_connection_end(nb_downloads *downloads, nb_download_list *list, uint64_t sent) {
    nb_download_result reason = reason_of(downloads, list);
    while (list->first) {
        nb_download_note *note = list->first;
        list->first = note->next;
        end(downloads, note->algorithm, reason);
        nb_reports_end(downloads->reports, &note->report, (uint16_t)reason, left_of(note, sent));
        give_note(downloads, note);
    }
}
