/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_TRACE_H
#define EVLB_TRACE_H 1

/* Where a packet goes, by the rules that a bridge should hold.
 *
 *     struct trace_packet p;
 *     char *error = trace_parse_hex(hex, &p);      A packet that is there, or
 *     error = trace_make_event(&event, &p);        one of an event.
 *     trace_run(rules, in_port, &p, &result);
 *
 * The rules become flows and groups as they do for a switch, and the packet is
 * led through them: nothing of a switch takes part, so that what comes out is
 * what evlbd wants.  What a switch says about the same packet is compared with
 * it by trace-switch.h.
 *
 * Pure: no I/O, no clock.  Packets may be anything. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/core/addr.h"
#include "flows/describe.h"

struct instance;
struct rule_set;
struct state;

/* Longer packets are not traced. */
#define TRACE_PACKET_MAX 9216

struct trace_packet {
    uint8_t data[TRACE_PACKET_MAX];
    size_t len;
};

/* An event's packet. */
struct trace_event {
    struct mac eth_src, eth_dst;
    uint16_t vlan;       /* 0 for untagged. */
    struct in6_addr src; /* Of one family. */
    struct in6_addr dst;
    uint8_t ttl;
    uint16_t udp_src;
    uint16_t udp_dst;
    uint8_t version; /* Of the balancer's header, 2 or 3. */
    uint64_t tick;
    uint16_t slot_select; /* Version 3 only. */
    uint16_t entropy;
};

/* One flow that the packet met. */
struct trace_step {
    struct description words;
    char *match;
    char *actions;
};

struct trace_result {
    struct trace_step *steps; /* In the packet's order. */
    size_t n_steps;
    size_t allocated_steps;

    /* -1 where the packet did not come so far. */
    int instance;
    int epoch;
    int slot;
    int member;
    uint32_t group;      /* Or 0. */
    const char *verdict; /* Of the last flow; "no flow" if none matched. */
    bool dropped;

    /* What lb_parse found; NULL if it was not asked. */
    const char *lb_status;
    uint8_t lb_version;
    uint64_t lb_tick;
    uint16_t lb_slot_select;
    uint16_t lb_port_select;

    /* Where it goes; "" if it is dropped. */
    char egress[16];
    uint32_t in_port;

    /* The packet that goes out there, as far as it is rewritten. */
    char eth_src[MAC_STRLEN];
    char eth_dst[MAC_STRLEN];
    char ip_src[ADDR_STRLEN];
    char ip_dst[ADDR_STRLEN];
    int vlan; /* 0 for untagged. */
    int ttl;
    int udp_dst;             /* -1 if it is not UDP. */
    struct trace_packet out; /* Of an event; 'len' is 0 otherwise. */
};

void
trace_event_init(struct trace_event *, const struct instance *, bool ipv4);
char *trace_make_event(const struct trace_event *, struct trace_packet *);
char *trace_parse_hex(const char *, struct trace_packet *);
char *trace_format_hex(const struct trace_packet *);

void trace_run(const struct rule_set *, uint32_t in_port,
               const struct trace_packet *, struct trace_result *);
void trace_result_uninit(struct trace_result *);

#endif /* trace.h */
