/*
 * http2_none.c - http2_session.h where the build has found no libnghttp2.
 */
#include "protocols/http2_session.h"

#ifndef NB_HAVE_HTTP2

const nb_protocol *nb_http2_protocol(void) { return NULL; }

#endif
