/*
 * accept_encoding.c - see accept_encoding.h.
 */
#include "files/accept_encoding.h"

#include <stddef.h>
#include <string.h>

#include "http/weight.h"

#define UNSAID NB_WEIGHT_NONE
#define STAR NB_ENCODING_COUNT /* the row of "*" */
#define ROWS (NB_ENCODING_COUNT + 1)

static const struct {
    nb_slice name, extension;
} encodings[NB_ENCODING_COUNT] = {
    [NB_ENCODING_IDENTITY] = {{"identity", 8}, {"", 0}},
    [NB_ENCODING_GZIP] = {{"gzip", 4}, {".gz", 3}},
    [NB_ENCODING_BR] = {{"br", 2}, {".br", 3}},
    [NB_ENCODING_ZSTD] = {{"zstd", 4}, {".zst", 4}},
};

nb_slice nb_encoding_name(nb_encoding encoding) { return encodings[encoding].name; }
nb_slice nb_encoding_extension(nb_encoding encoding) { return encodings[encoding].extension; }

/* ROWS: an unknown coding. */
static size_t row_of(nb_slice name) {
    if (name.size == 1 && name.data[0] == '*') return STAR;
    if (nb_slice_equal_lower(name, NB_SLICE("x-gzip"))) return NB_ENCODING_GZIP;
    for (size_t i = 0; i < NB_ENCODING_COUNT; i++) {
        if (nb_slice_equal_lower(name, encodings[i].name)) return i;
    }
    return ROWS;
}

/* "q=" and a weight; UNSAID: the text is none. */
static int read_weight(nb_slice text) {
    if (text.size < 3 || (text.data[0] | 0x20) != 'q' || text.data[1] != '=') return UNSAID;
    return nb_weight_read(nb_slice_of(text.data + 2, text.size - 2));
}

static void read_element(nb_slice element, int weights[ROWS]) {
    const char *const semicolon = memchr(element.data, ';', element.size);
    const size_t name_bytes = semicolon ? (size_t)(semicolon - element.data) : element.size;
    const size_t row = row_of(nb_slice_trim(nb_slice_of(element.data, name_bytes)));
    if (row == ROWS) return;
    const int weight = semicolon ? read_weight(nb_slice_trim(nb_slice_of(semicolon + 1, element.size - name_bytes - 1)))
                                 : NB_WEIGHT_MAX;
    if (weight == UNSAID) return;
    if (weights[row] == UNSAID || weight < weights[row]) weights[row] = weight;
}

static void read_weights(nb_slice accept, int weights[ROWS]) {
    for (size_t i = 0; i < ROWS; i++) {
        weights[i] = UNSAID;
    }
    for (size_t at = 0, end; at < accept.size; at = end + 1) {
        const char *const comma = memchr(accept.data + at, ',', accept.size - at);
        end = comma ? (size_t)(comma - accept.data) : accept.size;
        read_element(nb_slice_of(accept.data + at, end - at), weights);
    }
}

nb_encoding nb_encoding_choose(nb_slice accept, unsigned available) {
    int weights[ROWS];
    if (accept.data == NULL) return NB_ENCODING_IDENTITY;
    read_weights(accept, weights);
    nb_encoding best = NB_ENCODING_NONE;
    int best_weight = 0;
    for (size_t i = 0; i < NB_ENCODING_COUNT; i++) {
        const int weight = weights[i] == UNSAID ? weights[STAR] : weights[i];
        if (i == NB_ENCODING_IDENTITY) {
            if (weight != 0) best = NB_ENCODING_IDENTITY;
            if (weight > 0) best_weight = weight;
        } else if ((available & NB_ENCODING_BIT(i)) && weight > 0 && weight >= best_weight) {
            best = (nb_encoding)i;
            best_weight = weight;
        }
    }
    return best;
}
