/*
 * conditional.h - the five preconditions of a request in their order (RFC 9110 section 13), against the validators of what would be sent.
 * Pure. Ask only when the answer without them would be a 200 (section 13.2.1).
 */
#ifndef NB_FILES_CONDITIONAL_H
#define NB_FILES_CONDITIONAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "files/file_request.h"

#define NB_NO_DATE INT64_MIN

typedef struct nb_validators {
    nb_slice
        etag; /* as the ETag field has it, W/ in front when weak; size 0: none. One that is no entity-tag matches no list. */
    int64_t modified_s; /* as Last-Modified has it, seconds since 1970; NB_NO_DATE: none */
} nb_validators;

typedef enum nb_condition {
    NB_CONDITION_PASS,         /* answer as if there were no conditions */
    NB_CONDITION_NOT_MODIFIED, /* 304 */
    NB_CONDITION_FAILED,       /* 412 */
} nb_condition;

/*
 * If-Match and If-Unmodified-Since, then If-None-Match or If-Modified-Since (section 13.2.2). Always NB_CONDITION_PASS for another method
 * than GET and HEAD: where its answer is a file, an application has already done what was asked, and only it could have looked before.
 * An If-Modified-Since later than now_s is ignored: it comes from no answer of ours.
 */
nb_condition nb_conditional_decide(const nb_file_request *request, const nb_validators *validators, int64_t now_s);

/* A date that is If-Range's only holds when the file has not changed for so long: a Last-Modified that young may stand for two versions,
   or come from another clock than ours (section 8.8.2.2; 60 s was the RFC's own figure before 9110 left it open, and is Apache's). */
#define NB_STRONG_DATE_AGE_S 60

/*
 * After NB_CONDITION_PASS: whether the Range field is to be looked at (nb_ranges_parse). Only with GET, when there is one, and when
 * If-Range is not there or holds: the same strong tag, or exactly the same date, and that one at least NB_STRONG_DATE_AGE_S old.
 * False: send all of it.
 */
bool nb_conditional_range_holds(const nb_file_request *request, const nb_validators *validators, int64_t now_s);

#endif
