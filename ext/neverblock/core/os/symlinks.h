/*
 * symlinks.h - which symbolic links of a served folder are followed, on the way to a file and at
 * its end.
 */
#ifndef NB_OS_SYMLINKS_H
#define NB_OS_SYMLINKS_H

typedef enum nb_symlinks {
    NB_SYMLINKS_INSIDE, /* links that end under the folder, relative or absolute */
    /* Links that belong to the owner of what they lead to, wherever that lies. */
    NB_SYMLINKS_OWNER,
    NB_SYMLINKS_FOLLOW /* all */
} nb_symlinks;

#endif
