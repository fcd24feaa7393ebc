/*
 * fuzz_conditions.c - any bytes as the five preconditions and Range. Oracles: the steps of RFC 9110
 * section 13.2.2 taken one by one, with lists of entity-tags matched by a regular expression (what
 * is no list may match less than it seems to name, never more); the flat form of a request decides
 * as the request; any bytes as a flat form stay inside.
 *
 * An input is a byte of which fields there are, one of the method, one of the clock; then seven
 * lines: the ETag there is, the fields.
 */
#include <regex.h>

#include "files/conditional.h"
#include "fuzz/fuzz.h"
#include "http/date.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

#define CONDITIONS_BYTES_MAX 700u
#define CONDITIONS_LINES 7u
#define CONDITIONS_MODIFIED_S INT64_C(784111777)
#define CONDITIONS_TAG "(W/)?(\"[^\" \t]*\")"

static regex_t conditions_tag, conditions_list, conditions_member;

static void conditions_compile(void) {
    static bool compiled;
    if (compiled) return;
    compiled = true;
    FUZZ_CHECK(regcomp(&conditions_tag, "^" CONDITIONS_TAG "$", REG_EXTENDED) == 0);
    FUZZ_CHECK(regcomp(&conditions_list, "^[ \t]*(" CONDITIONS_TAG ")?[ \t]*(,[ \t]*(" CONDITIONS_TAG "[ \t]*)?)*$",
                       REG_EXTENDED | REG_NOSUB) == 0);
    FUZZ_CHECK(regcomp(&conditions_member, CONDITIONS_TAG, REG_EXTENDED) == 0);
}

typedef struct conditions_case {
    const char *line[CONDITIONS_LINES]; /* NULL: not there */
    int64_t now_s;
} conditions_case;

enum { ETAG, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE, IF_RANGE, RANGE };

typedef enum conditions_answer { NO, YES, UNTOLD } conditions_answer;

static bool conditions_split_tag(const char *text, bool *weak, const char **opaque, size_t *size) {
    regmatch_t groups[3];
    if (text == NULL || regexec(&conditions_tag, text, 3, groups, 0) != 0) return false;
    *weak = groups[1].rm_so >= 0;
    *opaque = text + groups[2].rm_so;
    *size = (size_t)(groups[2].rm_eo - groups[2].rm_so);
    return true;
}

/* UNTOLD: the field is no list of entity-tags, but something in it looks like the one there is. */
static conditions_answer conditions_names(const char *list, const char *etag, bool strong) {
    const char *opaque;
    size_t size;
    bool weak, found = false;
    if (strcmp(list, "*") == 0) return YES;
    if (!conditions_split_tag(etag, &weak, &opaque, &size)) return NO;
    if (regexec(&conditions_list, list, 0, NULL, 0) != 0) return memmem(list, strlen(list), opaque, size) ? UNTOLD : NO;
    regmatch_t groups[3];
    for (const char *at = list; regexec(&conditions_member, at, 3, groups, 0) == 0; at += groups[0].rm_eo) {
        if ((size_t)(groups[2].rm_eo - groups[2].rm_so) != size || memcmp(at + groups[2].rm_so, opaque, size) != 0)
            continue;
        found = found || !strong || (!weak && groups[1].rm_so < 0);
    }
    return found ? YES : NO;
}

static bool conditions_date(const char *line, int64_t now_s, int64_t *date_s) {
    return line != NULL && nb_http_date_parse(nb_slice_of(line, strlen(line)), now_s, date_s);
}

/* Section 13.2.2, for GET and HEAD. A set bit for every answer that may be given. */
static unsigned conditions_decide_slowly(const conditions_case *c, bool has_date) {
    int64_t date_s;
    unsigned responses = 0;
    if (c->line[IF_MATCH]) {
        const conditions_answer named = conditions_names(c->line[IF_MATCH], c->line[ETAG], true);
        if (named != YES) responses |= 1u << NB_CONDITION_FAILED;
        if (named == NO) return responses;
    } else if (has_date && conditions_date(c->line[IF_UNMODIFIED_SINCE], c->now_s, &date_s)) {
        if (CONDITIONS_MODIFIED_S > date_s) return 1u << NB_CONDITION_FAILED;
    }
    if (c->line[IF_NONE_MATCH]) {
        const conditions_answer named = conditions_names(c->line[IF_NONE_MATCH], c->line[ETAG], false);
        if (named != NO) responses |= 1u << NB_CONDITION_NOT_MODIFIED;
        if (named != YES) responses |= 1u << NB_CONDITION_PASS;
        return responses;
    }
    const bool unmodified = has_date && conditions_date(c->line[IF_MODIFIED_SINCE], c->now_s, &date_s) &&
                            date_s <= c->now_s && CONDITIONS_MODIFIED_S <= date_s;
    return responses | 1u << (unmodified ? NB_CONDITION_NOT_MODIFIED : NB_CONDITION_PASS);
}

static bool conditions_range_holds_slowly(const conditions_case *c, bool get, bool has_date) {
    const char *mine, *theirs;
    size_t my_size, their_size;
    bool my_weak, their_weak;
    int64_t date_s;
    if (!get || c->line[RANGE] == NULL) return false;
    if (c->line[IF_RANGE] == NULL) return true;
    if (conditions_split_tag(c->line[IF_RANGE], &their_weak, &theirs, &their_size))
        return conditions_split_tag(c->line[ETAG], &my_weak, &mine, &my_size) && !my_weak && !their_weak &&
               my_size == their_size && memcmp(mine, theirs, my_size) == 0;
    return has_date && conditions_date(c->line[IF_RANGE], c->now_s, &date_s) && date_s == CONDITIONS_MODIFIED_S &&
           c->now_s - date_s >= NB_STRONG_DATE_AGE_S;
}

static nb_slice conditions_slice(const char *line) {
    return line ? nb_slice_of(line, strlen(line)) : nb_slice_of(NULL, 0);
}

static void conditions_check_flat(const nb_file_request *request, const nb_validators *validators, int64_t now_s) {
    char flat[NB_FILE_REQUEST_BYTES_MAX];
    nb_file_request again = {.method = request->method};
    const size_t bytes = nb_file_request_bytes(request);
    FUZZ_CHECK(bytes <= sizeof flat);
    nb_file_request_write(flat, request);
    FUZZ_CHECK(nb_file_request_read(&again, nb_slice_of(flat, bytes)));
    FUZZ_CHECK(nb_conditional_decide(&again, validators, now_s) == nb_conditional_decide(request, validators, now_s));
    FUZZ_CHECK(nb_conditional_range_holds(&again, validators, now_s) ==
               nb_conditional_range_holds(request, validators, now_s));
}

static void conditions_check_any_flat(const uint8_t *data, size_t size) {
    nb_file_request request = {.method = NB_METHOD_GET};
    const char *const placed = guarded_place(fuzz_memory(), (const char *)data, size);
    if (!nb_file_request_read(&request, nb_slice_of(placed, size))) return;
    const nb_validators validators = {NB_SLICE("\"a\""), CONDITIONS_MODIFIED_S};
    nb_conditional_decide(&request, &validators, CONDITIONS_MODIFIED_S + 100);
    nb_conditional_range_holds(&request, &validators, CONDITIONS_MODIFIED_S + 100);
    const bool no_field = nb_file_request_bytes(&request) == 0;
    FUZZ_CHECK(no_field ? size == 0 || size == 14 : nb_file_request_bytes(&request) == size);
    for (size_t i = 0; i < size && no_field; i++)
        FUZZ_CHECK(data[i] == 0xff);
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    static const nb_method methods[] = {NB_METHOD_GET, NB_METHOD_HEAD, NB_METHOD_POST, NB_METHOD_OTHER};
    char text[CONDITIONS_BYTES_MAX + 1];
    if (size > CONDITIONS_BYTES_MAX) return 0;
    conditions_check_any_flat(data, size);
    if (size < 3 || !fuzz_is_text(data + 3, size - 3)) return 0;
    conditions_compile();
    memcpy(text, data + 3, size - 3);
    text[size - 3] = 0;
    conditions_case c = {.now_s = CONDITIONS_MODIFIED_S + 10 * (data[2] - 100)};
    char *at = text;
    for (size_t i = 0; i < CONDITIONS_LINES && at != NULL; i++) {
        char *const end = strchr(at, '\n');
        if (end != NULL) *end = 0;
        if (data[0] & 1u << i) c.line[i] = at;
        at = end ? end + 1 : NULL;
    }
    const bool has_date = !(data[0] & 128);
    const nb_file_request request = {.method = (uint16_t)methods[data[1] % 4],
                                     .if_match = conditions_slice(c.line[IF_MATCH]),
                                     .if_none_match = conditions_slice(c.line[IF_NONE_MATCH]),
                                     .if_modified_since = conditions_slice(c.line[IF_MODIFIED_SINCE]),
                                     .if_unmodified_since = conditions_slice(c.line[IF_UNMODIFIED_SINCE]),
                                     .if_range = conditions_slice(c.line[IF_RANGE]),
                                     .range = conditions_slice(c.line[RANGE])};
    const nb_validators validators = {conditions_slice(c.line[ETAG]), has_date ? CONDITIONS_MODIFIED_S : NB_NO_DATE};
    const nb_condition condition = nb_conditional_decide(&request, &validators, c.now_s);
    if (data[1] % 4 > 1)
        FUZZ_CHECK(condition == NB_CONDITION_PASS);
    else
        FUZZ_CHECK(conditions_decide_slowly(&c, has_date) & 1u << condition);
    FUZZ_CHECK(nb_conditional_range_holds(&request, &validators, c.now_s) ==
               conditions_range_holds_slowly(&c, request.method == NB_METHOD_GET, has_date));
    conditions_check_flat(&request, &validators, c.now_s);
    return 0;
}
