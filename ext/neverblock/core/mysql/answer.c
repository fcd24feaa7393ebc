/*
 * answer.c - see answer.h.
 */
#include "mysql/answer.h"

#define HEADER_BYTES 4
/* A packet of this length is continued in the next one. */
#define PACKET_LENGTH_MAX 0xFFFFFF
/* First byte of a packet. */
#define OK_PACKET 0x00
#define LOCAL_INFILE_PACKET 0xFB
#define END_PACKET 0xFE
#define ERROR_PACKET 0xFF
/* A first byte of this or more is followed by a number in several bytes. */
#define LONG_COUNT 0xFB
/* Bytes of the packet that ends the columns: the marker, warnings, status. The packet that ends the
 * rows has as many, or is an OK packet, which is longer (CLIENT_DEPRECATE_EOF). */
#define END_LENGTH 5

typedef struct packets {
    const uint8_t *next;
    const uint8_t *end;
} packets;

/* The body of the next packet, if it is complete. */
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
        /* Right after the columns a short one ends the columns, and a long one, which replaces it,
         * the rows. */
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
    /* MariaDB leaves the columns out (MARIADB_CLIENT_CACHE_METADATA). */
    if (length > 1 && body[1] == 0) return false;
    while (columns--) {
        if (!take(&from, &body, &length)) return false;
    }
    return rows_whole(&from);
}
