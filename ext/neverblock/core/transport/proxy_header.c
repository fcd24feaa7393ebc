/*
 * proxy_header.c - see proxy_header.h. Section numbers are those of proxy-protocol.txt.
 */
#include "transport/proxy_header.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* --- version 1, section 2.1 --- */

#define TEXT_BEGINNING "PROXY "
/* With CR LF. */
#define TEXT_BYTES_MAX 107u

/* Takes the next word of a line: it ends at one space, or with the line. */
static nb_slice next_word(nb_slice *line) {
    const char *space = line->size ? memchr(line->data, ' ', line->size) : NULL;
    size_t size = space ? (size_t)(space - line->data) : line->size;
    nb_slice word = nb_slice_of(line->data, size);
    size_t taken = space ? size + 1 : size;
    *line = nb_slice_of(line->data + taken, line->size - taken);
    return word;
}

static bool is_word(nb_slice word, const char *text) {
    return word.size == strlen(text) && memcmp(word.data, text, word.size) == 0;
}

/* Decimal digits without a leading zero. */
static bool read_port(nb_slice word, uint16_t *port) {
    uint32_t number = 0;
    if (word.size == 0 || word.size > 5 || (word.size > 1 && word.data[0] == '0')) return false;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9') return false;
        number = number * 10 + (uint32_t)(word.data[i] - '0');
    }
    *port = (uint16_t)number;
    return number <= UINT16_MAX;
}

/* An address of the family at `address`, which has room for it. */
static bool read_address(nb_slice word, int family, void *address) {
    char text[INET6_ADDRSTRLEN];
    if (word.size >= sizeof(text) || memchr(word.data, 0, word.size)) return false;
    memcpy(text, word.data, word.size);
    text[word.size] = 0;
    return inet_pton(family, text, address) == 1;
}

static void describe(int family, const uint8_t *address, uint16_t port, nb_peer *peer) {
    struct sockaddr_storage at = {0};
    if (family == AF_INET) {
        struct sockaddr_in *ipv4 = (struct sockaddr_in *)&at;
        memcpy(&ipv4->sin_addr, address, sizeof(ipv4->sin_addr));
        ipv4->sin_port = htons(port);
    } else {
        struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&at;
        memcpy(&ipv6->sin6_addr, address, sizeof(ipv6->sin6_addr));
        ipv6->sin6_port = htons(port);
    }
    at.ss_family = (sa_family_t)family;
    nb_net_describe(&at, peer);
}

static nb_status read_addresses(nb_slice line, int family, nb_proxy_header *header) {
    uint8_t client[sizeof(struct in6_addr)], server[sizeof(struct in6_addr)];
    uint16_t client_port, server_port;
    if (!read_address(next_word(&line), family, client) || !read_address(next_word(&line), family, server) ||
        !read_port(next_word(&line), &client_port))
        return NB_INVALID;
    if (!read_port(line, &server_port)) return NB_INVALID; /* nothing follows it */
    header->has_client = true;
    describe(family, client, client_port, &header->client);
    return NB_OK;
}

static nb_status parse_text(nb_slice bytes, nb_proxy_header *header) {
    size_t looked_at = bytes.size < TEXT_BYTES_MAX ? bytes.size : TEXT_BYTES_MAX;
    const char *end = memchr(bytes.data, '\n', looked_at);
    if (!end) return looked_at == TEXT_BYTES_MAX ? NB_INVALID : NB_INCOMPLETE;
    if (end[-1] != '\r') return NB_INVALID;
    header->size = (size_t)(end - bytes.data) + 1;
    nb_slice line = nb_slice_of(bytes.data, header->size - 2);
    (void)next_word(&line);
    nb_slice protocol = next_word(&line);
    if (is_word(protocol, "TCP4")) return read_addresses(line, AF_INET, header);
    if (is_word(protocol, "TCP6")) return read_addresses(line, AF_INET6, header);
    return is_word(protocol, "UNKNOWN") ? NB_OK : NB_INVALID;
}

/* --- version 2, section 2.2 --- */

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define SIGNATURE_BYTES (sizeof(SIGNATURE) - 1)
/* Signature, version and command, family and protocol, length of what follows. */
#define FIXED_BYTES 16u

enum command { LOCAL = 0x20, PROXY = 0x21 };
enum family { UNSPEC = 0x00, TCP4 = 0x11, TCP6 = 0x21, UNIX_STREAM = 0x31 };
/* Of both addresses with their ports. */
enum address_bytes { TCP4_BYTES = 12, TCP6_BYTES = 36, UNIX_BYTES = 216 };

static uint16_t read_16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

static nb_status take_addresses(uint8_t family, const uint8_t *at, size_t size, nb_proxy_header *header) {
    switch (family) {
    case UNSPEC:
        return NB_OK;
    case TCP4:
        if (size < TCP4_BYTES) return NB_INVALID;
        describe(AF_INET, at, read_16(at + 8), &header->client);
        break;
    case TCP6:
        if (size < TCP6_BYTES) return NB_INVALID;
        describe(AF_INET6, at, read_16(at + 32), &header->client);
        break;
    case UNIX_STREAM:
        if (size < UNIX_BYTES) return NB_INVALID;
        break;
    default:
        return NB_INVALID;
    }
    header->has_client = true;
    return NB_OK;
}

static nb_status parse_binary(nb_slice bytes, nb_proxy_header *header) {
    if (bytes.size < FIXED_BYTES) return NB_INCOMPLETE;
    const uint8_t *at = (const uint8_t *)bytes.data + SIGNATURE_BYTES;
    const uint8_t command = at[0], family = at[1];
    const size_t size = read_16(at + 2);
    if (command != LOCAL && command != PROXY) return NB_INVALID;
    if (FIXED_BYTES + size > NB_PROXY_HEADER_BYTES_MAX) return NB_OVER_LIMIT;
    if (bytes.size < FIXED_BYTES + size) return NB_INCOMPLETE;
    header->size = FIXED_BYTES + size;
    return command == LOCAL ? NB_OK : take_addresses(family, at + 4, size, header);
}

/* --- both --- */

static bool may_begin_with(nb_slice bytes, const char *beginning, size_t size) {
    return memcmp(bytes.data, beginning, bytes.size < size ? bytes.size : size) == 0;
}

nb_status nb_proxy_header_parse(nb_slice bytes, nb_proxy_header *header) {
    nb_proxy_header found = {0};
    nb_status status = NB_INVALID;
    if (bytes.size == 0) return NB_INCOMPLETE;
    if (may_begin_with(bytes, TEXT_BEGINNING, strlen(TEXT_BEGINNING))) {
        status = parse_text(bytes, &found);
    } else if (may_begin_with(bytes, SIGNATURE, SIGNATURE_BYTES)) {
        status = parse_binary(bytes, &found);
    }
    if (status == NB_OK) *header = found;
    return status;
}
