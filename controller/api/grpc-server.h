/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_SERVER_H
#define EVLB_GRPC_SERVER_H 1

/* A gRPC server on a libevent loop: listeners, and a session (grpc-session.h)
 * on each connection.
 *
 * At an address "ssl:..." connections are made with what grpc_server_set_tls()
 * was given (tls.h), and agree on HTTP/2 by ALPN; those that do not are closed.
 *
 * The bounds of strangers are those of struct grpc_settings (grpc-peer.h); the
 * default is GRPC_SETTINGS_DEFAULT.
 *
 * At the door of a Unix socket the kernel says who comes.  Root and the user
 * that we run as are let in, and the members of one group if that is given. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event_base;
struct grpc_server;
struct grpc_services;
struct grpc_settings;
struct ssl_ctx_st;

#define GRPC_NO_GROUP ((gid_t) -1)

/* What has come so far. */
struct grpc_server_counters {
    size_t n_connections; /* That there are. */
    uint64_t n_accepted;
    uint64_t n_refused;   /* Too many, or nobody that is let in. */
    uint64_t n_http1;     /* Spoke HTTP/1. */
    uint64_t n_misspoken; /* Spoke neither, or broke HTTP/2's rules. */
};

struct grpc_server *
grpc_server_create(struct event_base *, const struct grpc_services *);
void grpc_server_destroy(struct grpc_server *);

char *
grpc_server_listen(struct grpc_server *, const char *address, gid_t group);
void grpc_server_close(struct grpc_server *, const char *address);
void
grpc_server_set(struct grpc_server *, const struct grpc_settings *settings);
void grpc_server_set_tls(struct grpc_server *, struct ssl_ctx_st *);
void grpc_server_get_counters(const struct grpc_server *,
                              struct grpc_server_counters *);

#endif /* grpc-server.h */
