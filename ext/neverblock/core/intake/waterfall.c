/*
 * waterfall.c - see waterfall.h.
 */
#include "intake/waterfall.h"

#include <string.h>

void nb_waterfall_begin(nb_waterfall *waterfall) { waterfall->count = waterfall->left_out = waterfall->line_count = 0; }

uint32_t nb_waterfall_add(nb_waterfall *waterfall, const nb_fiber_wait *facts, nb_slice text) {
    if (waterfall->count == NB_WATERFALL_WAITS_MAX) {
        if (waterfall->left_out < UINT32_MAX) waterfall->left_out++;
        return NB_WATERFALL_NONE;
    }
    uint32_t place = waterfall->count++;
    nb_waited *wait = &waterfall->waits[place];
    *wait = (nb_waited){.began_ns = facts->since_ns,
                        .kind = facts->kind,
                        .direction = facts->direction,
                        .own = facts->own ? 1 : 0,
                        .text_bytes = (uint8_t)(text.size < sizeof(wait->text) ? text.size : sizeof(wait->text))};
    if (wait->text_bytes) memcpy(wait->text, text.data, wait->text_bytes);
    return place;
}

static uint8_t keep_line(nb_waterfall *waterfall, nb_slice line) {
    if (line.size == 0 || waterfall->line_count == NB_WATERFALL_LINES_MAX) return 0;
    char *out = waterfall->lines[waterfall->line_count++];
    size_t size = line.size < NB_WATERFALL_LINE_BYTES ? line.size : NB_WATERFALL_LINE_BYTES - 1;
    memcpy(out, line.data, size);
    out[size] = '\0';
    return (uint8_t)waterfall->line_count;
}

void nb_waterfall_end(nb_waterfall *waterfall, uint32_t place, int64_t ready_ns, int64_t ended_ns, nb_slice line) {
    if (place >= waterfall->count) return;
    nb_waited *wait = &waterfall->waits[place];
    wait->ready_ns = ready_ns;
    wait->ended_ns = ended_ns;
    wait->line = keep_line(waterfall, line);
}
