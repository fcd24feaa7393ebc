/*
 * stages.c - see stages.h.
 */
#include "metrics/stages.h"

#include "base/alloc.h"
#include "base/counter.h"
#include "http/trace_context.h"
#include "os/clock.h"

/* Free notes kept for the next responses. More are freed. */
#define LEAVING_KEPT_MAX 1024u

static void free_list(nb_leaving *leaving) {
    while (leaving) {
        nb_leaving *next = leaving->next;
        nb_free(leaving);
        leaving = next;
    }
}

void nb_stages_deinit(nb_stages *stages) {
    free_list(stages->left);
    free_list(stages->free);
    stages->left = stages->free = NULL;
}

void nb_stages_head(nb_stages *stages, nb_exchange *exchange, int64_t now_ns) {
    if (!stages || !exchange->counted) return;
    exchange->complete_ns = now_ns;
    nb_histogram_record(&stages->each[NB_STAGE_HEAD], now_ns - exchange->began_ns);
}

/* Two fields are none, as for the application (binding/rack/env.c). */
static nb_trace_id trace_of(const nb_head *head) {
    nb_trace_id trace = {0, 0};
    unsigned fields = 0;
    nb_slice digits;
    for (uint16_t i = 0; i < head->header_count; i++) {
        if (head->headers[i].field != NB_FIELD_TRACEPARENT) continue;
        if (fields++ > 0) return (nb_trace_id){0, 0};
        if (nb_trace_context_id(head->headers[i].value, &digits)) trace = nb_trace_id_read(digits);
    }
    return trace;
}

void nb_stages_trace(const nb_stages *stages, nb_exchange *exchange, const nb_head *head) {
    if (stages && exchange->counted) exchange->trace = trace_of(head);
}

void nb_stages_body(nb_stages *stages, nb_exchange *exchange, int64_t now_ns) {
    if (!stages || !exchange->counted) return;
    nb_histogram_record(&stages->each[NB_STAGE_BODY], now_ns - exchange->complete_ns);
    exchange->complete_ns = now_ns;
}

void nb_stages_answer(nb_stages *stages, nb_exchange *exchange, int64_t taken_ns, int64_t now_ns) {
    if (!stages || !exchange->counted) return;
    exchange->answered_ns = now_ns;
    nb_count(&stages->under_way, 1);
    if (taken_ns == 0) return;
    nb_histogram_record(&stages->each[NB_STAGE_QUEUE], taken_ns - exchange->complete_ns);
    nb_histogram_record(&stages->each[NB_STAGE_RUN], now_ns - taken_ns);
}

static nb_leaving *take_leaving(nb_stages *stages) {
    nb_leaving *leaving = stages->free;
    if (!leaving) return nb_alloc(sizeof(*leaving));
    stages->free = leaving->next;
    stages->free_count--;
    return leaving;
}

static void give_leaving(nb_stages *stages, nb_leaving *leaving) {
    nb_count(&stages->under_way, (uint64_t)-1);
    if (stages->free_count >= LEAVING_KEPT_MAX) {
        nb_free(leaving);
        return;
    }
    leaving->next = stages->free;
    stages->free = leaving;
    stages->free_count++;
}

void nb_stages_dropped(nb_stages *stages, nb_exchange *exchange) {
    if (exchange->answered_ns) nb_count(&stages->under_way, (uint64_t)-1);
    exchange->answered_ns = 0;
}

void nb_stages_leaving(nb_stages *stages, nb_leaving_list *list, nb_exchange *exchange, uint64_t end) {
    if (!exchange->answered_ns) return;
    nb_leaving *leaving = exchange->truncated ? NULL : take_leaving(stages);
    if (!leaving) {
        nb_stages_dropped(stages, exchange);
        return;
    }
    *leaving = (nb_leaving){NULL,           end, exchange->sent_before, exchange->began_ns, exchange->answered_ns,
                            exchange->trace};
    *(list->first ? &list->last->next : &list->first) = leaving;
    list->last = leaving;
}

void nb_stages_sent(nb_stages *stages, nb_leaving_list *list, uint64_t sent) {
    while (list->first && list->first->end <= sent) {
        nb_leaving *leaving = list->first;
        list->first = leaving->next;
        leaving->next = stages->left;
        stages->left = leaving;
    }
}

void nb_stages_connection_end(nb_stages *stages, nb_leaving_list *list) {
    while (list->first) {
        nb_leaving *leaving = list->first;
        list->first = leaving->next;
        give_leaving(stages, leaving);
    }
}

static void record_exemplar(nb_stages *stages, const nb_leaving *leaving, int64_t now_ns) {
    if (nb_trace_id_is_none(leaving->trace)) return;
    nb_exemplar exemplar = {
        .trace = leaving->trace, .duration_ns = now_ns - leaving->began_ns, .wall_ns = nb_clock_wall_ns()};
    nb_exemplars_record(&stages->exemplars, &exemplar);
}

void nb_stages_turn(nb_stages *stages, int64_t now_ns) {
    if (!stages) return;
    if (stages->left) now_ns = nb_clock_monotonic_ns();
    while (stages->left) {
        nb_leaving *leaving = stages->left;
        stages->left = leaving->next;
        nb_histogram_record(&stages->each[NB_STAGE_WRITE], now_ns - leaving->answered_ns);
        nb_histogram_record(&stages->each[NB_STAGE_TOTAL], now_ns - leaving->began_ns);
        record_exemplar(stages, leaving, now_ns);
        give_leaving(stages, leaving);
    }
    if (stages->polled_ns) nb_histogram_record(&stages->lag, now_ns - stages->polled_ns);
}
