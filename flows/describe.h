/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_DESCRIBE_H
#define EVLB_FLOWS_DESCRIBE_H 1

/* What stands in a switch, in the rules' own words.
 *
 * A struct description says of one flow, or of one member in one calendar
 * group, what it means to the balancer.  It is made of strings and numbers, to
 * be formatted by whoever shows it: what does not apply is -1, "" or NULL.
 * The words are the same for a rule that should be there (describe_rule()) and
 * for a flow or group that a switch reports (describe_flow(),
 * describe_group()), because a rule is described by the flows and groups that
 * it becomes.
 *
 * A table of flows, as an operator wants to see it:
 *
 *     for each struct snapshot_flow f of a snapshot:
 *         d = &f->words
 *         print d->stage, d->instance, d->epoch, d->first_tick ..
 *               d->last_tick if d->has_ticks, d->member, d->member_ip,
 *               d->member_mac, d->egress, d->verdict, f->packets, f->bytes
 *     for each struct snapshot_group g, for each of its 'g->words':
 *         print d->stage, d->instance, d->epoch, d->slots, d->n_slots,
 *               d->member, d->member_ip, d->member_mac */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/addr.h"

struct match;
struct ofpact;
struct ofputil_bucket;
struct ofputil_group_desc;
struct rule;

struct description {
    /* What it is. */
    const char *stage;   /* Of the pipeline: "classify", ..., "calendar". */
    const char *kind;    /* Of the rule, or "unknown". */
    const char *verdict; /* "pass" if the packet goes on. */
    int table;           /* -1 for a group. */
    int priority;        /* -1 for a group. */

    /* Whose it is, and which packets it is about. */
    int instance;              /* -1 if it is no one instance's. */
    int iface;                 /* -1 if it is no one interface's. */
    int vlan;                  /* VLAN id; 0 if untagged; -1 for any. */
    int in_port;               /* OpenFlow port number, or -1 for any. */
    int epoch;                 /* -1 if it is no epoch's. */
    bool has_ticks;            /* Are the next three valid? */
    int tick_bits;             /* Length of the prefix. */
    uint64_t first_tick;       /* Of those with the prefix. */
    uint64_t last_tick;        /* Inclusive. */
    char *slots;               /* "0-127,256", of a calendar; or NULL. */
    int n_slots;               /* How many those are, or -1. */
    char eth_dst[MAC_STRLEN];  /* Or "multicast", or "". */
    char address[ADDR_STRLEN]; /* Destination or target, or "". */
    char source[ADDR_STRLEN];  /* Senders, or "". */
    int first_port;            /* UDP destination ports, or -1. */
    int last_port;

    /* What becomes of them. */
    int member;                  /* -1 if it is no member's. */
    char member_ip[ADDR_STRLEN]; /* Or "". */
    char member_mac[MAC_STRLEN]; /* Or "". */
    int member_base;             /* First UDP port, or -1. */
    int member_ports;            /* How many there are, or -1. */
    bool keep;                   /* Does the balancer's header stay? */
    char egress[16]; /* Port number, "in_port", "normal", "host", "controller"
                      * or "". */
    uint32_t group;  /* That it goes on in, or 0. */
};

struct descriptions {
    struct description *rows;
    size_t n;
    size_t allocated;
};

void description_init(struct description *);
void description_uninit(struct description *);
void descriptions_init(struct descriptions *);
void descriptions_destroy(struct descriptions *);

void describe_flow(uint8_t table, uint16_t priority, uint64_t cookie,
                   const struct match *, const struct ofpact *, size_t len,
                   struct description *);
void describe_group(const struct ofputil_group_desc *, struct descriptions *);
char *describe_actions(const struct ofpact *, size_t len);
int describe_bucket_member(const struct ofputil_bucket *);
void describe_rule(const struct rule *, struct descriptions *);
void describe_member_like(struct description *, const struct description *);

#endif /* describe.h */
