/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_RULE_H
#define EVLB_RULE_H 1

/* Rules: one row of one logical table of the data plane.
 *
 * What a packet meets, from the port to the member:
 *
 *     l2_iface -> mac_filter -> ip_filter -> source -> ports
 *                                  |                     |
 *                                answers         epoch -> calendar -> member
 *
 * A rule is of one kind, which says what table it is in.  Its key says which
 * row of the table it is, the rest says what happens there.  A data plane
 * needs exactly one thing for each rule, and no two rules of different keys
 * get in each other's way. */

#include <stdbool.h>
#include <stdint.h>

#include "controller/core/addr.h"
#include "controller/core/instance.h"
#include "controller/core/prefix.h"

struct calendar;

/* The kinds of rules, in the order in which they must become effective: what
 * a rule refers to is of a kind above.  A packet takes the opposite way, so
 * that the door opens last.
 *
 *         KIND        member      name */
#define RULE_KINDS                                  \
    RULE_KIND(PIPELINE, pipeline, "pipeline")       \
    RULE_KIND(PROBE, probe, "probe")                \
    RULE_KIND(IFACE, iface, "iface")                \
    RULE_KIND(INSTANCE, instance, "instance")       \
    RULE_KIND(MEMBER, member, "member")             \
    RULE_KIND(CALENDAR, calendar, "calendar")       \
    RULE_KIND(EPOCH, epoch, "epoch")                \
    RULE_KIND(PORTS, ports, "ports")                \
    RULE_KIND(SOURCE, source, "source")             \
    RULE_KIND(IP_FILTER, ip_filter, "ip_filter")    \
    RULE_KIND(MAC_FILTER, mac_filter, "mac_filter") \
    RULE_KIND(L2_IFACE, l2_iface, "l2_iface")

enum rule_kind {
#define RULE_KIND(KIND, MEMBER, NAME) RULE_##KIND,
    RULE_KINDS
#undef RULE_KIND
};

/* What holds for the whole data plane; there is one. */
struct rule_pipeline {
    bool l2_normal; /* Frames for others: forward or drop? */
};

/* An interface: its counters of frames that are for no instance. */
struct rule_iface {
    uint8_t iface; /* Key. */

    bool l2_normal; /* Frames for others: forward or drop? */
};

/* A scratch boundary that packets of the controller's own meet, which come back
 * with the number of the change that the data plane decided them by. */
struct rule_probe {
    struct port port; /* Where they come in and go out.  Key. */

    uint16_t change; /* 1...65535. */
};

/* An instance: its counters of accepted and dropped packets. */
struct rule_instance {
    uint16_t instance; /* Key. */

    bool l2_normal; /* Questions for others: forward or drop? */

    /* May epochs in a switch that are not known any more go, even the newest,
     * because another generation began?  No part of what is installed. */
    bool renewable;
};

/* What becomes of a member's packets.
 *
 *         MEMBER          name */
#define RULE_MEMBER_ACTIONS                          \
    RULE_MEMBER_ACTION(FORWARD, "forward")           \
    /* Dropped, and counted by these names. */       \
    RULE_MEMBER_ACTION(SOFT_EVICTED, "soft_evicted") \
    RULE_MEMBER_ACTION(DEREGISTERED, "deregistered") \
    RULE_MEMBER_ACTION(UNRESOLVED, "unresolved")

enum rule_member_action {
#define RULE_MEMBER_ACTION(ACTION, NAME) RULE_MEMBER_##ACTION,
    RULE_MEMBER_ACTIONS
#undef RULE_MEMBER_ACTION
};

/* Where a member's packets go, for one address of the instance. */
struct rule_member {
    uint16_t instance;       /* Key. */
    uint16_t vlan;           /* Key.  VLAN id, 0 for untagged. */
    struct in6_addr address; /* Key.  The instance's. */
    uint16_t member;         /* Key. */

    enum rule_member_action action;
    struct mac src_mac; /* The instance's. */
    struct mac mac;     /* The member's. */
    struct in6_addr ip;
    uint16_t base;
    uint8_t bits;
    bool keep;
    struct port egress;
};

/* The members of an epoch's slots. */
struct rule_calendar {
    uint16_t instance; /* Key. */
    uint16_t epoch;    /* Key. */

    uint16_t xor ;
    const struct calendar *calendar;
};

/* The epoch of the ticks with a prefix. */
struct rule_epoch {
    uint16_t instance;    /* Key. */
    struct prefix prefix; /* Key. */

    bool late; /* Are the ticks before the oldest epoch? */
    bool drop; /* Drop them, ignoring 'epoch'. */
    uint16_t epoch;
};

/* UDP destination ports that carry events: those that agree with 'port' where
 * 'mask' is 1. */
struct rule_ports {
    uint16_t instance; /* Key. */
    uint16_t port;     /* Key. */
    uint16_t mask;     /* Key. */
};

/* Senders that are let in. */
struct rule_source {
    uint16_t instance;       /* Key. */
    struct addr_block block; /* Key. */
};

/* A destination of packets that are for an instance, on an interface: the
 * unicast address that it answers with, or another one, as the solicited-node
 * multicast address of an IPv6 address. */
struct rule_ip_filter {
    uint8_t iface;           /* Key. */
    struct in6_addr address; /* Key. */

    uint16_t instance;
    struct in6_addr unicast; /* Of the same family. */
    struct mac mac;          /* The interface's. */
};

/* An Ethernet destination that an interface accepts. */
struct rule_mac_filter {
    uint8_t iface;  /* Key. */
    struct mac mac; /* Key. */
};

/* The interface that a frame comes in through. */
struct rule_l2_iface {
    struct port port; /* Key. */
    uint16_t vlan;    /* Key.  VLAN id, 0 for untagged. */

    uint8_t iface;
};

struct rule {
    enum rule_kind kind;
    union {
#define RULE_KIND(KIND, MEMBER, NAME) struct rule_##MEMBER MEMBER;
        RULE_KINDS
#undef RULE_KIND
    };
};

const char *rule_kind_to_string(enum rule_kind);
const char *rule_member_action_to_string(enum rule_member_action);
int rule_compare(const struct rule *, const struct rule *);
bool rule_equal(const struct rule *, const struct rule *);
char *rule_to_string(const struct rule *);

#endif /* rule.h */
