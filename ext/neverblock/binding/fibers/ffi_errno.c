/*
 * ffi_errno.c - see ffi_errno.h. ffi has a method that reads the key (FFI::LastError.error) and
 * none that writes it: LastError.error= sets C's own errno. What copies that into the key is a
 * function that its library exports (LastError.c, rbffi_save_errno). Where ffi keeps it in a
 * fiber-local of Ruby's instead, both do no harm.
 */
#include "binding/fibers/ffi_errno.h"

#include <dlfcn.h>
#include <errno.h>

static void (*save_errno)(void); /* NULL: ffi is not loaded */
static VALUE last_error;         /* FFI::LastError */
static ID id_error;

VALUE nb_ffi_errno_ask(VALUE unused) {
    (void)unused;
    VALUE error = save_errno ? rb_funcallv(last_error, id_error, 0, NULL) : INT2FIX(0);
    return FIXNUM_P(error) ? error : INT2FIX(0);
}

int nb_ffi_errno_take(int *tag) {
    *tag = 0;
    if (save_errno == NULL) return 0;
    VALUE error = rb_protect(nb_ffi_errno_ask, Qnil, tag);
    return *tag ? 0 : FIX2INT(error);
}

void nb_ffi_errno_give(int error) {
    if (save_errno == NULL) return;
    int own = errno;
    errno = error;
    save_errno();
    errno = own;
}

/* watch_ffi(FFI::LastError, path) -> whether waits keep FFI.errno from now on: the library at this
   path, which is loaded, says how. */
static VALUE scheduler_s_watch_ffi(VALUE klass, VALUE module, VALUE path) {
    (void)klass;
    void *library = dlopen(StringValueCStr(path), RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return Qfalse;
    void (*found)(void) = (void (*)(void))(uintptr_t)dlsym(library, "rbffi_save_errno");
    dlclose(library); /* Ruby unloads none */
    if (found == NULL) return Qfalse;
    last_error = module;
    save_errno = found;
    return Qtrue;
}

void nb_ffi_errno_define(VALUE klass) {
    last_error = Qnil;
    rb_gc_register_address(&last_error);
    id_error = rb_intern("error");
    rb_define_singleton_method(klass, "watch_ffi", scheduler_s_watch_ffi, 2);
}
