/*
 * compliance.h - how much is accepted beyond the grammar, in a request target and in Host only.
 * Line ends, field names, control bytes and everything that decides where a message ends follow the
 * grammar at every level. docs/decisions/0002-strictness.md has the table and the reasons.
 */
#ifndef NB_HTTP_COMPLIANCE_H
#define NB_HTTP_COMPLIANCE_H

/* Each level accepts what the one before accepts, and more. The numbers are those of the setting
 * http_compliance. */
typedef enum nb_compliance {
    NB_COMPLIANCE_STRICT, /* the grammar, and [ ] { } | ^ ` in a target */
    /* What clients send, and other servers read in the same way. In a target: bytes over 0x7f, a
     * backslash, a fragment (dropped). In Host: no name, or a colon without a port. */
    NB_COMPLIANCE_COMMON,
    /* In a target: " < >. In Host: bytes over 0x7f, a comma, an IPv6 zone, leading zeros of a
     * port. */
    NB_COMPLIANCE_LENIENT,
    NB_COMPLIANCE_COUNT
} nb_compliance;

#endif
