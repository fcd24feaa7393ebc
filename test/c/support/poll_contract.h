/*
 * poll_contract.h - what every poller must do, as tests. Runs all of it against the backend named;
 * returns the number of failures.
 */
#ifndef NB_TEST_POLL_CONTRACT_H
#define NB_TEST_POLL_CONTRACT_H

int nb_test_poll_contract(const char *backend);

#endif
