/*
 * ffi_state.c - see ffi_state.h. Functions that ffi's library exports are all there is to reach its
 * state by.
 *
 * FFI::LastError.error reads the errno. What writes it is rbffi_save_errno, which copies C's own
 * (LastError.c). Where ffi keeps it in a fiber-local of Ruby's instead, both do no harm.
 *
 * A call has a record on its stack (rbffi_frame_t, Thread.h), with where the thread keeps the
 * innermost and with the record of the call before it. rbffi_frame_pop makes the latter the
 * innermost: a record of ours with another one before it sets any.
 */
#include "binding/fibers/ffi_state.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

/* Those of ffi have a word or two behind these. */
typedef struct call_record {
    void *thread;
    void *before;
    void *rest[14];
} call_record;

static void (*save_errno)(void); /* NULL: ffi is not loaded */
/* all three or none */
static void *(*innermost)(void);
static void (*push)(call_record *record), (*pop)(call_record *record);

static VALUE last_error; /* FFI::LastError */
static ID id_error;

VALUE nb_ffi_state_error(VALUE unused) {
    (void)unused;
    VALUE error = save_errno ? rb_funcallv(last_error, id_error, 0, NULL) : INT2FIX(0);
    return FIXNUM_P(error) ? error : INT2FIX(0);
}

static void set_innermost(void *call) {
    if (innermost() == call) return;
    call_record own;
    push(&own);
    own.before = call;
    pop(&own);
}

nb_ffi_state nb_ffi_state_leave(int error) {
    nb_ffi_state state = {.error = error, .call = innermost ? innermost() : NULL, .left = save_errno != NULL};
    if (state.call) set_innermost(NULL);
    return state;
}

nb_ffi_state nb_ffi_state_take(int *tag) {
    *tag = 0;
    if (save_errno == NULL) return (nb_ffi_state){0};
    VALUE error = rb_protect(nb_ffi_state_error, Qnil, tag);
    return *tag ? (nb_ffi_state){0} : nb_ffi_state_leave(FIX2INT(error));
}

void nb_ffi_state_give(nb_ffi_state state) {
    if (!state.left) return;
    int own = errno;
    errno = state.error;
    save_errno();
    errno = own;
    if (innermost) set_innermost(state.call);
}

/* watch_ffi(FFI::LastError, path) -> whether waits keep FFI.errno from now on: the library at this
   path, which is loaded, says how. */
static VALUE scheduler_s_watch_ffi(VALUE klass, VALUE module, VALUE path) {
    (void)klass;
    void *library = dlopen(StringValueCStr(path), RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return Qfalse;
    void (*save)(void) = (void (*)(void))(uintptr_t)dlsym(library, "rbffi_save_errno");
    void *current = dlsym(library, "rbffi_frame_current");
    void *pushes = dlsym(library, "rbffi_frame_push"), *pops = dlsym(library, "rbffi_frame_pop");
    dlclose(library); /* Ruby unloads none */
    if (save == NULL) return Qfalse;
    last_error = module;
    save_errno = save;
    if (current == NULL || pushes == NULL || pops == NULL) return Qtrue;
    push = (void (*)(call_record *))(uintptr_t)pushes;
    pop = (void (*)(call_record *))(uintptr_t)pops;
    innermost = (void *(*)(void))(uintptr_t)current;
    return Qtrue;
}

void nb_ffi_state_define(VALUE klass) {
    last_error = Qnil;
    rb_gc_register_address(&last_error);
    id_error = rb_intern("error");
    rb_define_singleton_method(klass, "watch_ffi", scheduler_s_watch_ffi, 2);
}
