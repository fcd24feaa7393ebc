/*
 * kernel_tls.h - whether the kernel makes TLS records (kTLS: Linux 4.17 and newer with the module
 * tls). Any thread.
 */
#ifndef NB_OS_KERNEL_TLS_H
#define NB_OS_KERNEL_TLS_H

#include <stdbool.h>

/* Asked once for the process. */
bool nb_os_kernel_tls(void);

#endif
