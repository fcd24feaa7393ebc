/*
 * reports.h - what became of downloads that an application has given a name (X-Download-Id): begun where the file is named, ended with its
 * download (downloads.h), and then in a queue that one thread reads, which is told by a descriptor. The loop never waits for it: what finds the
 * queue full is dropped and counted.
 *
 * Each loop has a queue of its own, of which it is the only writer; its thread calls all but what is said.
 */
#ifndef NB_FIGURES_REPORTS_H
#define NB_FIGURES_REPORTS_H

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

/* Of a path; what is beyond is left out. */
#define NB_REPORT_PATH_BYTES_MAX 1024u
/* Of ended downloads that wait for their reader: some thousands, 800 of the longest. */
#define NB_REPORTS_RING_BYTES (UINT32_C(1) << 20)

/* One download. `text` is its id and, behind that, its path. */
typedef struct nb_report {
    uint64_t bytes;      /* of the response's body that left */
    int64_t began_ns;    /* CLOCK_MONOTONIC, when the application named its file */
    int64_t duration_ns; /* until it ended */
    uint16_t result;     /* nb_download_result (downloads.h); while it lasts NB_REPORT_OPEN, or what it will be */
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
    nb_ring_consumer consumer; /* the reader's */
    const nb_wake *wake;
    nb_log *log; /* borrowed; NULL: no log */
    _Atomic uint64_t queued, dropped;
} nb_reports;

/* What has become of reports that were read. X(name) */
#define NB_REPORT_FATES(X)                           \
    X(posted)  /* the URL has taken them */          \
    X(refused) /* it has answered 3xx or 4xx */      \
    X(called)  /* on_download has come to its end */ \
    X(failed)  /* it has raised */                   \
    X(lost)    /* there was no room for more of them, or the server ended first */

typedef enum nb_report_fate {
#define NB_REPORT_ENUM(name) NB_REPORT_##name,
    NB_REPORT_FATES(NB_REPORT_ENUM)
#undef NB_REPORT_ENUM
        NB_REPORT_FATE_COUNT
} nb_report_fate;

/* Who reads the queues of all loops. */
typedef struct nb_reports_reader {
    nb_wake wake;
    bool open;
    _Atomic uint64_t fates[NB_REPORT_FATE_COUNT];
} nb_reports_reader;

/* Before the loop starts. wake: signalled when there is something to read. NB_NO_MEMORY. */
nb_status nb_reports_open(nb_reports *reports, const nb_wake *wake);
/* When neither the loop nor the reader runs. */
void nb_reports_deinit(nb_reports *reports);

/* The application has named the exchange's file, and the download by `id`. An id that is none is a line of the log. */
void nb_reports_begin(nb_reports *reports, nb_exchange *exchange, nb_slice id, nb_slice path);
/* Takes *report, which may be NULL: its download has ended. result: nb_download_result. */
void nb_reports_end(nb_reports *reports, nb_report **report, uint16_t result, uint64_t bytes);
/* Takes *report: nothing is said of it. */
void nb_reports_forget(nb_report **report);

/* The reader's thread: the oldest that was not read, copied to `place` of NB_REPORT_BYTES_MAX. False: there is none. */
bool nb_reports_take(nb_reports *reports, nb_report *place);

#endif
