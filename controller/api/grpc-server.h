/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_GRPC_SERVER_H
#define EVLB_GRPC_SERVER_H 1

/* A gRPC server on a libevent loop: listeners, and a session (grpc-session.h)
 * on each connection.
 *
 * At an address "ssl:..." connections are made with what grpc_server_set_tls()
 * was given (tls.h), and agree on HTTP/2 by ALPN if the client offers it.
 *
 * At the door of a Unix socket the kernel says who comes.  Root and the user
 * that we run as are let in, and the members of one group if that is given. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bufferevent;
struct event_base;
struct grpc_server;
struct grpc_services;
struct ssl_ctx_st;

#define GRPC_NO_GROUP ((gid_t) -1)

/* How much strangers may take of us.  Peers are told apart by address; those of
 * Unix sockets are one. */
struct grpc_server_limits {
    size_t max_connections;      /* In all. */
    size_t max_peer_connections; /* Of one peer. */
    uint32_t max_peer_rate;      /* Calls of one peer in a second; 0 for no
                                  * limit. */
};

struct grpc_server *
grpc_server_create(struct event_base *, const struct grpc_services *);
void grpc_server_destroy(struct grpc_server *);

char *
grpc_server_listen(struct grpc_server *, const char *address, gid_t group);
void grpc_server_close(struct grpc_server *, const char *address);
void grpc_server_set_limits(struct grpc_server *,
                            const struct grpc_server_limits *);
void grpc_server_set_tls(struct grpc_server *, struct ssl_ctx_st *);
void grpc_server_add_connection(struct grpc_server *, struct bufferevent *,
                                const char *peer);

#endif /* grpc-server.h */
