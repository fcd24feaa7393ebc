/*
 * answer.h - what a MySQL or MariaDB server answers to a query, looked at before a driver reads it. No allocation, no system call.
 */
#ifndef NB_MYSQL_ANSWER_H
#define NB_MYSQL_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether the bytes, the beginning of an answer (text protocol, neither compressed nor encrypted), hold its first result as a whole, so that a driver reads it
 * without waiting. False when that cannot be told; once true, true with whatever follows. Any thread.
 * https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response.html, https://mariadb.com/kb/en/result-set-packets/
 */
bool nb_mysql_answer_whole(const uint8_t *bytes, size_t size);

#endif
