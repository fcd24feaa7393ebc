/*
 * fuzz_proxy_header.c - any bytes as a header of the PROXY protocol. Oracles: version 1 as a
 * regular expression, version 2 field by field; a header that is cut is incomplete at each byte.
 *
 * An input is the header.
 */
#include <arpa/inet.h>
#include <regex.h>

#include "fuzz/fuzz.h"
#include "transport/proxy_header.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

#define PROXY_INPUT_BYTES_MAX 5000u
#define PROXY_TEXT_BYTES_MAX 107u
#define PROXY_PORT "(0|[1-9][0-9]{0,4})"

static regex_t proxy_line;

static void proxy_compile(void) {
    static bool compiled;
    if (compiled) return;
    compiled = true;
    FUZZ_CHECK(regcomp(&proxy_line, "^PROXY TCP([46]) ([^ ]+) ([^ ]+) " PROXY_PORT " " PROXY_PORT "$", REG_EXTENDED) ==
               0);
}

/* What the header names: "" nobody, " 0" a UNIX socket, or address and port; NULL: it is none.
   *end: its bytes. */
static const char *proxy_read_text(const char *bytes, size_t size, size_t *end) {
    static char named[160];
    char line[PROXY_TEXT_BYTES_MAX + 1], address[2][PROXY_TEXT_BYTES_MAX + 1];
    uint8_t parsed[2][16];
    regmatch_t groups[6];
    size_t length = 0;
    while (length < size && length < PROXY_TEXT_BYTES_MAX && bytes[length] != '\n')
        length++;
    if (length == size || length == PROXY_TEXT_BYTES_MAX || bytes[length - 1] != '\r') return NULL;
    *end = length + 1;
    memcpy(line, bytes, length - 1);
    line[length - 1] = 0;
    if (strncmp(line, "PROXY UNKNOWN", 13) == 0 && (length == 14 || line[13] == ' ')) return "";
    if (strlen(line) != length - 1 || regexec(&proxy_line, line, 6, groups, 0) != 0) return NULL;
    const int family = line[groups[1].rm_so] == '4' ? AF_INET : AF_INET6;
    for (size_t i = 0; i < 2; i++) {
        snprintf(address[i], sizeof(address[i]), "%.*s", (int)(groups[i + 2].rm_eo - groups[i + 2].rm_so),
                 line + groups[i + 2].rm_so);
        if (inet_pton(family, address[i], parsed[i]) != 1) return NULL;
    }
    const int client_port = atoi(line + groups[4].rm_so), server_port = atoi(line + groups[5].rm_so);
    if (client_port > 65535 || server_port > 65535) return NULL;
    char shown[INET6_ADDRSTRLEN];
    const bool mapped = family == AF_INET6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)parsed[0]);
    inet_ntop(mapped ? AF_INET : family, parsed[0] + (mapped ? 12 : 0), shown, sizeof(shown));
    snprintf(named, sizeof(named), "%s %d", shown, client_port);
    return named;
}

static const char *proxy_read_binary(const uint8_t *bytes, size_t size, size_t *end) {
    static char named[160];
    char shown[INET6_ADDRSTRLEN];
    if (size < 16 || (bytes[12] != 0x20 && bytes[12] != 0x21)) return NULL;
    const size_t rest = (size_t)bytes[14] * 256 + bytes[15];
    *end = 16 + rest;
    if (size < *end || *end > NB_PROXY_HEADER_BYTES_MAX) return NULL;
    if (bytes[12] == 0x20 || bytes[13] == 0x00) return "";
    if (bytes[13] == 0x31) return rest >= 216 ? " 0" : NULL;
    const bool ipv4 = bytes[13] == 0x11;
    if (!ipv4 && bytes[13] != 0x21) return NULL;
    if (rest < (ipv4 ? 12 : 36)) return NULL;
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const bool inner = !ipv4 && memcmp(bytes + 16, mapped, 12) == 0;
    inet_ntop(ipv4 || inner ? AF_INET : AF_INET6, bytes + 16 + (inner ? 12 : 0), shown, sizeof(shown));
    const uint8_t *const port = bytes + 16 + (ipv4 ? 8 : 32);
    snprintf(named, sizeof(named), "%s %d", shown, port[0] * 256 + port[1]);
    return named;
}

static nb_status proxy_parse(const uint8_t *data, size_t size, nb_proxy_header *header) {
    const char *const placed = guarded_place(fuzz_memory(), (const char *)data, size);
    return nb_proxy_header_parse(nb_slice_of(placed, size), header);
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    static const char signature[] = "\r\n\r\n\0\r\nQUIT\n";
    nb_proxy_header header, shorter;
    if (size == 0 || size > PROXY_INPUT_BYTES_MAX) return 0;
    proxy_compile();
    const nb_status status = proxy_parse(data, size, &header);
    size_t end = 0;
    const char *named = NULL;
    if (size >= 6 && memcmp(data, "PROXY ", 6) == 0) named = proxy_read_text((const char *)data, size, &end);
    if (size >= 12 && memcmp(data, signature, 12) == 0) named = proxy_read_binary(data, size, &end);
    FUZZ_CHECK((status == NB_OK) == (named != NULL));
    if (status == NB_INCOMPLETE) FUZZ_CHECK(size < NB_PROXY_HEADER_BYTES_MAX);
    if (status != NB_OK) return 0;
    char found[160] = "";
    if (header.has_client) snprintf(found, sizeof(found), "%s %d", header.client.address, header.client.port);
    FUZZ_CHECK(strcmp(found, named) == 0 && header.size == end);
    for (size_t cut = 0; cut < end; cut += cut < 120 ? 1 : 61)
        FUZZ_CHECK(proxy_parse(data, cut, &shorter) == NB_INCOMPLETE);
    return 0;
}
