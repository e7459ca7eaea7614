/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_TLS_H
#define EVLB_TLS_H 1

/* TLS for those who connect to us: our certificate, and, if 'ca' is given, the
 * authority that has to have signed theirs.  Version 1.2 at least. */

#include <stdbool.h>

struct bufferevent;
struct event_base;
struct ssl_ctx_st;
struct tls_files {
    char *certificate; /* PEM, with the chain above it; or NULL for no TLS. */
    char *private_key;
    char *ca; /* Or NULL: anybody may connect. */
};

void tls_files_destroy(struct tls_files *);
char *tls_context_create(const struct tls_files *, struct ssl_ctx_st **,
                         const char **setting);
void tls_context_destroy(struct ssl_ctx_st *);

struct bufferevent *
tls_accept(struct event_base *, struct ssl_ctx_st *, int fd);
char *tls_get_peer(struct bufferevent *);
char *tls_get_error(struct bufferevent *);
bool tls_is_http2(struct bufferevent *);

#endif /* tls.h */
