/* SPDX-License-Identifier: Apache-2.0 */

/* Tables 0 and 1: which interface a frame comes in through, and whether it is
 * addressed to it. */

#include "flows/draft.h"
#include "flows/stages.h"

#define ETH_TYPE_LLDP 0x88cc /* IEEE 802.1AB. */

/* Link-layer protocols of the switch itself (IEEE 802.1Q table 8-1), for the
 * host; those of 'dl_type', or all if it is 0. */
static void
add_reserved_multicast__(uint16_t dl_type, enum verdict verdict,
                         struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_PIPELINE, TABLE_CLASSIFY,
               dl_type ? PRIORITY_HIGH + 1 : PRIORITY_HIGH, verdict);
    draft_match_vlan(&d, 0);
    draft_match(&d, MFF_ETH_DST, UINT64_C(0x0180c2000000),
                UINT64_C(0xfffffffffff0));
    if (dl_type) {
        match_set_dl_type(&d.match, htons(dl_type));
    }
    draft_output(&d, DRAFT_LOCAL);
    draft_commit(&d, flows);
}

/* Ends 'd', which matches frames that are not for any instance. */
static void
commit_miss__(struct draft *d, bool l2_normal, struct flows *flows)
{
    d->cookie.verdict = l2_normal ? VERDICT_L2_NORMAL : VERDICT_L2_DROP;
    if (l2_normal) {
        draft_output(d, DRAFT_NORMAL);
    }
    draft_commit(d, flows);
}

void
l2_add_pipeline(const struct rule_pipeline *rule, struct flows *flows)
{
    struct draft d;

    add_reserved_multicast__(ETH_TYPE_LACP, VERDICT_HOST_SLOW, flows);
    add_reserved_multicast__(ETH_TYPE_LLDP, VERDICT_HOST_LLDP, flows);
    add_reserved_multicast__(0, VERDICT_HOST, flows);
    draft_init(&d, RULE_PIPELINE, TABLE_CLASSIFY, PRIORITY_MISS, 0);
    commit_miss__(&d, rule->l2_normal, flows);
}

void
l2_add_iface_counters(const struct rule_iface *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_IFACE, TABLE_L2, PRIORITY_MISS, 0);
    draft_own_iface(&d, rule->iface);
    commit_miss__(&d, rule->l2_normal, flows);
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
