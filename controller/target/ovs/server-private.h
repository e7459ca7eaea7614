/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_SERVER_PRIVATE_H
#define EVLB_OVS_SERVER_PRIVATE_H 1

/* Within the server: what it knows, and its parts.
 *
 *     server.c        switches, doors, what the owner asks for
 *     connection.c    a connection: bytes in and out of its session, and what
 *                     the session asks for */

#include "controller/target/ovs/server.h"

#include <stdbool.h>

#include <config.h>
#include <openvswitch/list.h>

#include "controller/target/ovs/session.h"

struct bufferevent;
struct event;
struct listener;

struct ovs_switch {
    struct ovs_list node; /* In struct ovs_server's 'switches'. */
    uint64_t datapath_id;
    char *name;
    const struct rule_set *rules; /* What it should hold. */
    enum calendar_mode calendar_mode;
    struct connection *connection; /* Or NULL. */
    char *last_error;       /* Why its last connection ended, or NULL. */
    unsigned int life;      /* How often it held nothing when it connected. */
    uint64_t n_connections; /* That were its. */
    struct session_counters counters; /* Of those that are over. */
};

/* Where switches knock. */
struct door {
    struct ovs_list node; /* In struct ovs_server's 'doors'. */
    struct ovs_server *server;
    struct listener *listener;
};

struct connection {
    struct ovs_list node; /* In struct ovs_server's 'connections'. */
    struct ovs_server *server;
    struct ovs_switch *sw; /* Once it is known, or NULL. */
    struct bufferevent *bev;
    struct event *timer;
    char *peer;
    bool tls;
    struct session *session; /* NULL if only last words are left. */
    int64_t since;           /* When it was accepted. */
};

struct ovs_server {
    struct event_base *base;
    ovs_server_committed_cb *committed;
    void *aux;
    const struct ovs_server_observer *observer; /* Or NULL. */
    void *observer_aux;
    ovs_server_packet_cb *packet; /* Or NULL. */
    ovs_server_held_cb *held;     /* Or NULL. */
    struct session_limits limits;
    uint64_t generation; /* As the primary controller, or 0. */
    struct ovs_list doors;
    struct ssl_ctx_st *tls; /* Or NULL. */
    struct ovs_list connections;
    size_t n_connections;
    struct ovs_list switches;
};

/* server.c */
struct ovs_switch *
ovs_server_find__(const struct ovs_server *, uint64_t datapath_id);
int64_t ovs_server_now__(void);

/* connection.c */
void connection_accept__(void *door, int fd, const char *peer);
void connection_close__(struct connection *, const char *reason);
void connection_update__(struct connection *);
void connection_wake__(struct connection *);
void connection_destroy__(struct connection *);

#endif /* server-private.h */
