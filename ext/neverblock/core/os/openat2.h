/*
 * openat2.h - openat2(2) of Linux 5.6 as open_beneath.c needs it. Private to it. Any thread.
 */
#ifndef NB_OS_OPENAT2_H
#define NB_OS_OPENAT2_H

#include <stdbool.h>
#include <stdint.h>

#include "os/symlinks.h"

typedef enum nb_openat2_answer {
    NB_OPENAT2_ABSENT,      /* not this kernel, or a filter refuses it */
    NB_OPENAT2_PLAIN,       /* there, but without RESOLVE_CACHED */
    NB_OPENAT2_KNOWS_CACHED /* Linux 5.12 */
} nb_openat2_answer;

/* Tries the call once and remembers the answer. */
nb_openat2_answer nb_openat2_probe(void);
/* As openat(2), with the policy that the kernel can check: -1 and errno. EXDEV: a link leads out
   (INSIDE), also an absolute one that comes back. ELOOP: with OWNER any link. cached: EAGAIN where
   the disk may be needed. */
int nb_openat2(int folder, const char *path, nb_symlinks symlinks, bool cached);

#endif
