/* SPDX-License-Identifier: Apache-2.0 */

/* Table 3: what the switch answers by itself. */

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "flows/draft.h"
#include "flows/stages.h"

#define ARP_REQUEST 1
#define ARP_REPLY 2

/* Unreachables are counted by these codes. */
static const struct {
    bool ipv4;
    uint8_t code;
    enum verdict verdict;
} unreachables[] = {
    { true, ICMP_NET_UNREACH, VERDICT_UNREACH4_NET },
    { true, ICMP_HOST_UNREACH, VERDICT_UNREACH4_HOST },
    { true, ICMP_PORT_UNREACH, VERDICT_UNREACH4_PORT },
    { true, ICMP_FRAG_NEEDED, VERDICT_UNREACH4_FRAG },
    { true, ICMP_NET_UNKNOWN, VERDICT_UNREACH4_NET_UNKNOWN },
    { true, ICMP_HOST_UNKNOWN, VERDICT_UNREACH4_HOST_UNKNOWN },
    { true, ICMP_HOST_ANO, VERDICT_UNREACH4_HOST_ADMIN },
    { false, ICMP6_DST_UNREACH_NOROUTE, VERDICT_UNREACH6_ROUTE },
    { false, ICMP6_DST_UNREACH_ADMIN, VERDICT_UNREACH6_ADMIN },
    { false, ICMP6_DST_UNREACH_BEYONDSCOPE, VERDICT_UNREACH6_SCOPE },
    { false, ICMP6_DST_UNREACH_NOPORT, VERDICT_UNREACH6_PORT }
};

/* Begins 'd', which drops what is addressed to 'instance' but is neither
 * answered nor an event. */
static void
begin_drop__(struct draft *d, uint16_t instance, uint16_t priority,
             enum verdict verdict)
{
    draft_init(d, RULE_INSTANCE, TABLE_LOCAL, priority, verdict);
    draft_match_instance(d, instance);
}

/* Adds to 'd' a match on ICMP. */
static void
match_icmp__(struct draft *d, bool ipv4)
{
    draft_match_ip(d, ipv4);
    match_set_nw_proto(&d->match, ipv4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

static void
add_icmp_drop__(uint16_t instance, bool ipv4, struct flows *flows)
{
    struct draft d;

    begin_drop__(&d, instance, PRIORITY_LOW,
                 ipv4 ? VERDICT_ICMPV4_OTHER : VERDICT_ICMPV6_OTHER);
    match_icmp__(&d, ipv4);
    draft_commit(&d, flows);

    begin_drop__(&d, instance, PRIORITY_LOW + 1,
                 ipv4 ? VERDICT_UNREACH4_OTHER : VERDICT_UNREACH6_OTHER);
    match_icmp__(&d, ipv4);
    match_set_icmp_type(&d.match, ipv4 ? ICMP_UNREACH : ICMP6_DST_UNREACH);
    draft_commit(&d, flows);
}

static void
add_unreachables__(uint16_t instance, struct flows *flows)
{
    for (size_t i = 0; i < sizeof unreachables / sizeof unreachables[0]; i++) {
        bool ipv4 = unreachables[i].ipv4;
        struct draft d;

        begin_drop__(&d, instance, PRIORITY_LOW + 2, unreachables[i].verdict);
        match_icmp__(&d, ipv4);
        match_set_icmp_type(&d.match, ipv4 ? ICMP_UNREACH : ICMP6_DST_UNREACH);
        match_set_icmp_code(&d.match, unreachables[i].code);
        draft_commit(&d, flows);
    }
}

/* Neighbour discovery has a table of its own: what is matched there, as the hop
 * limit, would be part of the cached flows of events if it were matched
 * here. */
static void
add_nd__(uint16_t instance, uint8_t type, struct flows *flows)
{
    struct draft d;

    begin_drop__(&d, instance, PRIORITY_HIGH, VERDICT_PASS);
    match_icmp__(&d, false);
    match_set_nw_frag(&d.match, 0);
    match_set_icmp_type(&d.match, type);
    match_set_icmp_code(&d.match, 0);
    draft_goto(&d, TABLE_ND);
    draft_commit(&d, flows);
}

void
local_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    struct draft d;

    begin_drop__(&d, rule->instance, PRIORITY_LOW, VERDICT_ARP_OTHER);
    match_set_dl_type(&d.match, htons(ETH_TYPE_ARP));
    draft_commit(&d, flows);

    add_icmp_drop__(rule->instance, true, flows);
    add_icmp_drop__(rule->instance, false, flows);
    add_unreachables__(rule->instance, flows);

    add_nd__(rule->instance, ND_NEIGHBOR_SOLICIT, flows);
    add_nd__(rule->instance, ND_NEIGHBOR_ADVERT, flows);

    draft_init(&d, RULE_INSTANCE, TABLE_LOCAL, PRIORITY_MISS, VERDICT_LB_RX);
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

/* Adds to 'd' a match on whole echo requests to the address of 'rule'. */
static void
match_echo__(struct draft *d, const struct rule_ip_filter *rule)
{
    bool ipv4 = addr_is_ipv4(&rule->address);

    match_icmp__(d, ipv4);
    draft_match_ip_dst(d, &rule->address);
    match_set_nw_frag(&d->match, 0);
    match_set_icmp_type(&d->match, ipv4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST);
    match_set_icmp_code(&d->match, 0);
}

static void
add_icmpv4_echo__(const struct rule_ip_filter *rule, struct flows *flows)
{
    ovs_be32 ip = htonl(addr_get_ipv4(&rule->address));
    uint8_t type = ICMP_ECHOREPLY;
    struct draft d;

    begin_reply__(&d, rule, VERDICT_ICMPV4_ECHO);
    match_echo__(&d, rule);
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
    match_echo__(&d, rule);
    draft_move(&d, MFF_IPV6_SRC, MFF_IPV6_DST);
    draft_set(&d, MFF_IPV6_SRC, &rule->unicast);
    draft_set(&d, MFF_ICMPV6_TYPE, &type);
    commit_reply__(&d, rule, flows);
}

/* Answers to our own questions go to the controller, if we ask from that
 * address. */
static void
add_arp_answers__(const struct rule_ip_filter *rule, bool unicast,
                  struct flows *flows)
{
    struct draft d;

    begin_reply__(&d, rule,
                  unicast ? VERDICT_ARP_CONTROLLER : VERDICT_ARP_OTHER);
    match_set_dl_type(&d.match, htons(ETH_TYPE_ARP));
    match_set_nw_proto(&d.match, ARP_REPLY);
    match_set_nw_dst(&d.match, htonl(addr_get_ipv4(&rule->address)));
    if (unicast) {
        draft_controller(&d);
    }
    draft_commit(&d, flows);
}

/* Questions to an address that the instance accepts but does not answer for.
 * They take the places of the answers. */
static void
add_nomatch__(const struct rule_ip_filter *rule, struct flows *flows)
{
    struct draft d;

    begin_reply__(&d, rule, VERDICT_ARP_TPA);
    match_set_dl_type(&d.match, htons(ETH_TYPE_ARP));
    match_set_nw_proto(&d.match, ARP_REQUEST);
    match_set_nw_dst(&d.match, htonl(addr_get_ipv4(&rule->address)));
    draft_commit(&d, flows);

    begin_reply__(&d, rule, VERDICT_ECHO_DST);
    match_echo__(&d, rule);
    draft_commit(&d, flows);
}

void
local_add_ip_filter(const struct rule_ip_filter *rule, struct flows *flows)
{
    bool unicast = addr_equal(&rule->address, &rule->unicast);

    if (!addr_is_ipv4(&rule->address)) {
        add_icmpv6_echo__(rule, flows);
        return;
    }
    add_arp_answers__(rule, unicast, flows);
    if (unicast) {
        add_arp_reply__(rule, flows);
        add_icmpv4_echo__(rule, flows);
    } else {
        add_nomatch__(rule, flows);
    }
}
