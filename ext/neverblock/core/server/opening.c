/*
 * opening.c - see opening.h.
 */
#include "server/opening.h"

#include <stddef.h>

#include "server/loop.h"

static nb_file_wait *wait_of(nb_job *job) {
    return (nb_file_wait *)(void *)((char *)job - offsetof(nb_file_wait, job));
}

static void run(nb_job *job) { nb_opening_run(&wait_of(job)->opening); }

static void done(nb_job *job) {
    nb_file_wait *wait = wait_of(job);
    nb_loop *loop = wait->loop;
    pthread_mutex_lock(&loop->inbox_lock);
    wait->next = loop->files_opened;
    loop->files_opened = wait;
    pthread_mutex_unlock(&loop->inbox_lock);
    nb_wake_signal(&loop->wake);
}

nb_status nb_file_wait_begin(nb_loop *loop, nb_exchange *exchange, nb_file_wait *wait, uint16_t root,
                             const nb_file_path *path) {
    wait->loop = loop;
    wait->exchange = nb_exchange_id_of(exchange);
    wait->job = (nb_job){.run = run, .done = done};
    nb_open_files_begin(loop->open_files, root, path, &wait->opening);
    nb_status status = nb_workers_submit(loop->all->site.openers, &wait->job);
    if (status != NB_OK) nb_opening_drop(&wait->opening);
    return status;
}

static void take(nb_loop *loop, nb_file_wait *wait) {
    nb_exchange *exchange = nb_exchange_find(&loop->exchanges, wait->exchange);
    nb_file *file = NULL;
    nb_status status = NB_NOT_FOUND;
    if (exchange && exchange->connection) {
        status = nb_open_files_enter(loop->open_files, &wait->opening, loop->time.now_ns, &file);
    } else {
        nb_opening_drop(&wait->opening);
        exchange = NULL;
    }
    wait->opened(loop, exchange, wait, status, file);
}

void nb_file_waits_take(nb_loop *loop) {
    if (!loop->open_files) return;
    pthread_mutex_lock(&loop->inbox_lock);
    nb_file_wait *wait = loop->files_opened;
    loop->files_opened = NULL;
    pthread_mutex_unlock(&loop->inbox_lock);
    while (wait) {
        nb_file_wait *next = wait->next;
        take(loop, wait);
        wait = next;
    }
}
