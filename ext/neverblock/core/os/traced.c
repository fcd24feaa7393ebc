/*
 * traced.c - see traced.h: TracerPid of proc(5).
 */
#include "os/traced.h"

#include <stdlib.h>
#include <string.h>

#include "os/file.h"

#define FIELD "\nTracerPid:"

bool nb_process_traced(void) {
    char text[1024]; /* the field stands among the first */
    if (!nb_file_read_text("/proc/self/status", text, sizeof text)) return false;
    const char *field = strstr(text, FIELD);
    return field && strtol(field + sizeof FIELD - 1, NULL, 10) != 0;
}
