/*
 * compliance.h - how much of what the grammar leaves out is read all the same: in a request target and in Host, nowhere else. Line ends, field
 * names, control bytes and all that decides where a message ends are read by the grammar alone, whatever is chosen.
 * docs/decisions/0002-strictness.md has the table and the reasons.
 */
#ifndef NB_HTTP_COMPLIANCE_H
#define NB_HTTP_COMPLIANCE_H

/* Each reads what the one before it reads, and more. The numbers are those of the setting http_compliance. */
typedef enum nb_compliance {
    NB_COMPLIANCE_STRICT, /* the grammar, and [ ] { } | ^ ` in a target */
    NB_COMPLIANCE_COMMON, /* what clients send and other servers read alike: in a target bytes over 0x7f, a backslash, a
                              fragment (cut off); a Host without a name, or without a port behind its colon */
    NB_COMPLIANCE_LENIENT, /* " < > in a target; in Host bytes over 0x7f, a comma, a zone of IPv6, a port with more zeros */
    NB_COMPLIANCE_COUNT
} nb_compliance;

#endif
