/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LB_CALENDAR_H
#define LB_CALENDAR_H 1

/* A calendar: a map from slot to member ID, as OVS_ACTION_ATTR_LB_CALENDAR
 * carries it.
 *
 * The map has 1 << bits entries.  A slot without a bucket holds 'none', an ID
 * that no bucket of the calendar uses. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include "openvswitch/lb.h"
#include "openvswitch/types.h"

#define LB_CALENDAR_MAX_SLOTS (1u << LB_CALENDAR_MAX_BITS)

struct ovs_action_lb_calendar {
    ovs_be16 xor;
    ovs_be16 none;
    uint8_t bits;               /* 0 to LB_CALENDAR_MAX_BITS. */
    uint8_t zero[3];
    ovs_be16 member[];          /* 1 << 'bits' of them. */
};

/* Enough for the largest calendar. */
union lb_calendar_buf {
    struct ovs_action_lb_calendar calendar;
    uint8_t bytes[sizeof(struct ovs_action_lb_calendar)
                  + LB_CALENDAR_MAX_SLOTS * sizeof(ovs_be16)];
};

/* In a table that lb_calendar_init() reads: the slot has no bucket. */
#define LB_CALENDAR_NONE UINT32_MAX

void lb_calendar_init(struct ovs_action_lb_calendar *, unsigned int bits,
                      uint16_t xor, const uint32_t members[]);
bool lb_calendar_is_valid(const struct ovs_action_lb_calendar *, size_t);

/* Returns the size in bytes of a calendar with 'bits' slot bits. */
static inline size_t
lb_calendar_size(unsigned int bits)
{
    return sizeof(struct ovs_action_lb_calendar)
           + (sizeof(ovs_be16) << bits);
}

/* Returns the slot of 'slot_select' in 'c'. */
static inline unsigned int
lb_calendar_slot(const struct ovs_action_lb_calendar *c, ovs_be16 slot_select)
{
    return ntohs(slot_select ^ c->xor) & ((1u << c->bits) - 1);
}

void lb_calendar_apply(const struct ovs_action_lb_calendar *,
                       struct ovs_key_lb *);

#endif /* lb-calendar.h */
