/*
 * conditional.h - evaluates the five preconditions of a request in their order (RFC 9110 section
 * 13), against the validators of the representation. Pure functions. Call them only if the response
 * without conditions is 200 (section 13.2.1).
 */
#ifndef NB_FILES_CONDITIONAL_H
#define NB_FILES_CONDITIONAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "files/file_request.h"

#define NB_NO_DATE INT64_MIN

typedef struct nb_validators {
    /* As in the ETag field, with W/ if weak. Size 0: none. An invalid one matches no list. */
    nb_slice etag;
    int64_t modified_s; /* as in Last-Modified, seconds since 1970; NB_NO_DATE: none */
} nb_validators;

typedef enum nb_condition {
    NB_CONDITION_PASS,         /* answer as without conditions */
    NB_CONDITION_NOT_MODIFIED, /* 304 */
    NB_CONDITION_FAILED,       /* 412 */
} nb_condition;

/*
 * Evaluates If-Match or If-Unmodified-Since, then If-None-Match or If-Modified-Since (section
 * 13.2.2). An If-Modified-Since later than now_s is ignored.
 *
 * Other methods than GET and HEAD: NB_CONDITION_PASS. The application has already acted then, and
 * only it could have evaluated the conditions before.
 */
nb_condition nb_conditional_decide(const nb_file_request *request, const nb_validators *validators, int64_t now_s);

/* The date of an If-Range counts only if the file has not changed for so many seconds. A younger
 * Last-Modified may belong to two versions, or come from another clock (section 8.8.2.2). RFC 7232
 * names 60 s, and Apache uses it. */
#define NB_STRONG_DATE_AGE_S 60

/*
 * Call it after NB_CONDITION_PASS. True: the Range field is to be evaluated (nb_ranges_parse). That
 * is so for GET with a Range, if there is no If-Range or it holds: the same strong ETag, or the
 * same date, at least NB_STRONG_DATE_AGE_S old. False: send all of the file.
 */
bool nb_conditional_range_holds(const nb_file_request *request, const nb_validators *validators, int64_t now_s);

#endif
