/*
 * fuzz_date.c - any bytes as an HTTP-date. Oracles: the three forms as regular expressions, timegm
 * and gmtime for the times there are; a date read and written again is the date.
 *
 * An input is four bytes of the clock, in units of a hundred seconds, then the field.
 */
#include <regex.h>
#include <time.h>

#include "fuzz/fuzz.h"
#include "http/date.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

#define DATE_FIELD_BYTES_MAX 100u
#define DATE_MONTHS "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
#define DATE_TIME "([0-9]{2}):([0-9]{2}):([0-9]{2})"

enum { DAY, MONTH, YEAR, HOUR, MINUTE, SECOND };

/* Which parenthesis holds what. */
static const struct {
    const char *pattern;
    uint8_t group[6];
} date_forms[] = {
    {"^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{2}) " DATE_MONTHS " ([0-9]{4}) " DATE_TIME " GMT$", {2, 3, 4, 5, 6, 7}},
    {"^(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, ([0-9]{2})-" DATE_MONTHS "-([0-9]{2}) " DATE_TIME " GMT$",
     {2, 3, 4, 5, 6, 7}},
    {"^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) " DATE_MONTHS " ([0-9]{2}| [0-9]) " DATE_TIME " ([0-9]{4})$", {3, 2, 7, 4, 5, 6}},
};

static regex_t date_patterns[3];

static void date_compile(void) {
    static bool compiled;
    for (size_t i = 0; i < 3 && !compiled; i++)
        FUZZ_CHECK(regcomp(&date_patterns[i], date_forms[i].pattern, REG_EXTENDED) == 0);
    compiled = true;
}

static bool date_of(struct tm fields, int64_t *epoch_s) {
    const bool leap = fields.tm_sec == 60;
    struct tm back;
    if (leap && (fields.tm_min != 59 || fields.tm_hour != 23)) return false;
    if (leap) fields.tm_sec = 59;
    struct tm copy = fields;
    const time_t time = timegm(&copy);
    gmtime_r(&time, &back);
    *epoch_s = (int64_t)time + leap;
    return back.tm_year == fields.tm_year && back.tm_mon == fields.tm_mon && back.tm_mday == fields.tm_mday &&
           back.tm_hour == fields.tm_hour && back.tm_min == fields.tm_min && back.tm_sec == fields.tm_sec;
}

static bool date_read_slowly(const char *text, int64_t now_s, int64_t *epoch_s) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    regmatch_t groups[8];
    for (size_t i = 0; i < 3; i++) {
        if (regexec(&date_patterns[i], text, 8, groups, 0) != 0) continue;
        int n[6];
        for (size_t f = 0; f < 6; f++)
            n[f] = atoi(text + groups[date_forms[i].group[f]].rm_so);
        char month[4] = {0};
        memcpy(month, text + groups[date_forms[i].group[MONTH]].rm_so, 3);
        struct tm fields = {.tm_mday = n[DAY],
                            .tm_mon = (int)(strstr(months, month) - months) / 3,
                            .tm_year = n[YEAR] - 1900,
                            .tm_hour = n[HOUR],
                            .tm_min = n[MINUTE],
                            .tm_sec = n[SECOND]};
        if (i != 1) return date_of(fields, epoch_s);
        const int64_t fifty_years_s = INT64_C(36524250) * 86400 / 2000;
        for (int year = 9900; year >= 1800; year -= 100) {
            struct tm dated = fields;
            dated.tm_year += year;
            const bool valid = date_of(dated, epoch_s);
            struct tm copy = dated;
            if (timegm(&copy) <= now_s + fifty_years_s) return valid;
        }
        return false;
    }
    return false;
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    char text[DATE_FIELD_BYTES_MAX + 1], written[NB_HTTP_DATE_BYTES];
    uint32_t clock;
    int64_t found = INT64_MIN, expected = 0, again = 0;
    if (size < 4 || size - 4 > DATE_FIELD_BYTES_MAX || !fuzz_is_text(data + 4, size - 4)) return 0;
    date_compile();
    memcpy(&clock, data, 4);
    const int64_t now_s = (int64_t)clock * 100 % INT64_C(200000000000);
    memcpy(text, data + 4, size - 4);
    text[size - 4] = 0;
    const nb_slice field = {guarded_place(fuzz_memory(), text, size - 4), size - 4};
    const bool valid = nb_http_date_parse(field, now_s, &found);
    FUZZ_CHECK(valid == date_read_slowly(text, now_s, &expected));
    if (!valid) return 0;
    FUZZ_CHECK(found == expected);
    nb_http_date_write(written, found);
    FUZZ_CHECK(nb_http_date_parse(nb_slice_of(written, sizeof written), now_s, &again));
    FUZZ_CHECK(again == found || found < 0 || found > INT64_C(253402300799));
    return 0;
}
