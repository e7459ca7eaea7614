/* SPDX-License-Identifier: Apache-2.0 */

/* Table 6: what lb_parse found. */

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

/* Counts the headers of 'version', and goes on. */
static void
add_version__(uint16_t instance, uint8_t version, enum verdict verdict,
              struct flows *flows)
{
    struct draft d;

    draft_init(&d, RULE_INSTANCE, TABLE_HEADER, PRIORITY_LOW, verdict);
    draft_match_instance(&d, instance);
    draft_match(&d, MFF_LB_STATUS, LB_OK, UINT64_MAX);
    draft_match(&d, MFF_LB_VERSION, version, UINT64_MAX);
    draft_goto(&d, table_epoch(instance));
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
        if (statuses[i] != LB_OK && statuses[i] != LB_NO_SLOT) {
            add_fault__(rule->instance, statuses[i], flows);
        }
    }
    add_version__(rule->instance, 2, VERDICT_RX_V2, flows);
    add_version__(rule->instance, 3, VERDICT_RX_V3, flows);
}
