/*
 * date.h - HTTP dates (RFC 9110 section 5.6.7) from and to seconds since 1970. Pure functions.
 */
#ifndef NB_HTTP_DATE_H
#define NB_HTTP_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define NB_HTTP_DATE_BYTES 29u /* "Sun, 06 Nov 1994 08:49:37 GMT" */
#define NB_DATE_LINE_BYTES 37u /* "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" */

/* Writes an IMF-fixdate: NB_HTTP_DATE_BYTES, no NUL. Times before 1970 and after 9999 become the
 * first and last second of that range. */
void nb_http_date_write(char *out, int64_t epoch_s);
/* Writes "Date: ...\r\n": NB_DATE_LINE_BYTES, no NUL. */
void nb_date_line_write(char *out, int64_t epoch_s);

/*
 * Reads IMF-fixdate, RFC 850's form with a year of two digits, or asctime's. Letter case counts,
 * and nothing may stand around it. False: it has no such form, or names no time that exists (31
 * June, 24:00:00); *epoch_s is then unchanged.
 *
 * now_s decides the century of a year of two digits: the latest year at most 50 years ahead. A
 * second 60 is accepted at 23:59 only, and means the second after. The weekday must be a name, but
 * need not be that of the date, as in nginx, Apache and Ruby.
 */
bool nb_http_date_parse(nb_slice text, int64_t now_s, int64_t *epoch_s);

#endif
