/*
 * tally.c - see tally.h.
 */
#include "base/tally.h"

#include <stdio.h>
#include <string.h>

#include "base/counter.h"
#include "base/utf8.h"

uint32_t nb_tally_used(const nb_tally *tally) {
    uint32_t used = atomic_load_explicit(&tally->used, memory_order_acquire);
    return used < NB_TALLY_ROWS ? used : NB_TALLY_ROWS;
}

uint32_t nb_tally_row_of(nb_tally *tally, uint16_t kind, const char *name) {
    uint32_t used = nb_tally_used(tally);
    for (uint32_t i = 0; i < used; i++) {
        const nb_tally_row *row = &tally->rows[i];
        if (row->kind == kind && strncmp(row->name, name, sizeof(row->name) - 1) == 0) return i;
    }
    if (used == NB_TALLY_ROWS) return NB_TALLY_OTHER;
    nb_tally_row *row = &tally->rows[used];
    row->kind = kind;
    snprintf(row->name, sizeof(row->name), "%.*s", (int)sizeof(row->name) - 1, name);
    atomic_store_explicit(&tally->used, used + 1, memory_order_release);
    return used;
}

void nb_tally_count(nb_tally *tally, uint32_t row, uint64_t count, uint64_t sum_ns) {
    nb_count(&tally->rows[row].count, count);
    nb_count(&tally->rows[row].sum_ns, sum_ns);
}

static void add_row(nb_tally *tally, uint32_t number, const nb_tally_row *row) {
    nb_tally_count(tally, number, nb_counted(&row->count), nb_counted(&row->sum_ns));
}

void nb_tally_add(nb_tally *tally, const nb_tally *from) {
    uint32_t used = nb_tally_used(from);
    for (uint32_t i = 0; i < used; i++) {
        const nb_tally_row *row = &from->rows[i];
        add_row(tally, nb_tally_row_of(tally, row->kind, row->name), row);
    }
    add_row(tally, NB_TALLY_OTHER, &from->rows[NB_TALLY_OTHER]);
}

void nb_tally_keep_rows(nb_tally *tally, const nb_tally *from) {
    for (uint32_t i = 0, used = nb_tally_used(from); i < used; i++) {
        (void)nb_tally_row_of(tally, from->rows[i].kind, from->rows[i].name);
    }
}

/* The memory may be another process's, so the end of a name is not trusted. */
void nb_tally_copy_name(const nb_tally_row *row, char out[NB_TALLY_NAME_BYTES]) {
    size_t size = 0;
    while (size < sizeof(row->name) - 1 && row->name[size])
        size++;
    nb_utf8_scrub(out, NB_TALLY_NAME_BYTES, row->name, size);
}

uint64_t nb_tally_total(const nb_tally *tally) {
    uint64_t total = 0;
    for (uint32_t i = 0; i <= NB_TALLY_ROWS; i++) {
        total += nb_counted(&tally->rows[i].count);
    }
    return total;
}
