/*
 * stall_entry.c - see stall_entry.h.
 */
#include "stall/stall_entry.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "os/clock.h"

/* For the text log. A path may hold any byte; the entry stays one entry and is UTF-8, as with
   Log::Text. */
static void add_plain(nb_text *text, const char *bytes, size_t size) {
    for (size_t i = 0, width; i < size; i += width ? width : 1) {
        width = nb_utf8_visible(bytes + i, size - i);
        if (width > 0) {
            nb_text_add_bytes(text, bytes + i, width);
        } else {
            nb_text_format(text, "\\x%02x", (unsigned char)bytes[i]);
        }
    }
}

static void add_words(nb_text *text, const char *words) { add_plain(text, words, strlen(words)); }

/* --- what is said, in words --- */

static long long milliseconds(const nb_stall_voice *voice) { return voice->lasted_ns / NB_NS_PER_MS; }

static long long starved_ms(const nb_stall_voice *voice) {
    return voice->starved_ns * 2 < voice->lasted_ns ? 0 : voice->starved_ns / NB_NS_PER_MS;
}

static void add_who(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall) {
    const nb_stall_request *request = &stall->request;
    if (!*request->method) {
        nb_text_add(text, stall->lines == 0 ? "a fiber" : "a fiber of no request");
        return;
    }
    add_words(text, request->method);
    nb_text_add(text, " ");
    add_words(text, request->path);
    nb_text_add(text, " (");
    add_words(text, request->id);
    if (voice->route) {
        nb_text_add(text, ", route ");
        add_words(text, voice->route);
    }
    nb_text_add(text, ")");
}

static void add_blame(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                      const nb_stall_culprit *culprit) {
    nb_text_add(text, nb_stall_kind_words(stall->kind));
    if (*culprit->in) {
        nb_text_add(text, ", in ");
        add_words(text, culprit->in);
    }
    if (*culprit->at) {
        nb_text_add(text, ", by ");
        add_words(text, culprit->at);
    }
    if (starved_ms(voice))
        nb_text_format(text, "; the machine was busy: its thread waited for a processor for %lld ms of that",
                       starved_ms(voice));
}

static void add_begun(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                      const nb_stall_culprit *culprit) {
    add_who(text, voice, stall);
    nb_text_format(text, " has kept its executor for %lld ms so far: ", milliseconds(voice));
    add_blame(text, voice, stall, culprit);
    if (voice->untold) nb_text_format(text, " (and %" PRIu64 " such stalls since that was last told)", voice->untold);
}

static void add_over(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                     const nb_stall_culprit *culprit) {
    add_who(text, voice, stall);
    nb_text_format(text, " kept its executor for %lld ms, which is over: ", milliseconds(voice));
    add_blame(text, voice, stall, culprit);
}

/* --- which lines of the trace are shown --- */

typedef struct cursor {
    const nb_stall_voice *voice;
    const char *at, *end;
    unsigned shown, left_out; /* lines */
} cursor;

static cursor cursor_of(const nb_stall_voice *voice, const nb_stall *stall) {
    return (cursor){.voice = voice, .at = stall->trace, .end = stall->trace + stall->trace_bytes};
}

static bool is_shown(const cursor *lines, nb_slice line) {
    const nb_stall_places *places = lines->voice->places;
    if (!places) return true;
    return lines->shown < NB_STALL_ENTRY_LINES_MAX && nb_stall_places_application(places, line);
}

/* Sets `line` to the next line that is shown, without its newline. False: there is none. */
static bool next_line(cursor *lines, nb_slice *line) {
    const char *end;
    while (lines->at < lines->end && (end = memchr(lines->at, '\n', (size_t)(lines->end - lines->at)))) {
        *line = (nb_slice){lines->at, (size_t)(end - lines->at)};
        lines->at = end + 1;
        if (is_shown(lines, *line)) {
            lines->shown++;
            return true;
        }
        lines->left_out++;
    }
    return false;
}

/* --- text --- */

static void add_trace(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall) {
    cursor lines = cursor_of(voice, stall);
    nb_slice line;
    while (next_line(&lines, &line)) {
        nb_text_add(text, "    ");
        add_plain(text, line.data, line.size);
        nb_text_add(text, "\n");
    }
    if (lines.left_out)
        nb_text_format(text, "    (%u more; executor { stall_trace :whole } shows all)\n", lines.left_out);
}

static void begin_line(nb_text *text, const nb_stall_voice *voice, const char *level) {
    char time[NB_LOG_TIME_BYTES];
    nb_log_time(time, voice->wall_ns);
    nb_text_format(text, "neverblock: %s %s: ", time, level);
    if (voice->worker >= 0) nb_text_format(text, "worker %d: ", voice->worker);
}

/* --- JSON --- */

static void add_string(nb_text *text, const char *name, const char *value) {
    char sound[NB_STALL_LINE_BYTES_MAX];
    if (!*value) return;
    nb_utf8_scrub(sound, sizeof(sound), value, strlen(value));
    nb_text_format(text, ",\"%s\":", name);
    nb_text_json(text, sound);
}

static void add_json_trace(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall) {
    cursor lines = cursor_of(voice, stall);
    nb_slice line;
    char sound[NB_STALL_LINE_BYTES_MAX];
    nb_text_add(text, ",\"backtrace\":[");
    while (next_line(&lines, &line)) {
        nb_utf8_scrub(sound, sizeof(sound), line.data, line.size);
        if (lines.shown > 1) nb_text_add(text, ",");
        nb_text_json(text, sound);
    }
    nb_text_add(text, "]");
    if (lines.left_out) nb_text_format(text, ",\"lines_left_out\":%u", lines.left_out);
}

/* The message is written first, since it has to be escaped as a JSON string. */
static void add_message(nb_text *text, const nb_text *message) {
    char bytes[NB_STALL_LINE_BYTES_MAX * 2], sound[sizeof(bytes)];
    size_t size = message->size < sizeof(bytes) ? message->size : sizeof(bytes) - 1;
    if (size) memcpy(bytes, message->bytes, size);
    nb_utf8_scrub(sound, sizeof(sound), bytes, size);
    nb_text_json(text, sound);
}

static void add_json(nb_text *text, const nb_stall_voice *voice, const char *level, const nb_text *message,
                     const nb_stall *stall, const nb_stall_culprit *culprit) {
    char time[NB_LOG_TIME_BYTES];
    nb_log_time(time, voice->wall_ns);
    nb_text_format(text, "{\"time\":\"%s\",\"level\":\"%s\",\"pid\":%ld", time, level, voice->pid);
    if (voice->worker >= 0) nb_text_format(text, ",\"worker\":%d", voice->worker);
    nb_text_add(text, ",\"message\":");
    add_message(text, message);
    nb_text_format(text, ",\"stall\":\"%s\",\"stall_ms\":%lld", nb_stall_kind_name(stall->kind), milliseconds(voice));
    if (starved_ms(voice)) nb_text_format(text, ",\"processor_wait_ms\":%lld", starved_ms(voice));
    add_string(text, "culprit", culprit->at);
    add_string(text, "in", culprit->in);
    add_string(text, "method", stall->request.method);
    add_string(text, "path", stall->request.path);
    if (voice->route) add_string(text, "route", voice->route);
    add_string(text, "request_id", stall->request.id);
}

typedef void words_fn(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                      const nb_stall_culprit *culprit);

static void write_entry(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                        const nb_stall_culprit *culprit, words_fn *words, const char *level, bool trace) {
    if (!voice->json) {
        begin_line(text, voice, level);
        words(text, voice, stall, culprit);
        nb_text_add(text, "\n");
        if (trace) add_trace(text, voice, stall);
        return;
    }
    nb_text message;
    nb_text_init(&message, NB_STALL_ENTRY_BYTES_MAX);
    words(&message, voice, stall, culprit);
    add_json(text, voice, level, &message, stall, culprit);
    if (trace) add_json_trace(text, voice, stall);
    nb_text_add(text, "}\n");
    nb_text_deinit(&message);
}

void nb_stall_entry_begun(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                          const nb_stall_culprit *culprit) {
    write_entry(text, voice, stall, culprit, add_begun, "warning", true);
}

void nb_stall_entry_over(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                         const nb_stall_culprit *culprit) {
    write_entry(text, voice, stall, culprit, add_over, "info", false);
}
