/*
 * observation.c - see observation.h.
 */
#include "intake/observation.h"

#include <string.h>

#include "intake/fiber_table.h"

_Static_assert(NB_OBSERVED_TEXT_BYTES <= UINT16_MAX, "a text is found by 16 bits");

void nb_observation_begin(nb_observation *observation) {
    observation->wait_count = observation->frame_count = observation->number_count = observation->text_bytes = 0;
    observation->left_out = 0;
}

/* --- texts --- */

static bool same(const nb_observation *observation, nb_observed_text text, nb_slice bytes) {
    if (text.bytes != bytes.size) return false;
    return bytes.size == 0 || memcmp(observation->text + text.at, bytes.data, bytes.size) == 0;
}

static bool keep(nb_observation *observation, nb_slice bytes, nb_observed_text *text) {
    if (bytes.size > NB_OBSERVED_TEXT_BYTES - observation->text_bytes) return false;
    *text = (nb_observed_text){(uint16_t)observation->text_bytes, (uint16_t)bytes.size};
    if (bytes.size) memcpy(observation->text + observation->text_bytes, bytes.data, bytes.size);
    observation->text_bytes += (uint32_t)bytes.size;
    return true;
}

static nb_slice cut(nb_slice bytes) {
    if (bytes.size > NB_OBSERVED_TEXT_MAX) bytes.size = NB_OBSERVED_TEXT_MAX;
    return bytes;
}

static bool keep_path(nb_observation *observation, nb_slice path, nb_observed_text *text) {
    for (uint32_t i = observation->frame_count; i > 0; i--) {
        *text = observation->frames[i - 1].path;
        if (same(observation, *text, path)) return true;
    }
    return keep(observation, path, text);
}

static bool keep_name(nb_observation *observation, nb_slice name, nb_observed_text *text) {
    for (uint32_t i = observation->frame_count; i > 0; i--) {
        *text = observation->frames[i - 1].name;
        if (same(observation, *text, name)) return true;
    }
    return keep(observation, name, text);
}

static bool keep_what(nb_observation *observation, nb_slice what, nb_observed_text *text) {
    for (uint32_t i = observation->wait_count; i > 0; i--) {
        *text = observation->waits[i - 1].what;
        if (same(observation, *text, what)) return true;
    }
    return keep(observation, what, text);
}

/* --- frames, stacks and waits --- */

uint32_t nb_observation_frame(nb_observation *observation, nb_slice path, uint32_t line, nb_slice name, bool other) {
    nb_observed_frame frame = {.line = line, .other = other ? 1 : 0};
    uint32_t text_bytes = observation->text_bytes;
    if (observation->frame_count == NB_OBSERVED_FRAMES_MAX) return NB_OBSERVED_NONE;
    if (!keep_path(observation, cut(path), &frame.path) || !keep_name(observation, cut(name), &frame.name)) {
        observation->text_bytes = text_bytes;
        return NB_OBSERVED_NONE;
    }
    observation->frames[observation->frame_count] = frame;
    return observation->frame_count++;
}

/* Most waits of a request have the stack of one that was shortly before. */
static bool keep_stack(nb_observation *observation, nb_observed_wait *wait, const uint16_t *numbers) {
    size_t bytes = wait->depth * sizeof(*numbers);
    for (uint32_t i = observation->wait_count; i > 0; i--) {
        const nb_observed_wait *other = &observation->waits[i - 1];
        if (other->depth != wait->depth) continue;
        if (bytes && memcmp(observation->numbers + other->stack, numbers, bytes) != 0) continue;
        wait->stack = other->stack;
        return true;
    }
    if (wait->depth > NB_OBSERVED_NUMBERS_MAX - observation->number_count) return false;
    wait->stack = (uint16_t)observation->number_count;
    if (bytes) memcpy(observation->numbers + wait->stack, numbers, bytes);
    observation->number_count += wait->depth;
    return true;
}

void nb_observation_add(nb_observation *observation, const nb_observed_wait *facts, nb_slice what,
                        const uint16_t *numbers, uint16_t depth) {
    nb_observed_wait wait = *facts;
    wait.depth = depth;
    bool fits = observation->wait_count < NB_OBSERVED_WAITS_MAX && keep_what(observation, what, &wait.what) &&
                keep_stack(observation, &wait, numbers);
    if (fits) {
        observation->waits[observation->wait_count++] = wait;
    } else {
        nb_observation_leave_out(observation);
    }
}

/* --- what another process has written --- */

static void at_most(uint32_t *count, uint32_t most) {
    if (*count > most) *count = most;
}

void nb_observation_bound_counts(nb_observation *observation) {
    at_most(&observation->wait_count, NB_OBSERVED_WAITS_MAX);
    at_most(&observation->frame_count, NB_OBSERVED_FRAMES_MAX);
    at_most(&observation->number_count, NB_OBSERVED_NUMBERS_MAX);
    at_most(&observation->text_bytes, NB_OBSERVED_TEXT_BYTES);
}

static void bound_text(const nb_observation *observation, nb_observed_text *text) {
    uint32_t end = (uint32_t)text->at + text->bytes;
    if (end > observation->text_bytes || text->bytes > NB_OBSERVED_TEXT_MAX) *text = (nb_observed_text){0, 0};
}

static void bound_wait(const nb_observation *observation, nb_observed_wait *wait) {
    bound_text(observation, &wait->what);
    uint32_t end = (uint32_t)wait->stack + wait->depth;
    bool sound = end <= observation->number_count && wait->depth <= NB_OBSERVED_DEPTH_MAX;
    for (uint32_t i = wait->stack; sound && i < end; i++)
        sound = observation->numbers[i] < observation->frame_count;
    if (!sound) wait->stack = wait->depth = 0;
    if (wait->kind >= NB_FIBER_WAIT_KINDS) wait->kind = NB_FIBER_WAIT_other;
}

void nb_observation_bound(nb_observation *observation) {
    for (uint32_t i = 0; i < observation->frame_count; i++) {
        bound_text(observation, &observation->frames[i].path);
        bound_text(observation, &observation->frames[i].name);
    }
    for (uint32_t i = 0; i < observation->wait_count; i++)
        bound_wait(observation, &observation->waits[i]);
}
