/*
 * engine_files.h - what an Engine knows of folders and files: public_dir, sendfile_root, accel,
 * index_file, cache_rule, mime.
 */
#ifndef NB_BINDING_ENGINE_FILES_H
#define NB_BINDING_ENGINE_FILES_H

#include <ruby.h>

void nb_engine_files_define(VALUE engine_class);

#endif
