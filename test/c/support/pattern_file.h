/*
 * pattern_file.h - a file of the bytes of pattern.h.
 */
#ifndef NB_TEST_PATTERN_FILE_H
#define NB_TEST_PATTERN_FILE_H

#include <stdint.h>

/* The descriptor of a new file without a name, which is the caller's. Its position is the end. Ends
   the process when it cannot be made. Any thread. */
int nb_test_pattern_file(uint64_t bytes);

#endif
