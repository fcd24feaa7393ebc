/*
 * server_timing.h - a request's account (intake/account.h) as the response's header field
 * Server-Timing (W3C Server Timing). docs/guides/timing.md says what each name means. Pure.
 */
#ifndef NB_METRICS_SERVER_TIMING_H
#define NB_METRICS_SERVER_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "intake/account.h"

/* Room for every kind of wait with the largest numbers. */
#define NB_SERVER_TIMING_BYTES_MAX 2048u

/* Writes the whole field line, with CRLF. out: NB_SERVER_TIMING_BYTES_MAX bytes. now_ns: until when
   the application has run. Returns its size. */
size_t nb_server_timing_write(char *out, const nb_account *account, int64_t now_ns);

#endif
