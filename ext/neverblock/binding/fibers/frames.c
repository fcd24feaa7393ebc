/*
 * frames.c - see frames.h. What a method says is looked up once. A method in the table is kept
 * alive, so that no other gets its address.
 */
#include "binding/fibers/frames.h"

#include <dlfcn.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <string.h>

#include "binding/fibers/frame_table.h"

/* Frames that are looked at, from the innermost on: as deep as a thread's stack lets code go. */
#define NB_FRAMES_MAX 16384

typedef enum frame_kind {
    FRAME_UNKNOWN,
    FRAME_RUBY,     /* of Ruby's own: its caller decides */
    FRAME_OURS,     /* stays */
    FRAME_OTHERS,   /* an application's or a gem's: may be left */
    FRAME_STAYS,    /* a fiber above it may not be left */
    FRAME_PINS,     /* the same, and the fiber above it is pinned */
    FRAME_SWITCHES, /* Ruby's own, which switches fibers: a value may be on its way */
    FRAME_NOTHING,  /* as Ruby's own; fibers that it switches between give each other nothing */
} frame_kind;

static nb_frame_table known;
static VALUE keeper, our_folder, ruby_folder;

/* Files of ours that stand in for C code of Ruby's own, and leave nothing half done that others
   could see. */
static const char *const stands_in[] = {"neverblock/compat/enumerator.rb"};
/* The same, and all fibers they switch to or from are given nothing. */
static const char *const gives_nothing[] = {"neverblock/compat/enumerator/cursor.rb"};

/* Classes of Ruby's own whose C functions call back with something that is the thread's. A walk of
   the heap has lazy sweeping switched off, and switches on at its end what was on at its beginning
   (gc.c, objspace_each_objects): of two that overlap, one meets objects that are no more. */
static const char *const stays[] = {"ObjectSpace"};

/* Classes whose C functions switch fibers; not the classes within them, such as
   Enumerator::Yielder. A fiber that is switched to looks for interrupts before it has taken the
   value or the exception that it was given (cont.c, fiber_switch). A preemption there would leave
   it nil. What an Enumerator's own fiber is given is not looked at. */
static const char *const switching[] = {"Fiber", "Enumerator"};

/* Libraries of gems that keep what they need on the stack or in the object they were called on
   (docs/decisions/0011 has the evidence). */
static const char *const allows[] = {
    "/bigdecimal.so",      "/bootsnap/bootsnap.so",   "/cparse.so",
    "/date_core.so",       "/json/ext/generator.so",  "/json/ext/parser.so",
    "/msgpack/msgpack.so", "/mysql2/mysql2.so",       "/pg_ext.so",
    "/psych.so",           "/stackprof/stackprof.so", "/stringio.so",
    "/strscan.so",         "/trilogy/cext.so",
};

/* Libraries that keep something for the thread while they call Ruby, and need no other fiber to go
   on. libxml2 keeps its handler of errors (xmlSetStructuredErrorFunc); ffi keeps the frames of its
   callbacks (Call.c, rbffi_frame_push). mini_racer keeps the isolates that a thread has entered,
   which it leaves in reverse order (Isolate::Scope), and from 0.18 on a mutex (rr_mtx). Wasmtime
   keeps the calls of the thread as a chain on its stacks (traphandlers.rs, CallThreadState). The
   functions that ffi and Fiddle make lie in no library. */
static const char *const pins[] = {
    "/ffi_c.so",    "/fiddle.so",   "/libxml_ruby.so", "/mini_racer_extension.so",
    "/nokogiri.so", "/RMagick2.so", "/wasmtime_rb.so",
};

/* Those of a walk, from the innermost on. Shared by all threads: nothing here releases the GVL.
   Looking one up may make Ruby collect, and GC.auto_compact move what is not marked here. */
static VALUE walked[NB_FRAMES_MAX];
static int walked_lines[NB_FRAMES_MAX], walked_count; /* 0: no walk */

static void keeper_mark(void *data) {
    nb_frame_table_mark(data);
    for (int i = 0; i < walked_count; i++)
        rb_gc_mark(walked[i]);
}

static const rb_data_type_t keeper_type = {
    .wrap_struct_name = "NeverBlock::Scheduler frames",
    .function = {.dmark = keeper_mark},
};

static bool begins(VALUE text, const char *with, size_t size) {
    return (size_t)RSTRING_LEN(text) >= size && memcmp(RSTRING_PTR(text), with, size) == 0;
}

static bool begins_with(VALUE text, VALUE with) {
    return !NIL_P(with) && begins(text, RSTRING_PTR(with), (size_t)RSTRING_LEN(with));
}

static bool begins_with_one_of(VALUE text, const char *const *all, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (begins(text, all[i], strlen(all[i]))) return true;
    }
    return false;
}

static bool is_one_of(const char *text, size_t size, const char *const *all, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (size == strlen(all[i]) && memcmp(text, all[i], size) == 0) return true;
    }
    return false;
}

/* --- The library of a C function --- */

/* What Ruby's method entries begin with (method.h, rb_callable_method_entry_t): flags, the class,
   the definition. */
#define ENTRY_DEFINITION 2
/* Words of a definition that are looked at for the function. */
#define DEFINITION_WORDS 6

static VALUE probed_entry;
static int function_word = -1; /* of the definition; -1: this Ruby's is another */
static const void *ruby_library, *our_library;

static const void *library_of(const void *function, const char **name) {
    Dl_info found;
    if (!dladdr(function, &found)) return NULL;
    if (name) *name = found.dli_fname;
    return found.dli_fbase;
}

static VALUE probe(VALUE klass) {
    VALUE frames[1];
    int lines[1];
    probed_entry = rb_profile_frames(0, 1, frames, lines) == 1 ? frames[0] : Qnil;
    return klass;
}

/* Learns where a method's entry has the address of its function, from a function of ours whose
   address is known. */
static void learn_layout(VALUE klass) {
    rb_define_singleton_method(klass, "probe_frames", probe, 0);
    rb_funcall(klass, rb_intern("probe_frames"), 0);
    if (!RB_SPECIAL_CONST_P(probed_entry)) {
        const void *const *definition = ((const void *const *const *)probed_entry)[ENTRY_DEFINITION];
        for (int i = 0; i < DEFINITION_WORDS && function_word < 0; i++) {
            if (definition[i] == (const void *)(uintptr_t)probe) function_word = i;
        }
    }
    probed_entry = Qnil;
    ruby_library = library_of((const void *)(uintptr_t)rb_funcall, NULL);
    our_library = library_of((const void *)(uintptr_t)probe, NULL);
}

static const void *function_of(VALUE entry) {
    return ((const void *const *const *)entry)[ENTRY_DEFINITION][function_word];
}

static bool ends_with_one_of(const char *text, const char *const *all, size_t count) {
    size_t size = strlen(text);
    for (size_t i = 0; i < count; i++) {
        size_t tail = strlen(all[i]);
        if (size >= tail && memcmp(text + size - tail, all[i], tail) == 0) return true;
    }
    return false;
}

static VALUE extension_folder;

static bool is_rubys(const void *library, const char *name) {
    if (library == ruby_library) return true;
    return !NIL_P(extension_folder) &&
           strncmp(name, RSTRING_PTR(extension_folder), (size_t)RSTRING_LEN(extension_folder)) == 0;
}

/* Functions of ours that do what Ruby's own do. */
static const void *stand_ins[NB_STAND_INS_MAX];
static size_t stand_in_count;

void nb_frames_stand_in(const void *function) {
    if (stand_in_count < NB_STAND_INS_MAX) stand_ins[stand_in_count++] = function;
}

static bool is_stand_in(const void *function) {
    for (size_t i = 0; i < stand_in_count; i++) {
        if (stand_ins[i] == function) return true;
    }
    return false;
}

/* FRAME_RUBY: as far as its library goes, it may be left. */
static frame_kind kind_by_library(VALUE entry) {
    const char *name = NULL;
    const void *library = library_of(function_of(entry), &name);
    if (library == NULL || name == NULL || ends_with_one_of(name, pins, sizeof pins / sizeof *pins)) return FRAME_PINS;
    if (library == our_library) return is_stand_in(function_of(entry)) ? FRAME_RUBY : FRAME_OURS;
    if (is_rubys(library, name) || ends_with_one_of(name, allows, sizeof allows / sizeof *allows)) return FRAME_RUBY;
    return FRAME_STAYS;
}

static frame_kind kind_of_function(VALUE entry) {
    VALUE path = rb_profile_frame_classpath(entry);
    frame_kind kind = function_word < 0 ? FRAME_RUBY : kind_by_library(entry);
    if (kind != FRAME_RUBY || !RB_TYPE_P(path, T_STRING)) return kind;
    if (begins(path, "NeverBlock", strlen("NeverBlock")))
        return function_word >= 0 && is_stand_in(function_of(entry)) ? FRAME_RUBY : FRAME_OURS;
    if (begins_with_one_of(path, stays, sizeof stays / sizeof *stays)) return FRAME_STAYS;
    bool between = is_one_of(RSTRING_PTR(path), (size_t)RSTRING_LEN(path), switching,
                             sizeof switching / sizeof *switching);
    return between ? FRAME_SWITCHES : FRAME_RUBY;
}

static frame_kind kind_of_ours(VALUE path) {
    const char *file = RSTRING_PTR(path) + RSTRING_LEN(our_folder);
    size_t size = (size_t)(RSTRING_LEN(path) - RSTRING_LEN(our_folder));
    if (is_one_of(file, size, stands_in, sizeof stands_in / sizeof *stands_in)) return FRAME_RUBY;
    if (is_one_of(file, size, gives_nothing, sizeof gives_nothing / sizeof *gives_nothing)) return FRAME_NOTHING;
    return FRAME_OURS;
}

/* A function in C has no path (rb_profile_frame_path), code from `eval` the one it was given. */
static frame_kind kind_of(VALUE frame) {
    VALUE path = rb_profile_frame_path(frame);
    if (!RB_TYPE_P(path, T_STRING) || begins(path, "<cfunc>", strlen("<cfunc>"))) return kind_of_function(frame);
    if (begins(path, "<internal:", strlen("<internal:"))) return FRAME_RUBY;
    if (begins_with(path, our_folder)) return kind_of_ours(path);
    return begins_with(path, ruby_folder) ? FRAME_RUBY : FRAME_OTHERS;
}

/* A library with functions that pin is loaded: waits look for them. */
static bool watches;

static frame_kind look_up(VALUE frame) {
    const nb_known_frame *row = nb_frame_table_find(&known, frame);
    if (row->frame != 0) return (frame_kind)row->kind;
    frame_kind kind = kind_of(frame);
    nb_frame_table_add(&known, frame, (int)kind);
    watches = watches || kind == FRAME_PINS;
    return kind;
}

static void begin_walk(void) { walked_count = rb_profile_frames(0, NB_FRAMES_MAX, walked, walked_lines); }

/* Is this a switch of fibers in which a value may be on its way? */
static bool switches(void) {
    return look_up(walked[0]) == FRAME_SWITCHES && !(walked_count > 1 && look_up(walked[1]) == FRAME_NOTHING);
}

/* Where no frame is an application's or a gem's, code of ours in C runs, or nothing yet. */
static nb_place walk_place(void) {
    bool found = false, ours = false;
    for (int i = 0; i < walked_count; i++) {
        frame_kind kind = look_up(walked[i]);
        if (kind == FRAME_STAYS || kind == FRAME_PINS) return NB_PLACE_STAYS;
        ours = ours || (kind == FRAME_OURS && !found);
        found = found || kind == FRAME_OTHERS;
    }
    if (!found && walked_count < NB_FRAMES_MAX) return NB_PLACE_STAYS;
    if (ours) return NB_PLACE_OURS;
    return switches() ? NB_PLACE_BETWEEN : NB_PLACE_FREE;
}

nb_place nb_frames_place(void) {
    begin_walk();
    nb_place place = walk_place();
    walked_count = 0;
    return place;
}

/* kinds: bits, 1 << frame_kind */
static bool any_is(unsigned kinds) {
    bool found = false;
    begin_walk();
    for (int i = 0; i < walked_count && !found; i++)
        found = kinds & 1u << look_up(walked[i]);
    walked_count = 0;
    return found;
}

bool nb_frames_ours(VALUE path) { return begins_with(path, our_folder); }

bool nb_frames_below(void) { return any_is(1u << FRAME_STAYS | 1u << FRAME_PINS); }

bool nb_frames_watched(void) { return watches; }

bool nb_frames_pin(void) { return watches && any_is(1u << FRAME_PINS); }

/* watch_frames: a library is loaded whose functions pin the fiber that they call. */
static VALUE scheduler_s_watch_frames(VALUE klass) {
    watches = true;
    return klass;
}

/* home(ours, rubys, extensions): the folders of this library, of Ruby's own in Ruby and of those in
   C, with the slash at the end. */
static VALUE scheduler_s_home(VALUE klass, VALUE ours, VALUE rubys, VALUE extensions) {
    our_folder = rb_str_new_frozen(ours);
    ruby_folder = rb_str_new_frozen(rubys);
    extension_folder = rb_str_new_frozen(extensions);
    return klass;
}

void nb_frames_define(VALUE klass) {
    our_folder = ruby_folder = extension_folder = probed_entry = Qnil;
    rb_gc_register_address(&extension_folder);
    rb_gc_register_address(&our_folder);
    rb_gc_register_address(&ruby_folder);
    keeper = TypedData_Wrap_Struct(rb_cObject, &keeper_type, &known);
    rb_gc_register_mark_object(keeper);
    rb_define_singleton_method(klass, "home", scheduler_s_home, 3);
    rb_define_singleton_method(klass, "watch_frames", scheduler_s_watch_frames, 0);
    learn_layout(klass);
}
