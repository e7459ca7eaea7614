/* SPDX-License-Identifier: Apache-2.0 */

/* Table 5: which UDP datagrams are looked into. */

#include <openvswitch/ofp-actions.h>

#include "flows/draft.h"
#include "flows/stages.h"

/* Begins 'd', which drops packets of an instance. */
static void
begin_drop__(struct draft *d, const struct rule_instance *rule, bool ipv4,
             uint16_t priority, enum verdict verdict)
{
    draft_init(d, RULE_INSTANCE, TABLE_PARSE, priority, verdict);
    draft_match_instance(d, rule->instance);
    draft_match_ip(d, ipv4);
}

/* A fragment goes first: a later one has no ports.  'proto' is UDP or stands
 * for it. */
static void
add_fragment__(const struct rule_instance *rule, bool ipv4, uint8_t proto,
               struct flows *flows)
{
    struct draft d;

    begin_drop__(&d, rule, ipv4, PRIORITY_HIGH, VERDICT_FRAGMENT);
    match_set_nw_proto(&d.match, proto);
    match_set_nw_frag_masked(&d.match, FLOW_NW_FRAG_ANY, FLOW_NW_FRAG_ANY);
    draft_commit(&d, flows);
}

static void
add_misses__(const struct rule_instance *rule, bool ipv4, struct flows *flows)
{
    struct draft d;

    begin_drop__(&d, rule, ipv4, PRIORITY_LOW, VERDICT_NO_UDPLB_HDR);
    match_set_nw_proto(&d.match, IPPROTO_UDP);
    draft_commit(&d, flows);

    begin_drop__(&d, rule, ipv4, PRIORITY_MISS, VERDICT_NOT_UDP);
    draft_commit(&d, flows);
}

void
parse_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    add_fragment__(rule, true, IPPROTO_UDP, flows);
    add_fragment__(rule, false, IPPROTO_UDP, flows);
    add_fragment__(rule, false, IPPROTO_FRAGMENT, flows);
    add_misses__(rule, true, flows);
    add_misses__(rule, false, flows);
}

static void
add_ports__(const struct rule_ports *rule, bool ipv4, struct flows *flows)
{
    struct ofpact_lb_parse *parse;
    struct draft d;

    draft_init(&d, RULE_PORTS, TABLE_PARSE, PRIORITY_MEDIUM, VERDICT_PASS);
    draft_match_instance(&d, rule->instance);
    draft_match_ip(&d, ipv4);
    match_set_nw_proto(&d.match, IPPROTO_UDP);
    match_set_tp_dst_masked(&d.match, htons(rule->port), htons(rule->mask));
    draft_set_reg(&d, REG_IFACE, 0);
    parse = ofpact_put_LB_PARSE(&d.actions);
    parse->table = TABLE_HEADER;
    parse->has_epoch_table = true;
    parse->epoch_table = table_epoch(rule->instance);
    draft_commit(&d, flows);
}

void
parse_add_ports(const struct rule_ports *rule, struct flows *flows)
{
    add_ports__(rule, true, flows);
    add_ports__(rule, false, flows);
}
