/*
 * opening.c - see opening.h.
 */
#include "responses/opening.h"

#include <stddef.h>

void nb_openings_init(nb_openings *openings) {
    pthread_mutex_init(&openings->lock, NULL);
    openings->opened = NULL;
}

void nb_openings_deinit(nb_openings *openings) { pthread_mutex_destroy(&openings->lock); }

static nb_file_wait *wait_of(nb_job *job) {
    return (nb_file_wait *)(void *)((char *)job - offsetof(nb_file_wait, job));
}

static void run(nb_job *job) { nb_opening_run(&wait_of(job)->opening); }

static void done(nb_job *job) {
    nb_file_wait *wait = wait_of(job);
    nb_openings *openings = wait->openings;
    pthread_mutex_lock(&openings->lock);
    wait->next = openings->opened;
    openings->opened = wait;
    pthread_mutex_unlock(&openings->lock);
    nb_wake_signal(openings->wake);
}

static nb_open_files *files_of(const nb_openings *openings) {
    return nb_document_roots_files(openings->document_roots, openings->loop);
}

nb_status nb_file_wait_begin(nb_openings *openings, nb_exchange *exchange, nb_file_wait *wait, uint16_t root,
                             const nb_file_path *path) {
    wait->openings = openings;
    wait->exchange = nb_exchange_id_of(exchange);
    wait->job = (nb_job){.run = run, .done = done};
    nb_open_files_begin(files_of(openings), root, path, &wait->opening);
    nb_status status = nb_workers_submit(openings->document_roots->openers, &wait->job);
    if (status != NB_OK) nb_opening_drop(&wait->opening);
    return status;
}

static void take(nb_openings *openings, nb_file_wait *wait) {
    nb_exchange *exchange = nb_exchange_find(openings->exchanges, wait->exchange);
    nb_file *file = NULL;
    nb_status status = NB_NOT_FOUND;
    if (exchange && exchange->connection) {
        status = nb_open_files_enter(files_of(openings), &wait->opening, openings->time->now_ns, &file);
    } else {
        nb_opening_drop(&wait->opening);
        exchange = NULL;
    }
    wait->opened(openings->context, exchange, wait, status, file);
}

void nb_openings_take(nb_openings *openings) {
    if (!files_of(openings)) return;
    pthread_mutex_lock(&openings->lock);
    nb_file_wait *wait = openings->opened;
    openings->opened = NULL;
    pthread_mutex_unlock(&openings->lock);
    while (wait) {
        nb_file_wait *next = wait->next;
        take(openings, wait);
        wait = next;
    }
}
