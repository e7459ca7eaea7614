/* SPDX-License-Identifier: Apache-2.0 */

/* Calendar groups: which member holds a slot. */

#include <string.h>

#include <openvswitch/lb.h>
#include <openvswitch/meta-flow.h>
#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofpbuf.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "flows/cookie.h"
#include "flows/entry.h"
#include "flows/stages.h"
#include "flows/tables.h"

/* Adds to 'buckets' the one of 'slot', which is for 'member'. */
static void
add_bucket__(struct ovs_list *buckets, uint32_t slot, uint16_t member)
{
    struct ofputil_bucket *bucket = mem_zalloc(sizeof *bucket);
    struct ofpbuf actions;
    ovs_be16 be = htons(member);

    ofpbuf_init(&actions, 0);
    ofpact_put_set_field(&actions, mf_from_id(MFF_LB_MEMBER), &be, NULL);
    bucket->weight = 1;
    bucket->watch_port = OFPP_ANY;
    bucket->watch_group = OFPG_ANY;
    bucket->bucket_id = slot;
    bucket->ofpacts_len = actions.size;
    bucket->ofpacts = ofpbuf_steal_data(&actions);
    ovs_list_push_back(buckets, &bucket->list_node);
}

void
calendar_add_calendar(const struct rule_calendar *rule, struct flows *flows)
{
    const struct calendar *calendar = rule->calendar;
    struct cookie cookie = { .kind = RULE_CALENDAR,
                             .owner = rule->instance,
                             .detail = rule->epoch };
    struct ofputil_group_mod gm;

    memset(&gm, 0, sizeof gm);
    gm.type = OFPGT11_SELECT;
    gm.group_id = group_id_encode(rule->instance, rule->epoch);
    snprintf(gm.props.selection_method, sizeof gm.props.selection_method, "%s",
             LB_CALENDAR_METHOD);
    gm.props.selection_method_param =
        lb_calendar_param(TABLE_MEMBER, calendar->bits, rule->xor);
    ovs_list_init(&gm.buckets);
    for (uint32_t slot = 0; slot < calendar_n_slots(calendar); slot++) {
        if (calendar->members[slot] != CALENDAR_NO_MEMBER) {
            add_bucket__(&gm.buckets, slot, calendar->members[slot]);
        }
    }
    entry_add_group(flows, &cookie, &gm);
    ofputil_uninit_group_mod(&gm);
}
