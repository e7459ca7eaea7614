/* SPDX-License-Identifier: Apache-2.0 */

/* Tables 9 and 12: neighbour discovery (RFC 4861).
 *
 * Table 9 looks at solicitations and advertisements that are for an instance.
 * A solicitation that is answered here goes on in table 12, and becomes the
 * advertisement there.  In two steps, because the target's link-layer option
 * exists only once the type is that of an advertisement:
 *
 *     9 nd --> 12 advertise: type 136 --> 12 advertise: addresses, option
 *
 * What the switch cannot turn into an advertisement, the controller answers:
 * a solicitation without the source's link-layer option has no room for the
 * target's, one from :: is answered to all nodes, and one that is longer than
 * it need be would leave what it has more in the answer.
 *
 * check_pkt_larger() takes both ways at once when the switch makes a cached
 * flow, and counts both.  So the flow before it counts, not those behind it. */

#include <netinet/icmp6.h>

#include <openvswitch/ofp-actions.h>

#include "flows/draft.h"
#include "flows/stages.h"

/* The size of a frame with a solicitation that has one option. */
#define SOLICITATION_SIZE (14 + 40 + 24 + 8)
#define VLAN_SIZE 4

/* Adds to 'd' a match on solicitations or advertisements, as 'type' says. */
static void
match_nd__(struct draft *d, uint8_t type)
{
    draft_match_ip(d, false);
    match_set_nw_proto(&d->match, IPPROTO_ICMPV6);
    match_set_icmp_type(&d->match, type);
    match_set_icmp_code(&d->match, 0);
}

/* Begins 'd', which is for messages to 'instance' that no flow of an address
 * matches. */
static void
begin_other__(struct draft *d, uint16_t instance, uint8_t type,
              uint16_t priority, enum verdict verdict)
{
    draft_init(d, RULE_INSTANCE, TABLE_ND, priority, verdict);
    draft_match_instance(d, instance);
    match_nd__(d, type);
}

/* Solicitations for other addresses.  One that was sent to a group that an
 * address of ours is in may be for somebody else's. */
void
nd_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    struct draft d;

    begin_other__(&d, rule->instance, ND_NEIGHBOR_ADVERT, PRIORITY_LOW,
                  VERDICT_ICMPV6_OTHER);
    draft_commit(&d, flows);

    begin_other__(&d, rule->instance, ND_NEIGHBOR_SOLICIT, PRIORITY_LOW,
                  VERDICT_ND_TARGET);
    draft_commit(&d, flows);

    begin_other__(&d, rule->instance, ND_NEIGHBOR_SOLICIT, PRIORITY_LOW + 1,
                  rule->l2_normal ? VERDICT_L2_NORMAL : VERDICT_ND_TARGET);
    draft_match(&d, MFF_ETH_DST, UINT64_C(1) << 40, UINT64_C(1) << 40);
    if (rule->l2_normal) {
        draft_output(&d, DRAFT_NORMAL);
    }
    draft_commit(&d, flows);
}

/* Begins 'd', which is for solicitations for the address of 'rule', or for
 * what has become of them. */
static void
begin__(struct draft *d, const struct rule_ip_filter *rule, uint8_t table,
        uint16_t priority, uint8_t type, enum verdict verdict)
{
    draft_init(d, RULE_IP_FILTER, table, priority, verdict);
    draft_match_iface(d, rule->iface);
    d->cookie.owner = rule->instance;
    match_nd__(d, type);
    match_set_nd_target(&d->match, &rule->address);
}

/* Begins 'd', which is for solicitations that no router has passed on. */
static void
begin_question__(struct draft *d, const struct rule_ip_filter *rule,
                 uint16_t priority, enum verdict verdict)
{
    begin__(d, rule, TABLE_ND, priority, ND_NEIGHBOR_SOLICIT, verdict);
    match_set_nw_ttl(&d->match, 255);
}

/* Ends 'd'.  An address that the instance accepts but does not answer with has
 * the same flows, but they drop, with 'verdict'. */
static void
commit__(struct draft *d, const struct rule_ip_filter *rule,
         enum verdict verdict, struct flows *flows)
{
    if (!addr_equal(&rule->address, &rule->unicast)) {
        ofpbuf_clear(&d->actions);
        d->cookie.verdict = verdict;
    }
    draft_commit(d, flows);
}

static void
add_controller__(const struct rule_ip_filter *rule, struct flows *flows)
{
    struct draft d;

    begin_question__(&d, rule, PRIORITY_HIGH + 2, VERDICT_ND_CONTROLLER);
    match_set_ipv6_src(&d.match, &in6addr_any);
    draft_controller(&d);
    commit__(&d, rule, VERDICT_ND_TARGET, flows);

    begin_question__(&d, rule, PRIORITY_HIGH + 1, VERDICT_ND_CONTROLLER);
    match_set_arp_sha(&d.match, (struct eth_addr){ .ea = { 0 } });
    draft_controller(&d);
    commit__(&d, rule, VERDICT_ND_TARGET, flows);

    begin__(&d, rule, TABLE_ADVERTISE, PRIORITY_HIGH, ND_NEIGHBOR_SOLICIT,
            VERDICT_PASS);
    match_set_reg(&d.match, REG_LONG, 1);
    draft_controller(&d);
    commit__(&d, rule, VERDICT_ND_TARGET, flows);
}

/* Finds out whether a frame, 'tagged' or not, is longer than it need be. */
static void
add_question__(const struct rule_ip_filter *rule, bool tagged,
               struct flows *flows)
{
    struct ofpact_check_pkt_larger *larger;
    struct draft d;

    begin_question__(&d, rule, PRIORITY_HIGH, VERDICT_ND_REPLY);
    match_set_dl_tci_masked(&d.match, htons(tagged ? VLAN_CFI : 0),
                            htons(VLAN_CFI));
    larger = ofpact_put_CHECK_PKT_LARGER(&d.actions);
    larger->pkt_len = SOLICITATION_SIZE + (tagged ? VLAN_SIZE : 0);
    larger->dst.field = mf_from_id(MFF_REG0 + REG_LONG);
    larger->dst.n_bits = 1;
    draft_resubmit(&d, TABLE_ADVERTISE);
    commit__(&d, rule, VERDICT_ND_TARGET, flows);
}

/* Turns a solicitation that is as long as it need be into what answers it. */
static void
add_advertisement__(const struct rule_ip_filter *rule, struct flows *flows)
{
    static const uint8_t type = ND_NEIGHBOR_ADVERT;
    static const uint8_t option = ND_OPT_TARGET_LINKADDR;
    const ovs_be32 solicited = htonl(UINT32_C(0x40000000));
    struct eth_addr mac = draft_eth_addr(&rule->mac);
    struct draft d;

    begin__(&d, rule, TABLE_ADVERTISE, PRIORITY_HIGH, ND_NEIGHBOR_SOLICIT,
            VERDICT_PASS);
    match_set_reg(&d.match, REG_LONG, 0);
    draft_move(&d, MFF_ND_SLL, MFF_ETH_DST);
    draft_set(&d, MFF_ICMPV6_TYPE, &type);
    draft_resubmit(&d, TABLE_ADVERTISE);
    commit__(&d, rule, VERDICT_ND_TARGET, flows);

    begin__(&d, rule, TABLE_ADVERTISE, PRIORITY_HIGH, ND_NEIGHBOR_ADVERT,
            VERDICT_PASS);
    draft_set(&d, MFF_ETH_SRC, &mac);
    draft_move(&d, MFF_IPV6_SRC, MFF_IPV6_DST);
    draft_set(&d, MFF_IPV6_SRC, &rule->address);
    draft_set(&d, MFF_ND_RESERVED, &solicited);
    draft_set(&d, MFF_ND_OPTIONS_TYPE, &option);
    draft_set(&d, MFF_ND_TLL, &mac);
    draft_output(&d, DRAFT_IN_PORT);
    commit__(&d, rule, VERDICT_ND_TARGET, flows);
}

/* Advertisements to the address of 'rule' answer our own questions. */
static void
add_answer__(const struct rule_ip_filter *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_IP_FILTER, TABLE_ND, PRIORITY_HIGH,
               VERDICT_ND_CONTROLLER);
    draft_match_iface(&d, rule->iface);
    d.cookie.owner = rule->instance;
    match_nd__(&d, ND_NEIGHBOR_ADVERT);
    match_set_ipv6_dst(&d.match, &rule->address);
    match_set_nw_ttl(&d.match, 255);
    draft_controller(&d);
    commit__(&d, rule, VERDICT_ICMPV6_OTHER, flows);
}

/* A group is not asked for, and asks nothing: only its members do. */
void
nd_add_ip_filter(const struct rule_ip_filter *rule, struct flows *flows)
{
    struct draft d;

    if (addr_is_ipv4(&rule->address)
        || IN6_IS_ADDR_MULTICAST(&rule->address)) {
        return;
    }
    add_answer__(rule, flows);
    add_controller__(rule, flows);
    add_question__(rule, false, flows);
    add_question__(rule, true, flows);
    add_advertisement__(rule, flows);

    begin__(&d, rule, TABLE_ND, PRIORITY_MEDIUM, ND_NEIGHBOR_SOLICIT,
            VERDICT_ND_HOPS);
    commit__(&d, rule, VERDICT_ND_TARGET, flows);
}
