/*
 * world.h - a server, its executors and its clients as one fixture of a test. Closing it drains,
 * joins and checks that nothing is left: descriptors, memory, counters. A test that stops the
 * server its own way calls nb_test_world_ended first.
 */
#ifndef NB_TEST_WORLD_H
#define NB_TEST_WORLD_H

#include "server/server.h"
#include "support/c_executor.h"
#include "support/client.h"
#include "support/leaks.h"
#include "support/pattern.h"
#include "support/test.h"

#define NB_TEST_EXECUTORS_MAX 16
#define NB_TEST_CLIENTS_MAX 64

typedef struct nb_test_world {
    nb_server_config config; /* the default; change it before nb_test_world_open */
    nb_test_executor_options options;
    nb_route route; /* what the routes of nb_test_world_open_routed mean */
    nb_server *server;
    uint16_t port;
    /* Of lane 1, whose executors are behind the others and take one request at a time; 0: no
       lane. */
    uint16_t lane_threads;
    uint32_t lane_queue; /* most that wait there */
    bool lane_learns;
    /* A folder that the server serves itself, that X-Sendfile may name, and X-Accel-Redirect as
       /in/; NULL: none; set it before nb_test_world_open. */
    const char *served;
    bool proxied; /* its clients begin with a PROXY header; set it before nb_test_world_open */
    bool admin;   /* with the admin pages, at admin_port; set it before nb_test_world_open */
    /* NULL: 127.0.0.1; set it before nb_test_world_open. */
    const char *admin_address;
    const char *admin_host; /* its name; NULL: none; likewise */
    uint16_t admin_port;
    const char *admin_token; /* NULL: none; set it before nb_test_world_open */
    int admin_commands_fd;   /* 0: none; set it before nb_test_world_open */
    nb_channel *channels[NB_TEST_EXECUTORS_MAX];
    /* The ends of workers; NULL: there is none, or it has ended. */
    nb_channel *far[NB_TEST_EXECUTORS_MAX];
    nb_test_executor *executors[NB_TEST_EXECUTORS_MAX]; /* NULL: none, or it has ended */
    unsigned executor_count;
    nb_test_client clients[NB_TEST_CLIENTS_MAX];
    unsigned client_count;
    nb_test_response response;
    nb_test_leaks before; /* as nb_test_world_init saw it */
    bool ended;
    /* When all has ended, before it is destroyed; NULL is fine. */
    void (*inspect)(nb_server *server);
} nb_test_world;

/* Default settings, but for timeouts, which are longer than any test: one that is about a timeout
   sets its own. */
void nb_test_world_init(nb_test_world *world);
/* A cmocka setup: *state is a world that was initialised. A program has one such world. */
int nb_test_world_setup(void **state);
/* Starts the server on a loopback port with so many executors. */
void nb_test_world_open(nb_test_world *world, unsigned executors);
/* The same with a route for each pattern; NULL behind the last. */
void nb_test_world_open_routed(nb_test_world *world, unsigned executors, const char *const patterns[]);
/*
 * Of a front (config.front), whose executors are workers: each attaches to a channel of its own as
 * another process would, in a thread.
 */
/* A worker that runs and is given no request yet: its number. */
unsigned nb_test_world_worker(nb_test_world *world);
/* One without a thread: the test plays it, at world->far. */
unsigned nb_test_world_mute(nb_test_world *world);
void nb_test_world_serve(nb_test_world *world, unsigned worker);
/* The worker ends wherever it is, without a word, and its descriptors are closed. The server does
   not know yet. */
void nb_test_world_kill(nb_test_world *world, unsigned worker);
/* The server is told: nb_server_channel_end. */
nb_channel_report nb_test_world_end(nb_test_world *world, unsigned worker);
/* Both. */
nb_channel_report nb_test_world_lose(nb_test_world *world, unsigned worker);
/* Fails the test unless the end of a worker left so many requests failed, cut, and to be run
   again. */
void nb_test_expect_report(nb_channel_report report, uint32_t failed, uint32_t cut, uint32_t again);
/* Drains unless it has ended, joins, destroys, checks. */
void nb_test_world_close(nb_test_world *world);
/* Opens a client that is closed with the world. */
nb_test_client *nb_test_world_client(nb_test_world *world);
/* The same to the admin pages. */
nb_test_client *nb_test_world_admin(nb_test_world *world);
nb_test_client *nb_test_world_adopt(nb_test_world *world, nb_test_client client);

nb_server_counters nb_test_world_counters(nb_test_world *world);
/* Whole milliseconds since that time of nb_clock_monotonic_ns. */
int64_t nb_test_since_ms(int64_t start_ns);
/* How often it has happened in that executor. */
unsigned nb_test_world_counted(nb_test_world *world, unsigned executor, nb_test_event event);
/* Waits until the loop has run on, by asking it something that it answers itself: what was sent
   before has then been handled. */
void nb_test_world_settle(nb_test_world *world);
/* Waits until so many requests wait for an executor. */
void nb_test_world_await_queue(nb_test_world *world, uint64_t count);
/* Reads the next response into world->response and checks its status. */
void nb_test_world_expect(nb_test_world *world, nb_test_client *client, int status, const char *body);
/* Asks for /hello and checks that it is answered. */
void nb_test_world_expect_hello(nb_test_world *world, nb_test_client *client);

#endif
