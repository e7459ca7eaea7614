/* SPDX-License-Identifier: Apache-2.0 */

/* Calendars: which member holds a slot.  A group, or flows of table 7. */

#include <string.h>

#include <openvswitch/lb.h>
#include <openvswitch/meta-flow.h>
#include <openvswitch/ofp-actions.h>
#include <openvswitch/ofp-group.h>
#include <openvswitch/ofpbuf.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"
#include "flows/draft.h"
#include "flows/entry.h"
#include "flows/stages.h"

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

static void
add_group__(const struct rule_calendar *rule, struct flows *flows)
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

/* Adds what a switch without the group method needs for 'slot'. */
static void
add_slot__(const struct rule_calendar *rule, uint32_t slot,
           struct flows *flows)
{
    uint16_t member = rule->calendar->members[slot];
    uint64_t mask = calendar_n_slots(rule->calendar) - 1;
    ovs_be16 be = htons(member);
    struct draft d;

    draft_init(&d, RULE_CALENDAR, TABLE_CALENDAR, PRIORITY_MEDIUM,
               member == CALENDAR_NO_MEMBER ? VERDICT_LB_CALENDAR_MISS
                                            : VERDICT_PASS);
    d.cookie.detail = rule->epoch;
    draft_match_instance(&d, rule->instance);
    match_set_reg(&d.match, REG_EPOCH, rule->epoch);
    if (mask) {
        draft_match(&d, MFF_LB_SLOT_SELECT, slot ^ rule->xor, mask);
    }
    if (member != CALENDAR_NO_MEMBER) {
        draft_set(&d, MFF_LB_MEMBER, &be);
        draft_goto(&d, TABLE_MEMBER);
    }
    draft_commit(&d, flows);
}

void
calendar_add_calendar(const struct rule_calendar *rule, struct flows *flows)
{
    if (!flows->slot_flows) {
        add_group__(rule, flows);
        return;
    }
    for (uint32_t slot = 0; slot < calendar_n_slots(rule->calendar); slot++) {
        add_slot__(rule, slot, flows);
    }
}
