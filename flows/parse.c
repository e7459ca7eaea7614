/* SPDX-License-Identifier: Apache-2.0 */

/* Table 5: which UDP datagrams are looked into. */

#include <openvswitch/ofp-actions.h>

#include "flows/draft.h"
#include "flows/stages.h"

static void
add_drops__(const struct rule_instance *rule, bool ipv4, struct flows *flows)
{
    struct draft d;

    /* A fragment goes first: a later one has no ports. */
    draft_init(&d, RULE_INSTANCE, TABLE_PARSE, PRIORITY_HIGH,
               VERDICT_FRAGMENT);
    draft_match_instance(&d, rule->instance);
    draft_match_ip(&d, ipv4);
    match_set_nw_frag_masked(&d.match, FLOW_NW_FRAG_ANY, FLOW_NW_FRAG_ANY);
    draft_commit(&d, flows);

    draft_init(&d, RULE_INSTANCE, TABLE_PARSE, PRIORITY_MISS,
               VERDICT_NO_UDPLB_HDR);
    draft_match_instance(&d, rule->instance);
    draft_match_ip(&d, ipv4);
    draft_commit(&d, flows);
}

void
parse_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    add_drops__(rule, true, flows);
    add_drops__(rule, false, flows);
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
