/*
 * file_io.c - see file_io.h.
 */
#include "binding/hooks/file_io.h"

#include <errno.h>
#include <pthread.h>
#include <ruby.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/io/buffer.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/vfs.h>
#endif

#include "base/alloc.h"
#include "binding/base/forks.h"
#include "binding/scheduler/park.h"
#include "binding/state/inbox.h"
#include "binding/state/object.h"
#include "binding/state/wait.h"
#include "binding/state/watches.h"
#include "os/workers.h"

/* As many threads as a disk has use for. The jobs that wait are bounded; past that the loop does
   the work itself. */
#define NB_FILE_THREADS 8
#define NB_FILE_JOBS_MAX 4096
/* Bytes a job moves at once: the memory of all jobs stays bounded, and the rest is read ahead by
   the kernel meanwhile. */
#define NB_FILE_CHUNK_BYTES ((size_t)256 * 1024)

typedef enum nb_file_state { NB_FILE_QUEUED, NB_FILE_RUNS, NB_FILE_DONE, NB_FILE_WITHDRAWN } nb_file_state;

typedef struct nb_file_job {
    nb_parcel parcel; /* first */
    nb_job job;
    int fd;
    bool writes;
    off_t from; /* -1: at the file's position */
    size_t size;
    char *bytes; /* what to write, or what was read */
    ssize_t moved;
    int error;
    _Atomic int state;
} nb_file_job;

struct nb_file_wait {
    nb_wait wait; /* first */
    nb_list link; /* in nb_scheduler.files */
    nb_file_job *job;
    /* where the job goes when it is done, whatever the fiber then raises; NULL: nowhere */
    nb_file_job **answered;
};
typedef struct nb_file_wait nb_file_wait;

static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_signal = PTHREAD_COND_INITIALIZER;

static ssize_t write_at(int fd, const char *bytes, size_t size, off_t from) {
    return from < 0 ? write(fd, bytes, size) : pwrite(fd, bytes, size, from);
}

/* --- On the native thread --- */

static void job_run(nb_job *base) {
    nb_file_job *job = NB_LIST_ENTRY(base, nb_file_job, job);
    int expected = NB_FILE_QUEUED;
    if (!atomic_compare_exchange_strong(&job->state, &expected, NB_FILE_RUNS)) return;

    job->moved = -1;
    errno = ENOMEM;
    if (!job->writes) job->bytes = nb_alloc(job->size);
    if (job->bytes) {
        do {
            job->moved = job->writes ? write_at(job->fd, job->bytes, job->size, job->from)
                                     : pread(job->fd, job->bytes, job->size, job->from);
        } while (job->moved < 0 && errno == EINTR);
    }
    job->error = job->moved < 0 ? errno : 0;
    pthread_mutex_lock(&done_lock);
    atomic_store(&job->state, NB_FILE_DONE);
    pthread_cond_broadcast(&done_signal);
    pthread_mutex_unlock(&done_lock);
}

static void job_done(nb_job *base) { nb_inbox_post(&NB_LIST_ENTRY(base, nb_file_job, job)->parcel); }

/* --- On the scheduler's --- */

/* Of this process; one of the parent's is left as it is, its threads are not here. */
static nb_workers *shared_workers(void) {
    static nb_workers *workers;
    static unsigned generation;
    if (workers && generation == nb_fork_generation) return workers;

    nb_workers *fresh = NULL;
    if (nb_workers_create("neverblock-file", NB_FILE_THREADS, NB_FILE_JOBS_MAX, &fresh) != NB_OK) rb_memerror();
    workers = fresh;
    generation = nb_fork_generation;
    pthread_mutex_init(&done_lock, NULL); /* one of the parent's threads may have held it */
    pthread_cond_init(&done_signal, NULL);
    return workers;
}

static void job_free(nb_parcel *parcel) {
    nb_file_job *job = (nb_file_job *)parcel;
    nb_free(job->bytes);
    nb_free(job);
}

/* Returns when the thread does not touch the descriptor any more. Waits for as long as the disk
   takes, with the GVL: the fiber was interrupted, or closes the file under a reader. */
static void job_settle(nb_file_job *job) {
    int expected = NB_FILE_QUEUED;
    if (atomic_compare_exchange_strong(&job->state, &expected, NB_FILE_WITHDRAWN)) return;
    if (expected == NB_FILE_WITHDRAWN) return;
    pthread_mutex_lock(&done_lock);
    while (atomic_load(&job->state) != NB_FILE_DONE)
        pthread_cond_wait(&done_signal, &done_lock);
    pthread_mutex_unlock(&done_lock);
}

static void leave_job(nb_wait *wait) {
    nb_file_wait *file = (nb_file_wait *)wait;
    nb_list_remove(&file->link);
    if (file->job->parcel.arrived) {
        if (file->answered) *file->answered = file->job;
        if (file->answered == NULL) job_free(&file->job->parcel);
        return;
    }
    file->job->parcel.wait = NULL; /* the inbox frees it */
    job_settle(file->job);
}

void nb_files_closing(nb_scheduler *scheduler, int fd, VALUE exception) {
    for (nb_list *link = scheduler->files.next, *next; link != &scheduler->files; link = next) {
        next = link->next;
        nb_file_wait *file = NB_LIST_ENTRY(link, nb_file_wait, link);
        if (file->job->fd != fd) continue;
        job_settle(file->job);
        nb_wait_fail(&file->wait, exception);
    }
}

static nb_file_job *job_create(int fd, const char *bytes, size_t size, off_t from) {
    nb_file_job *job = nb_alloc_zero(1, sizeof *job);
    if (job == NULL) rb_memerror();
    job->fd = fd;
    job->writes = bytes != NULL;
    job->size = size < NB_FILE_CHUNK_BYTES ? size : NB_FILE_CHUNK_BYTES;
    job->from = from;
    job->job = (nb_job){.run = job_run, .done = job_done};
    job->parcel.abandoned = job_free;
    if (bytes == NULL) return job;

    job->bytes = nb_alloc(job->size);
    if (job->bytes == NULL) {
        nb_free(job);
        rb_memerror();
    }
    memcpy(job->bytes, bytes, job->size);
    return job;
}

/* Parks. The job with its result comes into *answered, the caller's to free (job_free), also when
   the fiber raises; none: the threads have too much to do. */
static void job_wait(nb_scheduler *scheduler, nb_file_job *job, nb_file_job **answered) {
    nb_file_wait file = {.job = job, .answered = answered};
    nb_wait_init(&file.wait, scheduler, NB_WAIT_ASK);
    file.wait.leave = leave_job;
    file.wait.about = (nb_wait_about){
        .number = job->fd, .kind = NB_FIBER_WAIT_file, .direction = job->writes ? NB_FIBER_WRITES : NB_FIBER_READS};
    job->parcel.wait = &file.wait;
    nb_scheduler_open(scheduler);
    nb_inbox_expect(&scheduler->inbox, &scheduler->sleeper, &job->parcel);
    if (nb_workers_submit(shared_workers(), &job->job) != NB_OK) {
        nb_inbox_unexpect(&job->parcel);
        job_free(&job->parcel);
        return;
    }
    nb_list_append(&scheduler->files, &file.link);
    nb_wait_park(&file.wait, INT64_MAX);
}

/* --- Without waiting --- */

/* offset -1: at the file's position. Returns -1 with EAGAIN: the disk would have to be asked; with
   EOPNOTSUPP: it is not known whether it would. */
#if defined(HAVE_PREADV2) && defined(RWF_NOWAIT)
static bool unknown(int error) { return error == ENOSYS || error == EPERM || error == EINVAL || error == EOPNOTSUPP; }

ssize_t nb_file_read_now(int fd, char *bytes, size_t size, off_t from) {
    struct iovec part = {bytes, size};
    ssize_t moved = preadv2(fd, &part, 1, from, RWF_NOWAIT);
    if (moved < 0 && unknown(errno)) errno = EOPNOTSUPP;
    return moved;
}

static ssize_t write_now(int fd, const char *bytes, size_t size, off_t from) {
    struct iovec part = {(void *)(uintptr_t)bytes, size};
    ssize_t moved = pwritev2(fd, &part, 1, from, RWF_NOWAIT);
    if (moved < 0 && unknown(errno)) errno = EOPNOTSUPP;
    return moved;
}
#else
ssize_t nb_file_read_now(int fd, char *bytes, size_t size, off_t from) {
    (void)fd, (void)bytes, (void)size, (void)from;
    errno = EOPNOTSUPP;
    return -1;
}

static ssize_t write_now(int fd, const char *bytes, size_t size, off_t from) {
    (void)fd, (void)bytes, (void)size, (void)from;
    errno = EOPNOTSUPP;
    return -1;
}
#endif

bool nb_file_regular(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

#if defined(__linux__)
/* statfs(2); 0: unknown */
static unsigned long file_system_of(int fd) {
    struct statfs system;
    return fstatfs(fd, &system) == 0 ? (unsigned long)system.f_type & UINT32_MAX : 0;
}
#else
static unsigned long file_system_of(int fd) {
    (void)fd;
    return 0;
}
#endif

static bool lies_in_memory(int fd) {
    switch (file_system_of(fd)) {
    case 0x01021994: /* TMPFS_MAGIC */
    case 0x858458f6: /* RAMFS_MAGIC */
    case 0x9fa0:     /* PROC_SUPER_MAGIC */
    case 0x62656572: /* SYSFS_MAGIC */
        return true;
    default:
        return false;
    }
}

/* A process or another machine answers, not the kernel's own memory and disks: a write may wait as
   long as it takes them. */
static bool lies_elsewhere(int fd) {
    switch (file_system_of(fd)) {
    case 0x65735546: /* FUSE_SUPER_MAGIC */
    case 0x6969:     /* NFS_SUPER_MAGIC */
    case 0xff534d42: /* CIFS_SUPER_MAGIC */
    case 0xfe534d42: /* SMB2_SUPER_MAGIC */
    case 0x517b:     /* SMB_SUPER_MAGIC */
    case 0x00c36400: /* CEPH_SUPER_MAGIC */
    case 0x01021997: /* V9FS_MAGIC */
    case 0x5346414f: /* AFS_SUPER_MAGIC */
    case 0x6b414653: /* AFS_FS_MAGIC */
    case 0x01161970: /* GFS2_MAGIC */
    case 0x7461636f: /* OCFS2_SUPER_MAGIC */
    case 0x47504653: /* GPFS_SUPER_MAGIC */
    case 0x0bd00bd0: /* LUSTRE_SUPER_MAGIC */
        return true;
    default:
        return false;
    }
}

bool nb_file_waits(int fd, bool writes) {
    return writes ? lies_elsewhere(fd) && nb_file_regular(fd) : nb_file_regular(fd) && !lies_in_memory(fd);
}

void nb_file_warm(nb_scheduler *scheduler, int fd, size_t size) {
    off_t from = lseek(fd, 0, SEEK_CUR);
    if (from < 0) return;
    job_wait(scheduler, job_create(fd, NULL, size, from), NULL);
}

/* --- io_pread, io_pwrite --- */

typedef struct file_transfer {
    nb_scheduler *scheduler;
    VALUE buffer;
    int fd;
    bool writes;
    off_t from;
    size_t offset, size; /* in the buffer */
    size_t moved;
    nb_file_job *job; /* answered and not yet freed */
    ssize_t once;     /* what move_once moved, or -1 and the error */
    int error;
} file_transfer;

char *nb_buffer_memory(VALUE buffer, bool writable, size_t offset, size_t size) {
    const void *source;
    void *base;
    size_t whole;
    if (writable) {
        rb_io_buffer_get_bytes_for_writing(buffer, &base, &whole);
    } else {
        rb_io_buffer_get_bytes_for_reading(buffer, &source, &whole);
        base = (void *)(uintptr_t)source;
    }
    if (offset > whole || size > whole - offset) rb_raise(rb_eArgError, "the buffer is too small");
    return (char *)base + offset;
}

static char *memory_of(const file_transfer *transfer) {
    char *bytes = nb_buffer_memory(transfer->buffer, !transfer->writes, transfer->offset, transfer->size);
    return bytes + transfer->moved;
}

static void free_job(file_transfer *transfer) {
    if (transfer->job) job_free(&transfer->job->parcel);
    transfer->job = NULL;
}

static ssize_t move_here(const file_transfer *transfer) {
    char *bytes = memory_of(transfer);
    size_t left = transfer->size - transfer->moved;
    off_t from = transfer->from + (off_t)transfer->moved;
    return transfer->writes ? write_at(transfer->fd, bytes, left, from) : pread(transfer->fd, bytes, left, from);
}

static ssize_t move_in_thread(file_transfer *transfer) {
    size_t left = transfer->size - transfer->moved;
    off_t from = transfer->from + (off_t)transfer->moved;
    nb_file_job *job = job_create(transfer->fd, transfer->writes ? memory_of(transfer) : NULL, left, from);
    job_wait(transfer->scheduler, job, &transfer->job);
    if (transfer->job == NULL) return move_here(transfer);

    ssize_t moved = job->moved;
    int error = job->error;
    if (moved > 0 && !transfer->writes) memcpy(memory_of(transfer), job->bytes, (size_t)moved);
    free_job(transfer);
    errno = error;
    return moved;
}

/* Bytes, or -1 and errno. */
static ssize_t move(file_transfer *transfer) {
    char *bytes = memory_of(transfer);
    size_t left = transfer->size - transfer->moved;
    off_t from = transfer->from + (off_t)transfer->moved;
    ssize_t moved = transfer->writes ? write_now(transfer->fd, bytes, left, from)
                                     : nb_file_read_now(transfer->fd, bytes, left, from);
    if (moved > 0) return moved;
    /* Linux 5.9 and 5.10 also say 0 before the end of a file (preadv2(2)). At the end nothing
       waits. */
    if (moved == 0) return move_here(transfer);
    if (errno == EOPNOTSUPP && lies_in_memory(transfer->fd)) return move_here(transfer);
    if (errno == EAGAIN || errno == EOPNOTSUPP) return move_in_thread(transfer);
    return -1;
}

/* Moves all of it, up to the end of the file: a regular file gives no less, and IO#pread asks
   once. */
static VALUE move_all(VALUE argument) {
    file_transfer *transfer = (file_transfer *)argument;
    while (transfer->moved < transfer->size) {
        ssize_t moved = move(transfer);
        if (moved == 0) break;
        if (moved > 0) {
            transfer->moved += (size_t)moved;
        } else if (errno != EINTR) {
            if (transfer->moved > 0) break;
            return rb_fiber_scheduler_io_result(-1, errno);
        }
    }
    return rb_fiber_scheduler_io_result((ssize_t)transfer->moved, 0);
}

static VALUE move_end(VALUE argument) {
    free_job((file_transfer *)argument);
    return Qnil;
}

static VALUE move_once(VALUE argument) {
    file_transfer *transfer = (file_transfer *)argument;
    transfer->once = move_in_thread(transfer);
    transfer->error = errno;
    return Qnil;
}

/* A read that is interrupted leaves the position where it was. A write is made at the file's own:
   it may append. */
ssize_t nb_file_move(nb_scheduler *scheduler, int fd, bool writes, VALUE buffer, size_t offset, size_t size) {
    off_t from = writes ? -1 : lseek(fd, 0, SEEK_CUR);
    if (!writes && from < 0) return -1;
    file_transfer transfer = {.scheduler = scheduler,
                              .buffer = buffer,
                              .fd = fd,
                              .writes = writes,
                              .from = from,
                              .offset = offset,
                              .size = size};
    rb_ensure(move_once, (VALUE)&transfer, move_end, (VALUE)&transfer);
    if (!writes && transfer.once > 0) lseek(fd, from + (off_t)transfer.once, SEEK_SET);
    errno = transfer.error;
    return transfer.once;
}

size_t nb_buffer_size(VALUE buffer) {
    const void *base;
    size_t size;
    rb_io_buffer_get_bytes_for_reading(buffer, &base, &size);
    return size;
}

/* The arguments after (io, buffer), by version: Ruby 3.1 has (length, from); 3.2 to 4.0 (from,
   length, offset), the length being the least that is asked for, and all there is room for being
   welcome; from 4.1 on (from, offset, length), the length being the most. */
static void take_arguments(file_transfer *transfer, int argc, const VALUE *argv) {
#if defined(RUBY_FIBER_SCHEDULER_VERSION) && RUBY_FIBER_SCHEDULER_VERSION >= 4
    rb_check_arity(argc, 5, 5);
    transfer->from = NUM2OFFT(argv[2]);
    transfer->offset = NUM2SIZET(argv[3]);
    transfer->size = NUM2SIZET(argv[4]);
#else
    rb_check_arity(argc, 4, 5);
    size_t least = NUM2SIZET(argv[argc == 4 ? 2 : 3]), size = nb_buffer_size(argv[1]);
    transfer->from = NUM2OFFT(argv[argc == 4 ? 3 : 2]);
    transfer->offset = argc == 4 ? 0 : NUM2SIZET(argv[4]);
    if (transfer->offset > size || least > size - transfer->offset) rb_raise(rb_eArgError, "the buffer is too small");
    transfer->size = argc == 4 ? least : size - transfer->offset;
#endif
}

static VALUE transfer_file(int argc, VALUE *argv, VALUE self, bool writes) {
    rb_check_arity(argc, 4, 5);
    file_transfer transfer = {
        .scheduler = nb_scheduler_get(self), .buffer = argv[1], .fd = nb_descriptor_of(argv[0]), .writes = writes};
    take_arguments(&transfer, argc, argv);
    return rb_ensure(move_all, (VALUE)&transfer, move_end, (VALUE)&transfer);
}

static VALUE scheduler_io_pread(int argc, VALUE *argv, VALUE self) { return transfer_file(argc, argv, self, false); }

static VALUE scheduler_io_pwrite(int argc, VALUE *argv, VALUE self) { return transfer_file(argc, argv, self, true); }

void nb_file_io_define(VALUE klass) {
    rb_define_method(klass, "io_pread", scheduler_io_pread, -1);
    rb_define_method(klass, "io_pwrite", scheduler_io_pwrite, -1);
}
