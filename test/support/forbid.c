/*
 * forbid.c - runs a command for which some system calls fail, as the seccomp rules of an engine of
 * containers make them (seccomp(2)): forbid ERRNO NAME... -- COMMAND [WORD...]. A name of no system
 * call, or one this kernel's headers do not know, ends with status 2.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES_MAX 32

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"clone3", SYS_clone3},     {"close_range", SYS_close_range},
    {"eventfd2", SYS_eventfd2}, {"memfd_create", SYS_memfd_create},
    {"openat2", SYS_openat2},   {"pidfd_open", SYS_pidfd_open},
    {"prctl", SYS_prctl},       {"preadv2", SYS_preadv2},
    {"pwritev2", SYS_pwritev2}, {"statx", SYS_statx},
};

static unsigned number_of(const char *name) {
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return calls[i].number;
        }
    }
    fprintf(stderr, "forbid: no call %s\n", name);
    exit(2);
}

/* One comparison a call; each jumps to the last instruction but one. */
static void forbid(const unsigned *numbers, size_t count, unsigned error) {
    struct sock_filter code[NAMES_MAX + 3];
    size_t at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], (unsigned char)(count - i), 0);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    struct sock_fprog program = {.len = (unsigned short)at, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("forbid: seccomp");
        exit(2);
    }
}

int main(int count, char **words) {
    unsigned numbers[NAMES_MAX];
    size_t used = 0;
    int at = 2;
    for (; at < count && strcmp(words[at], "--") != 0 && used < NAMES_MAX; at++) {
        numbers[used++] = number_of(words[at]);
    }
    if (at + 1 >= count) {
        fprintf(stderr, "forbid: ERRNO NAME... -- COMMAND\n");
        return 2;
    }
    forbid(numbers, used, (unsigned)atoi(words[1]));
    execvp(words[at + 1], words + at + 1);
    perror("forbid: exec");
    return 2;
}
