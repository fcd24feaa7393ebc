/*
 * fuzz_accept_encoding.c - any bytes as Accept-Encoding. Oracle: a reading of RFC 9110 section
 * 12.5.3 by regular expressions and fractions, coding by coding.
 *
 * An input is one byte that says which codings there are, then the field.
 */
#include <regex.h>

#include "files/accept_encoding.h"
#include "fuzz/fuzz.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

#define ENCODING_FIELD_BYTES_MAX 300u
#define ENCODING_UNSAID (-1.0)

/* The last one is "*". */
static const struct {
    nb_encoding encoding;
    const char *names; /* an alternation */
} encoding_rows[] = {{NB_ENCODING_ZSTD, "zstd"},
                     {NB_ENCODING_BR, "br"},
                     {NB_ENCODING_GZIP, "gzip|x-gzip"},
                     {NB_ENCODING_IDENTITY, "identity"},
                     {NB_ENCODING_NONE, "\\*"}};

static regex_t encoding_elements[5];

static void encoding_compile(void) {
    static bool compiled;
    char pattern[200];
    for (size_t i = 0; i < 5 && !compiled; i++) {
        snprintf(pattern, sizeof pattern, "^[ \t]*(%s)[ \t]*(;[ \t]*q=(0(\\.[0-9]{0,3})?|1(\\.0{0,3})?)[ \t]*)?$",
                 encoding_rows[i].names);
        FUZZ_CHECK(regcomp(&encoding_elements[i], pattern, REG_EXTENDED | REG_ICASE) == 0);
    }
    compiled = true;
}

/* The least weight of the elements of a row. */
static double encoding_weight(size_t row, const char *field) {
    regmatch_t groups[4];
    double least = ENCODING_UNSAID;
    char copy[ENCODING_FIELD_BYTES_MAX + 1];
    strcpy(copy, field);
    for (char *at = copy, *next; at != NULL; at = next) {
        next = strchr(at, ',');
        if (next != NULL) *next++ = 0;
        if (regexec(&encoding_elements[row], at, 4, groups, 0) != 0) continue;
        const double weight = groups[3].rm_so < 0 ? 1 : strtod(at + groups[3].rm_so, NULL);
        if (least == ENCODING_UNSAID || weight < least) least = weight;
    }
    return least;
}

static nb_encoding encoding_choose_slowly(const char *field, unsigned available) {
    const double star = encoding_weight(4, field);
    nb_encoding best = NB_ENCODING_NONE;
    double best_weight = 0;
    for (size_t i = 0; i < 4; i++) {
        double weight = encoding_weight(i, field);
        if (weight == ENCODING_UNSAID) weight = star;
        if (encoding_rows[i].encoding == NB_ENCODING_IDENTITY) {
            if (weight > best_weight || (best == NB_ENCODING_NONE && weight != 0)) best = NB_ENCODING_IDENTITY;
        } else if ((available & NB_ENCODING_BIT(encoding_rows[i].encoding)) && weight > best_weight) {
            best = encoding_rows[i].encoding;
            best_weight = weight;
        }
    }
    return best;
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    char field[ENCODING_FIELD_BYTES_MAX + 1];
    if (size < 1 || size - 1 > ENCODING_FIELD_BYTES_MAX || !fuzz_is_text(data + 1, size - 1)) return 0;
    encoding_compile();
    memcpy(field, data + 1, size - 1);
    field[size - 1] = 0;
    const nb_slice placed = {guarded_place(fuzz_memory(), field, size - 1), size - 1};
    const nb_encoding chosen = nb_encoding_choose(placed, data[0]);
    FUZZ_CHECK(chosen == encoding_choose_slowly(field, data[0]));
    FUZZ_CHECK(chosen == NB_ENCODING_NONE || chosen == NB_ENCODING_IDENTITY || (data[0] & NB_ENCODING_BIT(chosen)));
    return 0;
}
