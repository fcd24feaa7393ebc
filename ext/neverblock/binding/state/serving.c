/*
 * serving.c - see serving.h.
 */
#include "binding/state/serving.h"

#include <string.h>

#ifndef RTYPEDDATA_GET_DATA /* from Ruby 3.3 on */
#define RTYPEDDATA_GET_DATA(value) RTYPEDDATA_DATA(value)
#endif

uint64_t nb_fiber_name(VALUE fiber) {
    return RB_TYPE_P(fiber, T_DATA) ? (uint64_t)(uintptr_t)RTYPEDDATA_GET_DATA(fiber) : 0;
}

void nb_fiber_serves(nb_scheduler *scheduler, uint32_t record, uint64_t exchange, nb_account *account) {
    nb_fiber_memory *memory = nb_fiber_memory_of(scheduler);
    scheduler->serving = (nb_serving){.exchange = exchange, .account = account, .record = record, .own = exchange != 0};
    if (memory) nb_fiber_runs(memory, record);
}

void nb_fiber_next_wait(nb_scheduler *scheduler, nb_fiber_wait_kind kind, int32_t number, nb_slice text) {
    nb_next_wait *next = &scheduler->next_wait;
    next->switches = scheduler->switches;
    next->kind = (uint8_t)kind;
    next->number = number;
    next->text_bytes = (uint8_t)(text.size < NB_FIBER_TEXT_BYTES ? text.size : NB_FIBER_TEXT_BYTES);
    if (next->text_bytes) memcpy(next->text, text.data, next->text_bytes);
}

nb_wait_about nb_fiber_take_next_wait(nb_scheduler *scheduler) {
    nb_wait_about about = {.number = -1};
    nb_next_wait *next = &scheduler->next_wait;
    if (next->kind != 0 && next->switches == scheduler->switches) {
        about.kind = next->kind;
        about.number = next->number;
        about.text = nb_slice_of(next->text, next->text_bytes);
    }
    next->kind = 0;
    return about;
}
