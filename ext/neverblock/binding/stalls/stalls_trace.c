/*
 * stalls_trace.c - see stalls_trace.h.
 */
#include "binding/stalls/stalls_trace.h"

#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/version.h>
#include <stdio.h>
#include <string.h>

#include "binding/ports/running.h"
#include "binding/scheduler/scheduler.h"
#include "binding/timeslices/interrupt.h"

static ID id_backtrace;

void nb_stalls_trace_define(void) { id_backtrace = rb_intern("backtrace"); }

/* --- as Ruby tells it --- */

static void add_lines(nb_stall *stall, VALUE lines) {
    if (!RB_TYPE_P(lines, T_ARRAY)) return;
    for (long i = 0; i < RARRAY_LEN(lines) && stall->lines < NB_STALL_LINES_MAX; i++) {
        VALUE line = rb_ary_entry(lines, i);
        if (RB_TYPE_P(line, T_STRING)) nb_stall_add_line(stall, RSTRING_PTR(line), (uint32_t)RSTRING_LEN(line));
    }
}

static VALUE lines_here(VALUE unused) { return rb_make_backtrace(); }

static VALUE lines_of_thread(VALUE thread) {
    VALUE range[] = {INT2FIX(0), INT2FIX(NB_STALL_LINES_MAX)};
    return rb_funcallv(thread, id_backtrace, 2, range);
}

static void trace(nb_stall *stall, VALUE (*lines)(VALUE), VALUE argument) {
    VALUE made = nb_interrupt_call(lines, argument, NULL);
    if (made != Qundef) add_lines(stall, made);
    RB_GC_GUARD(made);
}

void nb_stalls_trace_here(nb_stall *stall) { trace(stall, lines_here, Qnil); }

void nb_stalls_trace_thread(nb_stall *stall, VALUE thread) { trace(stall, lines_of_thread, thread); }

/* --- in a signal --- */

/* Names and paths are strings that methods and their code own; the functions that return them make
   no object. */
static int copy(char *out, int room, VALUE string) {
    if (!RB_TYPE_P(string, T_STRING)) return 0;
    int size = RSTRING_LEN(string) < room ? (int)RSTRING_LEN(string) : room;
    memcpy(out, RSTRING_PTR(string), (size_t)size);
    return size;
}

/* Writes the number's digits, and returns how many there are. snprintf is not async-signal-safe
   (signal-safety(7)). */
static int digits(char *out, int number) {
    char reversed[12];
    int size = 0;
    do {
        reversed[size++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (int i = 0; i < size; i++)
        out[i] = reversed[size - 1 - i];
    return size;
}

#define NUMBER_AND_QUOTES 24 /* ":2147483647:in '" and "'" */
#define NAME_BYTES 80
#define EVALUATED "(eval)" /* as Ruby shows it */

/* How this version of Ruby quotes a label (Feature #16495). */
#if RUBY_API_VERSION_CODE < 30400
#define QUOTED ":in `"
#else
#define QUOTED ":in '"
#endif

/* rb_profile_frames gives a frame of a block as its method. A line before the method's first is of
   text that the method evaluates, whose path Ruby does not tell. */
static int copy_path(char *out, int room, VALUE place, int number) {
    VALUE first = rb_profile_frame_first_lineno(place);
    if (!RB_FIXNUM_P(first) || number >= FIX2INT(first)) return copy(out, room, rb_profile_frame_path(place));
    memcpy(out, EVALUATED, sizeof(EVALUATED) - 1);
    return (int)sizeof(EVALUATED) - 1;
}

/* A method in C is shown at its caller's line, as Ruby does. */
static void add_frame(nb_stall *stall, VALUE frame, VALUE place, int number) {
    char line[NB_STALL_LINE_BYTES_MAX];
    int size = copy_path(line, (int)sizeof(line) - NUMBER_AND_QUOTES - NAME_BYTES, place, number);
    if (size == 0) return;
    line[size++] = ':';
    size += digits(line + size, number > 0 ? number : 0);
    memcpy(line + size, QUOTED, 5);
    size += 5;
    VALUE name = frame == place ? rb_profile_frame_label(frame) : rb_profile_frame_method_name(frame);
    size += copy(line + size, NAME_BYTES, name);
    line[size++] = '\'';
    nb_stall_add_line(stall, line, (uint32_t)size);
}

void nb_stalls_trace_signalled(nb_stall *stall) {
    VALUE frames[NB_STALL_LINES_MAX];
    int numbers[NB_STALL_LINES_MAX];
    int count = rb_profile_frames(0, NB_STALL_LINES_MAX, frames, numbers);
    for (int i = 0; i < count; i++) {
        int place = i;
        while (place < count && NIL_P(rb_profile_frame_path(frames[place])))
            place++;
        if (place < count) add_frame(stall, frames[i], frames[place], numbers[place]);
    }
}

/* --- The request --- */

void nb_stalls_trace_request(nb_stall *stall, const nb_executor *executor) {
    VALUE fiber = nb_scheduler_root(executor->scheduler);
    if (NIL_P(fiber)) return;
    const nb_task *task = nb_executor_task_of(executor, fiber);
    if (task) stall->request = task->words;
}
