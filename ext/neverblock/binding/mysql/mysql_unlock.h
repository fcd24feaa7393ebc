/*
 * mysql_unlock.h - NeverBlock.mysql_unlock, .mysql_unlocked: calls of mysql2 that keep the GVL are
 * made without it.
 */
#ifndef NB_BINDING_MYSQL_UNLOCK_H
#define NB_BINDING_MYSQL_UNLOCK_H

#include <ruby.h>

void nb_mysql_unlock_define(VALUE module);

#endif
