/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LB_FORWARD_H
#define LB_FORWARD_H 1

/* The rewrite of an event packet for its member, done as one step: MAC and IP
 * addresses, TTL - 1, UDP destination port, removal of the load-balancer
 * header, lengths and checksums. */

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include "openvswitch/types.h"

struct dp_packet;

#define LB_FORWARD_KEEP (1 << 0) /* Leave the load-balancer header there. */
#define LB_FORWARD_IPV6 (1 << 1) /* The addresses are IPv6. */

/* Argument of OVS_ACTION_ATTR_LB_FORWARD.  IPv4 addresses are v4-mapped. */
struct ovs_action_lb_forward {
    struct eth_addr eth_src;
    struct eth_addr eth_dst;
    struct in6_addr ip_src;
    struct in6_addr ip_dst;
    uint16_t base;              /* First UDP port of the member. */
    uint8_t bits;               /* Port select bits that count, 0 to 16. */
    uint8_t flags;              /* LB_FORWARD_*. */
};

bool lb_forward_ip_parse(const char *, struct in6_addr *);
bool lb_forward_packet(struct dp_packet *,
                       const struct ovs_action_lb_forward *);

#endif /* lb-forward.h */
