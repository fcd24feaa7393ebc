/*
 * reports.h - reports of named downloads (X-Download-Id). A report begins where the application
 * names the file and ends with the download (downloads.h). Then it waits in a queue for one reader
 * thread, which a descriptor wakes. The loop never waits: a report that finds the queue full is
 * dropped and counted.
 *
 * Threads: each loop has a queue of its own and is its only writer. The loop's thread calls all
 * functions, unless a comment says otherwise.
 */
#ifndef NB_METRICS_REPORTS_H
#define NB_METRICS_REPORTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/ring.h"
#include "base/slice.h"
#include "base/status.h"
#include "dispatch/exchange.h"
#include "intake/message.h"
#include "poll/wake.h"

/* Bytes of a path; the rest is left out. */
#define NB_REPORT_PATH_BYTES_MAX 1024u
/* Bytes of reports that wait for the reader: some thousands, or 800 of the longest. */
#define NB_REPORTS_RING_BYTES (UINT32_C(1) << 20)

/* One download. `text` holds its id, then its path. */
typedef struct nb_report {
    uint64_t bytes;      /* bytes of the body that were sent */
    int64_t began_ns;    /* CLOCK_MONOTONIC: when the application named the file */
    int64_t duration_ns; /* from then until it ended */
    /* nb_download_result (downloads.h). Until the end: NB_REPORT_OPEN, or the result that it will
       have. */
    uint16_t result;
    uint16_t id_bytes, path_bytes;
    uint16_t pad;
    char text[];
} nb_report;

#define NB_REPORT_OPEN UINT16_MAX
#define NB_REPORT_BYTES_MAX (sizeof(nb_report) + NB_REPORT_ID_BYTES_MAX + NB_REPORT_PATH_BYTES_MAX)

static inline nb_slice nb_report_id(const nb_report *report) { return (nb_slice){report->text, report->id_bytes}; }
static inline nb_slice nb_report_path(const nb_report *report) {
    return (nb_slice){report->text + report->id_bytes, report->path_bytes};
}

typedef struct nb_reports {
    void *memory; /* of the ring; NULL: nobody reads, and nothing is kept */
    nb_ring_producer producer;
    nb_ring_consumer consumer; /* of the reader */
    const nb_wake *wake;
    nb_log *log; /* borrowed; NULL: no log */
    _Atomic uint64_t queued, dropped;
} nb_reports;

/* What the reader has done with reports. X(name) */
#define NB_REPORT_FATES(X)                           \
    X(posted)  /* the URL has accepted them */       \
    X(refused) /* it has answered 3xx or 4xx */      \
    X(called)  /* on_download has come to its end */ \
    X(failed)  /* it has raised */                   \
    X(lost)    /* they found no room, or the server ended first */

typedef enum nb_report_fate {
#define NB_REPORT_ENUM(name) NB_REPORT_##name,
    NB_REPORT_FATES(NB_REPORT_ENUM)
#undef NB_REPORT_ENUM
        NB_REPORT_FATE_COUNT
} nb_report_fate;

/* The reader of all loops' queues. */
typedef struct nb_reports_reader {
    nb_wake wake;
    bool open;
    _Atomic uint64_t fates[NB_REPORT_FATE_COUNT];
} nb_reports_reader;

/* Opens the queue, before the loop starts. wake: signalled when there is something to read;
   borrowed. NB_NO_MEMORY. */
nb_status nb_reports_open(nb_reports *reports, const nb_wake *wake);
/* Call when neither the loop nor the reader runs. */
void nb_reports_deinit(nb_reports *reports);

/* The application has named the exchange's file, and the download `id`. An invalid id is logged. */
void nb_reports_begin(nb_reports *reports, nb_exchange *exchange, nb_slice id, nb_slice path);
/* Ends the report's download and takes *report, which may be NULL. result: nb_download_result. */
void nb_reports_end(nb_reports *reports, nb_report **report, uint16_t result, uint64_t bytes);
/* Drops *report. */
void nb_reports_forget(nb_report **report);

/* For the reader's thread: copies the oldest report to `place` of NB_REPORT_BYTES_MAX. False: there
   is none. */
bool nb_reports_take(nb_reports *reports, nb_report *place);

#endif
