/*
 * mysql_handles.h - NeverBlock::MysqlHandles: handles of a connection (statements, results) that
 * are collected while the connection is in a call are freed after the call.
 */
#ifndef NB_BINDING_MYSQL_HANDLES_H
#define NB_BINDING_MYSQL_HANDLES_H

#include <ruby.h>

void nb_mysql_handles_define(VALUE module);

#endif
