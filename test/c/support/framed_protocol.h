/*
 * framed_protocol.h - a protocol for tests of connection/protocol.h: requests in frames, several at once on one connection, answers
 * in any order, flow control for each stream both ways. It has what HTTP/2 needs of a connection and nothing else.
 *
 * A frame is an nb_test_frame, in the machine's byte order, and `bytes` bytes. A client gives each request a new number (`stream`).
 *
 *   to the server     REQUEST "METHOD /path" (END: it has no body), DATA of its body (END: the last), WINDOW (4 bytes: so many
 *                     more of the answer's may come), RESET
 *   to the client     HEAD (2 bytes of status, field lines), INTERIM (the same), DATA of the answer (END), WINDOW (4 bytes:
 *                     the application has taken so many), RESET (the answer ends before it was whole)
 *
 * An answer's window is NB_TEST_FRAMED_WINDOW bytes at first; a body may be sent at once as far as an upload's is
 * (NB_INPUT_WINDOW_BYTES). Bytes of a body that find no room keep what is behind them waiting.
 */
#ifndef NB_TEST_FRAMED_PROTOCOL_H
#define NB_TEST_FRAMED_PROTOCOL_H

#include <stdint.h>

#include "connection/protocol.h"

#define NB_TEST_FRAMED_WINDOW 65536u
#define NB_TEST_FRAME_BYTES_MAX 16384u

enum {
    NB_TEST_FRAME_REQUEST = 1,
    NB_TEST_FRAME_HEAD,
    NB_TEST_FRAME_DATA,
    NB_TEST_FRAME_WINDOW,
    NB_TEST_FRAME_RESET,
    NB_TEST_FRAME_INTERIM
};
enum { NB_TEST_FRAME_END = 1 };

typedef struct nb_test_frame {
    uint32_t bytes;
    uint16_t stream;
    uint8_t kind, flags;
} nb_test_frame;

extern const nb_protocol nb_test_framed;

#endif
