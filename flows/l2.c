/* SPDX-License-Identifier: Apache-2.0 */

/* Tables 0 and 1: which interface a frame comes in through, and whether it is
 * addressed to it. */

#include "flows/draft.h"
#include "flows/stages.h"

/* Link-layer protocols of the switch itself (IEEE 802.1Q table 8-1), for the
 * host. */
static void
add_reserved_multicast__(struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_PIPELINE, TABLE_CLASSIFY, PRIORITY_HIGH, VERDICT_HOST);
    draft_match_vlan(&d, 0);
    draft_match(&d, MFF_ETH_DST, UINT64_C(0x0180c2000000),
                UINT64_C(0xfffffffffff0));
    draft_output(&d, DRAFT_LOCAL);
    draft_commit(&d, flows);
}

/* What becomes of frames that are not for any instance. */
static void
add_miss__(const struct rule_pipeline *rule, uint8_t table,
           struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_PIPELINE, table, PRIORITY_MISS,
               rule->l2_normal ? VERDICT_L2_NORMAL : VERDICT_L2_DROP);
    if (rule->l2_normal) {
        draft_output(&d, DRAFT_NORMAL);
    }
    draft_commit(&d, flows);
}

void
l2_add_pipeline(const struct rule_pipeline *rule, struct flows *flows)
{
    add_reserved_multicast__(flows);
    add_miss__(rule, TABLE_CLASSIFY, flows);
    add_miss__(rule, TABLE_L2, flows);
}

void
l2_add_iface(const struct rule_l2_iface *rule, struct flows *flows)
{
    bool any = rule->port.type == PORT_ANY;
    struct draft d;

    draft_init(&d, RULE_L2_IFACE, TABLE_CLASSIFY,
               any ? PRIORITY_LOW : PRIORITY_MEDIUM, VERDICT_PASS);
    d.cookie.owner = (uint16_t) (OWNER_IFACE + rule->iface);
    draft_match_vlan(&d, rule->vlan);
    if (!any) {
        match_set_in_port(&d.match, u16_to_ofp((uint16_t) rule->port.number));
    }
    draft_set_reg(&d, REG_IFACE, rule->iface);
    draft_goto(&d, TABLE_L2);
    draft_commit(&d, flows);
}

void
l2_add_mac_filter(const struct rule_mac_filter *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_MAC_FILTER, TABLE_L2, PRIORITY_LOW, VERDICT_PASS);
    d.cookie.owner = (uint16_t) (OWNER_IFACE + rule->iface);
    draft_match_iface(&d, rule->iface);
    match_set_dl_dst(&d.match, draft_eth_addr(&rule->mac));
    draft_goto(&d, TABLE_L3);
    draft_commit(&d, flows);
}
