/*
 * tls_tickets.c - the keys that seal session tickets, see tls.h.
 */
#include "tls/tls.h"

#ifdef NB_HAVE_TLS

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>

#include "os/clock.h"

#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <openssl/core_names.h>
#include <openssl/params.h>
typedef EVP_MAC_CTX mac_context;
#else
#include <openssl/hmac.h>
typedef HMAC_CTX mac_context;
#endif

#define NAME_BYTES 16

typedef struct ticket_key {
    unsigned char name[NAME_BYTES], cipher[32], mac[32];
    int64_t made_ns;
} ticket_key;

/* keys[0] seals. keys[1] still opens. */
static ticket_key keys[2];
static int key_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. False: no random bytes. */
static bool add_key(int64_t now_ns) {
    ticket_key made = {.made_ns = now_ns};
    if (RAND_bytes(made.name, sizeof(made.name)) != 1 || RAND_priv_bytes(made.cipher, sizeof(made.cipher)) != 1 ||
        RAND_priv_bytes(made.mac, sizeof(made.mac)) != 1)
        return false;
    keys[1] = keys[0];
    keys[0] = made;
    if (key_count < 2) key_count++;
    OPENSSL_cleanse(&made, sizeof(made));
    return true;
}

/* The key that seals now. */
static bool sealing_key(ticket_key *key) {
    int64_t now_ns = nb_clock_monotonic_ns();
    pthread_mutex_lock(&lock);
    bool found = (key_count > 0 && now_ns - keys[0].made_ns < NB_TLS_TICKET_KEY_NS) || add_key(now_ns);
    if (found) *key = keys[0];
    pthread_mutex_unlock(&lock);
    return found;
}

/* The index of the key with that name; -1: there is none any more. */
static int opening_key(const unsigned char name[NAME_BYTES], ticket_key *key) {
    int64_t now_ns = nb_clock_monotonic_ns();
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < key_count && found < 0; i++) {
        if (memcmp(keys[i].name, name, NAME_BYTES) == 0 && now_ns - keys[i].made_ns < 2 * NB_TLS_TICKET_KEY_NS)
            found = i;
    }
    if (found >= 0) *key = keys[found];
    pthread_mutex_unlock(&lock);
    return found;
}

static bool set_mac(mac_context *mac, ticket_key *key) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof(key->mac)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, params) == 1;
#else
    return HMAC_Init_ex(mac, key->mac, sizeof(key->mac), EVP_sha256(), NULL) == 1;
#endif
}

/* OpenSSL's answers: 1 done; 2 done, and a new ticket is due; 0 a full handshake; -1 failed. A
 * client of TLS 1.3 uses each ticket once (RFC 8446 appendix C.4), and needs another. */
static int use_key(SSL *ssl, unsigned char name[NAME_BYTES], unsigned char *iv, EVP_CIPHER_CTX *cipher,
                   mac_context *mac, int seals) {
    ticket_key key;
    int index = 0, result = -1;
    if (seals) {
        if (!sealing_key(&key)) return -1;
        memcpy(name, key.name, NAME_BYTES);
        if (RAND_bytes(iv, EVP_CIPHER_iv_length(EVP_aes_256_cbc())) == 1 &&
            EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.cipher, iv) == 1 && set_mac(mac, &key))
            result = 1;
    } else {
        index = opening_key(name, &key);
        if (index < 0) return 0;
        if (EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.cipher, iv) == 1 && set_mac(mac, &key))
            result = index == 0 && SSL_version(ssl) < TLS1_3_VERSION ? 1 : 2;
    }
    OPENSSL_cleanse(&key, sizeof(key));
    return result;
}

void nb_tls_tickets_rotate(void) {
    pthread_mutex_lock(&lock);
    (void)add_key(nb_clock_monotonic_ns());
    pthread_mutex_unlock(&lock);
}

nb_status nb_tls_tickets_install(SSL_CTX *context) {
    ticket_key key;
    if (!sealing_key(&key)) return NB_SYSTEM;
    OPENSSL_cleanse(&key, sizeof(key));
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context, use_key);
#else
    SSL_CTX_set_tlsext_ticket_key_cb(context, use_key);
#endif
    return NB_OK;
}

#endif
