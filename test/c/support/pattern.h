/*
 * pattern.h - the bytes that bodies of tests are made of, known by their place, so that a byte
 * that is lost, repeated or another's is seen.
 */
#ifndef NB_TEST_PATTERN_H
#define NB_TEST_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline char nb_test_pattern(uint64_t index) { return (char)('a' + (index * 7 + index / 251) % 26); }

/* Many at once: a byte at a time takes seconds under a sanitizer. Any thread. */
void nb_test_pattern_copy(char *to, uint64_t index, size_t size);
bool nb_test_pattern_equal(const char *bytes, uint64_t index, size_t size);

#endif
