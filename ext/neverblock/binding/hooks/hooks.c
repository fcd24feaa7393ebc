/*
 * hooks.c - see hooks.h.
 */
#include "binding/hooks/hooks.h"

#include "binding/fibers/cursor.h"
#include "binding/fibers/ffi_state.h"
#include "binding/fibers/frames.h"
#include "binding/fibers/pin.h"
#include "binding/fibers/region.h"
#include "binding/fibers/resume.h"
#include "binding/fibers/root.h"
#include "binding/fibers/start.h"
#include "binding/hooks/closing.h"
#include "binding/hooks/fiber_hooks.h"
#include "binding/hooks/file_io.h"
#include "binding/hooks/io.h"
#include "binding/hooks/mutex.h"
#include "binding/hooks/process.h"
#include "binding/hooks/resolve.h"
#include "binding/hooks/timeout.h"
#include "binding/scheduler/beneath.h"
#include "binding/scheduler/park.h"
#include "binding/timeslices/interrupt.h"
#include "binding/timeslices/timeslice.h"
#include "binding/state/heap.h"
#include "binding/state/object.h"
#include "binding/state/watches.h"

void nb_hooks_define(VALUE module) {
    VALUE klass = nb_object_define(module);
    nb_closing_define(klass);
    nb_fiber_hooks_define(klass);
    nb_pin_define(klass);
    nb_timeslice_define(klass);
    nb_frames_define(klass);
    nb_region_define(klass, module);
    nb_resume_define(klass);
    nb_watches_define();
    nb_io_define(klass);
    nb_file_io_define(klass);
    nb_resolve_define(klass);
    nb_heap_define(module);
    nb_mutex_define(klass);
    nb_start_define();
    nb_cursor_define(klass);
    nb_park_define(klass);
    nb_beneath_define(klass);
    nb_process_define(klass);
    nb_timeout_define(klass);
    nb_root_define(klass);
    nb_ffi_state_define(klass);
    nb_interrupt_define();
}
