/*
 * channel.h - links of one channel, for tests of one loop. *channel is NULL when it fails.
 */
#ifndef NB_TEST_CHANNEL_H
#define NB_TEST_CHANNEL_H

#include "intake/channel.h"

static inline nb_status nb_test_channel_create(const nb_wake *loop_wake, bool shared, nb_channel **channel) {
    nb_link *link;
    nb_status status = shared ? nb_link_create_shared(&loop_wake, 1, &link) : nb_link_create(&loop_wake, 1, &link);
    *channel = status == NB_OK ? &link->channels[0] : NULL;
    return status;
}

static inline nb_status nb_test_channel_attach(const int descriptors[NB_LINK_DESCRIPTORS(1)], nb_channel **channel) {
    nb_link *link;
    nb_status status = nb_link_attach(descriptors, NB_LINK_DESCRIPTORS(1), &link);
    *channel = status == NB_OK ? &link->channels[0] : NULL;
    return status;
}

#endif
