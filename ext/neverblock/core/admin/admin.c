/*
 * admin.c - see admin.h.
 */
#include "admin/admin.h"

#include <string.h>

#include "admin/openmetrics.h"
#include "base/limits.h"
#include "loop/snapshot.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "responses/compose.h"

#define JSON_FIELDS "Content-Type: application/json\r\nCache-Control: no-store\r\n"
#define TEXT_FIELDS "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"

typedef struct page {
    uint16_t http_status;
    nb_slice fields;
} page;

static const char list[] = "neverblock\n\n/health       200 while the server's I/O loop turns\n"
                           "/ready        200 while requests are taken\n"
                           "/metrics      figures for Prometheus\n"
                           "/status.json  figures for people and programs\n"
                           "/fibers.json  what each request does and waits for; ?backtrace=1: where\n"
                           "/slowest.json where the time of the slowest requests went\n"
                           "/observed.json a sample of requests: the lines of code that they waited in\n"
                           "/advice.json  what could be done at the same time, or in one query\n"
                           "/events       status.json and fibers.json, each second, as an event stream\n"
                           "\nBy POST and with admin_token: /cancel?exchange=ID /reload /workers?change=add|remove\n";

static const char no_page[] =
    "\nA browser would be shown a live page, which is not built here. A released gem has it.\n"
    "Where the Gemfile has git: or path:, this makes it (npm is needed):\n"
    "  cd \"$(bundle show neverblock)\" && bin/live-page\n"
    "Then start the server again.\n";

/* The page says itself what it may load. */
#define HTML_FIELDS                                                                            \
    "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nVary: Accept\r\n"    \
    "Content-Security-Policy: frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n" \
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"

static bool has(nb_slice text, nb_slice word) {
    for (size_t i = 0; i + word.size <= text.size; i++) {
        if (memcmp(text.data + i, word.data, word.size) == 0) return true;
    }
    return false;
}

/* Browsers name it first. Programs say that they take anything, or nothing. */
static bool wants_html(const nb_head *head) {
    for (uint16_t i = 0; i < head->header_count; i++) {
        const nb_header *header = &head->headers[i];
        if (header->field == NB_FIELD_ACCEPT && has(header->value, NB_SLICE("text/html"))) return true;
    }
    return false;
}

static page write_home(nb_loop *loop, nb_text *text) {
    const nb_admin_side *admin = &loop->all->admin;
    if (admin->page && wants_html(&loop->connections.head)) {
        nb_text_add_bytes(text, admin->page, admin->page_bytes);
        return (page){200, NB_SLICE(HTML_FIELDS)};
    }
    nb_text_add(text, list);
    if (!admin->page) nb_text_add(text, no_page);
    return (page){200, NB_SLICE("Vary: Accept\r\n" TEXT_FIELDS)};
}

static page write_health(nb_loop *loop, nb_text *text) {
    (void)loop;
    nb_text_add(text, "ok\n");
    return (page){200, NB_SLICE(TEXT_FIELDS)};
}

static page write_ready(nb_loop *loop, nb_text *text) {
    static const char *const words[] = {
        [NB_SERVER_STARTING] = "starting: the application does not take requests yet\n",
        [NB_SERVER_SERVING] = "ready\n",
        [NB_SERVER_DRAINING] = "draining: requests that have begun are finished, no more are taken\n",
        [NB_SERVER_ENDED] = "ended: no executor runs any more\n",
    };
    nb_server_state state = nb_figures_state(loop);
    nb_text_add(text, words[state]);
    return (page){state == NB_SERVER_SERVING ? 200 : 503, NB_SLICE(TEXT_FIELDS)};
}

static page write_metrics(nb_loop *loop, nb_text *text) {
    if (nb_openmetrics_wanted(&loop->connections.head)) {
        nb_admin_write_openmetrics(loop, text);
        return (page){200, NB_SLICE("Content-Type: " NB_OPENMETRICS_TYPE "\r\nCache-Control: no-store\r\n")};
    }
    nb_admin_write_metrics(loop, text);
    return (page){200,
                  NB_SLICE("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nCache-Control: no-store\r\n")};
}

static page write_status(nb_loop *loop, nb_text *text) {
    nb_admin_write_status(loop, text);
    return (page){200, NB_SLICE(JSON_FIELDS)};
}

static page write_fibers(nb_loop *loop, nb_text *text) {
    nb_admin_write_fibers(loop, text);
    return (page){200, NB_SLICE(JSON_FIELDS)};
}

static page write_slowest(nb_loop *loop, nb_text *text) {
    nb_admin_write_slowest(loop, text);
    return (page){200, NB_SLICE(JSON_FIELDS)};
}

static page write_observed(nb_loop *loop, nb_text *text) {
    nb_admin_write_observed(loop, text);
    return (page){200, NB_SLICE(JSON_FIELDS)};
}

static page write_advice(nb_loop *loop, nb_text *text) {
    nb_admin_write_advice(loop, text);
    return (page){200, NB_SLICE(JSON_FIELDS)};
}

static page write_unknown(nb_loop *loop, nb_text *text) {
    (void)loop;
    nb_text_add(text, "404 Not Found: there are / /health /ready /metrics /status.json /fibers.json /slowest.json "
                      "/observed.json /advice.json /events\n");
    return (page){404, NB_SLICE(TEXT_FIELDS)};
}

static page write_method(nb_loop *loop, nb_text *text) {
    (void)loop;
    nb_text_add(text, "405 Method Not Allowed: GET and HEAD are\n");
    return (page){405, NB_SLICE("Allow: GET, HEAD\r\n" TEXT_FIELDS)};
}

typedef page writer(nb_loop *loop, nb_text *text);

static writer *find(const nb_head *head) {
    static const struct {
        const char *path;
        writer *write;
    } pages[] = {{"/", write_home},
                 {"/health", write_health},
                 {"/ready", write_ready},
                 {"/metrics", write_metrics},
                 {"/status.json", write_status},
                 {"/fibers.json", write_fibers},
                 {"/slowest.json", write_slowest},
                 {"/observed.json", write_observed},
                 {"/advice.json", write_advice}};
    if (head->method != NB_METHOD_GET && head->method != NB_METHOD_HEAD) return write_method;
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
        nb_slice path = nb_slice_of(pages[i].path, strlen(pages[i].path));
        if (nb_slice_equal(head->path, path)) return pages[i].write;
    }
    return write_unknown;
}

static bool asks_for_events(const nb_head *head) {
    bool reads = head->method == NB_METHOD_GET || head->method == NB_METHOD_HEAD;
    return reads && nb_slice_equal(head->path, NB_SLICE("/events"));
}

nb_status nb_admin_answer(nb_loop *loop, nb_exchange *exchange, nb_slice authority) {
    nb_text text;
    if (!nb_admin_answers_for(loop, exchange, authority)) return nb_admin_refuse_host(loop, exchange);
    if (nb_admin_is_action(loop->connections.head.path)) return nb_admin_act(loop, exchange);
    if (asks_for_events(&loop->connections.head)) return nb_admin_follow(loop, exchange);
    nb_text_init(&text, NB_ADMIN_BODY_BYTES_MAX);
    page made = find(&loop->connections.head)(loop, &text);
    nb_status status = nb_text_failed(&text) ? nb_compose_own(&loop->responses, exchange, 503, "out of memory", "")
                                             : nb_compose_whole(&loop->responses, exchange, made.http_status,
                                                                made.fields, nb_text_slice(&text));
    nb_text_deinit(&text);
    return status;
}
