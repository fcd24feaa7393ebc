/*
 * admin_actions.c - what changes the server, by POST and with the token: /cancel?exchange=ID
 * (nb_exchange_id in hexadecimal, as /fibers.json has it), /reload, /workers?change=add and
 * ?change=remove. Cancelling is the loop's own. The others are commands for Ruby: they are taken
 * with 202, and /status.json says how the last one has ended.
 *
 * The token comes as `Authorization: Bearer TOKEN` (RFC 6750 section 2.1). A browser sends none by
 * itself, so that another site's form can change nothing.
 */
#include <string.h>
#include <unistd.h>

#include "admin/admin.h"
#include "admin/shown.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "responses/compose.h"

#define EXCHANGE_DIGITS_MAX 16u

/* The scheme in any case, and spaces behind it: RFC 9110 sections 11.1 and 11.4. */
static bool has_token(const nb_admin_side *admin, const nb_head *head) {
    nb_slice scheme = NB_SLICE("bearer");
    for (uint16_t i = 0; i < head->header_count; i++) {
        nb_slice value = head->headers[i].value;
        size_t size = scheme.size;
        if (head->headers[i].field != NB_FIELD_AUTHORIZATION || value.size <= size) continue;
        if (!nb_slice_equal_lower(nb_slice_of(value.data, size), scheme) || value.data[size] != ' ') return false;
        while (size < value.size && value.data[size] == ' ')
            size++;
        nb_slice given = nb_slice_of(value.data + size, value.size - size);
        return nb_slice_is_secret(given, nb_slice_of(admin->token, admin->token_bytes));
    }
    return false;
}

static bool read_exchange(nb_slice text, nb_exchange_id *id) {
    *id = 0;
    if (text.size == 0 || text.size > EXCHANGE_DIGITS_MAX) return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
        if (!digit && !letter) return false;
        *id = *id << 4 | (nb_exchange_id)(digit ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static nb_refusal cancel(nb_loop *loop, nb_slice query) {
    nb_slice value = {NULL, 0};
    nb_exchange_id id;
    if (!nb_shown_parameter(query, "exchange", &value) || !read_exchange(value, &id))
        return (nb_refusal){400, "exchange is the number that /fibers.json has, as in /cancel?exchange=1a"};
    if (!nb_loops_cancel(loop->all, id)) return (nb_refusal){503, "too many requests are being cancelled; try again"};
    return (nb_refusal){202, "the request ends where it waits, if it still runs"};
}

static nb_refusal command(const nb_loop *loop, char byte) {
    const nb_admin_side *admin = &loop->all->admin;
    if (!admin->takes_changes)
        return (nb_refusal){501,
                            "a server of one process does not reload and has no workers; start it with -w 2 or more"};
    if (write(admin->commands_fd, &byte, 1) != 1)
        return (nb_refusal){503, "too many commands wait to be done; try again"};
    return (nb_refusal){202, "begun; /status.json says how it ends"};
}

static nb_refusal change_workers(const nb_loop *loop, nb_slice query) {
    nb_slice value = {NULL, 0};
    (void)nb_shown_parameter(query, "change", &value);
    if (nb_slice_equal(value, NB_SLICE("add"))) return command(loop, '+');
    if (nb_slice_equal(value, NB_SLICE("remove"))) return command(loop, '-');
    return (nb_refusal){400, "change is add or remove, as in /workers?change=add"};
}

static nb_refusal act(nb_loop *loop, const nb_head *head) {
    if (nb_slice_equal(head->path, NB_SLICE("/cancel"))) return cancel(loop, head->query);
    if (nb_slice_equal(head->path, NB_SLICE("/reload"))) return command(loop, 'r');
    return change_workers(loop, head->query);
}

bool nb_admin_is_action(nb_slice path) {
    return nb_slice_equal(path, NB_SLICE("/cancel")) || nb_slice_equal(path, NB_SLICE("/reload")) ||
           nb_slice_equal(path, NB_SLICE("/workers"));
}

nb_status nb_admin_act(nb_loop *loop, nb_exchange *exchange) {
    const nb_head *head = &loop->connections.head;
    const nb_admin_side *admin = &loop->all->admin;
    nb_refusal answer;
    const char *fields = "";
    if (head->method != NB_METHOD_POST) {
        answer = (nb_refusal){405, "POST is, with the token"};
        fields = "Allow: POST\r\n";
    } else if (!admin->token) {
        answer = (nb_refusal){403, "nobody may: the server has no admin_token"};
    } else if (!has_token(admin, head)) {
        answer = (nb_refusal){401, "this is not the server's admin_token"};
        fields = "WWW-Authenticate: Bearer\r\n";
    } else {
        answer = act(loop, head);
    }
    return nb_compose_own(&loop->responses, exchange, answer.http_status, answer.reason, fields);
}
