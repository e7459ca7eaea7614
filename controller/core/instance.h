/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_INSTANCE_H
#define EVLB_INSTANCE_H 1

/* What the load balancer is to do: interfaces and instances.
 *
 * A struct state is made once, from a configuration, and never changes; to
 * change what the balancer does, another one takes its place.
 * state_check_successor() says whether it may: no event that a connected epoch
 * already decides about may be decided otherwise.
 *
 * Line numbers are where the thing stands in its configuration file, so that
 * messages can say so. */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/addr.h"
#include "controller/core/epoch.h"

#define INSTANCE_ID_MAX 221 /* One table for each, up to table 253. */
#define INTERFACE_ID_MAX 15
#define MEMBER_BITS_MAX 14

/* How to get to the addresses in 'to': through the router 'via'. */
struct route {
    struct addr_block to;
    struct in6_addr via;
};
/* Defaults of struct state, milliseconds. */
#define STATE_MIN_LEAD 300
#define STATE_EPOCHS_KEPT 4
#define STATE_QUIESCE 10000

/* Likewise of struct reservation_settings. */
#define RESERVATION_PERIOD 1000
#define RESERVATION_SILENT 2000
#define RESERVATION_GONE 60000

/* A layer-2 interface: one MAC address, on the untagged frames or on those of
 * one VLAN. */
struct interface {
    char *name;
    uint8_t id;    /* 0...INTERFACE_ID_MAX. */
    uint16_t vlan; /* VLAN id, or 0 for untagged frames. */
    struct mac mac;
    struct addr_block *networks; /* Addresses that are on the link.  If none of
                                  * a family, all of it are but for routes. */
    size_t n_networks;
    struct route *routes;
    size_t n_routes;
    int line;
};

/* A port of a bridge. */
enum port_type {
    PORT_NONE,   /* One that the bridge does not have. */
    PORT_ANY,    /* Every port, where packets come in. */
    PORT_IN,     /* Where packets go out, the one that they came in through. */
    PORT_SEEN,   /* The one where the station was seen. */
    PORT_NORMAL, /* Where the bridge's own learning says. */
    PORT_NUMBER, /* That of OpenFlow port number 'number'. */
    PORT_NAME    /* That of the name 'name'. */
};

struct port {
    enum port_type type;
    uint32_t number;     /* PORT_NUMBER only. */
    char name[IFNAMSIZ]; /* PORT_NAME only. */
};

/* A compute node, as one instance sees it. */
struct member {
    uint16_t id; /* Not CALENDAR_NO_MEMBER. */
    struct in6_addr ip;
    struct mac mac; /* All zeros if it has to be found. */
    uint16_t base;  /* First UDP port. */
    uint8_t bits;   /* It receives on 2^bits ports. */
    bool keep;      /* Leave the load-balancer header? */
    struct port egress;
    int line; /* 0 if it was added at run time. */
    /* controller/store/overlay-record.c writes and reads all of this. */
};

/* What happens to ticks before the oldest epoch. */
enum late_policy {
    LATE_NEWEST, /* They go by the newest epoch. */
    LATE_DROP    /* They are dropped. */
};

/* Whose Sync datagrams are believed. */
enum sync_from {
    SYNC_FROM_SENDERS, /* Those of the instance's sources. */
    SYNC_FROM_ANY,     /* Everybody's. */
    SYNC_FROM_LIST     /* Those of a list of its own. */
};

/* How an instance learns how far its ticks are. */
struct sync_settings {
    char *address;           /* Where it listens, udp:ADDRESS:PORT, or NULL. */
    struct in6_addr *public; /* What senders are told instead, at most one of
                              * each family. */
    size_t n_public;
    enum sync_from from;
    struct addr_block *list; /* SYNC_FROM_LIST only. */
    size_t n_list;
    uint32_t look_ahead; /* Of a boundary that is chosen for it, ms. */
    uint32_t skew;       /* How far senders may be apart, ms. */
};

struct instance {
    char *name;
    uint16_t id;                /* 0...INSTANCE_ID_MAX. */
    bool reservable;            /* Is it the control API's? */
    struct in6_addr *addresses; /* Its own addresses, both families. */
    size_t n_addresses;
    const struct interface **interfaces; /* Where it has them. */
    size_t n_interfaces;
    uint16_t first_port; /* UDP destination ports of its events. */
    uint16_t last_port;
    struct addr_block *sources; /* Senders that are let in. */
    size_t n_sources;
    struct member *members; /* By ascending 'id'. */
    size_t n_members;
    enum late_policy late;
    struct sync_settings sync;
    struct epochs epochs;
    int *epoch_lines;    /* Parallel to 'epochs'. */
    uint64_t generation; /* Of them; another one has other ticks. */
    uint16_t last_epoch; /* The id that was given last at run time. */
    bool untouched;      /* May the only one still be replaced, because it
                          * decided about no packet yet? */
    int line;
};

/* How a switch has calendars. */
enum calendar_mode {
    CALENDAR_AUTO, /* As groups if it can, else as flows. */
    CALENDAR_GROUP,
    CALENDAR_FLOWS
};

/* A switch that carries the instances.  All carry the same. */
struct bridge {
    char *name;
    uint64_t datapath_id;
    enum calendar_mode calendar;
    char probe_interface[IFNAMSIZ]; /* Of this host, to measure changes */
    struct port probe_port;         /* through this port; or "". */
    struct port *ports; /* Where events may come in; none for anywhere. */
    size_t n_ports;
    int line;
};

/* How stations are looked for. */
struct neighbour_settings {
    bool resolve;     /* At all? */
    uint32_t refresh; /* Seconds from an answer to the next question. */
};

/* How instances are reserved, and who may receive their events. */
struct reservation_settings {
    uint32_t period;        /* Of the control loop, ms. */
    bool ready_on_register; /* Are workers ready before they reported? */
    uint32_t silent;        /* Without a report, until one is not ready, ms. */
    uint32_t gone;          /* Likewise, until it is gone. */
    struct addr_block *worker_networks; /* Where workers may be; if none, in
                                         * the networks of the interfaces. */
    size_t n_worker_networks;
    bool loopback_workers; /* May they have a loopback address, */
    bool private_workers;  /* or a private one? */
    bool from_worker;      /* Must a worker register from its own address? */
};

struct state {
    struct neighbour_settings neighbours;
    struct reservation_settings reservations;
    bool l2_normal;       /* Is a frame for others bridge traffic? */
    uint32_t min_lead;    /* Of a boundary, until it was measured; ms. */
    uint32_t epochs_kept; /* The newest of an instance that stay. */
    uint32_t quiesce;     /* From an epoch's end until it may go; ms. */
    struct interface *interfaces;
    size_t n_interfaces;
    struct instance *instances;
    size_t n_instances;
    struct bridge *bridges;
    size_t n_bridges;
};

void state_init(struct state *);
void state_clone(struct state *, const struct state *);
void state_destroy(struct state *);
const struct instance *state_find_instance(const struct state *, uint16_t id);
const struct instance *
state_find_instance_by_name(const struct state *, const char *name);
const struct bridge *
state_find_bridge(const struct state *, uint64_t datapath_id);
char *state_check_successor(const struct state *old, const struct state *new,
                            int *line);

int port_compare(const struct port *, const struct port *);
char *port_to_string(const struct port *);
bool port_from_keyword(const char *, struct port *);

bool interface_next_hop(const struct interface *, const struct in6_addr *ip,
                        struct in6_addr *next_hop);

bool instance_believes_sync(const struct instance *, const struct in6_addr *);
const struct member *
instance_find_member(const struct instance *, uint16_t id);
char *instance_check_member(const struct instance *, const struct member *);

#endif /* instance.h */
