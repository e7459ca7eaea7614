/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_TLS_CLIENT_H
#define EVLB_TLS_CLIENT_H 1

/* TLS to a server that speaks HTTP/2.  Version 1.2 at least.
 *
 * The server's certificate has to be for the host that was asked for, and
 * signed by an authority: those of the file 'ca', or, if that is NULL, those
 * that the system trusts.  'insecure' does without any of this. */

#include <stdbool.h>

struct bufferevent;
struct event_base;

char *tls_connect(struct event_base *, int fd, const char *host,
                  const char *ca, bool insecure, struct bufferevent **);

#endif /* tls-client.h */
