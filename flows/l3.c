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

/* Begins 'd', which counts what cannot be parsed among the packets that come
 * in through the port of 'rule', or through any. */
static void
begin_parsefail__(struct draft *d, const struct rule_l2_iface *rule)
{
    if (rule->port.type == PORT_ANY) {
        begin__(d, rule->iface, PRIORITY_MEDIUM + 1, VERDICT_PARSEFAIL);
        return;
    }
    /* The place depends on the rule's key alone: the interface is none. */
    draft_init(d, RULE_L2_IFACE, TABLE_L3, PRIORITY_MEDIUM + 2,
               VERDICT_PARSEFAIL);
    d->cookie.owner = (uint16_t) (OWNER_IFACE + rule->iface);
    d->cookie.detail = (uint16_t) rule->port.number;
    draft_match_vlan(d, rule->vlan);
    match_set_in_port(&d->match, u16_to_ofp((uint16_t) rule->port.number));
}

/* Open vSwitch leaves the addresses of a packet 0 if its lengths are wrong, if
 * it is cut short, or if it is ARP of other hardware; and the protocol of an
 * IPv6 packet 0, which is that of no last header, if its extension headers are
 * cut short. */
static void
add_parsefails__(const struct rule_l2_iface *rule, struct flows *flows)
{
    struct draft d;

    begin_parsefail__(&d, rule);
    draft_match_ip(&d, true);
    match_set_nw_src(&d.match, htonl(0));
    match_set_nw_dst(&d.match, htonl(0));
    draft_commit(&d, flows);

    begin_parsefail__(&d, rule);
    draft_match_ip(&d, false);
    match_set_nw_proto(&d.match, 0);
    draft_commit(&d, flows);

    begin_parsefail__(&d, rule);
    match_set_dl_type(&d.match, htons(ETH_TYPE_ARP));
    match_set_nw_proto(&d.match, 0);
    match_set_nw_src(&d.match, htonl(0));
    match_set_nw_dst(&d.match, htonl(0));
    draft_commit(&d, flows);
}

/* Adds what becomes of frames of 'dl_type', or of any type if it is 0, that
 * are for no instance: they are dropped.  A group address is not ours alone:
 * where other frames are bridge traffic, those to it are too. */
static void
add_miss__(const struct rule_iface *rule, uint16_t dl_type,
           struct flows *flows)
{
    uint16_t priority = dl_type ? PRIORITY_LOW : PRIORITY_MISS;
    enum verdict verdict = dl_type ? VERDICT_BADIP : VERDICT_NOTIP;

    for (int group = 0; group < 2; group++) {
        bool normal = group && rule->l2_normal;
        struct draft d;

        begin__(&d, rule->iface, (uint16_t) (priority + group),
                normal ? VERDICT_L2_NORMAL : verdict);
        if (dl_type) {
            match_set_dl_type(&d.match, htons(dl_type));
        }
        if (group) {
            draft_match(&d, MFF_ETH_DST, UINT64_C(1) << 40, UINT64_C(1) << 40);
        }
        if (normal) {
            draft_output(&d, DRAFT_NORMAL);
        }
        draft_commit(&d, flows);
    }
}

void
l3_add_iface_counters(const struct rule_iface *rule, struct flows *flows)
{
    const struct rule_l2_iface all_ports = { .port.type = PORT_ANY,
                                             .iface = rule->iface };

    add_parsefails__(&all_ports, flows);
    add_miss__(rule, ETH_TYPE_IP, flows);
    add_miss__(rule, ETH_TYPE_IPV6, flows);
    add_miss__(rule, ETH_TYPE_ARP, flows);
    add_miss__(rule, 0, flows);
}

/* Counts what cannot be parsed by port, where ports are known. */
void
l3_add_iface(const struct rule_l2_iface *rule, struct flows *flows)
{
    if (rule->port.type != PORT_ANY) {
        add_parsefails__(rule, flows);
    }
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
