/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_SERVER_H
#define EVLB_OVS_SERVER_H 1

/* Where switches connect: listeners and connections on a libevent loop.
 *
 * The server knows the switches that may connect by their datapath ids, and
 * the rules that each of them should hold.  It drives a session (session.h) on
 * each connection. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/instance.h"
#include "controller/target/ovs/session.h"

struct event_base;
struct ovs_server;
struct readback;
struct rule_set;
struct ssl_ctx_st;
struct session_packet;
struct snapshot;
struct snapshot_flow;

/* Connections at a time, those of strangers included. */
#define OVS_SERVER_MAX_CONNECTIONS 64

/* Called when the switch 'datapath_id' holds 'rules', which
 * ovs_server_set_rules() was given. */
typedef void ovs_server_committed_cb(void *aux, uint64_t datapath_id,
                                     const struct rule_set *rules);

struct ovs_server *
ovs_server_create(struct event_base *, ovs_server_committed_cb *, void *aux);
void ovs_server_destroy(struct ovs_server *);

char *ovs_server_listen(struct ovs_server *, const char *address);

void ovs_server_set_rules(struct ovs_server *, uint64_t datapath_id,
                          const char *name, const struct rule_set *);
bool ovs_server_is_connected(const struct ovs_server *, uint64_t datapath_id);
void ovs_server_remove(struct ovs_server *, uint64_t datapath_id);

/* How a switch is doing. */
struct ovs_switch_status {
    const char *name;
    uint64_t datapath_id;
    const char *peer;        /* NULL if it is not connected. */
    bool tls;                /* Is the connection encrypted? */
    const char *state;       /* The session's, in words; "" if none. */
    int64_t connected_since; /* CLOCK_MONOTONIC in ms, if connected. */
    size_t n_rules;          /* That it should hold. */
    const char *last_error;  /* Why its last connection ended, or NULL. */
    int64_t last_received;   /* When it was heard, as 'connected_since'. */
    uint64_t n_connections;  /* That were its. */
    struct session_counters counters;

    /* Once the switch has told what it is, and can do; else 0 and false. */
    unsigned int openflow; /* Version: 5 for 1.5. */
    bool slot_flows;       /* Are calendars flows, not groups? */
    bool secondary;        /* Does another controller decide? */
};

typedef void ovs_server_status_cb(void *aux, const struct ovs_switch_status *);
void ovs_server_for_each_switch(const struct ovs_server *,
                                ovs_server_status_cb *, void *aux);
size_t ovs_server_count_connected(const struct ovs_server *);

/* Reading what stands in a switch: see session-stats.h.  'snapshot' is NULL if
 * there is an 'error'.  The callback may be called before ovs_server_snapshot()
 * returns. */
typedef void
ovs_server_snapshot_cb(void *aux, const char *error, const struct snapshot *);
void
ovs_server_snapshot(struct ovs_server *, uint64_t datapath_id,
                    unsigned int parts, ovs_server_snapshot_cb *, void *aux);

/* Who wants to know what is read of switches, and what happens to their flows
 * while nobody reads. */
struct ovs_server_observer {
    /* The switch 'datapath_id' in its 'life' has deleted a flow of ours, at
     * the time 'now_ms' (CLOCK_MONOTONIC). */
    void (*removed)(void *aux, uint64_t datapath_id, unsigned int life,
                    const struct snapshot_flow *, int64_t now_ms);

    /* A snapshot was read; those who asked for it get it next. */
    void (*read)(void *aux, const struct snapshot *);
};

/* Called when the switch 'datapath_id' has been read, before it is changed. */
typedef void
ovs_server_held_cb(void *aux, uint64_t datapath_id, const struct readback *);

/* Called when a flow of ours in the switch 'datapath_id' sent 'packet'. */
typedef void ovs_server_packet_cb(void *aux, uint64_t datapath_id,
                                  const struct session_packet *packet);

void ovs_server_set_calendar_mode(struct ovs_server *, uint64_t datapath_id,
                                  enum calendar_mode);
void ovs_server_set_primary(struct ovs_server *, bool primary);
void ovs_server_set_tls(struct ovs_server *, struct ssl_ctx_st *);
void ovs_server_set_held_cb(struct ovs_server *, ovs_server_held_cb *);
void ovs_server_set_packet_cb(struct ovs_server *, ovs_server_packet_cb *);
void ovs_server_set_limits(struct ovs_server *, const struct session_limits *);
bool ovs_server_send_packet(struct ovs_server *, uint64_t datapath_id,
                            uint32_t port, const void *data, size_t size);

void ovs_server_set_observer(struct ovs_server *,
                             const struct ovs_server_observer *, void *aux);

#endif /* server.h */
