/*
 * parked.c - see parked.h.
 */
#include "binding/state/parked.h"

#include <stdint.h>

#include "base/alloc.h"

#define NB_PARKED_CAPACITY_MIN 64

/* Fibonacci hashing of the slot address: its low bits are always the same. */
static size_t parked_home(const nb_parked_table *table, VALUE fiber) {
    return (size_t)(((uint64_t)fiber * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (table->capacity - 1);
}

static nb_parked *parked_slot(const nb_parked_table *table, VALUE fiber) {
    size_t i = parked_home(table, fiber);
    while (table->slots[i].fiber != 0 && table->slots[i].fiber != fiber)
        i = (i + 1) & (table->capacity - 1);
    return &table->slots[i];
}

static bool parked_reserve(nb_parked_table *table) {
    if ((table->count + 1) * 2 <= table->capacity) return true;

    nb_parked_table larger = {.capacity = table->capacity ? table->capacity * 2 : NB_PARKED_CAPACITY_MIN};
    larger.slots = nb_alloc_zero(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL) return false;
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].fiber != 0) *parked_slot(&larger, table->slots[i].fiber) = table->slots[i];
    }
    larger.count = table->count;
    nb_free(table->slots);
    *table = larger;
    return true;
}

bool nb_parked_push(nb_parked_table *table, VALUE fiber, nb_wait *wait, nb_wait **outer) {
    if (!parked_reserve(table)) return false;
    nb_parked *slot = parked_slot(table, fiber);
    *outer = slot->fiber == 0 ? NULL : slot->wait;
    table->count += slot->fiber == 0;
    *slot = (nb_parked){fiber, wait};
    return true;
}

/* Closes the gap so that every entry stays reachable from its home without tombstones. */
static void parked_delete(nb_parked_table *table, nb_parked *slot) {
    size_t mask = table->capacity - 1, hole = (size_t)(slot - table->slots);
    for (size_t i = (hole + 1) & mask; table->slots[i].fiber != 0; i = (i + 1) & mask) {
        size_t home = parked_home(table, table->slots[i].fiber);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        table->slots[hole] = table->slots[i];
        hole = i;
    }
    table->slots[hole] = (nb_parked){0, NULL};
    table->count--;
}

void nb_parked_pop(nb_parked_table *table, VALUE fiber, const nb_wait *wait, nb_wait *outer) {
    if (table->capacity == 0) return;
    nb_parked *slot = parked_slot(table, fiber);
    if (slot->fiber == 0 || slot->wait != wait) return;
    if (outer) {
        slot->wait = outer;
    } else {
        parked_delete(table, slot);
    }
}

nb_wait *nb_parked_find(const nb_parked_table *table, VALUE fiber) {
    if (table->capacity == 0) return NULL;
    return parked_slot(table, fiber)->wait;
}

void nb_parked_mark(const nb_parked_table *table) {
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].fiber != 0) rb_gc_mark(table->slots[i].fiber);
    }
}

void nb_parked_deinit(nb_parked_table *table) {
    nb_free(table->slots);
    *table = (nb_parked_table){0};
}
