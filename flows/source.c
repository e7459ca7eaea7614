/* SPDX-License-Identifier: Apache-2.0 */

/* Table 4: which senders are let in. */

#include "flows/draft.h"
#include "flows/stages.h"

/* Drops what no source is listed for: UDP, or 'proto' that stands for it, if
 * it is not 0; and whatever else there is. */
static void
add_drop__(const struct rule_instance *rule, bool ipv4, uint8_t proto,
           struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_SOURCE,
               proto ? PRIORITY_LOW : PRIORITY_MISS,
               proto ? VERDICT_BLOCKED_SRC : VERDICT_NOT_UDP);
    draft_match_instance(&d, rule->instance);
    draft_match_ip(&d, ipv4);
    if (proto) {
        match_set_nw_proto(&d.match, proto);
    }
    draft_commit(&d, flows);
}

/* A later fragment of an IPv6 packet does not say whether it is of UDP: it is
 * taken for that. */
void
source_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    add_drop__(rule, true, IPPROTO_UDP, flows);
    add_drop__(rule, true, 0, flows);
    add_drop__(rule, false, IPPROTO_UDP, flows);
    add_drop__(rule, false, IPPROTO_FRAGMENT, flows);
    add_drop__(rule, false, 0, flows);
}

void
source_add_source(const struct rule_source *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_SOURCE, TABLE_SOURCE, PRIORITY_HIGH, VERDICT_PASS);
    draft_match_instance(&d, rule->instance);
    draft_match_ip_src(&d, &rule->block);
    draft_goto(&d, TABLE_PARSE);
    draft_commit(&d, flows);
}
