/*
 * head_parser.c - nanoseconds to parse and frame one request head, whole and in pieces.
 *
 *   make -C test/c lib SAN=none OPT=-O2 MODULES="base http http1"
 *   gcc -O2 -std=c11 -D_GNU_SOURCE -Iext/neverblock/core benchmark/c/head_parser.c \
 *       "$(make -sC test/c path SAN=none MODULES="base http http1")" -o build/c/head_parser && build/c/head_parser
 *
 * Prints the median and the spread of nine runs of at least 20 ms each. The claims: a head of
 * 40-100 bytes well under 150 ns, a browser's of some 600 bytes and 14 fields under 1 us, byte by
 * byte no quadratic cost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "http1/framing.h"

#define RUNS 9
#define RUN_NS 20000000

typedef struct sample {
    const char *name;
    nb_slice bytes;
} sample;

static const sample samples[] = {
    {"minimal", {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 0}},
    {"wrk hello", {"GET / HTTP/1.1\r\nHost: 127.0.0.1:9292\r\n\r\n", 0}},
    {"curl", {"GET /hello HTTP/1.1\r\nHost: localhost:9292\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n", 0}},
    {"browser, 14 fields",
     {"GET /articles/2026/11/a-long-enough-path?page=2&sort=newest HTTP/1.1\r\nHost: www.example.com\r\nConnection: "
      "keep-alive\r\n"
      "sec-ch-ua: \"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: "
      "\"Linux\"\r\n"
      "Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 "
      "Chrome/130.0.0.0\r\n"
      "Accept: text/html,application/xhtml+xml\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: "
      "navigate\r\nSec-Fetch-User: ?1\r\n"
      "Referer: https://www.example.com/\r\nAccept-Encoding: gzip, deflate, br\r\nCookie: "
      "_session=0123456789abcdef0123456789abcdef\r\n\r\n",
      0}},
};

static const nb_head_limits limits = {65536, 8192, 100, NB_COMPLIANCE_COMMON};
static nb_head head; /* as in an I/O loop: one for all connections */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void parse(const char *bytes, size_t size, size_t step, bool frame) {
    nb_head_parser parser;
    nb_refusal refusal;
    nb_framing framing;
    size_t used;
    nb_status status = NB_INCOMPLETE;
    nb_head_parser_init(&parser);
    for (size_t there = step < size ? step : size; status == NB_INCOMPLETE;
         there = there + step < size ? there + step : size) {
        status = nb_head_parse(&parser, bytes, there, &limits, &head, &used, &refusal);
    }
    if (status == NB_OK && frame)
        status = nb_framing_decide(&head, UINT64_MAX, NB_COMPLIANCE_COMMON, &framing, &refusal);
    if (status != NB_OK) abort();
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(const char *name, nb_slice bytes, size_t step, bool frame) {
    double runs[RUNS];
    for (int run = 0; run < RUNS; run++) {
        long count = 0;
        const int64_t start = now_ns();
        int64_t end = start;
        while (end - start < RUN_NS) {
            for (int i = 0; i < 100; i++)
                parse(bytes.data, bytes.size, step, frame);
            count += 100;
            end = now_ns();
        }
        runs[run] = (double)(end - start) / (double)count;
    }
    qsort(runs, RUNS, sizeof *runs, ascending);
    printf("%-36s %7zu bytes %10.1f ns  (%.1f-%.1f)  %7.0f MB/s\n", name, bytes.size, runs[RUNS / 2], runs[0],
           runs[RUNS - 1], (double)bytes.size * 1000 / runs[RUNS / 2]);
}

/* A head of `size` bytes: one field after another until it is full. */
static nb_slice large_head(size_t size) {
    char *const bytes = malloc(size + 64);
    size_t at = (size_t)sprintf(bytes, "GET / HTTP/1.1\r\nHost: a\r\n");
    while (at + 1050 < size)
        at += (size_t)sprintf(bytes + at, "Cookie: %01000d\r\n", 7);
    at += (size_t)sprintf(bytes + at, "\r\n");
    return nb_slice_of(bytes, at);
}

int main(void) {
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const nb_slice bytes = nb_slice_of(samples[i].bytes.data, strlen(samples[i].bytes.data));
        char name[64];
        measure(samples[i].name, bytes, bytes.size, false);
        snprintf(name, sizeof name, "%s, with framing", samples[i].name);
        measure(name, bytes, bytes.size, true);
    }
    const nb_slice browser = nb_slice_of(samples[3].bytes.data, strlen(samples[3].bytes.data));
    measure("browser, in two pieces", browser, browser.size / 2 + 1, false);
    measure("browser, byte by byte", browser, 1, false);
    const nb_slice large = large_head(60000);
    measure("60 KB, whole", large, large.size, false);
    measure("60 KB, 1448 at a time", large, 1448, false);
    measure("60 KB, byte by byte", large, 1, false);
    free((char *)(uintptr_t)large.data);
    return 0;
}
