/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_HTTP_PRIVATE_H
#define EVLB_HTTP_PRIVATE_H 1

/* Within the HTTP server.
 *
 *     http_server 1 ---> door * (an address, an evhttp)
 *          |
 *          '--> connection * <--> http_call (the one that is unanswered)
 *
 * evhttp tells nobody of its connections, so each is made of a bufferevent that
 * we have, too.  Who is at the other end is known a moment later, when evhttp
 * has given it a socket; and that evhttp has let go of it, by its having no
 * callbacks any more. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <openvswitch/list.h>

#include "controller/api/http-server.h"

struct bufferevent;
struct evhttp;
struct evhttp_request;
struct ssl_ctx_st;

struct tls_watch;

/* Our certificate, which is read again when it is renewed. */
struct http_certificate {
    struct tls_watch *watch;
    struct ssl_ctx_st *tls;
};

struct http_limits {
    unsigned int max_connections;
    unsigned int max_peer_connections; /* From one address. */
    int64_t timeout;                   /* ms */
};

struct http_server {
    struct event_base *base;
    http_handler *handler;
    void *aux;
    struct http_certificate *certificate; /* Or NULL. */
    struct http_limits limits;
    struct ovs_list doors;       /* Of "struct http_door"s. */
    struct ovs_list connections; /* Of "struct http_connection"s. */
    struct event *admit;         /* Looks at new connections. */
    struct event *sweep;         /* Ends those that are too slow. */
    struct http_server_counters counters;
};

struct http_door {
    struct ovs_list node; /* In 'doors' of the server or a change. */
    struct http_server *server;
    char *address;
    bool tls;
    struct evhttp *http;
};

struct http_connection {
    struct ovs_list node; /* In the server's 'connections'. */
    struct http_server *server;
    struct bufferevent *bev; /* A reference. */
    char *peer;              /* NULL until it was admitted. */
    struct in6_addr address;
    bool local;             /* Is the peer on this host? */
    int64_t deadline;       /* For what we wait for from it. */
    struct http_call *call; /* That is unanswered, or NULL. */
};

/* http-connection.c */
struct bufferevent *http_connection_create(struct http_server *, bool tls);
struct http_connection *
http_connection_find(struct http_server *, const struct bufferevent *);
void http_connection_wait(struct http_connection *);
void http_connections_look(struct http_server *);
void http_connections_init(struct http_server *);
void http_connections_destroy(struct http_server *);

/* http-call.c */
void http_call_start(struct http_server *, struct evhttp_request *);

#endif /* http-private.h */
