/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_FLOWS_TABLES_H
#define EVLB_FLOWS_TABLES_H 1

/* The OpenFlow tables, in the order in which a packet meets them.
 *
 *     0 classify -> 1 l2 -> 2 l3 -> 3 local -> 4 source -> 5 parse
 *                                                            |
 *         .------------------ recirculation -----------------'
 *         v
 *     6 header -> 32+instance epoch -> group: calendar
 *                                         |
 *         .------ recirculation ----------'
 *         v
 *     8 member
 *
 * Neighbour discovery goes from 3 to 9 and 12, a packet of the controller's own
 * that measures from 0 to 10, and one whose TTL has ended from 6 to 11. */

#include <stdint.h>

enum table {
    TABLE_CLASSIFY = 0,   /* Port, VLAN -> interface. */
    TABLE_L2 = 1,         /* Ethernet destination. */
    TABLE_L3 = 2,         /* IP destination -> instance. */
    TABLE_LOCAL = 3,      /* What the switch answers by itself. */
    TABLE_SOURCE = 4,     /* Senders. */
    TABLE_PARSE = 5,      /* Fragments, UDP ports, lb_parse. */
    TABLE_HEADER = 6,     /* Faults of the header. */
    TABLE_CALENDAR = 7,   /* Slots, where calendars are no groups. */
    TABLE_MEMBER = 8,     /* lb_forward. */
    TABLE_ND = 9,         /* Solicitations and advertisements. */
    TABLE_PROBE = 10,     /* The scratch boundary. */
    TABLE_EXPIRED = 11,   /* Good headers of packets whose TTL ends. */
    TABLE_ADVERTISE = 12, /* Solicitations that become advertisements. */
    TABLE_EPOCH = 32      /* + instance: tick -> calendar. */
};

/* One table for each instance, because prefix lookup is optimized per table:
 * in a shared one, other instances' prefixes would make more cached flows of
 * this one's ticks. */
static inline uint8_t
table_epoch(uint16_t instance)
{
    return (uint8_t) (TABLE_EPOCH + instance);
}

#endif /* tables.h */
