/* SPDX-License-Identifier: Apache-2.0 */

/* Table 3: what the switch answers by itself. */

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "flows/draft.h"
#include "flows/stages.h"

#define ARP_REQUEST 1
#define ARP_REPLY 2

/* Drops what is addressed to the instance but is neither answered nor an
 * event. */
static void
add_drop__(uint16_t instance, uint16_t dl_type, uint8_t nw_proto,
           enum verdict verdict, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_LOCAL, PRIORITY_LOW, verdict);
    draft_match_instance(&d, instance);
    match_set_dl_type(&d.match, htons(dl_type));
    if (nw_proto) {
        match_set_nw_proto(&d.match, nw_proto);
    }
    draft_commit(&d, flows);
}

void
local_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    struct draft d;

    add_drop__(rule->instance, ETH_TYPE_ARP, 0, VERDICT_ARP_OTHER, flows);
    add_drop__(rule->instance, ETH_TYPE_IP, IPPROTO_ICMP, VERDICT_ICMPV4_OTHER,
               flows);
    add_drop__(rule->instance, ETH_TYPE_IPV6, IPPROTO_ICMPV6,
               VERDICT_ICMPV6_OTHER, flows);

    draft_init(&d, RULE_INSTANCE, TABLE_LOCAL, PRIORITY_MISS, VERDICT_PASS);
    draft_match_instance(&d, rule->instance);
    draft_goto(&d, TABLE_SOURCE);
    draft_commit(&d, flows);
}

/* Begins 'd', which answers packets to the address of 'rule'. */
static void
begin_reply__(struct draft *d, const struct rule_ip_filter *rule,
              enum verdict verdict)
{
    draft_init(d, RULE_IP_FILTER, TABLE_LOCAL, PRIORITY_HIGH, verdict);
    draft_match_iface(d, rule->iface);
    d->cookie.owner = rule->instance;
}

/* Ends 'd': the frame goes back to where it came from. */
static void
commit_reply__(struct draft *d, const struct rule_ip_filter *rule,
               struct flows *flows)
{
    struct eth_addr mac = draft_eth_addr(&rule->mac);

    draft_move(d, MFF_ETH_SRC, MFF_ETH_DST);
    draft_set(d, MFF_ETH_SRC, &mac);
    draft_output(d, DRAFT_IN_PORT);
    draft_commit(d, flows);
}

static void
add_arp_reply__(const struct rule_ip_filter *rule, struct flows *flows)
{
    ovs_be32 ip = htonl(addr_get_ipv4(&rule->address));
    ovs_be16 op = htons(ARP_REPLY);
    struct eth_addr mac = draft_eth_addr(&rule->mac);
    struct draft d;

    begin_reply__(&d, rule, VERDICT_ARP_REPLY);
    match_set_dl_type(&d.match, htons(ETH_TYPE_ARP));
    match_set_nw_proto(&d.match, ARP_REQUEST);
    match_set_nw_dst(&d.match, ip);
    draft_set(&d, MFF_ARP_OP, &op);
    draft_move(&d, MFF_ARP_SHA, MFF_ARP_THA);
    draft_move(&d, MFF_ARP_SPA, MFF_ARP_TPA);
    draft_set(&d, MFF_ARP_SHA, &mac);
    draft_set(&d, MFF_ARP_SPA, &ip);
    commit_reply__(&d, rule, flows);
}

static void
add_icmpv4_echo__(const struct rule_ip_filter *rule, struct flows *flows)
{
    ovs_be32 ip = htonl(addr_get_ipv4(&rule->address));
    uint8_t type = ICMP_ECHOREPLY;
    struct draft d;

    begin_reply__(&d, rule, VERDICT_ICMPV4_ECHO);
    draft_match_ip_dst(&d, &rule->address);
    match_set_nw_frag(&d.match, 0);
    match_set_nw_proto(&d.match, IPPROTO_ICMP);
    match_set_icmp_type(&d.match, ICMP_ECHO);
    match_set_icmp_code(&d.match, 0);
    draft_move(&d, MFF_IPV4_SRC, MFF_IPV4_DST);
    draft_set(&d, MFF_IPV4_SRC, &ip);
    draft_set(&d, MFF_ICMPV4_TYPE, &type);
    commit_reply__(&d, rule, flows);
}

static void
add_icmpv6_echo__(const struct rule_ip_filter *rule, struct flows *flows)
{
    uint8_t type = ICMP6_ECHO_REPLY;
    struct draft d;

    begin_reply__(&d, rule, VERDICT_ICMPV6_ECHO);
    draft_match_ip_dst(&d, &rule->address);
    match_set_nw_frag(&d.match, 0);
    match_set_nw_proto(&d.match, IPPROTO_ICMPV6);
    match_set_icmp_type(&d.match, ICMP6_ECHO_REQUEST);
    match_set_icmp_code(&d.match, 0);
    draft_move(&d, MFF_IPV6_SRC, MFF_IPV6_DST);
    draft_set(&d, MFF_IPV6_SRC, &rule->address);
    draft_set(&d, MFF_ICMPV6_TYPE, &type);
    commit_reply__(&d, rule, flows);
}

/* Begins 'd', which matches neighbour solicitations for the address of 'rule',
 * or what has become of them. */
static void
begin_nd__(struct draft *d, const struct rule_ip_filter *rule, uint8_t table,
           uint16_t priority, uint8_t type, enum verdict verdict)
{
    draft_init(d, RULE_IP_FILTER, table, priority, verdict);
    draft_match_iface(d, rule->iface);
    d->cookie.owner = rule->instance;
    draft_match_ip(d, false);
    match_set_nw_proto(&d->match, IPPROTO_ICMPV6);
    match_set_icmp_type(&d->match, type);
    match_set_icmp_code(&d->match, 0);
    match_set_nd_target(&d->match, &rule->address);
}

/* The advertisement is made of the solicitation, in two tables, because the
 * target's link-layer option exists only once the type is that of an
 * advertisement.  A solicitation without the source's link-layer option has no
 * room for it and is not answered here, nor is one that a router passed on. */
static void
add_nd_reply__(const struct rule_ip_filter *rule, struct flows *flows)
{
    static const uint8_t type = ND_NEIGHBOR_ADVERT;
    static const uint8_t option = ND_OPT_TARGET_LINKADDR;
    const ovs_be32 solicited = htonl(UINT32_C(0x40000000));
    struct eth_addr mac = draft_eth_addr(&rule->mac);
    struct draft d;

    begin_nd__(&d, rule, TABLE_LOCAL, PRIORITY_HIGH + 1, ND_NEIGHBOR_SOLICIT,
               VERDICT_ICMPV6_OTHER);
    match_set_arp_sha(&d.match, (struct eth_addr){ .ea = { 0 } });
    draft_commit(&d, flows);

    begin_nd__(&d, rule, TABLE_LOCAL, PRIORITY_HIGH, ND_NEIGHBOR_SOLICIT,
               VERDICT_PASS);
    match_set_nw_ttl(&d.match, 255);
    draft_move(&d, MFF_ND_SLL, MFF_ETH_DST);
    draft_set(&d, MFF_ICMPV6_TYPE, &type);
    draft_goto(&d, TABLE_ADVERTISE);
    draft_commit(&d, flows);

    begin_nd__(&d, rule, TABLE_ADVERTISE, PRIORITY_HIGH, ND_NEIGHBOR_ADVERT,
               VERDICT_ND_REPLY);
    draft_set(&d, MFF_ETH_SRC, &mac);
    draft_move(&d, MFF_IPV6_SRC, MFF_IPV6_DST);
    draft_set(&d, MFF_IPV6_SRC, &rule->address);
    draft_set(&d, MFF_ND_RESERVED, &solicited);
    draft_set(&d, MFF_ND_OPTIONS_TYPE, &option);
    draft_set(&d, MFF_ND_TLL, &mac);
    draft_output(&d, DRAFT_IN_PORT);
    draft_commit(&d, flows);
}

void
local_add_ip_filter(const struct rule_ip_filter *rule, struct flows *flows)
{
    if (addr_is_ipv4(&rule->address)) {
        add_arp_reply__(rule, flows);
        add_icmpv4_echo__(rule, flows);
    } else {
        add_nd_reply__(rule, flows);
        add_icmpv6_echo__(rule, flows);
    }
}
