/*
 * mysql.h - what lib/neverblock/db/mysql2 needs and Ruby cannot do, or not quickly:
 * NeverBlock.mysql_answered?, .mysql_unlock, .mysql_unlocked and NeverBlock::MysqlHandles.
 */
#ifndef NB_BINDING_MYSQL_H
#define NB_BINDING_MYSQL_H

#include <ruby.h>

void nb_mysql_define(VALUE module);

#endif
