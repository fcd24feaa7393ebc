/*
 * downloads.h - what becomes of files on their way: a download begins with the response whose body is a file, or ranges of it, and ends when its
 * last byte has left, or its connection ends. Counted always; each costs a note while it leaves. Loop's thread; numbers are read by any.
 */
#ifndef NB_FIGURES_DOWNLOADS_H
#define NB_FIGURES_DOWNLOADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "dispatch/exchange.h"
#include "figures/reports.h"
#include "http/turn_time.h"
#include "send/algorithms.h"
#include "send/sending.h"

#define NB_DOWNLOAD_RESULTS(X)                                            \
    X(complete)     /* its last byte has left */                          \
    X(not_modified) /* 304: the client has it */                          \
    X(refused)      /* a name that an application may not name */         \
    X(missing)      /* a name that leads to no file */                    \
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

/* What is smaller has left at once for the socket's buffer (tcp(7): 4 MB at the most, less at first): its speed says nothing of the client. */
#define NB_DOWNLOAD_SPEED_BYTES_MIN (UINT64_C(1) << 20)

/* A download whose response is whole in its connection's send queue. */
typedef struct nb_download_note nb_download_note;
struct nb_download_note {
    nb_download_note *next;
    uint64_t begin, end;      /* places of its body's bytes among all that the connection sends */
    int64_t asked_ns;         /* the request's */
    int64_t first_ns;         /* its first byte left; 0: not yet */
    struct nb_report *report; /* owned; NULL: nobody wants to know */
    uint16_t algorithm;
};

/* Those of one connection, in the order of its responses. All zero: none. */
typedef struct nb_download_list {
    nb_download_note *first, *last;
    uint8_t end; /* nb_download_result of what does not arrive; 0: by what is known of the server */
} nb_download_list;

typedef struct nb_downloads {
    _Atomic uint64_t active;
    _Atomic uint64_t
        results[NB_ALGORITHMS_MAX + 1][NB_DOWNLOAD_RESULT_COUNT]; /* by the algorithm's number; 0: nothing was sent */
    _Atomic uint64_t bytes;                                       /* of those complete */
    /* From the request to the first and to the last byte; bytes a second between the request and the last, of those of NB_DOWNLOAD_SPEED_BYTES_MIN
       and more. NULL: nobody wants to know. */
    nb_histogram *first_byte, *whole, *speed;
    nb_download_note *free;
    unsigned free_count;
    bool stopped; /* what does not arrive from now on was ended by the server */
    nb_reports *reports;
    const nb_senders *senders; /* whose algorithm is that of files without one of their own */
    const nb_turn_time *time;
} nb_downloads;

/* All zero before. What is given is borrowed. */
void nb_downloads_init(nb_downloads *downloads, nb_reports *reports, const nb_senders *senders,
                       const nb_turn_time *time);

/* With histograms: somebody reads them. NB_NO_MEMORY. */
nb_status nb_downloads_measure(nb_downloads *downloads);
void nb_downloads_deinit(nb_downloads *downloads);

/* The exchange's response has a file for its body: so many bytes. */
void nb_downloads_begin(nb_downloads *downloads, nb_exchange *exchange, uint64_t bytes);
/* It was answered without one. */
void nb_downloads_answered(nb_downloads *downloads, nb_download_result result);
/* The exchange's response has ended. place: that of its last byte among all that the connection sends. */
void nb_downloads_leaving(nb_downloads *downloads, nb_download_list *list, nb_exchange *exchange, uint64_t place);
/* The connection has sent so many bytes, in all. */
void nb_downloads_sent(nb_downloads *downloads, nb_download_list *list, uint64_t sent);
/* An exchange is given up before its bytes were all owed. */
void nb_downloads_dropped(nb_downloads *downloads, const nb_download_list *list, nb_exchange *exchange);
/* The connection ends, having sent so many bytes: for the reason that the list has, else because its client has gone. */
void nb_downloads_connection_end(nb_downloads *downloads, nb_download_list *list, uint64_t sent);

#endif
