/*
 * fuzz_mysql_answer.c - any bytes as what a MySQL server answers to a query. Oracles: a reading
 * that finds each packet from the beginning again; an answer is whole from the end of one packet
 * on, and with whatever follows.
 */
#include "fuzz/fuzz.h"
#include "mysql/answer.h"

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

#define MYSQL_ANSWER_BYTES_MAX 2048u

typedef struct mysql_packet {
    const uint8_t *body;
    size_t length;
} mysql_packet;

/* The packet of this number, from 0; its length is 0 when it is not there, or not as a whole, or is
   one that goes on in the next. */
static mysql_packet mysql_packet_at(const uint8_t *bytes, size_t size, size_t number) {
    size_t at = 0;
    for (size_t i = 0; at + 4 <= size; i++) {
        const size_t length = bytes[at] + bytes[at + 1] * 256u + bytes[at + 2] * 65536u;
        if (length == 0 || length == 0xFFFFFF || at + 4 + length > size) break;
        if (i == number) return (mysql_packet){bytes + at + 4, length};
        at += 4 + length;
    }
    return (mysql_packet){NULL, 0};
}

static bool mysql_answer_slowly(const uint8_t *bytes, size_t size) {
    const mysql_packet head = mysql_packet_at(bytes, size, 0);
    if (head.length == 0) return false;
    if (head.body[0] == 0x00 || head.body[0] == 0xFF) return true;
    if (head.body[0] >= 0xFB || (head.length > 1 && head.body[1] == 0)) return false;
    const size_t columns = head.body[0];
    for (size_t row = 0;; row++) {
        const mysql_packet packet = mysql_packet_at(bytes, size, 1 + columns + row);
        if (packet.length == 0) return false;
        if (packet.body[0] == 0xFF) return true;
        if (packet.body[0] == 0xFE && (row > 0 || packet.length != 5)) return true;
    }
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    bool before = false;
    if (size > MYSQL_ANSWER_BYTES_MAX) return 0;
    for (size_t part = 0; part <= size; part++) {
        const uint8_t *bytes = (const uint8_t *)guarded_place(fuzz_memory(), (const char *)data, part);
        const bool whole = nb_mysql_answer_whole(bytes, part);
        FUZZ_CHECK(whole || !before);
        if (whole != before || part == size) FUZZ_CHECK(whole == mysql_answer_slowly(bytes, part));
        before = whole;
    }
    return 0;
}
