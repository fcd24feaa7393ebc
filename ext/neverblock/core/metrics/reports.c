/*
 * reports.c - see reports.h.
 */
#include "metrics/reports.h"

#include <string.h>

#include "base/alloc.h"
#include "base/counter.h"
#include "os/clock.h"

/* As base/ring.h wants it. */
#define ALIGNMENT 64u

nb_status nb_reports_open(nb_reports *reports, const nb_wake *wake) {
    char *memory = nb_alloc_zero(1, nb_ring_memory_bytes(NB_REPORTS_RING_BYTES) + ALIGNMENT);
    if (!memory) return NB_NO_MEMORY;
    char *aligned = memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT;
    nb_status status = nb_ring_format(aligned, NB_REPORTS_RING_BYTES);
    if (status != NB_OK) {
        nb_free(memory);
        return status;
    }
    nb_ring_producer_attach(&reports->producer, aligned);
    nb_ring_consumer_attach(&reports->consumer, aligned);
    reports->memory = memory;
    reports->wake = wake;
    return NB_OK;
}

void nb_reports_deinit(nb_reports *reports) {
    nb_free(reports->memory);
    reports->memory = NULL;
}

/* --- the loop --- */

static bool is_id(nb_slice id) {
    if (id.size == 0 || id.size > NB_REPORT_ID_BYTES_MAX) return false;
    for (size_t i = 0; i < id.size; i++) {
        if (id.data[i] <= ' ' || id.data[i] > '~') return false;
    }
    return true;
}

void nb_reports_begin(nb_reports *reports, nb_exchange *exchange, nb_slice id, nb_slice path) {
    if (!reports->memory || exchange->report || exchange->response.head_request) return;
    if (!is_id(id)) {
        nb_log_line(reports->log,
                    "an X-Download-Id is 1 to %u visible characters of ASCII: a download with another is not reported",
                    NB_REPORT_ID_BYTES_MAX);
        return;
    }
    if (path.size > NB_REPORT_PATH_BYTES_MAX) path.size = NB_REPORT_PATH_BYTES_MAX;
    nb_report *report = nb_alloc(sizeof(*report) + id.size + path.size);
    if (!report) {
        nb_count(&reports->dropped, 1);
        return;
    }
    *report = (nb_report){.began_ns = nb_clock_monotonic_ns(),
                          .result = NB_REPORT_OPEN,
                          .id_bytes = (uint16_t)id.size,
                          .path_bytes = (uint16_t)path.size};
    memcpy(report->text, id.data, id.size);
    if (path.size) memcpy(report->text + id.size, path.data, path.size);
    exchange->report = report;
}

static bool put(nb_reports *reports, const nb_report *report) {
    size_t bytes = sizeof(*report) + report->id_bytes + report->path_bytes;
    void *place = nb_ring_reserve(&reports->producer, bytes);
    if (!place) return false;
    memcpy(place, report, bytes);
    nb_ring_commit(&reports->producer, bytes);
    (void)nb_ring_publish(&reports->producer);
    nb_wake_signal(reports->wake);
    return true;
}

void nb_reports_end(nb_reports *reports, nb_report **report, uint16_t result, uint64_t bytes) {
    nb_report *ended = *report;
    if (!ended) return;
    *report = NULL;
    ended->result = result;
    ended->bytes = bytes;
    ended->duration_ns = nb_clock_monotonic_ns() - ended->began_ns;
    nb_count(put(reports, ended) ? &reports->queued : &reports->dropped, 1);
    nb_free(ended);
}

void nb_reports_forget(nb_report **report) {
    nb_free(*report);
    *report = NULL;
}

/* --- the reader --- */

bool nb_reports_take(nb_reports *reports, nb_report *place) {
    size_t bytes = 0;
    const void *record = reports->memory ? nb_ring_peek(&reports->consumer, &bytes) : NULL;
    if (!record || bytes > NB_REPORT_BYTES_MAX) return false;
    memcpy(place, record, bytes);
    nb_ring_advance(&reports->consumer);
    (void)nb_ring_release(&reports->consumer);
    return true;
}
