/*
 * admin_advice.c - /advice.json: what could be done at the same time, in one query, within a limit.
 * Ruby makes it, in a process of its own, when it is asked for (lib/neverblock/server/advice.rb).
 * The loop shows what was made last, and has it made anew when it is old.
 * docs/guides/advice.md has the fields.
 */
#include <unistd.h>

#include "admin/admin.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "os/clock.h"

/* It is made so often at most. */
#define EVERY_NS (60 * NB_NS_PER_S)

static const char none[] = "{\"advice\":[],\"state\":\"asked\"}\n";
static const char never[] = "{\"advice\":[],\"error\":\"nobody makes advice for this server\"}\n";

static void ask(nb_admin_side *admin) {
    int64_t now_ns = nb_clock_monotonic_ns();
    char byte = NB_ADMIN_COMMAND_ADVICE;
    if (admin->advice_asked_ns && now_ns - admin->advice_asked_ns < EVERY_NS) return;
    if (write(admin->commands_fd, &byte, 1) == 1) admin->advice_asked_ns = now_ns;
}

void nb_admin_write_advice(nb_loop *loop, nb_text *text) {
    nb_admin_side *admin = &loop->all->admin;
    if (admin->has_commands) ask(admin);
    if (admin->advice) {
        nb_text_add_bytes(text, admin->advice, admin->advice_bytes);
    } else {
        nb_text_add(text, admin->has_commands ? none : never);
    }
}
