/* SPDX-License-Identifier: Apache-2.0 */

/* Table 8: how a packet gets to its member. */

#include <stdlib.h>

#include <openvswitch/lb.h>
#include <openvswitch/ofp-actions.h>

#include "flows/draft.h"
#include "flows/stages.h"

void
member_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_MEMBER, PRIORITY_HIGH,
               VERDICT_LB_CALENDAR_MISS);
    draft_match_instance(&d, rule->instance);
    draft_match(&d, MFF_LB_STATUS, LB_NO_SLOT, UINT64_MAX);
    draft_commit(&d, flows);

    draft_init(&d, RULE_INSTANCE, TABLE_MEMBER, PRIORITY_MISS,
               VERDICT_MBR_INFO_MISS);
    draft_match_instance(&d, rule->instance);
    draft_commit(&d, flows);
}

static void
add_forward__(struct draft *d, const struct rule_member *rule)
{
    struct ofpact_lb_forward *forward = ofpact_put_LB_FORWARD(&d->actions);

    forward->eth_src = draft_eth_addr(&rule->src_mac);
    forward->eth_dst = draft_eth_addr(&rule->mac);
    forward->ip_src = rule->address;
    forward->ip_dst = rule->ip;
    forward->base = rule->base;
    forward->bits = rule->bits;
    forward->keep = rule->keep;
}

static enum verdict
verdict__(const struct rule_member *rule)
{
    switch (rule->action) {
    case RULE_MEMBER_SOFT_EVICTED:
        return VERDICT_SOFT_EVICTED;
    case RULE_MEMBER_DEREGISTERED:
        return VERDICT_DEREGISTERED;
    case RULE_MEMBER_UNRESOLVED:
        return VERDICT_UNRESOLVED;
    case RULE_MEMBER_FORWARD:
        return (rule->egress.type == PORT_NONE ? VERDICT_NO_PORT
                                               : VERDICT_MBR_TX);
    }
    abort();
}

static uint32_t
output_port__(const struct port *egress)
{
    return (egress->type == PORT_IN       ? DRAFT_IN_PORT
            : egress->type == PORT_NORMAL ? DRAFT_NORMAL
                                          : egress->number);
}

/* Lets the packet of 'd' leave through the port that it came in through, too:
 * that is where all members are for a switch with one arm.  Open vSwitch keeps
 * a packet from a port's number otherwise. */
static void
forget_in_port__(struct draft *d)
{
    const ovs_be16 none = htons(0);

    draft_set(d, MFF_IN_PORT, &none);
}

void
member_add_member(const struct rule_member *rule, struct flows *flows)
{
    enum verdict verdict = verdict__(rule);
    struct draft d;

    draft_init(&d, RULE_MEMBER, TABLE_MEMBER, PRIORITY_MEDIUM, verdict);
    d.cookie.detail = rule->member;
    draft_match_instance(&d, rule->instance);
    draft_match_vlan(&d, rule->vlan);
    draft_match_ip_dst(&d, &rule->address);
    draft_match(&d, MFF_LB_MEMBER, rule->member, UINT64_MAX);
    if (verdict == VERDICT_MBR_TX) {
        if (rule->egress.type == PORT_NUMBER) {
            forget_in_port__(&d);
        }
        add_forward__(&d, rule);
        draft_output(&d, output_port__(&rule->egress));
    }
    draft_commit(&d, flows);
}
