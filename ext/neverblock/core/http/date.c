/*
 * date.c - see date.h.
 */
#include "http/date.h"

#include <string.h>

#include "base/decimal.h"

#define DAY_S INT64_C(86400)
#define YEAR_9999_END_S INT64_C(253402300799) /* IMF-fixdate has four digits for the year */
#define FIFTY_YEARS_S INT64_C(1577847600)     /* of 365.2425 days */

#define ASCTIME_BYTES 24u
#define WEEKDAY_LONG_BYTES_MAX 9u
#define RFC850_TAIL_BYTES 24u /* ", 06-Nov-94 08:49:37 GMT" */

static const char weekdays[] = "ThuFriSatSunMonTueWed"; /* 1970-01-01 was a Thursday */
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

typedef struct civil {
    unsigned year, month, day, hour, minute, second; /* month and day from 1 */
} civil;

/* The Gregorian date of a day counted from 1970. An era has 400 years and begins on 1 March. */
static void civil_date(int64_t days, unsigned *year, unsigned *month, unsigned *day) {
    const int64_t shifted = days + 719468; /* days from 0000-03-01 to 1970-01-01 */
    const unsigned era = (unsigned)(shifted / 146097);
    const unsigned day_of_era = (unsigned)(shifted % 146097);
    const unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const unsigned month_from_march = (5 * day_of_year + 2) / 153;
    *day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    *month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    *year = year_of_era + era * 400 + (*month <= 2);
}

static char *put(char *out, const char *text, size_t size) {
    memcpy(out, text, size);
    return out + size;
}

void nb_http_date_write(char *out, int64_t epoch_s) {
    const int64_t time = epoch_s < 0 ? 0 : epoch_s > YEAR_9999_END_S ? YEAR_9999_END_S : epoch_s;
    const int64_t days = time / DAY_S;
    const unsigned second = (unsigned)(time % DAY_S);
    unsigned year, month, day;
    civil_date(days, &year, &month, &day);
    char *at = put(out, weekdays + days % 7 * 3, 3);
    at = put(at, ", ", 2);
    at = nb_decimal_put_pair(at, day);
    *at++ = ' ';
    at = put(at, months + (size_t)(month - 1) * 3, 3);
    *at++ = ' ';
    at = nb_decimal_put_pair(at, year / 100);
    at = nb_decimal_put_pair(at, year % 100);
    *at++ = ' ';
    at = nb_decimal_put_pair(at, second / 3600);
    *at++ = ':';
    at = nb_decimal_put_pair(at, second / 60 % 60);
    *at++ = ':';
    at = nb_decimal_put_pair(at, second % 60);
    put(at, " GMT", 4);
}

void nb_date_line_write(char *out, int64_t epoch_s) {
    put(out, "Date: ", 6);
    nb_http_date_write(out + 6, epoch_s);
    put(out + 6 + NB_HTTP_DATE_BYTES, "\r\n", 2);
}

static unsigned *field_of(civil *date, char letter) {
    switch (letter) {
    case '_':
    case 'd':
        return &date->day;
    case 'y':
        return &date->year;
    case 'h':
        return &date->hour;
    case 'i':
        return &date->minute;
    case 's':
        return &date->second;
    default:
        return NULL;
    }
}

static unsigned month_of(const char *name) {
    for (unsigned i = 0; i < 12; i++) {
        if (memcmp(name, months + (size_t)i * 3, 3) == 0) return i + 1;
    }
    return 0;
}

/* Reads the text by `form`. d y h i s: a digit of the day, year, hour, minute, second. _: a digit
 * of the day, or a space. mmm: the name of the month. Other characters stand for themselves. */
static bool read_form(const char *text, const char *form, civil *date) {
    *date = (civil){0};
    for (; *form; form++, text++) {
        unsigned *const field = field_of(date, *form);
        if (*form == 'm') {
            date->month = month_of(text);
            if (date->month == 0) return false;
            form += 2;
            text += 2;
        } else if (field != NULL && *text >= '0' && *text <= '9') {
            *field = *field * 10 + (unsigned)(*text - '0');
        } else if (*text != (*form == '_' ? ' ' : *form) || (field != NULL && *form != '_')) {
            return false;
        }
    }
    return true;
}

static bool is_leap(unsigned year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

static bool is_time(const civil *date) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const unsigned last = days[date->month - 1] + (date->month == 2 && is_leap(date->year) ? 1u : 0u);
    const bool leap_second = date->second == 60 && date->minute == 59 && date->hour == 23;
    return date->day >= 1 && date->day <= last && date->hour < 24 && date->minute < 60 &&
           (date->second < 60 || leap_second);
}

/* The reverse of civil_date. */
static int64_t seconds_of(const civil *date) {
    /* The year that begins in March, an era later, so it is never negative. */
    const int64_t year = (int64_t)date->year - (date->month <= 2) + 400;
    const int64_t month_from_march = date->month > 2 ? date->month - 3 : date->month + 9;
    const int64_t day_of_year = (153 * month_from_march + 2) / 5 + date->day - 1;
    const int64_t days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719468 - 146097;
    return days * DAY_S + (int64_t)date->hour * 3600 + (int64_t)date->minute * 60 + (int64_t)date->second;
}

/* Sets the latest year with these last two digits in which the date is at most 50 years ahead. */
static bool find_century(civil *date, int64_t now_s) {
    unsigned now_year, month, day;
    const int64_t now = now_s < 0 ? 0 : now_s > YEAR_9999_END_S ? YEAR_9999_END_S : now_s;
    civil_date(now / DAY_S, &now_year, &month, &day);
    date->year += now_year / 100 * 100 + 100;
    while (seconds_of(date) > now + FIFTY_YEARS_S) {
        date->year -= 100;
    }
    return is_time(date);
}

static bool is_weekday(const char *text) {
    for (size_t i = 0; i < 7; i++) {
        if (memcmp(text, weekdays + i * 3, 3) == 0) return true;
    }
    return false;
}

static bool is_long_weekday(nb_slice text) {
    /* What follows the three letters in `weekdays`. */
    static const char *const rest[] = {"rsday", "day", "urday", "day", "day", "sday", "nesday"};
    for (size_t i = 0; i < 7; i++) {
        if (text.size == 3 + strlen(rest[i]) && memcmp(text.data, weekdays + i * 3, 3) == 0 &&
            memcmp(text.data + 3, rest[i], text.size - 3) == 0)
            return true;
    }
    return false;
}

bool nb_http_date_parse(nb_slice text, int64_t now_s, int64_t *epoch_s) {
    civil date;
    bool valid = false;
    if (text.size == NB_HTTP_DATE_BYTES && text.data[3] == ',') {
        valid = is_weekday(text.data) && read_form(text.data + 3, ", dd mmm yyyy hh:ii:ss GMT", &date) &&
                is_time(&date);
    } else if (text.size == ASCTIME_BYTES) {
        valid = is_weekday(text.data) && read_form(text.data + 3, " mmm _d hh:ii:ss yyyy", &date) && is_time(&date);
    } else if (text.size > RFC850_TAIL_BYTES && text.size <= WEEKDAY_LONG_BYTES_MAX + RFC850_TAIL_BYTES) {
        const size_t name = text.size - RFC850_TAIL_BYTES;
        valid = is_long_weekday(nb_slice_of(text.data, name)) &&
                read_form(text.data + name, ", dd-mmm-yy hh:ii:ss GMT", &date) && find_century(&date, now_s);
    }
    if (valid) *epoch_s = seconds_of(&date);
    return valid;
}
