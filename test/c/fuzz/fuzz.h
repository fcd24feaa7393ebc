/*
 * fuzz.h - what the fuzz targets share. A target is a file fuzz_NAME.c with one function
 * NB_FUZZ_ENTRY(data, size); bin/fuzz builds it with libFuzzer, test/c/http1/test_fuzz_replay.c
 * runs it over the kept inputs without.
 *
 * An input is FUZZ_CONTROL_BYTES that say how the rest is cut and which limits and compliance hold,
 * then the bytes of a message.
 */
#ifndef NB_TEST_FUZZ_H
#define NB_TEST_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "http1/message.h"

#define FUZZ_CONTROL_BYTES 4u
#define FUZZ_CUTS 3u
#define FUZZ_SIZE_MAX 65536u
#define FUZZ_BYTEWISE_SIZE_MAX 600u /* byte by byte copies the input as often: only what is short */

#define FUZZ_CHECK(condition)                                                             \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

typedef struct fuzz_input {
    const char *bytes;
    size_t size;
    size_t cuts[FUZZ_CUTS + 1]; /* ascending; the last is the size */
    bool small_limits;
    nb_compliance compliance;
} fuzz_input;

/* False: nothing to do with it. */
static inline bool fuzz_input_read(fuzz_input *input, const uint8_t *data, size_t size) {
    if (size < FUZZ_CONTROL_BYTES || size > FUZZ_SIZE_MAX) return false;
    input->bytes = (const char *)data + FUZZ_CONTROL_BYTES;
    input->size = size - FUZZ_CONTROL_BYTES;
    input->small_limits = data[FUZZ_CUTS] & 1;
    input->compliance = (nb_compliance)(data[FUZZ_CUTS] / 2 % NB_COMPLIANCE_COUNT);
    size_t at = 0;
    for (size_t i = 0; i < FUZZ_CUTS; i++) {
        at += (input->size - at) * data[i] / 255;
        input->cuts[i] = at;
    }
    input->cuts[FUZZ_CUTS] = input->size;
    return true;
}

static inline guarded *fuzz_memory(void) {
    static guarded memory;
    if (memory.end == NULL) memory = guarded_create(FUZZ_SIZE_MAX);
    return &memory;
}

/* What the head parser lets through in the value of a field, and LF where a target has several. */
static inline bool fuzz_is_text(const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((data[i] < ' ' && data[i] != '\t' && data[i] != '\n') || data[i] == 127) return false;
    return true;
}

static inline const message_limits *fuzz_limits(const fuzz_input *input) {
    static message_limits limits;
    const message_limits small = {{200, 40, 4, NB_COMPLIANCE_STRICT}, 50};
    limits = input->small_limits ? small : message_limits_usual;
    limits.head.compliance = input->compliance;
    return &limits;
}

#endif
