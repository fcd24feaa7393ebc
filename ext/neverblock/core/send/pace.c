/*
 * pace.c - see pace.h.
 */
#include "send/pace.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

#define NS_PER_S UINT64_C(1000000000)

uint64_t nb_pace_allows(int64_t paid_until_ns, uint64_t rate, uint64_t most, int64_t now_ns) {
    if (rate == 0 || rate > NB_PACE_RATE_MAX) return UINT64_MAX;
    if (paid_until_ns < now_ns) paid_until_ns = now_ns; /* unused bytes of the past are lost */
    int64_t free_ns = now_ns + NB_PACE_BURST_NS - paid_until_ns;
    uint64_t bytes = free_ns > 0 ? rate * (uint64_t)free_ns / NS_PER_S : 0;
    if (bytes >= most) return most;
    if (free_ns < NB_PACE_LEAST_NS) return 0;
    return bytes ? bytes : 1;
}

int64_t nb_pace_take(int64_t paid_until_ns, uint64_t rate, uint64_t bytes, int64_t now_ns) {
    if (rate == 0 || rate > NB_PACE_RATE_MAX) return paid_until_ns;
    if (paid_until_ns < now_ns) paid_until_ns = now_ns;
    /* Rounded up: each byte of a slow rate costs at least a nanosecond. */
    return paid_until_ns + (int64_t)(bytes / rate * NS_PER_S + (bytes % rate * NS_PER_S + rate - 1) / rate);
}

int64_t nb_pace_give(int64_t paid_until_ns, uint64_t rate, uint64_t bytes) {
    if (rate == 0 || rate > NB_PACE_RATE_MAX) return paid_until_ns;
    return paid_until_ns - (int64_t)(bytes / rate * NS_PER_S + bytes % rate * NS_PER_S / rate);
}

nb_status nb_address_paces_create(uint64_t rate, nb_address_paces **result) {
    nb_address_paces *paces = nb_alloc_zero(1, sizeof(*paces));
    if (!paces) return NB_NO_MEMORY;
    pthread_mutex_init(&paces->lock, NULL);
    paces->rate = rate;
    *result = paces;
    return NB_OK;
}

void nb_address_paces_destroy(nb_address_paces *paces) {
    if (!paces) return;
    pthread_mutex_destroy(&paces->lock);
    nb_free(paces);
}

/* All hosts of a link share the first half of a link-local address (RFC 4291 section 2.5.6). */
static bool is_link_local(const unsigned char bytes[16]) { return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80; }

/* False: it is no IPv6 address. Its zone, behind a percent sign (RFC 4007 section 11), is left
   out. */
static bool read_ipv6(const char *address, unsigned char bytes[16]) {
    char plain[INET6_ADDRSTRLEN];
    size_t size = strcspn(address, "%");
    if (size >= sizeof plain) return false;
    memcpy(plain, address, size);
    plain[size] = '\0';
    return inet_pton(AF_INET6, plain, bytes) == 1;
}

uint64_t nb_address_pace_key(const char *address) {
    unsigned char bytes[16] = {0};
    uint64_t number = 0;
    bool ipv6 = read_ipv6(address, bytes);
    if (!ipv6 && inet_pton(AF_INET, address, bytes) != 1) return 0;
    memcpy(&number, ipv6 && is_link_local(bytes) ? bytes + sizeof(number) : bytes, sizeof(number));
    /* Mixed, so that neighbouring addresses lie in different sets (the finalizer of
     * MurmurHash3). */
    number ^= number >> 33;
    number *= UINT64_C(0xff51afd7ed558ccd);
    number ^= number >> 33;
    number *= UINT64_C(0xc4ceb9fe1a85ec53);
    number ^= number >> 33;
    return number ? number : 1;
}

/* The bucket of the address, else an unused one of its set, else one that it shares. */
static nb_address_pace *find(nb_address_paces *paces, uint64_t key, int64_t now_ns) {
    nb_address_pace *set = paces->ways[key % NB_PACE_SETS], *unused = NULL;
    for (unsigned i = 0; i < NB_PACE_WAYS; i++) {
        if (set[i].key == key) return &set[i];
        if (set[i].paid_until_ns <= now_ns) unused = &set[i];
    }
    if (!unused) return &set[key / NB_PACE_SETS % NB_PACE_WAYS];
    *unused = (nb_address_pace){.key = key};
    return unused;
}

uint64_t nb_address_pace_reserve(nb_address_paces *paces, uint64_t key, uint64_t most, int64_t now_ns) {
    if (!paces || key == 0) return most;
    pthread_mutex_lock(&paces->lock);
    nb_address_pace *pace = find(paces, key, now_ns);
    uint64_t allowed = nb_pace_allows(pace->paid_until_ns, paces->rate, most, now_ns);
    if (allowed > most) allowed = most; /* no limit */
    pace->paid_until_ns = nb_pace_take(pace->paid_until_ns, paces->rate, allowed, now_ns);
    pthread_mutex_unlock(&paces->lock);
    return allowed;
}

void nb_address_pace_take(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns) {
    if (!paces || key == 0) return;
    pthread_mutex_lock(&paces->lock);
    nb_address_pace *pace = find(paces, key, now_ns);
    pace->paid_until_ns = nb_pace_take(pace->paid_until_ns, paces->rate, bytes, now_ns);
    pthread_mutex_unlock(&paces->lock);
}

void nb_address_pace_give(nb_address_paces *paces, uint64_t key, uint64_t bytes, int64_t now_ns) {
    if (!paces || key == 0) return;
    pthread_mutex_lock(&paces->lock);
    nb_address_pace *pace = find(paces, key, now_ns);
    pace->paid_until_ns = nb_pace_give(pace->paid_until_ns, paces->rate, bytes);
    pthread_mutex_unlock(&paces->lock);
}
