/*
 * engine_reports.c - Engine's reports of downloads that an application has named
 * (metrics/reports.h).
 */
#include "binding/engine/engine_reports.h"

#include "binding/engine/engine.h"
#include "binding/base/module.h"
#include "metrics/downloads.h"
#include "metrics/reports.h"

static ID result_names[NB_DOWNLOAD_RESULT_COUNT], fate_names[NB_REPORT_FATE_COUNT];

/* open_reports -> a descriptor that is readable when a report can be taken; the engine closes it.
   Before start. */
static VALUE engine_open_reports(VALUE self) {
    int fd = -1;
    nb_status status = nb_server_reports_open(nb_engine_server(self), &fd);
    if (status == NB_FULL) rb_raise(nb_error_class, "reports are asked for once, before the engine starts");
    if (status != NB_OK) nb_raise_status(status, "reports of downloads");
    return INT2NUM(fd);
}

static VALUE text_of(nb_slice bytes) { return rb_utf8_str_new(bytes.data, (long)bytes.size); }

/* Ends that are the server's own are "aborted" for the application. */
static VALUE result_of(const nb_report *report) {
    uint16_t result = report->result;
    if (result == NB_DOWNLOAD_shrunk || result == NB_DOWNLOAD_stopped) result = NB_DOWNLOAD_aborted;
    return ID2SYM(result_names[result < NB_DOWNLOAD_RESULT_COUNT ? result : NB_DOWNLOAD_aborted]);
}

/* take_report -> [id, path, bytes, seconds, result]; nil: there is none now. One thread. */
static VALUE engine_take_report(VALUE self) {
    _Alignas(nb_report) char place[NB_REPORT_BYTES_MAX];
    nb_report *report = (nb_report *)(void *)place;
    if (!nb_server_report_take(nb_engine_server(self), report)) return Qnil;
    return rb_ary_new_from_args(5, text_of(nb_report_id(report)), text_of(nb_report_path(report)),
                                ULL2NUM(report->bytes), DBL2NUM((double)report->duration_ns / 1e9), result_of(report));
}

/* count_reports(fate, count): adds to the figures. fate: :posted, :refused, :called, :failed or
   :lost. */
static VALUE engine_count_reports(VALUE self, VALUE fate, VALUE count) {
    ID name = rb_sym2id(fate);
    unsigned found = 0;
    while (found < NB_REPORT_FATE_COUNT && fate_names[found] != name)
        found++;
    if (found == NB_REPORT_FATE_COUNT) rb_raise(rb_eArgError, "no fate of a report: %+" PRIsVALUE, fate);
    nb_server_reports_count(nb_engine_server(self), found, NUM2ULL(count));
    return self;
}

void nb_engine_reports_define(VALUE class) {
#define NB_INTERN(name) result_names[NB_DOWNLOAD_##name] = rb_intern(#name);
    NB_DOWNLOAD_RESULTS(NB_INTERN)
#undef NB_INTERN
#define NB_INTERN(name) fate_names[NB_REPORT_##name] = rb_intern(#name);
    NB_REPORT_FATES(NB_INTERN)
#undef NB_INTERN
    rb_define_method(class, "open_reports", engine_open_reports, 0);
    rb_define_method(class, "take_report", engine_take_report, 0);
    rb_define_method(class, "count_reports", engine_count_reports, 2);
}
