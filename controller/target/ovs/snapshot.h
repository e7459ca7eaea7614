/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_OVS_SNAPSHOT_H
#define EVLB_OVS_SNAPSHOT_H 1

/* What stands in a switch and is ours, and what it has counted.
 *
 * A snapshot is filled from the switch's replies (session-stats.c asks for
 * them), is constant from then on, and is shared by counting references.  It
 * has the parts that were asked for; 'parts' says which.  A part is of one
 * moment, but two parts are not of the same one.
 *
 * Replies are not believed: each list is decoded with its lengths checked, and
 * a switch that has more than READBACK_MAX things, or SNAPSHOT_BYTES_MAX bytes
 * to say about them, gets an error instead. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/target/ovs/ports.h"
#include "flows/cookie.h"
#include "flows/describe.h"

struct ofp_header;
struct ofpbuf;

enum {
    SNAPSHOT_FLOWS = 1 << 0,  /* Flows by our cookies. */
    SNAPSHOT_GROUPS = 1 << 1, /* Groups by our ids. */
    SNAPSHOT_METERS = 1 << 2, /* All meters. */
    SNAPSHOT_PORTS = 1 << 3,  /* All ports. */
    SNAPSHOT_ALL = (1 << 4) - 1
};

/* Bytes in all replies for one snapshot. */
#define SNAPSHOT_BYTES_MAX (64u * 1024 * 1024)

/* Packets and bytes that the switch does not count are 0. */
struct snapshot_count {
    uint64_t packets;
    uint64_t bytes;
};

struct snapshot_flow {
    uint8_t table;
    uint16_t priority;
    uint64_t cookie;
    bool known;          /* Is the next one valid? */
    struct cookie whose; /* 'cookie' decoded. */
    struct snapshot_count count;
    uint64_t duration_ms; /* Since the switch has it. */
    bool gone;            /* Has it been deleted meanwhile? */
    char *match;          /* In the switch's own words. */
    char *actions;
    struct description words; /* In the rules' words. */
};

struct snapshot_bucket {
    uint32_t slot;
    int member; /* Or -1. */
    struct snapshot_count count;
};

struct snapshot_group {
    uint32_t id;
    uint16_t instance;
    uint16_t epoch;
    char *method; /* "lb_calendar", or "" */
    uint8_t bits; /* Of slots. */
    uint16_t xor ;
    uint8_t table;       /* Where packets go on. */
    uint32_t references; /* Flows that use it. */
    struct snapshot_count count;
    uint64_t duration_ms;
    struct snapshot_bucket *buckets;
    size_t n_buckets;
    struct descriptions words; /* A row for each member. */
};

struct snapshot_meter {
    uint32_t id;
    uint32_t flows;
    struct snapshot_count in;
    struct snapshot_count over; /* The rate of a band. */
    uint64_t duration_ms;
};

struct snapshot_port {
    uint32_t number;
    char name[IFNAMSIZ];
    struct snapshot_count rx, tx;
    uint64_t rx_dropped, tx_dropped, rx_errors, tx_errors;
    uint64_t duration_ms;
};

struct snapshot {
    unsigned int n_refs;
    uint64_t datapath_id;
    char *name;         /* Of the switch. */
    unsigned int life;  /* How often it was found to hold nothing of ours. */
    int64_t time_ms;    /* When its first part was read, CLOCK_MONOTONIC. */
    unsigned int parts; /* SNAPSHOT_*. */
    size_t n_bytes;     /* Of replies so far. */

    struct snapshot_flow *flows;
    size_t n_flows, allocated_flows;
    struct snapshot_group *groups; /* By ascending 'id'. */
    size_t n_groups, allocated_groups;
    bool groups_sorted;
    size_t n_buckets; /* Of all groups. */
    struct snapshot_meter *meters;
    size_t n_meters, allocated_meters;
    struct snapshot_port *ports; /* By ascending 'number'. */
    size_t n_ports, allocated_ports;
    bool ports_sorted;
};

struct snapshot *snapshot_create(uint64_t datapath_id, const char *name,
                                 unsigned int parts, int64_t now);
const struct snapshot *snapshot_ref(const struct snapshot *);
void snapshot_unref(const struct snapshot *);

char *snapshot_receive(struct snapshot *, const struct ofp_header *);
void snapshot_finish(struct snapshot *);

void snapshot_flow_uninit(struct snapshot_flow *);
char *
snapshot_decode_removed(const struct ofp_header *, struct snapshot_flow *);
void snapshot_mark_removed(struct snapshot *, const struct snapshot_flow *);
const char *snapshot_port_name(const struct snapshot *, uint32_t number);

#endif /* snapshot.h */
