/*
 * downloads.h - what becomes of downloads. A download begins with a response whose body is a file,
 * or ranges of one. It ends when its last byte has left, or with its connection. Downloads are
 * always counted; each takes a note while it is sent.
 *
 * Threads: the loop's. Numbers may be read by any thread.
 */
#ifndef NB_METRICS_DOWNLOADS_H
#define NB_METRICS_DOWNLOADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "dispatch/exchange.h"
#include "metrics/reports.h"
#include "http/turn_time.h"
#include "send/algorithms.h"
#include "send/sending.h"

#define NB_DOWNLOAD_RESULTS(X)                                            \
    X(complete)     /* its last byte has left */                          \
    X(not_modified) /* 304: the client has it */                          \
    X(refused)      /* the application may not name this file */          \
    X(missing)      /* the name leads to no file */                       \
    X(aborted)      /* its client closed the connection */                \
    X(timed_out)    /* its client took too little for too long */         \
    X(shrunk)       /* the file became shorter than what was announced */ \
    X(stopped)      /* the server ended first */

typedef enum nb_download_result {
#define NB_DOWNLOAD_ENUM(name) NB_DOWNLOAD_##name,
    NB_DOWNLOAD_RESULTS(NB_DOWNLOAD_ENUM)
#undef NB_DOWNLOAD_ENUM
        NB_DOWNLOAD_RESULT_COUNT
} nb_download_result;

const char *nb_download_result_name(nb_download_result result);

/* Speed is measured from this size on. Less fits the socket's buffer (tcp(7): 4 MB at most, less at
   first), so that its speed says nothing of the client. */
#define NB_DOWNLOAD_SPEED_BYTES_MIN (UINT64_C(1) << 20)

/* A download whose response lies whole in its connection's send queue. */
typedef struct nb_download_note nb_download_note;
struct nb_download_note {
    nb_download_note *next;
    /* First and last byte of its body, as positions in all that the connection sends. */
    uint64_t begin, end;
    int64_t asked_ns;         /* when the request came */
    int64_t first_ns;         /* when its first byte left; 0: not yet */
    struct nb_report *report; /* owned; NULL: the download has no name */
    uint16_t algorithm;
};

/* The downloads of one connection, in the order of its responses. All zero: none. */
typedef struct nb_download_list {
    nb_download_note *first, *last;
    /* nb_download_result of those that do not arrive; 0: decided by the state of the server. */
    uint8_t end;
} nb_download_list;

typedef struct nb_downloads {
    _Atomic uint64_t active;
    /* By number of the algorithm; 0: nothing was sent. */
    _Atomic uint64_t results[NB_ALGORITHMS_MAX + 1][NB_DOWNLOAD_RESULT_COUNT];
    _Atomic uint64_t bytes; /* bytes of complete downloads */
    /* Times from the request to the first and to the last byte. Speed in bytes a second, from the
       request to the last byte, of downloads of NB_DOWNLOAD_SPEED_BYTES_MIN and more. NULL: not
       measured. */
    nb_histogram *first_byte, *whole, *speed;
    nb_download_note *free;
    unsigned free_count;
    bool stopped; /* the server ends: what does not arrive from now on was stopped by it */
    nb_reports *reports;
    const nb_senders *senders; /* their algorithm serves files without one of their own */
    const nb_turn_time *time;
} nb_downloads;

/* Initialises a zeroed struct. The arguments are borrowed. */
void nb_downloads_init(nb_downloads *downloads, nb_reports *reports, const nb_senders *senders,
                       const nb_turn_time *time);

/* Measures from now on: somebody reads the histograms. NB_NO_MEMORY. */
nb_status nb_downloads_measure(nb_downloads *downloads);
void nb_downloads_deinit(nb_downloads *downloads);

/* The exchange's response has `bytes` of a file as its body. */
void nb_downloads_begin(nb_downloads *downloads, nb_exchange *exchange, uint64_t bytes);
/* A download was answered without a file. */
void nb_downloads_answered(nb_downloads *downloads, nb_download_result result);
/* The exchange's response has ended. place: position of its last byte in all that the connection
   sends. */
void nb_downloads_leaving(nb_downloads *downloads, nb_download_list *list, nb_exchange *exchange, uint64_t place);
/* The connection has sent `sent` bytes in all. */
void nb_downloads_sent(nb_downloads *downloads, nb_download_list *list, uint64_t sent);
/* An exchange ends before all its bytes were put in its connection's send queue. owed: bytes of it,
   and of others before them, that have not left. */
void nb_downloads_dropped(nb_downloads *downloads, const nb_download_list *list, nb_exchange *exchange, uint64_t owed);
/* The connection ends after `sent` bytes. The reason is that of the list, else its client has
   gone. */
void nb_downloads_connection_end(nb_downloads *downloads, nb_download_list *list, uint64_t sent);

#endif
