/*
 * stall.c - see stall.h.
 */
#include "stall/stall.h"

#include <string.h>

const char *nb_stall_kind_name(nb_stall_kind kind) {
    static const char *const names[] = {
#define NB_NAME(name, words) #name,
        NB_STALL_KIND_LIST(NB_NAME)
#undef NB_NAME
    };
    return names[kind < NB_STALL_KINDS ? kind : NB_STALL_unknown];
}

const char *nb_stall_kind_words(nb_stall_kind kind) {
    static const char *const all[] = {
#define NB_WORDS(name, words) words,
        NB_STALL_KIND_LIST(NB_WORDS)
#undef NB_WORDS
    };
    return all[kind < NB_STALL_KINDS ? kind : NB_STALL_unknown];
}

void nb_stall_add_line(nb_stall *stall, const char *bytes, uint32_t size) {
    if (size > NB_STALL_LINE_BYTES_MAX - 1) size = NB_STALL_LINE_BYTES_MAX - 1;
    if (stall->lines >= NB_STALL_LINES_MAX || size + 1 > NB_STALL_TRACE_BYTES - stall->trace_bytes) return;
    char *line = stall->trace + stall->trace_bytes;
    memcpy(line, bytes, size);
    for (uint32_t i = 0; i < size; i++) {
        if (line[i] == '\n') line[i] = ' ';
    }
    line[size] = '\n';
    stall->trace_bytes += size + 1;
    stall->lines++;
}
