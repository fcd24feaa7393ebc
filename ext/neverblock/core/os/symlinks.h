/*
 * symlinks.h - which symbolic links are followed, in a folder's name on the way as at its end.
 */
#ifndef NB_OS_SYMLINKS_H
#define NB_OS_SYMLINKS_H

typedef enum nb_symlinks {
    NB_SYMLINKS_INSIDE, /* those whose end lies under the folder, relative or absolute */
    NB_SYMLINKS_OWNER,  /* those that belong to the owner of what they lead to, wherever it lies */
    NB_SYMLINKS_FOLLOW  /* all */
} nb_symlinks;

#endif
