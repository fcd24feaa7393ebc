/*
 * date.h - dates as HTTP writes them (RFC 9110 section 5.6.7), to and from seconds since 1970.
 */
#ifndef NB_HTTP_DATE_H
#define NB_HTTP_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define NB_HTTP_DATE_BYTES 29u /* "Sun, 06 Nov 1994 08:49:37 GMT" */
#define NB_DATE_LINE_BYTES 37u /* "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" */

/* Writes an IMF-fixdate: NB_HTTP_DATE_BYTES, no NUL. Times before 1970 and after 9999 are held to these years. */
void nb_http_date_write(char *out, int64_t epoch_s);
/* Writes "Date: ...\r\n": NB_DATE_LINE_BYTES, no NUL. */
void nb_date_line_write(char *out, int64_t epoch_s);

/*
 * Reads any of the three forms, IMF-fixdate, RFC 850's with two digits for the year, and asctime's; letter case counts, and nothing may
 * stand around it. False: it is none of them, or names no time there is (31 June, 24:00:00); *epoch_s is then untouched.
 *
 * now_s tells the century of two digits: the latest year that is at most 50 years ahead. A second 60 is taken at 23:59 alone, for the
 * second after it. The name of the weekday must be one, but need not be the date's (nginx, Apache and Ruby do not ask either).
 */
bool nb_http_date_parse(nb_slice text, int64_t now_s, int64_t *epoch_s);

#endif
