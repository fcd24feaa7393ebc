/*
 * mysql_handles.c - see mysql_handles.h. The garbage collector frees a prepared statement by
 * closing it: that writes to its connection, and reads what is left of an answer there. mysql2 does
 * so whatever the connection is doing. With a loop Ruby collects while calls are under way, so the
 * handles of a connection that is in a call are freed later. A handle's type is replaced by one
 * that has the old type as its parent, and Ruby takes one for the other.
 */
#include <stdlib.h>

#include "binding/mysql/mysql_handles.h"

/* Types of handles seen: statements and results. */
#define TYPES_MAX 4
/* Places of the table by address: statements of an application are hundreds. */
#define PLACES 1024
#define ADDRESS_BITS_UNUSED 5

typedef struct handle {
    void *data;
    void (*dfree)(void *);
    struct handles *of;
    struct handle *next; /* in its place of the table; later in `to_free` */
} handle;

typedef struct handles {
    bool busy;
    bool closed;  /* the Ruby object is gone */
    size_t count; /* handles that have not been freed */
    handle *to_free;
} handles;

typedef struct deferred_type {
    const rb_data_type_t *original;
    rb_data_type_t deferring;
} deferred_type;

static deferred_type types[TYPES_MAX];
static handle *by_data[PLACES]; /* under Ruby's lock, as all here */

static handle **place_of(void *data) { return &by_data[((uintptr_t)data >> ADDRESS_BITS_UNUSED) % PLACES]; }

static handle *take(void *data) {
    for (handle **link = place_of(data); *link; link = &(*link)->next) {
        handle *found = *link;
        if (found->data != data) continue;
        *link = found->next;
        return found;
    }
    return NULL;
}

static void release(handle *one) {
    handles *of = one->of;
    one->dfree(one->data);
    free(one);
    if (--of->count == 0 && of->closed) xfree(of);
}

/* The collector calls this: nothing here may ask Ruby for memory. */
static void free_later(void *data) {
    handle *one = take(data);
    if (!one) return;
    if (!one->of->busy) {
        release(one);
        return;
    }
    one->next = one->of->to_free;
    one->of->to_free = one;
}

static void free_waiting(handles *of) {
    while (of->to_free) {
        handle *one = of->to_free;
        of->to_free = one->next;
        release(one);
    }
}

static void handles_free(void *pointer) {
    handles *of = pointer;
    of->busy = false;
    of->count++; /* while these are freed */
    free_waiting(of);
    of->closed = true;
    if (--of->count == 0) xfree(of);
}

static const rb_data_type_t handles_type = {
    .wrap_struct_name = "NeverBlock::MysqlHandles",
    .function = {.dfree = handles_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE allocate(VALUE class) {
    handles *of;
    return TypedData_Make_Struct(class, handles, &handles_type, of);
}

static handles *get(VALUE self) {
    handles *of;
    TypedData_Get_Struct(self, handles, &handles_type, of);
    return of;
}

/* The type that replaces this one; NULL: there are too many types. */
static const rb_data_type_t *deferring_type(const rb_data_type_t *original) {
    for (size_t i = 0; i < TYPES_MAX; i++) {
        if (types[i].original == original) return &types[i].deferring;
        if (types[i].original) continue;
        types[i].original = original;
        types[i].deferring = *original;
        types[i].deferring.parent = original;
        types[i].deferring.function.dfree = free_later;
        return &types[i].deferring;
    }
    return NULL;
}

/* keep(statement or result) -> the object. It is freed when the connection is in no call. */
static VALUE keep(VALUE self, VALUE object) {
    handles *of = get(self);
    if (!RB_TYPE_P(object, T_DATA) || !RTYPEDDATA_P(object)) return object;
    const rb_data_type_t *original = RTYPEDDATA_TYPE(object);
    if (original->function.dfree == free_later || !original->function.dfree) return object;
    const rb_data_type_t *type = deferring_type(original);
    if (!type) return object;
    handle *one = malloc(sizeof *one);
    if (!one) return object;
    handle **place = place_of(DATA_PTR(object));
    *one = (handle){.data = DATA_PTR(object), .dfree = original->function.dfree, .of = of, .next = *place};
    *place = one;
    of->count++;
    *(const rb_data_type_t **)&RTYPEDDATA(object)->type = type;
    return object;
}

/* busy = true or false. False frees what was collected meanwhile. */
static VALUE set_busy(VALUE self, VALUE busy) {
    handles *of = get(self);
    of->busy = RTEST(busy);
    if (!of->busy) free_waiting(of);
    return busy;
}

void nb_mysql_handles_define(VALUE module) {
    VALUE class = rb_define_class_under(module, "MysqlHandles", rb_cObject);
    rb_define_alloc_func(class, allocate);
    rb_define_method(class, "keep", keep, 1);
    rb_define_method(class, "busy=", set_busy, 1);
}
