/*
 * pools.c - see pools.h.
 */
#include "binding/executor/pools.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "binding/base/forks.h"
#include "binding/base/module.h"
#include "binding/state/accounting.h"
#include "binding/state/object.h"
#include "binding/state/serving.h"
#include "os/clock.h"

#define NO_RECORD UINT32_MAX

typedef struct told_gauge {
    nb_pool_gauge numbers;
    char name[NB_POOL_NAME_BYTES]; /* without the number that tells it from another of this name */
    uint32_t record;               /* NO_RECORD: it is not shown */
    bool retired;                  /* it is shown when it is told something */
    nb_list all;
} told_gauge;

/* Symbols. */
static VALUE events[NB_POOL_EVENTS];

static nb_list all_gauges = {&all_gauges, &all_gauges};

/* Where the process shows them. */
static struct {
    const nb_executor *executor; /* NULL: nowhere */
    nb_pool_gauges *gauges;
    unsigned forks;
    told_gauge *shown[NB_POOL_GAUGES_MAX];
} here;

/* In a forked child the memory is the parent's. */
static bool is_shown_here(void) { return here.executor && here.forks == nb_fork_generation; }

/* --- who has which record --- */

static uint32_t place_for(int64_t now_ns) {
    uint32_t found = NO_RECORD;
    for (uint32_t i = 0; i < NB_POOL_GAUGES_MAX; i++) {
        if (!here.shown[i]) return i;
        if (found == NO_RECORD && nb_pool_gauge_is_idle(&here.shown[i]->numbers, now_ns)) found = i;
    }
    return found;
}

static bool name_is_taken(const told_gauge *asking) {
    for (uint32_t i = 0; i < NB_POOL_GAUGES_MAX; i++) {
        const told_gauge *other = here.shown[i];
        if (other && other->numbers.kind == asking->numbers.kind &&
            strcmp(other->numbers.name, asking->numbers.name) == 0)
            return true;
    }
    return false;
}

/* "primary", then "primary (2)". */
static void choose_name(told_gauge *gauge) {
    char number[16] = "";
    for (unsigned i = 2; i <= NB_POOL_GAUGES_MAX + 1; i++) {
        size_t room = sizeof(gauge->numbers.name) - strlen(number), bytes = strlen(gauge->name);
        const char *from = gauge->name + (bytes < room ? 0 : bytes - room + 1);
        snprintf(gauge->numbers.name, sizeof(gauge->numbers.name), "%s%s", from, number);
        if (!name_is_taken(gauge)) return;
        snprintf(number, sizeof(number), " (%u)", i);
    }
}

static void hide(told_gauge *gauge) {
    if (gauge->record == NO_RECORD) return;
    if (is_shown_here()) nb_pool_gauges_clear(here.gauges, gauge->record);
    here.shown[gauge->record] = NULL;
    gauge->record = NO_RECORD;
}

/* Where there is no place it is not shown; it tries again when it is next told something. */
static void show(told_gauge *gauge, int64_t now_ns) {
    uint32_t record = place_for(now_ns);
    if (record == NO_RECORD) return;
    if (here.shown[record]) hide(here.shown[record]);
    choose_name(gauge);
    gauge->retired = false;
    here.shown[record] = gauge;
    gauge->record = record;
    nb_pool_gauges_put(here.gauges, record, &gauge->numbers);
}

/* The clock is read where somebody waits. Else the time decides only which slice an event is in,
   and that of the last switch does. */
static int64_t now_for(const told_gauge *gauge, uint32_t waiting) {
    int64_t switched_ns = waiting || gauge->numbers.waiting ? 0 : nb_executor_switched_ns(here.executor);
    return switched_ns ? switched_ns : nb_clock_monotonic_ns();
}

static void tell(told_gauge *gauge, nb_pool_event event, uint32_t in_use, uint32_t waiting) {
    int64_t now_ns = now_for(gauge, waiting);
    bool begins = nb_pool_gauge_tell(&gauge->numbers, event, in_use, waiting, now_ns);
    if (gauge->record == NO_RECORD) {
        show(gauge, now_ns);
    } else if (begins) {
        nb_pool_gauges_put(here.gauges, gauge->record, &gauge->numbers);
    } else {
        nb_pool_gauges_put_numbers(here.gauges, gauge->record, &gauge->numbers);
    }
}

/* In a forked child what is shown belongs to the parent. */
static void forget_all(void) {
    memset(&here, 0, sizeof(here));
    for (nb_list *link = all_gauges.next; link != &all_gauges; link = link->next)
        NB_LIST_ENTRY(link, told_gauge, all)->record = NO_RECORD;
}

void nb_pools_begin(nb_executor *executor) {
    if (!executor->figures || executor->lane || executor->helps || is_shown_here()) return;
    forget_all();
    here.executor = executor;
    here.gauges = executor->link->pools;
    here.forks = nb_fork_generation;
    for (nb_list *link = all_gauges.next; link != &all_gauges; link = link->next) {
        told_gauge *each = NB_LIST_ENTRY(link, told_gauge, all);
        if (!each->retired) tell(each, NB_POOL_CHANGED, each->numbers.in_use, each->numbers.waiting);
    }
}

void nb_pools_end(nb_executor *executor) {
    if (here.executor == executor) forget_all();
}

/* --- Ruby's objects --- */

static void gauge_free(void *pointer) {
    told_gauge *freed = pointer;
    hide(freed);
    nb_list_remove(&freed->all);
    xfree(freed);
}

static size_t gauge_size(const void *pointer) {
    (void)pointer;
    return sizeof(told_gauge);
}

static const rb_data_type_t gauge_type = {
    .wrap_struct_name = "NeverBlock::Pool::Gauge",
    .function = {.dfree = gauge_free, .dsize = gauge_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static told_gauge *get(VALUE self) {
    told_gauge *found;
    TypedData_Get_Struct(self, told_gauge, &gauge_type, found);
    return found;
}

static VALUE gauge_allocate(VALUE class) {
    told_gauge *made;
    VALUE self = TypedData_Make_Struct(class, told_gauge, &gauge_type, made);
    made->record = NO_RECORD;
    made->retired = true;
    nb_list_append(&all_gauges, &made->all);
    return self;
}

/* What is no number of places is no limit. */
static uint32_t number(VALUE value) {
    if (!FIXNUM_P(value) || FIX2LONG(value) < 0) return 0;
    return FIX2LONG(value) < UINT32_MAX ? (uint32_t)FIX2LONG(value) : UINT32_MAX;
}

static VALUE gauge_initialize(VALUE self, VALUE kind, VALUE name, VALUE size) {
    told_gauge *gauge = get(self);
    Check_Type(kind, T_SYMBOL);
    VALUE word = rb_sym2str(kind);
    nb_pool_kind known = nb_pool_kind_named(StringValueCStr(word));
    if (known == NB_POOL_KINDS) rb_raise(rb_eArgError, "no kind of pool: %" PRIsVALUE, word);
    StringValue(name);
    hide(gauge);
    nb_pool_gauge_init(&gauge->numbers, known, nb_slice_of(RSTRING_PTR(name), (size_t)RSTRING_LEN(name)), number(size));
    memcpy(gauge->name, gauge->numbers.name, sizeof(gauge->name));
    gauge->retired = false;
    if (is_shown_here()) tell(gauge, NB_POOL_CHANGED, 0, 0);
    return self;
}

static nb_pool_event event_of(VALUE symbol) {
    for (unsigned event = 0; event < NB_POOL_EVENTS; event++) {
        if (symbol == events[event]) return (nb_pool_event)event;
    }
    rb_raise(rb_eArgError, "no event of a pool: %" PRIsVALUE, rb_inspect(symbol));
}

static VALUE gauge_tell(VALUE self, VALUE event, VALUE in_use, VALUE waiting) {
    if (is_shown_here()) tell(get(self), event_of(event), number(in_use), number(waiting));
    return Qnil;
}

static VALUE gauge_set_size(VALUE self, VALUE size) {
    told_gauge *gauge = get(self);
    gauge->numbers.size = number(size);
    if (is_shown_here()) tell(gauge, NB_POOL_CHANGED, gauge->numbers.in_use, gauge->numbers.waiting);
    return size;
}

/* Says that the next wait of the running fiber is for this pool: "primary (5 of 5 in use)". Of a
   long name the end is kept. */
static void name_next_wait(const told_gauge *gauge) {
    char words[NB_FIBER_TEXT_BYTES + 1], used[40] = "";
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (!scheduler || !nb_accounting(scheduler)) return;
    const nb_pool_gauge *numbers = &gauge->numbers;
    if (gauge->record != NO_RECORD && is_shown_here() && numbers->size)
        snprintf(used, sizeof(used), " (%u of %u in use)", numbers->in_use, numbers->size);
    size_t room = sizeof(words) - 1 - strlen(used), bytes = strlen(numbers->name);
    const char *from = numbers->name + (bytes > room ? bytes - room : 0);
    while ((*from & 0xc0) == 0x80) /* the rest of a character of UTF-8 */
        from++;
    int size = snprintf(words, sizeof(words), "%s%s", from, used);
    nb_fiber_next_wait(scheduler, NB_FIBER_WAIT_pool, -1, nb_slice_of(words, (size_t)size));
}

static VALUE gauge_next_wait(VALUE self) {
    name_next_wait(get(self));
    return Qnil;
}

static VALUE gauge_retire(VALUE self) {
    told_gauge *gauge = get(self);
    hide(gauge);
    gauge->retired = true;
    return Qnil;
}

static VALUE gauge_name(VALUE self) { return rb_utf8_str_new_cstr(get(self)->numbers.name); }

void nb_pools_define(VALUE module) {
    static const char *const names[NB_POOL_EVENTS] = {"changed", "acquired", "waits", "held_back"};
    for (unsigned event = 0; event < NB_POOL_EVENTS; event++)
        events[event] = ID2SYM(rb_intern(names[event]));
    VALUE class = rb_define_class_under(rb_define_module_under(module, "Pool"), "Gauge", rb_cObject);
    rb_define_alloc_func(class, gauge_allocate);
    rb_define_method(class, "initialize", gauge_initialize, 3);
    rb_define_method(class, "name", gauge_name, 0);
    rb_define_method(class, "size=", gauge_set_size, 1);
    rb_define_method(class, "tell", gauge_tell, 3);
    rb_define_method(class, "next_wait", gauge_next_wait, 0);
    rb_define_method(class, "retire", gauge_retire, 0);
}
