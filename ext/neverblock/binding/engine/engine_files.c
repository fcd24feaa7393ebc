/*
 * engine_files.c - Engine's folders: what a server is told of files before it starts
 * (responses/document_roots.h).
 */
#include "binding/engine/engine_files.h"

#include <errno.h>

#include "binding/engine/engine.h"
#include "binding/base/module.h"
#include "responses/compressible.h"
#include "responses/document_roots.h"

static nb_document_roots *roots_of(VALUE self) {
    nb_document_roots *roots = nb_server_document_roots(nb_engine_server(self));
    if (!roots) rb_raise(nb_error_class, "folders and what is said of them are told before the engine starts");
    return roots;
}

static nb_slice slice_of(VALUE *text) {
    StringValue(*text);
    return (nb_slice){RSTRING_PTR(*text), (size_t)RSTRING_LEN(*text)};
}

static void check(nb_status status, VALUE what) {
    if (status == NB_OK) return;
    if (status == NB_FULL) rb_raise(nb_error_class, "%+" PRIsVALUE ": there are too many of its kind", what);
    if (status == NB_INVALID || status == NB_OVER_LIMIT)
        rb_raise(rb_eArgError, "%+" PRIsVALUE " is nothing that can be served by", what);
    nb_raise_status(status, StringValueCStr(what));
}

/* public_dir(path): a folder whose files are served before the application is asked; folders that
   were added before go first. Raises SystemCallError. */
static VALUE engine_public_dir(VALUE self, VALUE path) {
    check(nb_document_roots_serve(roots_of(self), StringValueCStr(path)), path);
    return self;
}

/* sendfile_root(path): a folder that X-Sendfile may name files of. Raises SystemCallError. */
static VALUE engine_sendfile_root(VALUE self, VALUE path) {
    check(nb_document_roots_allow(roots_of(self), StringValueCStr(path)), path);
    return self;
}

/* accel(prefix, path): the folder that a path of X-Accel-Redirect with this prefix means. Raises
   SystemCallError, ArgumentError. */
static VALUE engine_accel(VALUE self, VALUE prefix, VALUE path) {
    nb_document_roots *roots = roots_of(self);
    check(nb_document_roots_add_accel(roots, slice_of(&prefix), StringValueCStr(path)), path);
    return self;
}

/* index_file(name): a file that answers for its folder; names that were added before go first. */
static VALUE engine_index_file(VALUE self, VALUE name) {
    check(nb_document_roots_add_index(roots_of(self), slice_of(&name)), name);
    return self;
}

/* cache_rule(pattern, value): the Cache-Control of served files; the first rule that matches
   wins. */
static VALUE engine_cache_rule(VALUE self, VALUE pattern, VALUE value) {
    nb_document_roots *roots = roots_of(self);
    nb_slice text = slice_of(&pattern);
    check(nb_cache_rules_add(&roots->rules, text, slice_of(&value)), pattern);
    RB_GC_GUARD(pattern);
    return self;
}

/* mime(ending, type): the media type of files whose names end so; a later row wins. */
static VALUE engine_mime(VALUE self, VALUE ending, VALUE type) {
    nb_document_roots *roots = roots_of(self);
    nb_slice text = slice_of(&ending);
    check(nb_mime_add(roots->mime, text, slice_of(&type)), ending);
    RB_GC_GUARD(ending);
    return self;
}

/* compress_type(type): a media type that is compressed, which may have one star; the usual ones
   where none is told. Raises ArgumentError. */
static VALUE engine_compress_type(VALUE self, VALUE type) {
    nb_compress_types *types = nb_server_compress_types(nb_engine_server(self));
    if (!types) rb_raise(nb_error_class, "media types are told before the engine starts");
    check(nb_compress_types_add(types, slice_of(&type)), type);
    RB_GC_GUARD(type);
    return self;
}

void nb_engine_files_define(VALUE class) {
    rb_define_method(class, "public_dir", engine_public_dir, 1);
    rb_define_method(class, "sendfile_root", engine_sendfile_root, 1);
    rb_define_method(class, "accel", engine_accel, 2);
    rb_define_method(class, "index_file", engine_index_file, 1);
    rb_define_method(class, "cache_rule", engine_cache_rule, 2);
    rb_define_method(class, "mime", engine_mime, 2);
    rb_define_method(class, "compress_type", engine_compress_type, 1);
}
