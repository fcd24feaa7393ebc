/*
 * folder.h - a folder of its own for a test of files, and short ways to fill it. All names are
 * below the folder; what cannot be made fails the test.
 */
#ifndef NB_TEST_FOLDER_H
#define NB_TEST_FOLDER_H

#include <stdint.h>

/* A new folder that everybody may look into; its path in `path`, without links. */
#define NB_TEST_FOLDER_BYTES 256
void nb_test_folder_create(char path[NB_TEST_FOLDER_BYTES]);
/* With all that is in it. */
void nb_test_folder_remove(const char *path);

/* The folder's path, "/" and the name, in static memory: four calls are held apart. */
const char *nb_test_in(const char *folder, const char *name);
void nb_test_make_folder(const char *folder, const char *name);
/* The file has this text afterwards; in place when it is there. */
void nb_test_write(const char *folder, const char *name, const char *text);
/* The same under another name first, then by rename. */
void nb_test_replace(const char *folder, const char *name, const char *text);
/* The link is text, not a name below the folder. */
void nb_test_link(const char *folder, const char *name, const char *text);
void nb_test_delete(const char *folder, const char *name);
/* Sets the time of last modification. */
void nb_test_set_time(const char *folder, const char *name, int64_t modified_ns);

/* Until nb_test_descriptors_free, no further descriptor can be had. */
void nb_test_descriptors_exhaust(void);
void nb_test_descriptors_free(void);

#endif
