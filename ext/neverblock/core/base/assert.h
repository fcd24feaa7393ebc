/*
 * assert.h - checks of our own mistakes, never of input from the network. Always compiled in: a
 * server that has lost track of its own state must stop before it answers one client with
 * another's bytes.
 */
#ifndef NB_BASE_ASSERT_H
#define NB_BASE_ASSERT_H

_Noreturn void nb_assert_failed(const char *expression, const char *file, int line);

#define NB_ASSERT(expression)                                                                      \
    do {                                                                                           \
        if (__builtin_expect(!(expression), 0)) nb_assert_failed(#expression, __FILE__, __LINE__); \
    } while (0)

#endif
