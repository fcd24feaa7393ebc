/*
 * admin_page.h - a page of a world's admin address, and what it says.
 */
#ifndef NB_TEST_ADMIN_PAGE_H
#define NB_TEST_ADMIN_PAGE_H

#include <stdlib.h>
#include <string.h>

#include "support/world.h"

/* A cmocka setup: *state is a world with admin pages. */
static inline int nb_test_admin_setup(void **state) {
    int result = nb_test_world_setup(state);
    ((nb_test_world *)*state)->admin = true;
    return result;
}

/* Asks for the page, which ends with a NUL; it is the world's until the next. */
static inline const char *page(nb_test_world *w, const char *path, int status) {
    nb_test_client *client = nb_test_world_admin(w);
    assert_true(nb_test_get(client, path));
    nb_test_world_expect(w, client, status, NULL);
    w->response.body = realloc(w->response.body, w->response.body_bytes + 1);
    assert_non_null(w->response.body);
    w->response.body[w->response.body_bytes] = '\0';
    nb_test_client_close(client);
    w->client_count--;
    return w->response.body;
}

/* Does the page that was asked for last say this? */
static inline bool shows(const nb_test_world *w, const char *text) { return strstr(w->response.body, text) != NULL; }

#endif
