/*
 * observed_requests.c - see observed_requests.h.
 */
#include "binding/executor/observed_requests.h"

#include <errno.h>
#include <ruby/debug.h>
#include <string.h>

#include "base/alloc.h"
#include "binding/base/protect.h"
#include "binding/executor/kept_requests.h"
#include "binding/fibers/frame_table.h"
#include "binding/fibers/frames.h"
#include "binding/ports/running.h"
#include "binding/state/wait.h"
#include "os/clock.h"
#include "stall/stall_places.h"

/* Requests that are observed at once. */
#define ROOMS 4
/* One that is observed for so long makes way for another: a stream of events would stay. */
#define LONG_NS (10 * NB_NS_PER_S)
/* Frames of a stack that are looked at first; and where too few of them are the application's. */
#define FRAMES_FIRST 256
#define FRAMES_MAX 2048
#define APPLICATION_MAX 48
/* Of others, those next to the wait, and those next to the application's code. */
#define NEXT_TO_WAIT 3
#define NEXT_TO_APPLICATION 3
#define OTHERS_MAX (NEXT_TO_WAIT + NEXT_TO_APPLICATION)
_Static_assert(APPLICATION_MAX + OTHERS_MAX == NB_OBSERVED_DEPTH_MAX, "a stack has room for its frames");

/* Of a frame: frame_table.h. */
enum { OWNER_APPLICATION = 1, OWNER_OTHERS, OWNER_SKIPPED };

/* Twice the frames, for open addressing. */
#define INDEX_SIZE (2 * NB_OBSERVED_FRAMES_MAX)

/* A request that is observed. */
typedef struct observing_room {
    const nb_task *task; /* NULL: none */
    uint64_t exchange;
    int64_t began_ns;
    VALUE frames[NB_OBSERVED_FRAMES_MAX]; /* by number; marked */
    uint16_t index[INDEX_SIZE];           /* number + 1 by frame and line; 0: empty */
    nb_observed_request request;
} observing_room;

struct nb_observing {
    observing_room *rooms[ROOMS]; /* made when they are needed */
    nb_frame_table owners;
};

/* Shared by all threads: nothing here releases the GVL. */
static VALUE frames[FRAMES_MAX];
static int lines[FRAMES_MAX], frame_count; /* what is in use is marked */

/* --- frames --- */

typedef struct description {
    VALUE frame, path, name;
} description;

static VALUE read_path(VALUE argument) {
    description *read = (description *)argument;
    read->path = rb_profile_frame_path(read->frame);
    return Qnil;
}

/* A method of a single object is named by its address, which says nothing. */
static bool says_nothing(VALUE name) {
    return !RB_TYPE_P(name, T_STRING) || (RSTRING_LEN(name) > 0 && *RSTRING_PTR(name) == '#');
}

static nb_slice slice_of(VALUE text) {
    if (!RB_TYPE_P(text, T_STRING)) return nb_slice_of("", 0);
    return nb_slice_of(RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
}

/* A part of a method: "block in show", "rescue in show". */
static bool is_part(VALUE label) {
    nb_slice text = slice_of(label), word = NB_SLICE(" in ");
    for (size_t i = 0; i + word.size <= text.size; i++) {
        if (memcmp(text.data + i, word.data, word.size) == 0) return true;
    }
    return false;
}

/* Code that was evaluated has no absolute path. */
static VALUE read_all(VALUE argument) {
    description *read = (description *)argument;
    VALUE label = rb_profile_frame_label(read->frame);
    read->path = rb_profile_frame_absolute_path(read->frame);
    if (!RB_TYPE_P(read->path, T_STRING)) read_path(argument);
    read->name = is_part(label) ? label : rb_profile_frame_qualified_method_name(read->frame);
    if (says_nothing(read->name)) read->name = label;
    return Qnil;
}

/* Only a want of memory is raised there. */
static bool read_frame(VALUE (*read)(VALUE), description *result) {
    int tag = 0;
    VALUE before = rb_errinfo();
    rb_protect(read, (VALUE)result, &tag);
    if (tag) nb_protect_drop(before);
    return tag == 0 && RB_TYPE_P(result->path, T_STRING);
}

static bool begins(nb_slice text, nb_slice with) {
    return text.size >= with.size && memcmp(text.data, with.data, with.size) == 0;
}

static int owner_by_path(const nb_executor *executor, VALUE path) {
    nb_slice text = slice_of(path);
    if (begins(text, NB_SLICE("<internal:")) || nb_frames_ours(path)) return OWNER_SKIPPED;
    bool application = nb_stall_places_owner(executor->places, text) == NB_STALL_APPLICATION;
    return application ? OWNER_APPLICATION : OWNER_OTHERS;
}

/* By the path that stands in traces, as the stall watch does. */
static int owner_by_frame(const nb_executor *executor, VALUE frame) {
    description read = {.frame = frame, .path = Qnil, .name = Qnil};
    if (!read_frame(read_all, &read)) return OWNER_SKIPPED;
    bool in_c = begins(slice_of(read.path), NB_SLICE("<cfunc>"));
    bool ours = in_c && begins(slice_of(read.name), NB_SLICE("NeverBlock::"));
    int owner = in_c ? OWNER_OTHERS : OWNER_SKIPPED;
    if (!in_c && read_frame(read_path, &read)) owner = owner_by_path(executor, read.path);
    RB_GC_GUARD(read.path);
    RB_GC_GUARD(read.name);
    return ours ? OWNER_SKIPPED : owner;
}

static int owner_of(const nb_executor *executor, VALUE frame) {
    nb_frame_table *owners = &executor->observing->owners;
    const nb_known_frame *row = nb_frame_table_find(owners, frame);
    if (row->frame != 0) return row->kind;
    int owner = owner_by_frame(executor, frame);
    nb_frame_table_add(owners, frame, owner);
    return owner;
}

/* NB_OBSERVED_NONE: it does not fit. */
static uint32_t add_frame(observing_room *room, VALUE frame, uint32_t line, bool other) {
    description read = {.frame = frame, .path = Qnil, .name = Qnil};
    if (!read_frame(read_all, &read)) return NB_OBSERVED_NONE;
    uint32_t number = nb_observation_frame(&room->request.observation, slice_of(read.path), line, slice_of(read.name),
                                           other);
    if (number != NB_OBSERVED_NONE) room->frames[number] = frame;
    RB_GC_GUARD(read.path);
    RB_GC_GUARD(read.name);
    return number;
}

static uint32_t number_of(observing_room *room, VALUE frame, uint32_t line, bool other) {
    const nb_observation *observation = &room->request.observation;
    uint32_t i = nb_frame_hash(frame, line) % INDEX_SIZE;
    for (; room->index[i]; i = (i + 1) % INDEX_SIZE) {
        uint32_t number = room->index[i] - 1u;
        if (room->frames[number] == frame && observation->frames[number].line == line) return number;
    }
    uint32_t number = add_frame(room, frame, line, other);
    if (number != NB_OBSERVED_NONE) room->index[i] = (uint16_t)(number + 1);
    return number;
}

typedef struct taken_stack {
    uint16_t numbers[NB_OBSERVED_DEPTH_MAX];
    uint16_t depth, others;
    bool whole;
} taken_stack;

static void take(observing_room *room, taken_stack *stack, int place, bool other) {
    uint32_t number = number_of(room, frames[place], (uint32_t)lines[place], other);
    stack->whole = stack->whole && number != NB_OBSERVED_NONE;
    if (!stack->whole) return;
    stack->numbers[stack->depth++] = (uint16_t)number;
    stack->others += other;
}

/* Of the frames before the application's innermost. Returns the place of that. */
static int take_others(const nb_executor *executor, observing_room *room, taken_stack *stack) {
    int last[NEXT_TO_APPLICATION], count = 0, place = 0;
    for (int owner; place < frame_count && (owner = owner_of(executor, frames[place])) != OWNER_APPLICATION; place++) {
        if (owner != OWNER_OTHERS) continue;
        if (count < NEXT_TO_WAIT)
            take(room, stack, place, true);
        else
            last[(count - NEXT_TO_WAIT) % NEXT_TO_APPLICATION] = place;
        count++;
    }
    int kept = count - NEXT_TO_WAIT;
    for (int i = kept > NEXT_TO_APPLICATION ? kept - NEXT_TO_APPLICATION : 0; i < kept; i++)
        take(room, stack, last[i % NEXT_TO_APPLICATION], true);
    return place;
}

/* Takes what belongs there of the frames, which begin with the innermost. */
static void sort_frames(const nb_executor *executor, observing_room *room, taken_stack *stack) {
    *stack = (taken_stack){.whole = true};
    int place = take_others(executor, room, stack);
    for (; place < frame_count && stack->whole && stack->depth - stack->others < APPLICATION_MAX; place++) {
        if (owner_of(executor, frames[place]) == OWNER_APPLICATION) take(room, stack, place, false);
    }
}

/* False: it does not fit. */
static bool take_stack(const nb_executor *executor, observing_room *room, taken_stack *stack) {
    frame_count = rb_profile_frames(0, FRAMES_FIRST, frames, lines);
    sort_frames(executor, room, stack);
    if (frame_count == FRAMES_FIRST && stack->whole && stack->depth - stack->others < APPLICATION_MAX) {
        frame_count = rb_profile_frames(0, FRAMES_MAX, frames, lines);
        sort_frames(executor, room, stack);
    }
    frame_count = 0;
    return stack->whole;
}

/* --- which requests --- */

static bool has_observing(nb_executor *executor) {
    if (!executor->observing) executor->observing = nb_alloc_zero(1, sizeof(*executor->observing));
    return executor->observing != NULL;
}

static observing_room *room_of(const nb_executor *executor, const nb_task *task) {
    for (unsigned i = 0; executor->observing && i < ROOMS; i++) {
        observing_room *room = executor->observing->rooms[i];
        if (room && room->task == task && room->exchange == task->exchange) return room;
    }
    return NULL;
}

/* NULL: all are in use, or there is no memory. */
static observing_room *free_room(nb_executor *executor, int64_t now_ns) {
    observing_room *longest = NULL;
    for (unsigned i = 0; i < ROOMS; i++) {
        observing_room **room = &executor->observing->rooms[i];
        if (!*room) *room = nb_alloc_zero(1, sizeof(**room));
        if (!*room || !(*room)->task) return *room;
        if (!longest || (*room)->began_ns < longest->began_ns) longest = *room;
    }
    return now_ns - longest->began_ns >= LONG_NS ? longest : NULL;
}

/* NULL: it is not observed. */
static observing_room *begin(nb_executor *executor, nb_task *task, int64_t now_ns) {
    task->account.observed = NB_ACCOUNT_NOT_OBSERVED;
    observing_room *room = has_observing(executor) ? free_room(executor, now_ns) : NULL;
    uint64_t key = nb_kept_request_key(task);
    if (!room || !nb_observed_begin(executor->link->observed, key, now_ns)) return NULL;
    task->account.observed = NB_ACCOUNT_OBSERVED;
    room->task = task;
    room->exchange = task->exchange;
    room->began_ns = now_ns;
    room->request.about.key = key;
    memset(room->index, 0, sizeof(room->index));
    nb_observation_begin(&room->request.observation);
    return room;
}

/* Its room may have been given to another. */
static observing_room *room_for(nb_executor *executor, nb_task *task, int64_t now_ns) {
    if (task->account.observed == NB_ACCOUNT_UNDECIDED) return begin(executor, task, now_ns);
    observing_room *room = room_of(executor, task);
    if (!room) task->account.observed = NB_ACCOUNT_NOT_OBSERVED;
    return room;
}

/* --- one wait --- */

static void record(const nb_executor *executor, observing_room *room, const nb_wait *wait,
                   const nb_observed_wait *facts) {
    nb_observation *observation = &room->request.observation;
    nb_fiber_wait told;
    taken_stack stack;
    bool known = observation->wait_count < NB_OBSERVED_WAITS_MAX && wait->record != NB_FIBER_NONE &&
                 nb_fiber_wait_read(executor->link->fibers, wait->record, &told);
    if (!known || !take_stack(executor, room, &stack)) {
        nb_observation_leave_out(observation);
        return;
    }
    nb_observed_wait whole = *facts;
    whole.ends = told.until_ns != INT64_MAX;
    nb_observation_add(observation, &whole, nb_slice_of(told.text, strlen(told.text)), stack.numbers, stack.depth);
}

void nb_executor_observe(void *owner, const nb_wait *wait, int64_t began_ns) {
    nb_executor *executor = owner;
    nb_task *task = NB_LIST_ENTRY(wait->serving.account, nb_task, account);
    int64_t now_ns = wait->scheduler->counted.at_ns;
    if (executor->over || nb_executor_in_child(executor)) return;
    observing_room *room = room_for(executor, task, now_ns);
    if (!room || now_ns - began_ns < NB_OBSERVED_WAIT_NS) return;
    nb_observed_wait facts = {
        .began_ns = began_ns, .ready_ns = wait->ready_ns, .ended_ns = now_ns, .kind = wait->accounted_kind};
    int error = errno;
    record(executor, room, wait, &facts);
    errno = error;
}

void nb_observed_request_end(nb_task *task) {
    nb_executor *executor = task->executor;
    if (task->account.observed != NB_ACCOUNT_OBSERVED) return;
    task->account.observed = NB_ACCOUNT_NOT_OBSERVED;
    observing_room *room = room_of(executor, task);
    if (!room) return;
    room->task = NULL;
    if (executor->over || nb_executor_in_child(executor) || !nb_account_is(&task->account, task->exchange)) return;
    nb_kept_request_fill(&room->request.about, task, room->request.about.key, nb_kept_request_until_ns(task));
    nb_observed_put(executor->link->observed, &room->request);
}

/* --- memory --- */

void nb_observing_mark(const nb_executor *executor) {
    if (!executor->observing) return;
    nb_frame_table_mark(&executor->observing->owners);
    for (int i = 0; i < frame_count; i++)
        rb_gc_mark(frames[i]);
    for (unsigned i = 0; i < ROOMS; i++) {
        const observing_room *room = executor->observing->rooms[i];
        for (uint32_t j = 0; room && room->task && j < room->request.observation.frame_count; j++)
            rb_gc_mark(room->frames[j]);
    }
}

void nb_observing_free(nb_executor *executor) {
    for (unsigned i = 0; executor->observing && i < ROOMS; i++)
        nb_free(executor->observing->rooms[i]);
    nb_free(executor->observing);
}

size_t nb_observing_bytes(const nb_executor *executor) {
    size_t bytes = executor->observing ? sizeof(*executor->observing) : 0;
    for (unsigned i = 0; executor->observing && i < ROOMS; i++)
        bytes += executor->observing->rooms[i] ? sizeof(observing_room) : 0;
    return bytes;
}
