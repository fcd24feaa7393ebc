/*
 * conditional.c - see conditional.h.
 */
#include "files/conditional.h"

#include "http/date.h"

typedef enum tag_comparison { COMPARE_STRONG, COMPARE_WEAK } tag_comparison;

typedef struct entity_tag {
    nb_slice opaque; /* with its quotes */
    bool weak;
} entity_tag;

static bool is_white(char byte) { return byte == ' ' || byte == '\t'; }

/* etagc (RFC 9110 section 8.8.3). */
static bool is_tag_byte(char byte) {
    const unsigned char c = (unsigned char)byte;
    return c == 0x21 || (c >= 0x23 && c != 0x7f);
}

/* Reads the entity-tag at the front of `text`. Returns its bytes; 0: there is none, and *tag is
 * undefined. */
static size_t read_tag(nb_slice text, entity_tag *tag) {
    size_t at = 0;
    tag->weak = text.size >= 2 && text.data[0] == 'W' && text.data[1] == '/';
    if (tag->weak) at = 2;
    const size_t quote = at;
    if (at == text.size || text.data[at++] != '"') return 0;
    while (at < text.size && is_tag_byte(text.data[at])) {
        at++;
    }
    if (at == text.size || text.data[at++] != '"') return 0;
    tag->opaque = nb_slice_of(text.data + quote, at - quote);
    return at;
}

/* Section 8.8.3.2. */
static bool tags_match(const entity_tag *a, const entity_tag *b, tag_comparison comparison) {
    if (comparison == COMPARE_STRONG && (a->weak || b->weak)) return false;
    return nb_slice_equal(a->opaque, b->opaque);
}

static size_t skip_white(nb_slice list, size_t at) {
    while (at < list.size && is_white(list.data[at])) {
        at++;
    }
    return at;
}

/* True: a member of the list matches. An invalid element, or "*" among others, matches nothing. */
static bool list_names(nb_slice list, const entity_tag *current, tag_comparison comparison) {
    for (size_t at = 0; at < list.size; at++) {
        entity_tag tag;
        at = skip_white(list, at);
        const size_t bytes = read_tag(nb_slice_of(list.data + at, list.size - at), &tag);
        at = skip_white(list, at + bytes);
        const bool ended = at == list.size || list.data[at] == ',';
        if (bytes > 0 && ended && tags_match(&tag, current, comparison)) return true;
        while (at < list.size && list.data[at] != ',') {
            at++;
        }
    }
    return false;
}

static bool is_star(nb_slice list) { return list.size == 1 && list.data[0] == '*'; }

/* True: the list of If-Match or If-None-Match names the current representation. */
static bool names_current(nb_slice list, const nb_validators *validators, tag_comparison comparison) {
    entity_tag current;
    if (is_star(list)) return true;
    if (read_tag(validators->etag, &current) != validators->etag.size || validators->etag.size == 0) return false;
    return list_names(list, &current, comparison);
}

/* False: the field is to be ignored (RFC 9110 sections 13.1.3, 13.1.4). */
static bool read_date(nb_slice field, const nb_validators *validators, int64_t now_s, int64_t *date_s) {
    return field.data != NULL && validators->modified_s != NB_NO_DATE && nb_http_date_parse(field, now_s, date_s);
}

nb_condition nb_conditional_decide(const nb_file_request *request, const nb_validators *validators, int64_t now_s) {
    int64_t date_s;
    if (request->method != NB_METHOD_GET && request->method != NB_METHOD_HEAD) return NB_CONDITION_PASS;
    if (request->if_match.data != NULL) {
        if (!names_current(request->if_match, validators, COMPARE_STRONG)) return NB_CONDITION_FAILED;
    } else if (read_date(request->if_unmodified_since, validators, now_s, &date_s)) {
        if (validators->modified_s > date_s) return NB_CONDITION_FAILED;
    }
    if (request->if_none_match.data != NULL) {
        if (names_current(request->if_none_match, validators, COMPARE_WEAK)) return NB_CONDITION_NOT_MODIFIED;
    } else if (read_date(request->if_modified_since, validators, now_s, &date_s)) {
        if (date_s <= now_s && validators->modified_s <= date_s) return NB_CONDITION_NOT_MODIFIED;
    }
    return NB_CONDITION_PASS;
}

/* Section 13.1.5. */
static bool if_range_holds(nb_slice field, const nb_validators *validators, int64_t now_s) {
    entity_tag asked, current;
    int64_t date_s;
    if (field.size > 0 && read_tag(field, &asked) == field.size)
        return validators->etag.size > 0 && read_tag(validators->etag, &current) == validators->etag.size &&
               tags_match(&asked, &current, COMPARE_STRONG);
    return read_date(field, validators, now_s, &date_s) && date_s == validators->modified_s &&
           now_s - NB_STRONG_DATE_AGE_S >= date_s;
}

bool nb_conditional_range_holds(const nb_file_request *request, const nb_validators *validators, int64_t now_s) {
    if (request->method != NB_METHOD_GET || request->range.data == NULL) return false;
    return request->if_range.data == NULL || if_range_holds(request->if_range, validators, now_s);
}
