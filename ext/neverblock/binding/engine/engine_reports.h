/*
 * engine_reports.h - the reports of downloads that an Engine gives away: open_reports, take_report,
 * count_reports.
 */
#ifndef NB_BINDING_ENGINE_REPORTS_H
#define NB_BINDING_ENGINE_REPORTS_H

#include <ruby.h>

void nb_engine_reports_define(VALUE engine_class);

#endif
