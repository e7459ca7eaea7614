/* SPDX-License-Identifier: Apache-2.0 */

/* What a switch says that it holds, as entries. */

#include <string.h>

#include <byte-order.h>
#include <openvswitch/match.h>
#include <openvswitch/ofp-flow.h>
#include <openvswitch/ofp-group.h>

#include "flows/cookie.h"
#include "flows/entry.h"
#include "flows/flows.h"
#include "flows/priorities.h"

/* Returns the prefix length of an epoch's flow with the given 'priority', as
 * its rule has it.  Other kinds have 0. */
static uint8_t
depth__(enum rule_kind kind, uint16_t priority)
{
    if (kind != RULE_EPOCH || priority < PRIORITY_PREFIX
        || priority > PRIORITY_PREFIX + 64) {
        return 0;
    }
    return (uint8_t) (priority - PRIORITY_PREFIX);
}

/* Adds the flow 'fs' to 'flows'.  Returns false if it is not ours. */
bool
flows_add_flow_stats(const struct ofputil_flow_stats *fs, struct flows *flows)
{
    struct ofputil_flow_mod fm;
    struct cookie cookie;

    if (!cookie_decode(ntohll(fs->cookie), &cookie)) {
        return false;
    }

    memset(&fm, 0, sizeof fm);
    minimatch_init(&fm.match, &fs->match);
    fm.priority = fs->priority;
    fm.table_id = fs->table_id;
    fm.idle_timeout = fs->idle_timeout;
    fm.hard_timeout = fs->hard_timeout;
    fm.flags = fs->flags;
    fm.importance = fs->importance;
    fm.ofpacts = CONST_CAST(struct ofpact *, fs->ofpacts);
    fm.ofpacts_len = fs->ofpacts_len;
    entry_add_flow(flows, &cookie, depth__(cookie.kind, fs->priority), &fm);
    minimatch_destroy(&fm.match);
    flows->entries[flows->n - 1].tick = ntohll(fs->match.flow.lb_tick);
    return true;
}

/* Adds the group 'gd' to 'flows'.  Returns false if it is not ours. */
bool
flows_add_group_desc(struct ofputil_group_desc *gd, struct flows *flows)
{
    struct cookie cookie = { .kind = RULE_CALENDAR };
    struct ofputil_group_mod gm;

    if (!group_id_decode(gd->group_id, &cookie.owner, &cookie.detail)) {
        return false;
    }

    memset(&gm, 0, sizeof gm);
    gm.type = gd->type;
    gm.group_id = gd->group_id;
    gm.props = gd->props;
    ovs_list_move(&gm.buckets, &gd->buckets);
    entry_add_group(flows, &cookie, &gm);
    ovs_list_move(&gd->buckets, &gm.buckets);
    return true;
}
