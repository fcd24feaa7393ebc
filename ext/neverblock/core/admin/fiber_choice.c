/*
 * fiber_choice.c - see fiber_choice.h.
 */
#include "admin/fiber_choice.h"

#include <stdlib.h>

void nb_fiber_choice_init(nb_fiber_choice *choice, uint32_t limit) {
    choice->count = 0;
    choice->offered = 0;
    choice->limit = limit < 1 ? 1 : limit > NB_FIBER_CHOICE_MAX ? NB_FIBER_CHOICE_MAX : limit;
}

static void swap(nb_fiber_chosen *one, nb_fiber_chosen *other) {
    nb_fiber_chosen kept = *one;
    *one = *other;
    *other = kept;
}

static void sift_up(nb_fiber_chosen *heap, uint32_t at) {
    while (at > 0 && heap[at].since_ns > heap[(at - 1) / 2].since_ns) {
        swap(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(nb_fiber_chosen *heap, uint32_t count) {
    for (uint32_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].since_ns > heap[child].since_ns) child++;
        if (heap[at].since_ns >= heap[child].since_ns) return;
        swap(&heap[at], &heap[child]);
    }
}

void nb_fiber_choice_offer(nb_fiber_choice *choice, nb_fiber_chosen one) {
    choice->offered++;
    if (choice->count < choice->limit) {
        choice->chosen[choice->count] = one;
        sift_up(choice->chosen, choice->count++);
    } else if (one.since_ns < choice->chosen[0].since_ns) {
        choice->chosen[0] = one;
        sift_down(choice->chosen, choice->count);
    }
}

static int older_first(const void *one, const void *other) {
    int64_t a = ((const nb_fiber_chosen *)one)->since_ns, b = ((const nb_fiber_chosen *)other)->since_ns;
    return (a > b) - (a < b);
}

void nb_fiber_choice_sort(nb_fiber_choice *choice) {
    qsort(choice->chosen, choice->count, sizeof(choice->chosen[0]), older_first);
}
