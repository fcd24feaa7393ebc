/*
 * mysql.h - what lib/neverblock/db/mysql2 needs and Ruby cannot do, or not quickly: NeverBlock.mysql_answered?, .mysql_unlock,
 * .mysql_unlocked and NeverBlock::MysqlHandles.
 */
#ifndef NB_BINDING_MYSQL_H
#define NB_BINDING_MYSQL_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether the bytes, the beginning of what a MySQL or MariaDB server answers to a query (text protocol, neither compressed nor encrypted), hold its first result
 * as a whole, so that a driver reads it without waiting. False when that cannot be told.
 * https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response.html, https://mariadb.com/kb/en/result-set-packets/
 */
bool nb_mysql_answer_whole(const uint8_t *bytes, size_t size);

void nb_mysql_define(VALUE module);
void nb_mysql_unlock_define(VALUE module);
void nb_mysql_handles_define(VALUE module);

#endif
