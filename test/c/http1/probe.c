/*
 * probe.c - our reading of requests as JSON, for the comparison with other parsers
 * (test/conformance/differential) and for seeding corpora.
 *
 *   probe < lines    each line is an input in hexadecimal. For each it prints a line: every request
 *                    in order, until one is refused or incomplete
 *   probe --vectors  prints the table of vectors.h: number, name, bytes in hexadecimal, expected
 *                    refusal
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "http1/head_parser.h"
#include "http1/message.h"
#include "http1/vectors.h"

#define INPUT_BYTES_MAX 1048576u

static void print_hex(const char *key, const char *bytes, size_t size) {
    printf("\"%s\":\"", key);
    for (size_t i = 0; i < size; i++)
        printf("%02x", (unsigned char)bytes[i]);
    printf("\"");
}

static void print_slice(const char *key, nb_slice slice) { print_hex(key, slice.data, slice.size); }

static void print_request(const message_reader *r) {
    const outcome *const o = &r->result;
    const char *const names[] = {"none", "length", "chunked"};
    printf("\"kept\":%s,\"framing\":\"%s\",\"content_length\":%" PRIu64 ",", o->framing.keep_alive ? "true" : "false",
           names[o->framing.body], o->framing.content_length);
    printf("\"minor_version\":%u,\"body_bytes\":%" PRIu64 ",", r->head.minor_version, o->body_bytes);
    print_hex("body", o->body_start,
              o->body_bytes < sizeof o->body_start ? (size_t)o->body_bytes : sizeof o->body_start);
}

/* The body was put where the slices of the head point: parses the head again for printing. */
static void print_head(const char *bytes, size_t size) {
    static nb_head head;
    nb_head_parser parser;
    nb_refusal refusal;
    size_t used;
    nb_head_parser_init(&parser);
    if (nb_head_parse(&parser, bytes, size, &message_limits_usual.head, &head, &used, &refusal) != NB_OK) abort();
    printf(",");
    print_slice("method", head.method_text);
    printf(",");
    print_slice("target", head.target);
    printf(",\"fields\":[");
    for (unsigned i = 0; i < head.header_count; i++) {
        printf("%s{", i ? "," : "");
        print_slice("name", head.headers[i].name);
        printf(",");
        print_slice("value", head.headers[i].value);
        printf("}");
    }
    printf("]");
}

static void print_requests(guarded memory, const char *input, size_t size) {
    static message_reader r;
    printf("[");
    for (size_t at = 0; at < size || at == 0;) {
        message_reader_init(&r, memory, &message_limits_usual, input + at);
        message_give(&r, size - at);
        const outcome *const o = &r.result;
        printf("%s{\"status\":\"%s\"", at ? "," : "", nb_status_name(o->status));
        if (o->status == NB_INVALID || o->status == NB_OVER_LIMIT) {
            printf(",\"refused\":%u,\"reason\":\"%s\"}", o->refusal.http_status, o->refusal.reason);
            break;
        }
        if (o->head_bytes > 0) {
            printf(",");
            print_request(&r);
            print_head(input + at, o->head_bytes);
        }
        printf("}");
        if (o->status != NB_OK || !o->framing.keep_alive) break;
        at += o->used;
    }
    printf("]\n");
}

static int read_lines(void) {
    static char line[INPUT_BYTES_MAX * 2 + 2], input[INPUT_BYTES_MAX];
    guarded memory = guarded_create(INPUT_BYTES_MAX);
    while (fgets(line, sizeof line, stdin) != NULL) {
        size_t size = 0;
        unsigned byte = 0;
        while (sscanf(line + size * 2, "%2x", &byte) == 1)
            input[size++] = (char)byte;
        print_requests(memory, input, size);
    }
    return 0;
}

static int print_vectors(void) {
    printf("[");
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        printf("%s{\"number\":%d,\"name\":\"", i ? ",\n" : "", vectors[i].number);
        for (const char *c = vectors[i].name; *c; c++)
            printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        printf("\",\"refused\":%d,", vectors[i].refused);
        print_hex("bytes", vectors[i].bytes, vectors[i].size);
        printf("}");
    }
    printf("]\n");
    return 0;
}

int main(int count, char **arguments) {
    return count > 1 && strcmp(arguments[1], "--vectors") == 0 ? print_vectors() : read_lines();
}
