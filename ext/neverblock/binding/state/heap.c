/*
 * heap.c - see heap.h.
 */
#include "binding/base/protect.h"
#include "binding/state/heap.h"

#include "os/memory.h"

/* Bytes that are left uncounted between two collections, and between two collections of all
   objects, at most: so much later they may come. */
#define UNCOUNTED_BYTES_MAX ((size_t)128 << 20)
#define UNCOUNTED_BYTES_MAJOR_MAX ((size_t)512 << 20)
/* Fewer are not worth a call. Where each object has more bytes, as where a file or a body is read
   in pieces, collections are short and free much. */
#define UNCOUNTED_BYTES_MIN ((size_t)256 << 10)
#define UNCOUNTED_BYTES_AN_OBJECT_MAX 1024

/* Under a limit of address space room is made only where so much is left; the fibers and what a
   stop takes need it more. */
#define ROOM_BESIDE_BYTES ((size_t)128 << 20)

/* So many objects, made since the last collection, are worth one when a long request is over; and
   no fewer than one for so many slots of the heap, as collections of a large one take longer. */
#define LEFT_OBJECTS_MIN 200000
#define LEFT_SLOTS_AN_OBJECT 8

/* A computation keeps much if a collection has walked so many objects more than while nobody
   computes, and one of so many that were made since. Where much is made and little is kept, a
   collection is short, and takes longer the more garbage waits, fibers above all. The heap grows
   without another collection up to so many slots (40 to 640 bytes each in Ruby 3.3). So do the
   bytes beside objects, for which Ruby would collect. */
#define KEPT_OBJECTS_MIN 10000
#define MADE_OF_KEPT_MAX 4
#define GROWN_SLOTS_MAX 2000000
#define COUNTED_BYTES_MAX ((size_t)16 << 20)
/* Ruby ends at once what is not swept yet where collections are disabled (gc.c, gc_rest): some 5 ms
   for so many objects that are garbage, 20 to 100 ms in a heap that has grown. */
#define SWEPT_AT_ONCE_OBJECTS_MAX 200000

static VALUE heap_module;
static ID id_make_room, id_collect_young;

static struct {
    bool known; /* it counts what is looked at here; not every one of Ruby 3.4 does */
    VALUE bytes_key, objects_key, slots_key, live_key, major_key, marked_key, state_key, none, marking;
    size_t collections, majors;         /* as they were when it was last looked */
    size_t bytes_since, bytes_of_major; /* uncounted since then */
    /* that had been made when bytes were last left uncounted, or a collection was seen */
    size_t objects;
    size_t objects_then;   /* when a collection was last seen */
    size_t objects_before; /* when the one before it was */
    size_t objects_long;   /* when a request became long and no other was */
    /* objects that a collection walks beside what a long request keeps; 0: nobody has looked */
    size_t marked_alone;
    size_t collections_alone;   /* by the last that came while no request kept anything */
    bool of_long;               /* there was one since a request became long */
    bool keeps;                 /* a long request has kept much, so that the next may too */
    const nb_heap *put_off_for; /* whose fiber it is for which there are none; compared only */
} collector;

static VALUE heap_fill(VALUE self, VALUE count, VALUE elements, VALUE every) {
    long wanted = NUM2LONG(count), capacity = NUM2LONG(elements), step = NUM2LONG(every);
    VALUE kept = rb_ary_new();
    (void)self;
    for (long i = 0; i < wanted; i++) {
        VALUE made = rb_ary_new_capa(capacity);
        if (i % step == 0) rb_ary_push(kept, made);
    }
    return kept;
}

static VALUE heap_count_malloc(VALUE self, VALUE bytes) {
    (void)self;
    rb_gc_adjust_memory_usage(NUM2SSIZET(bytes));
    return Qnil;
}

static void count_anew(size_t collections) {
    size_t majors = rb_gc_stat(collector.major_key);
    if (majors != collector.majors) collector.bytes_of_major = 0;
    collector.majors = majors;
    collector.collections = collections;
    collector.bytes_since = 0;
    collector.of_long = true;
    collector.objects_before = collector.objects_then;
    collector.objects = collector.objects_then = rb_gc_stat(collector.objects_key);
}

static void see_collections(void) {
    size_t collections = rb_gc_count();
    if (collections != collector.collections) count_anew(collections);
}

/* --- Collections that are put off --- */

static void collect_again(void) {
    collector.put_off_for = NULL;
    rb_gc_enable();
}

void nb_heap_let_collect(const nb_heap *heap) {
    if (collector.put_off_for == heap) collect_again();
}

bool nb_heap_waits(const nb_heap *heap) { return collector.put_off_for == heap; }

static bool may_grow(void) {
    return rb_gc_stat(collector.slots_key) < GROWN_SLOTS_MAX && rb_gc_stat(collector.bytes_key) < COUNTED_BYTES_MAX;
}

static void collect_what_has_grown(void) {
    if (!collector.put_off_for || may_grow()) return;
    collector.keeps = false;
    collect_again();
}

/* What is marked bit by bit is known only when that has come to its end. */
static bool is_marked(void) { return rb_gc_latest_gc_info(collector.state_key) != collector.marking; }

static size_t kept_objects(void) {
    size_t marked = rb_gc_stat(collector.marked_key);
    if (marked < collector.marked_alone) collector.marked_alone = marked;
    return marked - collector.marked_alone;
}

static bool is_much(size_t kept, size_t made) { return kept >= KEPT_OBJECTS_MIN && kept >= made / MADE_OF_KEPT_MAX; }

/* Of one that has made little since it became long a collection says nothing. */
static bool keeps_much(void) {
    if (!is_marked()) return false;
    size_t kept = kept_objects(), made = collector.objects_then - collector.objects_long;
    bool tells = kept >= KEPT_OBJECTS_MIN || made >= KEPT_OBJECTS_MIN * MADE_OF_KEPT_MAX;
    if (collector.of_long && tells) collector.keeps = is_much(kept, made);
    return collector.keeps;
}

static bool is_swept(void) {
    if (rb_gc_latest_gc_info(collector.state_key) == collector.none) return true;
    size_t made = rb_gc_stat(collector.objects_key) - collector.objects_then;
    return rb_gc_stat(collector.live_key) <= rb_gc_stat(collector.marked_key) + made + SWEPT_AT_ONCE_OBJECTS_MAX;
}

/* The application may have disabled them itself. */
static void put_off(const nb_heap *heap) {
    if (!RTEST(rb_gc_disable())) collector.put_off_for = heap;
}

/* --- What is not counted --- */

static void leave_uncounted(size_t bytes) {
    size_t objects = rb_gc_stat(collector.objects_key);
    if (bytes / UNCOUNTED_BYTES_AN_OBJECT_MAX > objects - collector.objects) return;
    if (collector.bytes_since + bytes > UNCOUNTED_BYTES_MAX ||
        collector.bytes_of_major + bytes > UNCOUNTED_BYTES_MAJOR_MAX)
        return;
    collector.objects = objects;
    collector.bytes_since += bytes;
    collector.bytes_of_major += bytes;
    rb_gc_adjust_memory_usage(-(ssize_t)bytes);
}

bool nb_heap_computes(const nb_heap *heap) {
    if (!collector.known) return false;
    see_collections();
    size_t bytes = rb_gc_stat(collector.bytes_key);
    if (bytes >= UNCOUNTED_BYTES_MIN) leave_uncounted(bytes);
    collect_what_has_grown();
    if (!collector.put_off_for && heap->long_requests > 0 && keeps_much() && is_swept() && may_grow()) put_off(heap);
    return bytes >= UNCOUNTED_BYTES_MIN || collector.put_off_for;
}

/* Notes what a collection walks while no request keeps anything. */
static void note_alone(void) {
    see_collections();
    collector.collections_alone = collector.collections;
    if (is_marked()) collector.marked_alone = rb_gc_stat(collector.marked_key);
}

void nb_heap_attached(void) {
    if (collector.known && collector.marked_alone == 0) note_alone();
}

/* A collection that came since the request began tells of it where much is kept; most of what was
   made until then may be others'. An older one has walked what there is without it. */
void nb_heap_request_long(nb_heap *heap, size_t collections) {
    if (!collector.known || heap->long_requests++ > 0) return;
    see_collections();
    collector.of_long = false;
    collector.objects_long = rb_gc_stat(collector.objects_key);
    if (!is_marked()) return;
    if (collector.collections == collections || collector.collections == collector.collections_alone) {
        collector.marked_alone = rb_gc_stat(collector.marked_key);
    } else if (is_much(kept_objects(), collector.objects_then - collector.objects_before)) {
        collector.keeps = true;
    }
}

static bool much_is_left(void) {
    see_collections();
    size_t left = rb_gc_stat(collector.objects_key) - collector.objects_then;
    return left >= LEFT_OBJECTS_MIN && left >= rb_gc_stat(collector.slots_key) / LEFT_SLOTS_AN_OBJECT;
}

void nb_heap_request_over(nb_heap *heap, bool was_long) {
    if (!collector.known) return;
    if (was_long && --heap->long_requests == 0) nb_heap_let_collect(heap);
    if (heap->long_requests == 0 && much_is_left()) heap->collection_due = true;
}

static bool stat_has(VALUE stat, VALUE key) { return RB_INTEGER_TYPE_P(rb_hash_aref(stat, key)); }

static void collector_define(void) {
    VALUE stat = rb_funcall(rb_mGC, rb_intern("stat"), 0);
    collector.bytes_key = ID2SYM(rb_intern("malloc_increase_bytes"));
    collector.objects_key = ID2SYM(rb_intern("total_allocated_objects"));
    collector.slots_key = ID2SYM(rb_intern("heap_available_slots"));
    collector.major_key = ID2SYM(rb_intern("major_gc_count"));
    collector.live_key = ID2SYM(rb_intern("heap_live_slots"));
    collector.marked_key = ID2SYM(rb_intern("heap_marked_slots"));
    collector.state_key = ID2SYM(rb_intern("state"));
    collector.none = ID2SYM(rb_intern("none"));
    collector.marking = ID2SYM(rb_intern("marking"));
    collector.known = stat_has(stat, collector.bytes_key) && stat_has(stat, collector.objects_key) &&
                      stat_has(stat, collector.slots_key) && stat_has(stat, collector.live_key) &&
                      stat_has(stat, collector.major_key) && stat_has(stat, collector.marked_key);
}

static VALUE make_room(VALUE fibers) { return rb_funcallv(heap_module, id_make_room, 1, &fibers); }

static VALUE collect_young(VALUE unused) {
    (void)unused;
    return rb_funcallv(heap_module, id_collect_young, 0, NULL);
}

/* A lack of memory is dropped: the loop goes on with the heap as it is. Another error has come from
   outside, and the call has looked for interrupts: its tag is returned. */
static int call_in_loop(VALUE (*function)(VALUE), VALUE argument) {
    VALUE before = rb_errinfo();
    int tag = 0;
    rb_protect(function, argument, &tag);
    if (tag == 0 || !nb_protect_marks(rb_errinfo())) return tag;
    nb_protect_drop(before);
    return 0;
}

static int make_room_for_parked(nb_heap *heap) {
    heap->room_for *= 2;
    return nb_memory_has_room(ROOM_BESIDE_BYTES) ? call_in_loop(make_room, SIZET2NUM(heap->room_for)) : 0;
}

/* Ruby may have done so meanwhile. And while the next long one is half done, what that keeps would
   be walked. */
static int collect_what_is_left(nb_heap *heap) {
    heap->collection_due = false;
    if (heap->long_requests > 0 || !much_is_left()) return 0;
    int tag = call_in_loop(collect_young, Qnil);
    note_alone();
    return tag;
}

int nb_heap_turn(nb_heap *heap, size_t parked, bool some_preempted) {
    int tag = 0;
    collect_what_has_grown();
    if (parked > heap->room_for) tag = make_room_for_parked(heap);
    if (tag == 0 && heap->collection_due && !some_preempted) tag = collect_what_is_left(heap);
    return tag;
}

void nb_heap_define(VALUE module) {
    rb_gc_register_address(&heap_module);
    heap_module = rb_define_module_under(module, "Heap");
    rb_define_singleton_method(heap_module, "fill", heap_fill, 3);
    rb_define_singleton_method(heap_module, "count_malloc", heap_count_malloc, 1);
    id_make_room = rb_intern("make_room");
    id_collect_young = rb_intern("collect_young");
    collector_define();
}
