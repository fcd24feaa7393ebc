/*
 * imports.h - which function a loaded library calls under a name that it imports, replaced in that library alone. For calls that a library makes in a way
 * nothing else can change. Linux (ELF) on 64-bit machines; elsewhere nothing is replaced.
 */
#ifndef NB_OS_IMPORTS_H
#define NB_OS_IMPORTS_H

#include "base/status.h"

/* Any function; to be cast to what it is. */
typedef void (*nb_function)(void);

/*
 * In the library whose path is `library`, as it was loaded, and which defines a function `own`, calls to `name` go to `replacement` from now on; *original is what they went to. Any thread
 * may be in such a call meanwhile. *original is written before the first call can come through.
 * NB_NOT_FOUND: no such library, or it does not import that; NB_SYSTEM with errno.
 */
nb_status nb_imports_replace(const char *library, const char *own, const char *name, nb_function replacement,
                             nb_function *original);

#endif
