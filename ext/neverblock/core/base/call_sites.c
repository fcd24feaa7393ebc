/*
 * call_sites.c - see call_sites.h.
 */
#include "base/call_sites.h"

#include <stddef.h>

_Static_assert((NB_CALL_SITES_MAX & (NB_CALL_SITES_MAX - 1)) == 0, "a mask finds the slot");

/* The last step of splitmix64: keys are addresses and line numbers, which differ in few bits. */
static uint64_t mixed(uint64_t key) {
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

static nb_call_site *begin(nb_call_site *site, uint64_t key) {
    *site = (nb_call_site){.key = key, .quick_missing = NB_CALL_SITES_TRUST};
    return site;
}

nb_call_site *nb_call_sites_find(nb_call_sites *sites, uint64_t key) {
    if (key == 0) key = 1;
    uint64_t home = mixed(key);
    nb_call_site *room = NULL;
    for (uint64_t i = 0; i < NB_CALL_SITES_NEAR; i++) {
        nb_call_site *site = &sites->slots[(home + i) & (NB_CALL_SITES_MAX - 1)];
        if (site->key == key) return site;
        if (room == NULL && site->key == 0) room = site;
    }
    return begin(room ? room : &sites->slots[home & (NB_CALL_SITES_MAX - 1)], key);
}

bool nb_call_site_is_trusted(const nb_call_site *site) { return site->quick_missing == 0; }

static void slow(nb_call_site *site) {
    if (site->near == 0) {
        site->near = NB_CALL_SITES_NEAR_CALLS;
        return;
    }
    site->near = 0;
    site->quick_missing = (uint32_t)NB_CALL_SITES_TRUST << site->slips;
    if (site->slips < NB_CALL_SITES_SLIPS_MAX) site->slips++;
    site->quick = 0;
}

static void quick(nb_call_site *site) {
    if (site->near > 0) site->near--;
    if (site->slips == 0 || ++site->quick < NB_CALL_SITES_FORGIVE) return;
    site->slips--;
    site->quick = 0;
}

void nb_call_site_ended(nb_call_site *site, bool here, int64_t took_ns) {
    if (here) {
        if (took_ns >= NB_CALL_SITES_SLOW_NS) slow(site);
        if (took_ns < NB_CALL_SITES_QUICK_NS) quick(site);
    } else if (site->quick_missing > 0 && took_ns < NB_CALL_SITES_QUICK_NS) {
        site->quick_missing--;
    }
}
