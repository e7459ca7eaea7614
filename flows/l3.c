/* SPDX-License-Identifier: Apache-2.0 */

/* Table 2: which instance a packet is for. */

#include <netinet/icmp6.h>

#include "flows/draft.h"
#include "flows/stages.h"

/* Begins 'd', a flow of TABLE_L3 that belongs to interface 'iface'. */
static void
begin__(struct draft *d, uint8_t iface, uint16_t priority,
        enum verdict verdict)
{
    draft_init(d, RULE_IFACE, TABLE_L3, priority, verdict);
    draft_own_iface(d, iface);
}

/* Open vSwitch leaves the addresses of a packet 0 if its lengths are wrong, if
 * it is cut short, or if it is ARP of other hardware. */
static void
add_parsefails__(uint8_t iface, struct flows *flows)
{
    struct draft d;

    begin__(&d, iface, PRIORITY_MEDIUM, VERDICT_PARSEFAIL);
    draft_match_ip(&d, true);
    match_set_nw_src(&d.match, htonl(0));
    match_set_nw_dst(&d.match, htonl(0));
    draft_commit(&d, flows);

    begin__(&d, iface, PRIORITY_MEDIUM, VERDICT_PARSEFAIL);
    draft_match_ip(&d, false);
    match_set_ipv6_src(&d.match, &in6addr_any);
    match_set_ipv6_dst(&d.match, &in6addr_any);
    draft_commit(&d, flows);

    begin__(&d, iface, PRIORITY_MEDIUM, VERDICT_PARSEFAIL);
    match_set_dl_type(&d.match, htons(ETH_TYPE_ARP));
    match_set_nw_proto(&d.match, 0);
    match_set_nw_src(&d.match, htonl(0));
    match_set_nw_dst(&d.match, htonl(0));
    draft_commit(&d, flows);
}

static void
add_badip__(uint8_t iface, uint16_t dl_type, struct flows *flows)
{
    struct draft d;

    begin__(&d, iface, PRIORITY_LOW - 1, VERDICT_BADIP);
    match_set_dl_type(&d.match, htons(dl_type));
    draft_commit(&d, flows);
}

/* A group address is not ours alone: where other frames are bridge traffic,
 * those to it are too. */
static void
add_multicast__(const struct rule_iface *rule, struct flows *flows)
{
    struct draft d;

    begin__(&d, rule->iface, PRIORITY_LOW,
            rule->l2_normal ? VERDICT_L2_NORMAL : VERDICT_BADIP);
    draft_match(&d, MFF_ETH_DST, UINT64_C(1) << 40, UINT64_C(1) << 40);
    if (rule->l2_normal) {
        draft_output(&d, DRAFT_NORMAL);
    }
    draft_commit(&d, flows);
}

void
l3_add_iface_counters(const struct rule_iface *rule, struct flows *flows)
{
    struct draft d;

    add_parsefails__(rule->iface, flows);
    add_multicast__(rule, flows);
    add_badip__(rule->iface, ETH_TYPE_IP, flows);
    add_badip__(rule->iface, ETH_TYPE_IPV6, flows);
    add_badip__(rule->iface, ETH_TYPE_ARP, flows);

    begin__(&d, rule->iface, PRIORITY_MISS, VERDICT_NOTIP);
    draft_commit(&d, flows);
}

/* Ends 'd', which matches packets for an address: it belongs to an
 * instance. */
static void
commit__(struct draft *d, const struct rule_ip_filter *rule,
         struct flows *flows)
{
    d->cookie.owner = rule->instance;
    draft_match_iface(d, rule->iface);
    draft_set_reg(d, REG_INSTANCE, rule->instance);
    draft_goto(d, TABLE_LOCAL);
    draft_commit(d, flows);
}

/* Questions for the address, which are sent to others too. */
static void
add_questions__(const struct rule_ip_filter *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_IP_FILTER, TABLE_L3, PRIORITY_HIGH, VERDICT_PASS);
    if (addr_is_ipv4(&rule->address)) {
        match_set_dl_type(&d.match, htons(ETH_TYPE_ARP));
        match_set_nw_dst(&d.match, htonl(addr_get_ipv4(&rule->address)));
    } else {
        draft_match_ip(&d, false);
        match_set_nw_proto(&d.match, IPPROTO_ICMPV6);
        match_set_icmp_type(&d.match, ND_NEIGHBOR_SOLICIT);
        match_set_icmp_code(&d.match, 0);
        match_set_nd_target(&d.match, &rule->address);
    }
    commit__(&d, rule, flows);
}

void
l3_add_ip_filter(const struct rule_ip_filter *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_IP_FILTER, TABLE_L3, PRIORITY_MEDIUM, VERDICT_PASS);
    draft_match_ip_dst(&d, &rule->address);
    commit__(&d, rule, flows);
    add_questions__(rule, flows);
}
