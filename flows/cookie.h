/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_COOKIE_H
#define EVLB_FLOWS_COOKIE_H 1

/* Cookies of flows and ids of groups: what they are and whose.
 *
 * A flow's cookie, in hexadecimal:
 *
 *      63        48 47     40 39     32 31           16 15            0
 *     +------------+---------+---------+---------------+---------------+
 *     |    4c42    |  kind   | verdict |     owner     |    detail     |
 *     +------------+---------+---------+---------------+---------------+
 *
 *     4c42     "LB": the flow is ours.  No other flow is ever touched.
 *     kind     the kind of the rule that it belongs to (RULE_COOKIE_*)
 *     verdict  what becomes of the packet (VERDICT_*): 00 if it goes on, else
 *              the reason why it is dropped or answered
 *     owner    the instance, or f000 + the interface, or ffff
 *     detail   the epoch of an epoch's flow, the member of a member's, else 0
 *
 * A group's id, in hexadecimal:
 *
 *      31  28 27                16 15                0
 *     +------+--------------------+------------------+
 *     |  e   |      instance      |      epoch       |
 *     +------+--------------------+------------------+ */

#include <stdbool.h>
#include <stdint.h>

#include "controller/rules/rule.h"

#define COOKIE_MAGIC UINT64_C(0x4c42000000000000)
#define COOKIE_MASK UINT64_C(0xffff000000000000)

/* What becomes of a packet.
 *
 *         VERDICT       value  name */
#define VERDICTS                                                         \
    VERDICT(PASS, 0x00, "pass")                                          \
    /* Accepted, counted apart. */                                       \
    VERDICT(HOST, 0x01, "host_other")                                    \
    VERDICT(L2_NORMAL, 0x02, "l2_normal")                                \
    VERDICT(HOST_SLOW, 0x0a, "host_slow_protocol")                       \
    VERDICT(HOST_LLDP, 0x0b, "host_lldp")                                \
    VERDICT(ARP_REPLY, 0x03, "arp_reply")                                \
    VERDICT(ICMPV4_ECHO, 0x04, "icmpv4_echo_reply")                      \
    VERDICT(ICMPV6_ECHO, 0x05, "icmpv6_echo_reply")                      \
    VERDICT(ARP_CONTROLLER, 0x0e, "arp_to_controller")                   \
    VERDICT(ND_CONTROLLER, 0x0f, "nd_to_controller")                     \
    VERDICT(LB_RX, 0x0c, "lb_rx")                                        \
    VERDICT(RX_V2, 0x06, "rx_v2")                                        \
    VERDICT(RX_V3, 0x07, "rx_v3")                                        \
    VERDICT(LATE, 0x08, "late")                                          \
    VERDICT(ND_REPLY, 0x09, "nd_reply")                                  \
    VERDICT(MBR_TX, 0x0d, "mbr_tx")                                      \
    /* Dropped, in the order of the tables. */                           \
    VERDICT(L2_DROP, 0x10, "l2_dst_drop")                                \
    VERDICT(PARSEFAIL, 0x11, "parsefail")                                \
    VERDICT(NOTIP, 0x12, "notip")                                        \
    VERDICT(BADIP, 0x13, "l2_iface_drop_badip")                          \
    VERDICT(ARP_OTHER, 0x14, "arp_unhandled")                            \
    VERDICT(ICMPV4_OTHER, 0x15, "icmpv4_unhandled")                      \
    VERDICT(ICMPV6_OTHER, 0x16, "icmpv6_unhandled")                      \
    VERDICT(ARP_TPA, 0x17, "arp_tpa_nomatch")                            \
    VERDICT(ECHO_DST, 0x18, "icmpv4_echo_dst_nomatch")                   \
    VERDICT(ND_TARGET, 0x19, "ipv6nd_neigh_sol_target_nomatch")          \
    VERDICT(ND_HOPS, 0x1a, "ipv6nd_hop_limit")                           \
    VERDICT(NOT_UDP, 0x20, "not_udp")                                    \
    VERDICT(BLOCKED_SRC, 0x21, "blocked_src")                            \
    VERDICT(FRAGMENT, 0x22, "fragment")                                  \
    VERDICT(NO_UDPLB_HDR, 0x23, "no_udplb_hdr")                          \
    VERDICT(EPOCH_ASSIGN_MISS, 0x30, "epoch_assign_miss")                \
    VERDICT(LATE_DROP, 0x31, "late_drop")                                \
    VERDICT(LB_CALENDAR_MISS, 0x32, "lb_calendar_miss")                  \
    VERDICT(MBR_INFO_MISS, 0x33, "mbr_info_miss")                        \
    VERDICT(NO_PORT, 0x34, "no_port")                                    \
    VERDICT(SOFT_EVICTED, 0x35, "mbr_soft_evicted")                      \
    VERDICT(DEREGISTERED, 0x36, "mbr_deregistered")                      \
    VERDICT(UNRESOLVED, 0x37, "mbr_unresolved")                          \
    /* Dropped in TABLE_HEADER: + enum lb_status. */                     \
    VERDICT(HEADER, 0x40, "header")                                      \
    /* Unreachables, dropped and counted by their codes. */              \
    VERDICT(UNREACH4_NET, 0x50, "icmpv4_unreach_net")                    \
    VERDICT(UNREACH4_HOST, 0x51, "icmpv4_unreach_host")                  \
    VERDICT(UNREACH4_PORT, 0x53, "icmpv4_unreach_port")                  \
    VERDICT(UNREACH4_FRAG, 0x54, "icmpv4_unreach_frag_needed")           \
    VERDICT(UNREACH4_NET_UNKNOWN, 0x56, "icmpv4_unreach_net_unknown")    \
    VERDICT(UNREACH4_HOST_UNKNOWN, 0x57, "icmpv4_unreach_host_unknown")  \
    VERDICT(UNREACH4_HOST_ADMIN, 0x5a, "icmpv4_unreach_host_prohibited") \
    VERDICT(UNREACH4_OTHER, 0x5f, "icmpv4_unreach_other")                \
    VERDICT(UNREACH6_ROUTE, 0x60, "icmpv6_unreach_no_route")             \
    VERDICT(UNREACH6_ADMIN, 0x61, "icmpv6_unreach_prohibited")           \
    VERDICT(UNREACH6_SCOPE, 0x62, "icmpv6_unreach_beyond_scope")         \
    VERDICT(UNREACH6_PORT, 0x64, "icmpv6_unreach_port")                  \
    VERDICT(UNREACH6_OTHER, 0x6f, "icmpv6_unreach_other")

enum verdict {
#define VERDICT(NAME, VALUE, TEXT) VERDICT_##NAME = VALUE,
    VERDICTS
#undef VERDICT
};

/* Owners that are no instance. */
#define OWNER_IFACE 0xf000 /* + the interface. */
#define OWNER_ALL 0xffff

struct cookie {
    enum rule_kind kind;
    uint8_t verdict; /* VERDICT_*, or VERDICT_HEADER + status. */
    uint16_t owner;
    uint16_t detail;
};

uint64_t cookie_encode(const struct cookie *);
bool cookie_decode(uint64_t, struct cookie *);
char *cookie_to_string(const struct cookie *);
const char *verdict_to_string(uint8_t verdict);
bool verdict_is_drop(uint8_t verdict);
bool cookie_refers_to_epoch(const struct cookie *, uint16_t instance,
                            uint16_t epoch);

uint32_t group_id_encode(uint16_t instance, uint16_t epoch);
bool group_id_decode(uint32_t, uint16_t *instance, uint16_t *epoch);

#endif /* cookie.h */
