/*
 * mold.c - see mold.h.
 */
#include "support/mold.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/descriptor_pipe.h"

#if defined(__linux__)
#include <sys/prctl.h>
static void end_with_parent(void) { (void)prctl(PR_SET_PDEATHSIG, SIGKILL); }
#else
static void end_with_parent(void) {}
#endif

typedef struct command {
    char what; /* 'w'orker, 'i'dler, 'r'eap */
    int value; /* descriptors that come, or the process */
} command;

static int receive(int end) {
    struct pollfd watched = {.fd = end, .events = POLLIN};
    (void)poll(&watched, 1, -1);
    return nb_descriptor_pipe_receive(end);
}

static void serve(const int *descriptors, int count) {
    nb_link *link;
    if (nb_link_attach(descriptors, (unsigned)count, &link) != NB_OK) _exit(3);
    nb_test_executor_run(&link->channels[0], NULL);
    _exit(0);
}

static int fork_worker(int pipe_end, int count) {
    int descriptors[NB_LINK_DESCRIPTORS_MAX];
    for (int i = 0; i < count; i++)
        descriptors[i] = receive(pipe_end);
    pid_t pid = fork();
    if (pid == 0) {
        end_with_parent();
        serve(descriptors, count);
    }
    for (int i = 0; i < count; i++)
        close(descriptors[i]);
    return pid;
}

static int fork_idler(void) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    end_with_parent();
    for (;;)
        pause();
}

static int reap(int pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
    }
    return status;
}

static void obey(int control, int pipe_end) {
    command asked;
    while (recv(control, &asked, sizeof asked, 0) == (ssize_t)sizeof asked) {
        int answer = asked.what == 'w'   ? fork_worker(pipe_end, asked.value)
                     : asked.what == 'i' ? fork_idler()
                                         : reap(asked.value);
        if (send(control, &answer, sizeof answer, 0) != (ssize_t)sizeof answer) break;
    }
    _exit(0);
}

nb_test_mold nb_test_mold_start(void) {
    int control[2], pipe_ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0) abort();
    if (nb_descriptor_pipe_create(pipe_ends) != NB_OK) abort();
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) {
        end_with_parent();
        close(control[0]);
        close(pipe_ends[0]);
        obey(control[1], pipe_ends[1]);
    }
    close(control[1]);
    close(pipe_ends[1]);
    return (nb_test_mold){pid, control[0], pipe_ends[0]};
}

void nb_test_mold_end(nb_test_mold *mold) {
    close(mold->control);
    close(mold->descriptors);
    (void)waitpid(mold->pid, NULL, 0);
}

static int ask(nb_test_mold *mold, char what, int value) {
    command wanted = {what, value};
    int answer;
    if (send(mold->control, &wanted, sizeof wanted, 0) != (ssize_t)sizeof wanted) abort();
    if (recv(mold->control, &answer, sizeof answer, 0) != (ssize_t)sizeof answer) abort();
    return answer;
}

pid_t nb_test_mold_worker(nb_test_mold *mold, nb_channel *channel) {
    int descriptors[NB_LINK_DESCRIPTORS_MAX], count = NB_LINK_DESCRIPTORS(channel->link->count);
    nb_link_descriptors(channel->link, descriptors);
    for (int i = 0; i < count; i++) {
        if (nb_descriptor_pipe_send(mold->descriptors, descriptors[i]) != NB_OK) abort();
    }
    pid_t pid = ask(mold, 'w', count);
    nb_link_handed_over(channel->link);
    return pid;
}

pid_t nb_test_mold_idler(nb_test_mold *mold) { return ask(mold, 'i', 0); }

int nb_test_mold_wait(nb_test_mold *mold, pid_t pid) { return ask(mold, 'r', pid); }
