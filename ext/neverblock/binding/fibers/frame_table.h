/*
 * frame_table.h - what was found out of the methods that frames are of (rb_profile_frames), so that
 * it is looked up once. A method in the table is kept alive, as its owner marks it: no other gets
 * its address. One more than NB_FRAME_TABLE_MAX, and it begins anew. All zero is empty. GVL.
 */
#ifndef NB_BINDING_FRAME_TABLE_H
#define NB_BINDING_FRAME_TABLE_H

#include <ruby.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NB_FRAME_TABLE_MAX 1024

typedef struct nb_known_frame {
    VALUE frame; /* 0: empty */
    int kind;    /* its owner's */
} nb_known_frame;

typedef struct nb_frame_table {
    nb_known_frame rows[2 * NB_FRAME_TABLE_MAX]; /* open addressing */
    size_t count;
} nb_frame_table;

static inline void nb_frame_table_mark(const nb_frame_table *table) {
    for (size_t i = 0; i < 2 * NB_FRAME_TABLE_MAX; i++) {
        if (table->rows[i].frame != 0) rb_gc_mark(table->rows[i].frame);
    }
}

static inline uint32_t nb_frame_hash(VALUE frame, uint32_t line) {
    return (uint32_t)(((uint64_t)frame + line) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

/* Its row, or the empty row where it would be. */
static inline nb_known_frame *nb_frame_table_find(nb_frame_table *table, VALUE frame) {
    size_t mask = 2 * NB_FRAME_TABLE_MAX - 1;
    size_t i = nb_frame_hash(frame, 0) & mask;
    while (table->rows[i].frame != 0 && table->rows[i].frame != frame)
        i = (i + 1) & mask;
    return &table->rows[i];
}

/* Adds one that is not there. */
static inline void nb_frame_table_add(nb_frame_table *table, VALUE frame, int kind) {
    if (table->count == NB_FRAME_TABLE_MAX) memset(table, 0, sizeof(*table));
    *nb_frame_table_find(table, frame) = (nb_known_frame){frame, kind};
    table->count++;
}

#endif
