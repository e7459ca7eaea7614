/* SPDX-License-Identifier: Apache-2.0 */

/* Tables 32 + instance: which epoch a tick belongs to. */

#include <openvswitch/ofp-actions.h>

#include "flows/draft.h"
#include "flows/stages.h"

void
epoch_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, table_epoch(rule->instance), PRIORITY_MISS,
               VERDICT_EPOCH_ASSIGN_MISS);
    d.cookie.owner = rule->instance;
    draft_commit(&d, flows);

    if (flows->slot_flows) {
        draft_init(&d, RULE_INSTANCE, TABLE_CALENDAR, PRIORITY_MISS,
                   VERDICT_LB_CALENDAR_MISS);
        draft_match_instance(&d, rule->instance);
        draft_commit(&d, flows);
    }
}

static enum verdict
epoch_verdict__(const struct rule_epoch *rule)
{
    return (!rule->late  ? VERDICT_PASS
            : rule->drop ? VERDICT_LATE_DROP
                         : VERDICT_LATE);
}

void
epoch_add_epoch(const struct rule_epoch *rule, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_EPOCH, table_epoch(rule->instance),
               (uint16_t) (PRIORITY_PREFIX + rule->prefix.len),
               epoch_verdict__(rule));
    d.depth = rule->prefix.len;
    d.cookie.owner = rule->instance;
    d.cookie.detail = rule->epoch;
    if (rule->prefix.len) {
        draft_match(&d, MFF_LB_TICK, rule->prefix.value,
                    prefix_mask(rule->prefix.len));
    }
    if (!rule->drop && flows->slot_flows) {
        draft_set_reg(&d, REG_EPOCH, rule->epoch);
        draft_resubmit(&d, TABLE_CALENDAR);
    } else if (!rule->drop) {
        ofpact_put_GROUP(&d.actions)->group_id =
            group_id_encode(rule->instance, rule->epoch);
    }
    draft_commit(&d, flows);
}
