/* SPDX-License-Identifier: Apache-2.0 */

/* Table 4: which senders are let in. */

#include "flows/draft.h"
#include "flows/stages.h"

static void
add_drop__(const struct rule_instance *rule, bool ipv4, bool udp,
           struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_SOURCE,
               udp ? PRIORITY_LOW : PRIORITY_MISS,
               udp ? VERDICT_BLOCKED_SRC : VERDICT_NOT_UDP);
    draft_match_instance(&d, rule->instance);
    draft_match_ip(&d, ipv4);
    if (udp) {
        match_set_nw_proto(&d.match, IPPROTO_UDP);
    }
    draft_commit(&d, flows);
}

/* A later fragment of an IPv6 packet does not say whether it is of UDP. */
static void
add_ipv6_fragment__(const struct rule_instance *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_SOURCE, PRIORITY_LOW,
               VERDICT_FRAGMENT);
    draft_match_instance(&d, rule->instance);
    draft_match_ip(&d, false);
    match_set_nw_proto(&d.match, IPPROTO_FRAGMENT);
    match_set_nw_frag_masked(&d.match, FLOW_NW_FRAG_ANY, FLOW_NW_FRAG_ANY);
    draft_commit(&d, flows);
}

void
source_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    add_drop__(rule, true, true, flows);
    add_drop__(rule, true, false, flows);
    add_drop__(rule, false, true, flows);
    add_drop__(rule, false, false, flows);
    add_ipv6_fragment__(rule, flows);
}

void
source_add_source(const struct rule_source *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_SOURCE, TABLE_SOURCE, PRIORITY_HIGH, VERDICT_PASS);
    draft_match_instance(&d, rule->instance);
    draft_match_ip_src(&d, &rule->block);
    match_set_nw_proto(&d.match, IPPROTO_UDP);
    draft_goto(&d, TABLE_PARSE);
    draft_commit(&d, flows);
}
