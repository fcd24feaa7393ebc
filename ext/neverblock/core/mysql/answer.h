/*
 * answer.h - looks at the answer of a MySQL or MariaDB server before a driver reads it. No
 * allocation, no system call. Threads: any.
 */
#ifndef NB_MYSQL_ANSWER_H
#define NB_MYSQL_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * True: the bytes hold the first result of the answer completely, so that a driver can read it
 * without waiting. bytes: the beginning of an answer in the text protocol, neither compressed nor
 * encrypted. False: it is incomplete, or cannot be judged. Bytes that follow do not change true to
 * false.
 *
 *   https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response.html
 *   https://mariadb.com/kb/en/result-set-packets/
 */
bool nb_mysql_answer_whole(const uint8_t *bytes, size_t size);

#endif
