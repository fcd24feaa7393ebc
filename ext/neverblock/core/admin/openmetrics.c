/*
 * openmetrics.c - see openmetrics.h. Sections are those of OpenMetrics 1.0
 * (prometheus.io/docs/specs/om/open_metrics_spec).
 */
#include "admin/openmetrics.h"

#include <inttypes.h>
#include <string.h>

#include "http/weight.h"

/* --- Accept --- */

/* What is no weight counts as 0. */
static unsigned weight_of(nb_slice value) {
    int weight = nb_weight_read(value);
    return weight == NB_WEIGHT_NONE ? 0 : (unsigned)weight;
}

/* Takes what comes before the separator off the front of `rest`. */
static nb_slice take(nb_slice *rest, char separator) {
    const char *end = rest->size ? memchr(rest->data, separator, rest->size) : NULL;
    size_t size = end ? (size_t)(end - rest->data) : rest->size;
    nb_slice taken = nb_slice_of(rest->data, size);
    size_t used = end ? size + 1 : size;
    *rest = nb_slice_of(rest->data + used, rest->size - used);
    return nb_slice_trim(taken);
}

/* The weight of an element, if it is of this type, and for OpenMetrics of a version that is known;
   else 0. */
static unsigned element_weight(nb_slice element, nb_slice type, bool versioned) {
    unsigned weight = NB_WEIGHT_MAX;
    if (!nb_slice_equal_lower(take(&element, ';'), type)) return 0;
    while (element.size) {
        nb_slice value = take(&element, ';');
        nb_slice name = take(&value, '=');
        if (nb_slice_equal_lower(name, NB_SLICE("q"))) weight = weight_of(value);
        if (versioned && nb_slice_equal_lower(name, NB_SLICE("version")) && !nb_slice_equal(value, NB_SLICE("1.0.0")))
            return 0;
    }
    return weight;
}

static unsigned accepted(const nb_head *head, nb_slice type, bool versioned) {
    unsigned most = 0;
    for (uint16_t i = 0; i < head->header_count; i++) {
        nb_slice value = head->headers[i].value;
        while (head->headers[i].field == NB_FIELD_ACCEPT && value.size) {
            unsigned weight = element_weight(take(&value, ','), type, versioned);
            if (weight > most) most = weight;
        }
    }
    return most;
}

bool nb_openmetrics_wanted(const nb_head *head) {
    unsigned weight = accepted(head, NB_SLICE("application/openmetrics-text"), true);
    return weight > 0 && weight >= accepted(head, NB_SLICE("text/plain"), false);
}

/* --- the text --- */

static void add(nb_text *text, nb_slice bytes) { nb_text_add_bytes(text, bytes.data, bytes.size); }

/* Families that are known to be there; more are taken for others' names. */
#define FAMILIES_MAX 256u
#define TYPE "# TYPE "
#define TOTAL "_total"

typedef struct families {
    nb_slice names[FAMILIES_MAX];
    unsigned count;
} families;

/* The name in "# TYPE NAME type" or "# HELP NAME text". */
static nb_slice name_of(nb_slice comment) {
    nb_slice rest = nb_slice_of(comment.data + strlen(TYPE), comment.size - strlen(TYPE));
    return take(&rest, ' ');
}

static bool is_comment(nb_slice line) { return nb_slice_begins_with(line, NB_SLICE("# ")) && line.size > strlen(TYPE); }

static void find_families(families *found, nb_slice plain) {
    found->count = 0;
    while (plain.size && found->count < FAMILIES_MAX) {
        nb_slice line = take(&plain, '\n');
        if (is_comment(line) && nb_slice_begins_with(line, NB_SLICE(TYPE)))
            found->names[found->count++] = name_of(line);
    }
}

static bool is_family(const families *known, nb_slice name) {
    unsigned i = 0;
    while (i < known->count && !nb_slice_equal(known->names[i], name))
        i++;
    return i < known->count;
}

/* A family of counters is called without _total, which its samples have (section "Counter"). Only
   counters are called so here. Where another family has that name already, this one keeps its own,
   and its type is unknown. */
static void add_comment(nb_text *text, nb_slice line, const families *known) {
    nb_slice name = name_of(line), total = NB_SLICE(TOTAL);
    size_t cut = name.size > total.size ? name.size - total.size : 0;
    bool counter = cut > 0 && memcmp(name.data + cut, total.data, total.size) == 0;
    bool clashes = counter && is_family(known, nb_slice_of(name.data, cut));
    size_t behind = strlen(TYPE) + name.size;
    add(text, nb_slice_of(line.data, counter && !clashes ? strlen(TYPE) + cut : behind));
    if (clashes && nb_slice_begins_with(line, NB_SLICE(TYPE))) {
        nb_text_add(text, " unknown\n");
        return;
    }
    add(text, nb_slice_of(line.data + behind, line.size - behind));
    nb_text_add(text, "\n");
}

/* A whole number as Go writes a float: 1.0, 100000.0, 2.5e+06 (section "Numbers"). */
static void add_bound(nb_text *text, nb_slice digits) {
    size_t significant = digits.size;
    if (digits.size < 7) {
        add(text, digits);
        nb_text_add(text, ".0");
        return;
    }
    while (significant > 1 && digits.data[significant - 1] == '0')
        significant--;
    add(text, nb_slice_of(digits.data, 1));
    if (significant > 1) nb_text_add(text, ".");
    add(text, nb_slice_of(digits.data + 1, significant - 1));
    nb_text_format(text, "e+%02zu", digits.size - 1);
}

static bool is_whole(nb_slice number) {
    for (size_t i = 0; i < number.size; i++) {
        if (number.data[i] < '0' || number.data[i] > '9') return false;
    }
    return number.size > 0;
}

static const char *find(nb_slice line, const char *word) {
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= line.size; i++) {
        if (memcmp(line.data + i, word, size) == 0) return line.data + i + size;
    }
    return NULL;
}

/* A sample; the bound of a bucket that is a whole number is written as a float. */
static void add_sample(nb_text *text, nb_slice line) {
    const char *bound = find(line, "le=\""), *line_end = line.data + line.size;
    const char *end = bound ? memchr(bound, '"', (size_t)(line_end - bound)) : NULL;
    nb_slice number = end ? nb_slice_of(bound, (size_t)(end - bound)) : nb_slice_of("", 0);
    if (!is_whole(number)) {
        add(text, line);
        return;
    }
    add(text, nb_slice_of(line.data, (size_t)(bound - line.data)));
    add_bound(text, number);
    add(text, nb_slice_of(end, (size_t)(line_end - end)));
}

/* Section "Exemplars". */
static void add_exemplar(nb_text *text, const nb_exemplar *exemplar) {
    nb_text_format(text, " # {trace_id=\"%016" PRIx64 "%016" PRIx64 "\"} ", exemplar->trace.high, exemplar->trace.low);
    nb_text_seconds(text, (uint64_t)(exemplar->duration_ns > 0 ? exemplar->duration_ns : 0));
    nb_text_add(text, " ");
    nb_text_seconds(text, (uint64_t)exemplar->wall_ns / 1000000 * 1000000);
}

static bool is_bucket(nb_slice line, nb_slice family) {
    nb_slice rest = nb_slice_of(line.data + family.size,
                                nb_slice_begins_with(line, family) ? line.size - family.size : 0);
    return nb_slice_begins_with(rest, NB_SLICE("_bucket{"));
}

void nb_openmetrics_write(nb_text *text, nb_slice plain, const char *family, nb_exemplar_source *source,
                          const void *owner) {
    nb_exemplar exemplar;
    nb_slice name = nb_slice_of(family, strlen(family));
    families known;
    unsigned bucket = 0;
    find_families(&known, plain);
    while (plain.size) {
        nb_slice line = take(&plain, '\n');
        if (is_comment(line)) {
            add_comment(text, line, &known);
            continue;
        }
        add_sample(text, line);
        if (is_bucket(line, name) && source(owner, bucket++, &exemplar)) add_exemplar(text, &exemplar);
        nb_text_add(text, "\n");
    }
    nb_text_add(text, "# EOF\n");
}
