/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LB_HEADER_H
#define LB_HEADER_H 1

/* The load-balancer header on the wire, and where it lies in a packet.
 *
 *      0        2         3       4             6             8         16
 *     +--------+---------+-------+-------------+-------------+-----------+
 *     | 'L''B' | version | proto | slot_select | port_select |   tick    |
 *     +--------+---------+-------+-------------+-------------+-----------+
 *
 * Version 2 has no slot_select; its slot selector is tick[15:0]. */

#include "dp-packet.h"
#include "openvswitch/lb.h"
#include "openvswitch/types.h"

#define LB_MAGIC 0x4c42
#define LB_HEADER_LEN 16

struct lb_hdr {
    ovs_be16 magic;
    uint8_t version;
    uint8_t proto;
    ovs_be16 slot_select;
    ovs_be16 port_select;
    ovs_16aligned_be32 tick_hi;
    ovs_16aligned_be32 tick_lo;
};
BUILD_ASSERT_DECL(sizeof(struct lb_hdr) == LB_HEADER_LEN);

/* An event packet's headers.  The pointers go into the packet. */
struct lb_packet {
    void *l3;                   /* IPv4 or IPv6 header. */
    struct udp_header *udp;
    struct lb_hdr *lb;
    bool ipv6;
};

enum lb_status lb_packet_find(struct dp_packet *, struct lb_packet *,
                              uint8_t *version);
void lb_header_extract(struct dp_packet *, struct ovs_key_lb *);

#endif /* lb-header.h */
