/*
 * imports.h - replaces a function that a loaded library imports by name, in that library alone.
 * For library calls that cannot be changed in another way. Linux (ELF) on 64-bit machines;
 * elsewhere nothing is replaced.
 */
#ifndef NB_OS_IMPORTS_H
#define NB_OS_IMPORTS_H

#include "base/status.h"

/* Any function; cast it to its type. */
typedef void (*nb_function)(void);

/*
 * In the library loaded from the path `library`, which defines a function `own`, calls to `name`
 * go to `replacement` from now on. *original is what they went to, and is written before the first
 * call can come through. Other threads may be in such a call meanwhile. NB_NOT_FOUND: no such
 * library, or it does not import that name. NB_SYSTEM: errno.
 */
nb_status nb_imports_replace(const char *library, const char *own, const char *name, nb_function replacement,
                             nb_function *original);

#endif
