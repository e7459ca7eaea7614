/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPENVSWITCH_LB_H
#define OPENVSWITCH_LB_H 1

/* Event load balancing: what the OpenFlow and the datapath side share.
 *
 * An event packet is a UDP datagram whose payload begins with a 16-byte
 * load-balancer header.  It passes the switch in three passes:
 *
 *     lb_parse           reads the header into the lb_* fields
 *     lb_calendar group  turns a slot into 'lb_member'
 *     lb_forward         rewrites the packet for that member
 *
 * The lb_* fields are zero for a packet that lb_parse has not seen. */

#include "openvswitch/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The OpenFlow experimenter ID of this extension: a locally administered OUI,
 * so that it cannot meet an assigned one. */
#define EVLB_VENDOR_ID 0x00064c42

/* The name of the select group method. */
#define LB_CALENDAR_METHOD "lb_calendar"

/* The largest number of slot bits in one calendar group. */
#define LB_CALENDAR_MAX_BITS 9

/* What lb_parse found ('lb_status').  X(ENUM, VALUE, NAME, MEANING). */
#define LB_STATUSES                                                     \
    X(LB_OK,          0, "ok",          "valid header")                 \
    X(LB_NOT_UDP,     1, "not_udp",     "not UDP over IPv4 or IPv6")    \
    X(LB_FRAGMENT,    2, "fragment",    "an IP fragment")               \
    X(LB_BAD_LENGTH,  3, "bad_length",  "IP or UDP length does not fit") \
    X(LB_SHORT,       4, "short",       "UDP payload under 16 bytes")   \
    X(LB_BAD_MAGIC,   5, "bad_magic",   "payload does not begin with LB") \
    X(LB_BAD_VERSION, 6, "bad_version", "version is neither 2 nor 3")   \
    X(LB_TTL_EXPIRED, 7, "ttl_expired", "TTL or hop limit is 0 or 1")   \
    X(LB_NO_SLOT,     8, "no_slot",     "the slot has no bucket")       \
    X(LB_SEGMENTED,   9, "segmented",   "headers span several buffers")

enum lb_status {
#define X(ENUM, VALUE, NAME, MEANING) ENUM = VALUE,
    LB_STATUSES
#undef X
};

/* The lb_* fields as they stand in the flow, in packet metadata and in the
 * OVS_KEY_ATTR_LB attribute.  Unless 'status' is LB_OK, all others but
 * 'version' are zero.  After a calendar only 'member', 'status' and 'version'
 * are left. */
struct ovs_key_lb {
    ovs_be64 tick;              /* Event number. */
    ovs_be16 slot_select;       /* v3: header field.  v2: tick[15:0]. */
    ovs_be16 port_select;       /* Entropy. */
    ovs_be16 member;            /* Set by the calendar. */
    uint8_t status;             /* enum lb_status. */
    uint8_t version;            /* Header version, 0 if not parsed. */
};

/* The parameter of an lb_calendar group ('selection_method_param'), that is,
 * how a packet's slot is computed and where it goes:
 *
 *      63            32 31     24 23    16 15             0
 *     +----------------+---------+--------+----------------+
 *     |       0        |  table  |  bits  |      xor       |
 *     +----------------+---------+--------+----------------+
 *
 *     slot = (lb_slot_select ^ xor) & ((1 << bits) - 1) */
struct lb_calendar_param {
    uint8_t table;              /* The table to continue in. */
    uint8_t bits;               /* 0 to LB_CALENDAR_MAX_BITS. */
    uint16_t xor_value;
};

/* Returns 'table', 'bits' and 'xor_value' as a 'selection_method_param'. */
static inline uint64_t
lb_calendar_param(uint8_t table, uint8_t bits, uint16_t xor_value)
{
    return (uint32_t) table << 24 | (uint32_t) bits << 16
           | xor_value;
}

bool lb_calendar_param_decode(uint64_t, struct lb_calendar_param *);
const char *lb_status_to_string(uint8_t status);

#ifdef __cplusplus
}
#endif

#endif /* lb.h */
