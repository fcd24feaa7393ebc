/*
 * list.h - circular doubly linked lists of links that the caller embeds. A link in no list is
 * linked to itself, so that nb_list_remove may be called at any time, by whichever side ends a
 * wait first. Not thread-safe.
 */
#ifndef NB_BASE_LIST_H
#define NB_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nb_list nb_list;
struct nb_list {
    nb_list *next, *previous;
};

#define NB_LIST_ENTRY(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void nb_list_init(nb_list *list) { list->next = list->previous = list; }

static inline bool nb_list_empty(const nb_list *list) { return list->next == list; }

static inline void nb_list_append(nb_list *list, nb_list *link) {
    link->next = list;
    link->previous = list->previous;
    list->previous->next = link;
    list->previous = link;
}

static inline void nb_list_prepend(nb_list *list, nb_list *link) { nb_list_append(list->next, link); }

static inline void nb_list_remove(nb_list *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
    nb_list_init(link);
}

/* Moves all of `from` behind what `to` holds. */
static inline void nb_list_append_all(nb_list *to, nb_list *from) {
    if (nb_list_empty(from)) return;
    from->next->previous = to->previous;
    to->previous->next = from->next;
    from->previous->next = to;
    to->previous = from->previous;
    nb_list_init(from);
}

#endif
