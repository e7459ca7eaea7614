/* SPDX-License-Identifier: Apache-2.0 */

/* Table 6: what lb_parse found, and table 11: packets that end there. */

#include <openvswitch/lb.h>

#include "flows/draft.h"
#include "flows/stages.h"

/* Counts the fault 'status' of an instance's headers, and drops. */
static void
add_fault__(uint16_t instance, uint8_t status, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_HEADER, PRIORITY_LOW,
               (uint8_t) (VERDICT_HEADER + status));
    draft_match_instance(&d, instance);
    draft_match(&d, MFF_LB_STATUS, status, UINT64_MAX);
    draft_commit(&d, flows);
}

/* Counts the headers of 'version' with 'status', and goes on in 'table'. */
static void
add_version__(uint16_t instance, uint8_t version, uint8_t status,
              uint8_t table, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_HEADER, PRIORITY_LOW,
               version == 2 ? VERDICT_RX_V2 : VERDICT_RX_V3);
    draft_match_instance(&d, instance);
    draft_match(&d, MFF_LB_STATUS, status, UINT64_MAX);
    draft_match(&d, MFF_LB_VERSION, version, UINT64_MAX);
    draft_goto(&d, table);
    draft_commit(&d, flows);
}

/* The TTL is looked at last: such a packet has been counted by its version. */
static void
add_expired__(uint16_t instance, struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_EXPIRED, PRIORITY_LOW,
               (uint8_t) (VERDICT_HEADER + LB_TTL_EXPIRED));
    draft_match_instance(&d, instance);
    draft_commit(&d, flows);
}

void
header_add_instance(const struct rule_instance *rule, struct flows *flows)
{
    static const uint8_t statuses[] = {
#define X(ENUM, VALUE, NAME, MEANING) ENUM,
        LB_STATUSES
#undef X
    };

    for (size_t i = 0; i < sizeof statuses; i++) {
        /* LB_NO_SLOT comes from a calendar, not from lb_parse. */
        if (statuses[i] != LB_OK && statuses[i] != LB_NO_SLOT
            && statuses[i] != LB_TTL_EXPIRED) {
            add_fault__(rule->instance, statuses[i], flows);
        }
    }
    add_expired__(rule->instance, flows);
    for (uint8_t version = 2; version <= 3; version++) {
        add_version__(rule->instance, version, LB_TTL_EXPIRED, TABLE_EXPIRED,
                      flows);
        add_version__(rule->instance, version, LB_OK,
                      table_epoch(rule->instance), flows);
    }
}
