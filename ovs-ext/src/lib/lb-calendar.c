/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "lb-calendar.h"

#include <string.h>

#include "bitmap.h"
#include "util.h"

/* Returns the largest member ID that is not among the 'n' in 'members'. */
static uint16_t
unused_member(const uint32_t members[], size_t n)
{
    unsigned long used[BITMAP_N_LONGS(LB_CALENDAR_MAX_SLOTS + 1)];
    size_t i;

    /* 'n' IDs cannot fill the n + 1 highest ones. */
    memset(used, 0, sizeof used);
    for (i = 0; i < n; i++) {
        if (members[i] <= UINT16_MAX && UINT16_MAX - members[i] <= n) {
            bitmap_set1(used, UINT16_MAX - members[i]);
        }
    }
    return UINT16_MAX - bitmap_scan(used, 0, 0, n + 1);
}

/* Fills in 'c', which must have lb_calendar_size(bits) bytes, from the 1 <<
 * 'bits' entries of 'members', each a member ID or LB_CALENDAR_NONE. */
void
lb_calendar_init(struct ovs_action_lb_calendar *c, unsigned int bits,
                 uint16_t xor, const uint32_t members[])
{
    size_t n = (size_t) 1 << bits;
    size_t i;

    memset(c, 0, sizeof *c);
    c->xor = htons(xor);
    c->none = htons(unused_member(members, n));
    c->bits = bits;
    for (i = 0; i < n; i++) {
        c->member[i] = (members[i] == LB_CALENDAR_NONE ? c->none
                        : htons(members[i]));
    }
}

/* Returns true if the 'size' bytes at 'c' are a calendar. */
bool
lb_calendar_is_valid(const struct ovs_action_lb_calendar *c, size_t size)
{
    return size >= sizeof *c && c->bits <= LB_CALENDAR_MAX_BITS
           && size == lb_calendar_size(c->bits);
}

/* Gives the packet described by 'key' its member.  From here on the packet is
 * known by its member alone, so that what belongs to the event leaves the
 * key. */
void
lb_calendar_apply(const struct ovs_action_lb_calendar *c,
                  struct ovs_key_lb *key)
{
    ovs_be16 member = c->member[lb_calendar_slot(c, key->slot_select)];

    key->tick = 0;
    key->slot_select = 0;
    key->port_select = 0;
    key->member = 0;
    if (OVS_LIKELY(key->status == LB_OK)) {
        if (OVS_LIKELY(member != c->none)) {
            key->member = member;
        } else {
            key->status = LB_NO_SLOT;
        }
    }
}
