/*
 * shared_memory.c - see shared_memory.h.
 */
#include "os/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_TRIES 16

#if defined(__linux__)
static int create_unnamed(void) { return memfd_create("neverblock", MFD_CLOEXEC | MFD_ALLOW_SEALING); }

static void seal(int fd) { (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL); }
#else
static int create_unnamed(void) {
    errno = ENOSYS;
    return -1;
}

static void seal(int fd) { (void)fd; }
#endif

/* The name exists between two calls only. The counter keeps threads of this process apart in that
   moment. */
static int create_named(void) {
    static unsigned counter;
    for (int i = 0; i < NAME_TRIES; i++) {
        char name[32]; /* macOS allows 31 bytes */
        unsigned number = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
        (void)snprintf(name, sizeof(name), "/nb.%ld.%u", (long)getpid(), number);
        int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd >= 0) (void)shm_unlink(name);
        return fd;
    }
    return -1;
}

static nb_status map(nb_shared_memory *memory) {
    void *address = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
    if (address == MAP_FAILED) return NB_SYSTEM;
    memory->address = address;
    return NB_OK;
}

static void close_quietly(int fd) {
    int error = errno;
    close(fd);
    errno = error;
}

nb_status nb_shared_memory_create(size_t bytes, nb_shared_memory *memory) {
    int fd = create_unnamed();
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) fd = create_named();
    *memory = (nb_shared_memory){.bytes = bytes, .fd = fd};
    if (fd < 0) return NB_SYSTEM;
    if (ftruncate(fd, (off_t)bytes) == 0 && map(memory) == NB_OK) {
        seal(fd);
        return NB_OK;
    }
    close_quietly(fd);
    memory->fd = -1;
    return NB_SYSTEM;
}

nb_status nb_shared_memory_attach(int fd, size_t bytes, nb_shared_memory *memory) {
    struct stat found;
    *memory = (nb_shared_memory){.bytes = bytes, .fd = fd};
    if (fstat(fd, &found) < 0) return NB_SYSTEM;
    if (found.st_size < (off_t)bytes) return NB_INVALID;
    return map(memory);
}

void nb_shared_memory_close_fd(nb_shared_memory *memory) {
    if (memory->fd >= 0) close(memory->fd);
    memory->fd = -1;
}

void nb_shared_memory_destroy(nb_shared_memory *memory) {
    if (memory->address) munmap(memory->address, memory->bytes);
    memory->address = NULL;
    nb_shared_memory_close_fd(memory);
}
