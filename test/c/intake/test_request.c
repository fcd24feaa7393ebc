/*
 * test_request.c - a head as a flat message: every accepted vector, read back through the offsets
 * and compared with what the parser saw. The message lies in memory of exactly its size, so that
 * ASan sees any byte beyond.
 */
#include "intake/request.h"

#include <stdlib.h>
#include <string.h>

#include "http1/framing.h"
#include "http1/head_parser.h"
#include "http1/vectors.h"
#include "support/test.h"

static nb_head head;

static bool parse(const char *bytes, size_t size, nb_framing *framing, size_t *used) {
    const nb_head_limits limits = {
        .head_bytes = 65536, .target_bytes = 8000, .headers = 100, .compliance = NB_COMPLIANCE_COMMON};
    nb_head_parser parser;
    nb_refusal refusal;
    nb_head_parser_init(&parser);
    return nb_head_parse(&parser, bytes, size, &limits, &head, used, &refusal) == NB_OK &&
           nb_framing_decide(&head, UINT64_MAX, limits.compliance, framing, &refusal) == NB_OK;
}

static void assert_span(const nb_request_message *message, nb_span span, nb_slice expected) {
    assert_true((uint64_t)span.offset + span.size <= message->message.bytes);
    assert_int_equal(expected.size, span.size);
    if (span.size) assert_memory_equal(expected.data, (const char *)message + span.offset, span.size);
}

static nb_request_message *write_message(const nb_request_facts *facts, size_t extra) {
    size_t bytes = nb_request_message_bytes(facts);
    assert_int_equal(0, bytes % 8);
    nb_request_message *message = malloc(bytes + extra);
    memset(message, 0xee, bytes + extra);
    nb_request_message_write(message, facts);
    assert_int_equal(bytes, message->message.bytes);
    return message;
}

static void check_message(const nb_request_message *message, const nb_request_facts *facts) {
    assert_int_equal(NB_MESSAGE_REQUEST, message->message.type);
    assert_true(message->message.exchange == facts->exchange);
    assert_int_equal(facts->arrived_ns, message->arrived_ns);
    assert_int_equal(-1, message->body_fd);
    assert_int_equal(0, message->body_bytes + message->body.size);
    assert_int_equal(head.method, message->method);
    assert_int_equal(head.minor_version, message->minor_version);
    assert_int_equal(facts->has_body, message->has_body);
    assert_int_equal(facts->listener, message->listener);
    assert_int_equal(facts->route, message->route);
    assert_int_equal(facts->peer->port, message->peer_port);
    assert_span(message, message->peer_address, nb_slice_of(facts->peer->address, strlen(facts->peer->address)));
    assert_span(message, message->method_text, head.method_text);
    assert_span(message, message->target, head.target);
    assert_span(message, message->query, head.query);
    assert_span(message, message->host, facts->host);
    assert_span(message, message->client, facts->client);
    assert_span(message, message->tls, facts->tls);
    if (message->path.size || head.path.size != 1)
        assert_span(message, message->path, head.path); /* empty: "/" that was not sent */
    assert_int_equal(head.header_count, message->header_count);
    for (size_t i = 0; i < head.header_count; i++) {
        assert_span(message, message->headers[i].name, head.headers[i].name);
        assert_span(message, message->headers[i].value, head.headers[i].value);
        assert_int_equal(head.headers[i].field, message->headers[i].field);
    }
}

static void every_accepted_vector_comes_back_from_its_message(void **state) {
    (void)state;
    unsigned checked = 0;
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        nb_framing framing;
        size_t used;
        char *bytes = malloc(vectors[i].size);
        memcpy(bytes, vectors[i].bytes, vectors[i].size);
        if (vectors[i].refused == 0 && parse(bytes, vectors[i].size, &framing, &used)) {
            nb_peer peer = {"2001:db8::1%12", 65535};
            nb_request_facts facts = {.head = &head,
                                      .peer = &peer,
                                      .raw = {bytes, used},
                                      .host = framing.host,
                                      .has_body = framing.body != NB_BODY_NONE,
                                      .exchange = 0x100000007u,
                                      .arrived_ns = 123456789,
                                      .deadline_ns = 31,
                                      .listener = 65000,
                                      .route = 7};
            nb_request_message *message = write_message(&facts, 0);
            check_message(message, &facts);
            free(message);
            checked++;
        }
        free(bytes);
    }
    assert_true(checked > 30);
}

static void a_body_of_every_small_size_keeps_the_message_aligned(void **state) {
    (void)state;
    static const char bytes[] = "POST /a?b HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\n";
    nb_framing framing;
    size_t used;
    nb_peer peer = {"", 0};
    assert_true(parse(bytes, sizeof bytes - 1, &framing, &used));
    nb_request_facts facts = {
        .head = &head, .peer = &peer, .raw = {bytes, used}, .host = framing.host, .has_body = true, .exchange = 1};
    for (size_t size = 0; size < 40; size++) {
        nb_request_message *message = write_message(&facts, size + 8);
        size_t head_bytes = message->message.bytes;
        nb_request_message_add_body(message, size);
        assert_int_equal(head_bytes, message->body.offset);
        assert_int_equal(size, message->body.size);
        assert_int_equal(size, message->body_bytes);
        assert_int_equal(0, message->message.bytes % 8);
        assert_true(message->message.bytes >= head_bytes + size && message->message.bytes < head_bytes + size + 8);
        free(message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_accepted_vector_comes_back_from_its_message),
        cmocka_unit_test(a_body_of_every_small_size_keeps_the_message_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
