/*
 * answer.c - see answer.h.
 */
#include "mysql/answer.h"

#define HEADER_BYTES 4
/* A packet of this length goes on in the next one. */
#define PACKET_LENGTH_MAX 0xFFFFFF
/* First byte of a packet. */
#define OK_PACKET 0x00
#define LOCAL_INFILE_PACKET 0xFB
#define END_PACKET 0xFE
#define ERROR_PACKET 0xFF
/* A length that is coded in the bytes after its first has that from here on. */
#define LONG_COUNT 0xFB
/* The end of the columns: the byte, warnings, status. That of the rows has the same length, or is an OK packet (CLIENT_DEPRECATE_EOF), which is longer. */
#define END_LENGTH 5

typedef struct packets {
    const uint8_t *next;
    const uint8_t *end;
} packets;

/* The next packet's body, if it is there as a whole. */
static bool take(packets *from, const uint8_t **body, size_t *length) {
    if ((size_t)(from->end - from->next) < HEADER_BYTES) return false;
    *length = (size_t)from->next[0] | (size_t)from->next[1] << 8 | (size_t)from->next[2] << 16;
    *body = from->next + HEADER_BYTES;
    if (*length == 0 || *length == PACKET_LENGTH_MAX || (size_t)(from->end - *body) < *length) return false;
    from->next = *body + *length;
    return true;
}

static bool rows_whole(packets *from) {
    const uint8_t *body;
    size_t length;
    bool first = true;
    while (take(from, &body, &length)) {
        if (body[0] == ERROR_PACKET) return true;
        /* Directly after the columns a short one ends them, and a long one, in their place, the rows. */
        if (body[0] == END_PACKET && (!first || length != END_LENGTH)) return true;
        first = false;
    }
    return false;
}

bool nb_mysql_answer_whole(const uint8_t *bytes, size_t size) {
    packets from = {bytes, bytes + size};
    const uint8_t *body;
    size_t length;
    if (!take(&from, &body, &length)) return false;
    if (body[0] == OK_PACKET || body[0] == ERROR_PACKET) return true;
    unsigned columns = body[0];
    if (columns >= LONG_COUNT) return false;
    if (length > 1 && body[1] == 0) return false; /* MariaDB leaves the columns out (MARIADB_CLIENT_CACHE_METADATA) */
    while (columns--) {
        if (!take(&from, &body, &length)) return false;
    }
    return rows_whole(&from);
}
